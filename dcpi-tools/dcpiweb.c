/*
 * dcpiweb - a profile database as pages for a browser
 *
 * Its options and its event loop; the server is in dcpi-tools/web/, and man/dcpiweb.1.scd describes it.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/web/listen.h"
#include "dcpi-tools/web/reports.h"
#include "dcpi-tools/web/server.h"
#include "profile/profile.h"

#define HOSTS_MAX   16
#define TOOLS_LEAST 2 /* that run at a time */
#define TOOLS_MOST  8

const char *argp_program_version = "dcpiweb " DCPI_VERSION;

struct web_request {
	struct options options;
	const char *listen;
	const char *hosts[HOSTS_MAX];
	size_t host_count;
};

struct web {
	const struct web_request *request;
	struct event_base *base;
	struct reports *reports;
	struct server *server;
	struct event *signals[2];
	char tools[PATH_MAX];
};

/* The folder of our executable: the other tools lie there, too. 0 or -errno. */
static int
find_tools(char tools[PATH_MAX])
{
	const ssize_t length = readlink("/proc/self/exe", tools, PATH_MAX - 1);
	char *slash;

	if (length < 0)
		return -errno;
	tools[length] = '\0';
	slash = strrchr(tools, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

static void
on_signal(evutil_socket_t number, short what, void *context)
{
	(void)number;
	(void)what;
	event_base_loopbreak(context);
}

/* 0 or -errno. */
static int
make_server(struct web *web)
{
	static const int numbers[] = {SIGTERM, SIGINT};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct reports_options reports = {
		.database = web->request->options.directory,
		.tools = web->tools,
		.at_once = cpus < TOOLS_LEAST  ? TOOLS_LEAST
	                   : cpus > TOOLS_MOST ? TOOLS_MOST
	                                       : (unsigned)cpus,
	};
	const char *directory = web->request->options.directory;
	struct server_options server = {
		/* for the service's database, dcpictl asks at the service's socket, which it would not if --db named it
	         */
		.directory = strcmp(directory, PROFILE_DIRECTORY) == 0 ? NULL : directory,
		.hosts = web->request->hosts,
		.host_count = web->request->host_count,
	};
	int err = find_tools(web->tools);

	if (err)
		return err;
	web->base = event_base_new();
	if (!web->base)
		return -ENOMEM;
	reports.base = server.base = web->base;
	web->reports = reports_new(&reports);
	server.reports = web->reports;
	web->server = web->reports ? server_new(&server) : NULL;
	if (!web->server)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		web->signals[i] = evsignal_new(web->base, numbers[i], on_signal, web->base);
		if (!web->signals[i] || event_add(web->signals[i], NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int
cannot_listen(const char *place, int err)
{
	if (err == -EINVAL) {
		message_print(place, "--listen takes ADDRESS:PORT, as " LISTEN_DEFAULT " or [::1]:8680, or unix:PATH");
		return STATUS_USAGE;
	}
	return message_cannot(place, "listen", err,
	                      err == -EADDRINUSE ? "does another dcpiweb run? --listen names another place" : NULL);
}

/* Listen where systemd or the user says; print where. An exit status. */
static int
begin_listening(struct web *web)
{
	const int inherited = listen_inherited();
	char url[LISTEN_URL_SIZE];
	int err = 0, fd;

	for (int i = 0; i < inherited && !err; i++) {
		err = listen_adopt(LISTEN_FIRST + i);
		if (!err)
			err = server_accept(web->server, LISTEN_FIRST + i);
	}
	if (err)
		return message_cannot("systemd's socket", "listen", err, NULL);
	if (inherited > 0 && !web->request->listen)
		return STATUS_OK;
	fd = listen_open(web->request->listen ? web->request->listen : LISTEN_DEFAULT, url);
	if (fd < 0)
		return cannot_listen(web->request->listen ? web->request->listen : LISTEN_DEFAULT, fd);
	err = server_accept(web->server, fd);
	if (err)
		return message_cannot(url, "listen", err, NULL);
	text_print(url, stdout);
	fputc('\n', stdout);
	fflush(stdout);
	return STATUS_OK;
}

static void
take_host(void *taken, char *text, struct argp_state *state)
{
	struct web_request *request = taken;

	if (request->host_count == HOSTS_MAX)
		argp_error(state, "--host can be given %d times", HOSTS_MAX);
	else if (!text[0] || strpbrk(text, ":/"))
		argp_error(state, "--host takes a name, without a port");
	else
		request->hosts[request->host_count++] = text;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "Who is served:"),
	OPTION_TEXT(1, "listen", "PLACE", struct web_request, listen,
                    "Listen at ADDRESS:PORT or unix:PATH (default: " LISTEN_DEFAULT ", or systemd's socket)"),
	OPTION_CALL(1, "host", 0, "NAME", 0, take_host,
                    "Answer also when a browser calls this machine NAME; may be given more than once"),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.doc = "Show a dcpi profile database to browsers: what the machine does, and what takes its time.\v"
	       "It only reads, and anyone who reaches it sees the profile: by default, users of this machine. "
	       "See dcpiweb(1).",
	.shared = SHARED_DATABASE,
	.options = offsetof(struct web_request, options),
};

int
main(int argc, char **argv)
{
	struct web_request request = {0};
	struct web web = {.request = &request};
	int status = command_line_read(&line, &request, argc, argv);

	if (status)
		return status;
	signal(SIGPIPE, SIG_IGN);
	text_init();
	status = make_server(&web);
	if (status)
		status = message_cannot(NULL, "start", status, NULL);
	else
		status = begin_listening(&web);
	if (!status)
		event_base_dispatch(web.base);
	server_free(web.server);
	reports_free(web.reports);
	for (int i = 0; i < 2; i++)
		if (web.signals[i])
			event_free(web.signals[i]);
	if (web.base)
		event_base_free(web.base);
	options_fini(&request.options);
	return status;
}
