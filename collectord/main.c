/* main.c - dcpid's command line */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collectord/collection.h"
#include "collectord/config.h"
#include "collectord/daemon.h"
#include "collectord/damage_restart.h"
#include "collectord/logging.h"
#include "collectord/machine.h"
#include "collectord/notify.h"
#include "control/request.h"

#define SECONDS_MAX 31536000 /* a year */

enum option_key {
	KEY_CONFIG = 0x1000,
	KEY_FOREGROUND,
	KEY_DB,
	KEY_SOCKET,
	KEY_SECONDS,
	KEY_CHECK_CONFIG,
	KEY_LABEL,
	KEY_VERSION,
};

static const struct argp_option option_entries[] = {
	{"config", KEY_CONFIG, "FILE", 0, "Read the configuration from FILE (default: " CONFIG_FILE ")", 0},
	{"foreground", KEY_FOREGROUND, NULL, 0,
         "Not as the service: for trying things out. dcpid stays in the foreground in any case", 0},
	{"db", KEY_DB, "DIR", 0, "Write to the profile database in DIR; the control socket is then DIR/control", 0},
	{"socket", KEY_SOCKET, "PATH", 0, "Make the control socket at PATH", 0},
	{"seconds", KEY_SECONDS, "N", 0, "Leave after N seconds, everything written", 0},
	{"check-config", KEY_CHECK_CONFIG, NULL, 0, "Check the configuration, say what it means, and leave", 0},
	{"label", KEY_LABEL, "LABEL", 0, "Call the first epoch LABEL", 0},
	{"version", KEY_VERSION, NULL, 0, "Print the version", -1},
	{0},
};

static void
parse_path(struct argp_state *state, const char *option, const char *text, char path[PATH_MAX])
{
	int err = dcpid_options_absolute_path(text, path);

	if (err)
		argp_error(state, "%s '%s': %s", option, text, error_text(err));
}

static void
parse_seconds(struct argp_state *state, const char *text, uint64_t *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || *seconds < 1 || *seconds > SECONDS_MAX)
		argp_error(state, "--seconds '%s' is not a whole number from 1 to %d", text, SECONDS_MAX);
}

static void
parse_label(struct argp_state *state, const char *text, char label[EPOCH_LABEL_SIZE])
{
	char why[128];

	if (request_check_label(text, why, sizeof(why)))
		argp_error(state, "--label: %s", why);
	else
		snprintf(label, EPOCH_LABEL_SIZE, "%s", text);
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct dcpid_options *options = state->input;

	switch (key) {
	case KEY_CONFIG:
		options->file = text;
		options->file_given = true;
		return 0;
	case KEY_FOREGROUND: /* it always stays there */
		return 0;
	case KEY_DB:
		parse_path(state, "--db", text, options->database);
		return 0;
	case KEY_SOCKET:
		parse_path(state, "--socket", text, options->socket);
		return 0;
	case KEY_SECONDS:
		parse_seconds(state, text, &options->seconds);
		return 0;
	case KEY_CHECK_CONFIG:
		options->check = true;
		return 0;
	case KEY_LABEL:
		parse_label(state, text, options->label);
		return 0;
	case KEY_VERSION:
		printf("dcpid %s\n", DCPI_VERSION);
		exit(STATUS_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
check_config(const struct dcpid_options *options)
{
	struct config config;
	char text[512], why[1024];
	int err = dcpid_options_read_config(options, &config, why, sizeof(why));

	if (err) {
		fprintf(stderr, "dcpid: %s\n", why);
		return STATUS_USAGE;
	}
	printf("%s: ok\n", dcpid_options_source(options));
	printf("  database %s, at most %" PRIu64 " MiB, flushed every %" PRIu64 " s, slices of %" PRIu64 " s\n",
	       config.database, config.size_limit >> 20, config.flush_interval_ns / 1000000000,
	       config.slice_ns / 1000000000);
	printf("  socket %s\n", config.socket);
	printf("  sampling may cost %.6g %% of the machine, at %" PRIu64 " samples/s per CPU at most\n",
	       (double)config.overhead_limit_ppm / 1e4, config.max_rate);
	for (size_t i = 0; i < config.event_count; i++) {
		collection_announce_spec(&config.events[i], text, sizeof(text));
		printf("  %s\n", text);
	}
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

/*
 * Go on after a dcpid that found damage: put the damaged database aside, and take over the label and the end of what it
 * collected.
 */
static int
heal(struct dcpid_options *options, struct damage_restart_message *message, const struct log *log, char *why,
     size_t size)
{
	int err = damage_restart_read_message(message);

	if (err) {
		snprintf(why, size, "cannot go on after damage: %s", error_text(err));
		return err;
	}
	if (!message->damaged)
		return 0;
	err = damage_restart_set_aside(message->damaged, NULL, log);
	free(message->damaged);
	if (message->was_leaving)
		return 0; /* the error is in the log; the next dcpid puts the database aside */
	if (err)
		snprintf(why, size, "collecting ends: there is no sound database");
	memcpy(options->label, message->label, sizeof(options->label));
	options->end_ns = message->end_ns;
	return err;
}

static int
collect(struct dcpid_options *options, char *const *arguments)
{
	const struct notify_environment environment = {
		.socket = getenv("NOTIFY_SOCKET"),
		.watchdog_usec = getenv("WATCHDOG_USEC"),
		.watchdog_pid = getenv("WATCHDOG_PID"),
	};
	struct damage_restart restart = {0};
	struct damage_restart_message message;
	struct logging logging;
	struct notify *notify;
	struct config config;
	char why[1024] = "";
	int err;

	logging_init(&logging, LOG_LEVEL_INFO, getenv("JOURNAL_STREAM"));
	err = dcpid_options_read_config(options, &config, why, sizeof(why));
	if (err) {
		log_write(&logging.log, LOG_LEVEL_ERROR, "%s", why);
		return err == -DCPI_ECONFIG || options->file_given ? STATUS_USAGE : STATUS_FAILURE;
	}
	logging.log.limit = config.log_limit;
	notify = notify_new(&environment);
	if (!notify) {
		log_write(&logging.log, LOG_LEVEL_ERROR, "cannot reach the service manager ($NOTIFY_SOCKET): %s",
		          error_text(errno));
		return STATUS_FAILURE;
	}
	signal(SIGPIPE, SIG_IGN);
	umask(0027);
	machine_raise_limits();
	machine_tune_allocator();
	err = heal(options, &message, &logging.log, why, sizeof(why));
	if (err)
		goto out;
	if (message.was_leaving) {
		notify_free(notify);
		return message.status;
	}
	err = damage_restart_prepare(&restart, config.database, arguments);
	if (err)
		snprintf(why, sizeof(why), "cannot prepare for damage: %s", error_text(err));
	else
		err = daemon_run(options, &config, &restart, &logging, notify, why, sizeof(why));
out:
	if (err)
		log_write(&logging.log, LOG_LEVEL_ERROR, "%s", why);
	notify_free(notify);
	damage_restart_fini(&restart);
	return error_exit_status(err);
}

int
main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_entries,
		.parser = parse_option,
		.doc = "Sample all processes and the kernel, all the time, into a profile database."
		       "\vWithout options it reads " CONFIG_FILE
		       " (or uses what is built in when there is none) and collects "
		       "until it gets SIGTERM or SIGINT; SIGHUP makes it read the configuration again. "
		       "See dcpid(8), dcpid.conf(5), dcpictl(1).",
	};
	struct dcpid_options options;
	int err;

	dcpid_options_init(&options);
	argp_err_exit_status = STATUS_USAGE;
	err = argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (err) {
		fprintf(stderr, "dcpid: cannot read the command line: %s\n", error_text(err));
		return STATUS_FAILURE;
	}
	return options.check ? check_config(&options) : collect(&options, argv);
}
