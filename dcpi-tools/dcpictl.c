/*
 * dcpictl - asks dcpid how it is and what to do, looks after databases, and finds what is in the way
 *
 * man/dcpictl.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "collectord/config.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/time_text.h"
#include "dcpi-tools/ctl/check.h"
#include "dcpi-tools/ctl/compact.h"
#include "dcpi-tools/ctl/doctor/doctor.h"
#include "dcpi-tools/ctl/exchange.h"
#include "dcpi-tools/ctl/metrics.h"
#include "dcpi-tools/ctl/salvage.h"
#include "dcpi-tools/ctl/status_text.h"

const char *argp_program_version = "dcpictl " DCPI_VERSION;

enum key {
	KEY_SOCKET = 1,
	KEY_LABEL,
	KEY_JSON,
	KEY_PROMETHEUS,
	KEY_OUTPUT,
	KEY_TO,
};

static const char *const commands[] = {"status",  "flush", "epoch",   "reload", "quit",
                                       "compact", "check", "salvage", "doctor"};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

struct request {
	struct options options;
	const char *command;
	const char *socket; /* NULL: the database's, or the service's */
	const char *label;
	const char *output; /* NULL: standard output */
	const char *to;     /* the directory that salvage makes */
	bool json;
	bool prometheus;
};

static void
take_command(struct argp_state *state, struct request *request, const char *text)
{
	const char *near = suggest_name(text, commands, COMMAND_COUNT);
	char *shown;

	if (request->command)
		argp_error(state, "one command at a time");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i], text) == 0)
			request->command = commands[i];
	if (request->command)
		return;
	shown = text_shown(text);
	argp_error(state, "there is no command '%s'%s%s%s", shown ? shown : "?", near ? " (did you mean " : "",
	           near ? near : "", near ? "?)" : "");
	free(shown);
}

/* Does the command need no dcpid? */
static bool
is_offline(const struct request *request)
{
	return strcmp(request->command, "check") == 0 || strcmp(request->command, "salvage") == 0;
}

static void
check_options(const struct argp_state *state, const struct request *request)
{
	if (!request->command) {
		argp_usage(state);
		return;
	}
	if (request->label && strcmp(request->command, "epoch") != 0)
		argp_error(state, "--label goes with epoch");
	if (request->json && strcmp(request->command, "status") != 0 && strcmp(request->command, "doctor") != 0)
		argp_error(state, "--json goes with status and doctor");
	if (request->prometheus && strcmp(request->command, "status") != 0)
		argp_error(state, "--prometheus goes with status");
	if (request->prometheus && request->json)
		argp_error(state, "--json or --prometheus, not both");
	if (request->output && !request->prometheus)
		argp_error(state, "--output goes with status --prometheus");
	if (request->socket && is_offline(request))
		argp_error(state, "%s reads a database: --db, not --socket", request->command);
	if (request->to && strcmp(request->command, "salvage") != 0)
		argp_error(state, "--to goes with salvage");
	if (!request->to && strcmp(request->command, "salvage") == 0)
		argp_error(state, "salvage needs --to NEWDIR, a directory that is not there yet");
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &request->options;
		return 0;
	case KEY_SOCKET:
		request->socket = text;
		return 0;
	case KEY_LABEL:
		request->label = text;
		return 0;
	case KEY_JSON:
		request->json = true;
		return 0;
	case KEY_PROMETHEUS:
		request->prometheus = true;
		return 0;
	case KEY_OUTPUT:
		request->output = text;
		return 0;
	case KEY_TO:
		request->to = text;
		return 0;
	case ARGP_KEY_ARG:
		take_command(state, request, text);
		return 0;
	case ARGP_KEY_END:
		check_options(state, request);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What a command may take: it is answered when the work is done. */
static time_t
patience_for(const struct request *request)
{
	return strcmp(request->command, "compact") == 0 ? COMPACT_SECONDS : EXCHANGE_SECONDS;
}

/* Why no exchange took place, with what to do about it. */
static int
say_no_exchange(const struct request *request, const char *path, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED) {
		const bool service = strcmp(path, CONFIG_SOCKET) == 0;
		char *directory = text_shown(request->options.directory);

		message_print(path, "dcpid is not running (%s%s)",
		              service ? "systemctl start dcpid" : "dcpid --foreground --db ",
		              service ? "" : (directory ? directory : "?"));
		free(directory);
		return STATUS_FAILURE;
	}
	if (err == -EACCES)
		return message_cannot(path, "talk to dcpid", err, "are you in group dcpi?");
	if (err == -ETIMEDOUT) {
		message_print(path, "dcpid has not answered within %d s (journalctl -u dcpid may say why)",
		              (int)patience_for(request));
		return STATUS_FAILURE;
	}
	return message_cannot(path, "talk to dcpid", err, NULL);
}

static json_t *
make_request(const struct request *request)
{
	json_t *object = json_pack("{s:s}", "command", request->command);

	if (!request->label)
		return object;
	/* what is not UTF-8 cannot be sent; say what dcpid would */
	if (json_object_set_new(object, "label", json_string(request->label))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* `status` is NULL when no dcpid runs: that it is down is an answer, too. */
static int
show_metrics(const struct request *request, const json_t *status)
{
	int err;

	if (!request->output) {
		err = metrics_print(status, time_now(), stdout);
		return err ? message_cannot(NULL, "write to standard output", err, NULL) : STATUS_OK;
	}
	err = metrics_write(status, time_now(), request->output);
	if (!err)
		return STATUS_OK;
	return message_cannot(request->output, "write the metrics", err,
	                      err == -EEXIST ? "what is there is no ordinary file" : NULL);
}

static int
show_status(json_t *reply, bool as_json)
{
	json_t *status = json_object_get(reply, "status");
	int err;

	if (as_json)
		err = json_print(json_incref(status), stdout);
	else
		err = status_print(status, time_now(), stdout);
	if (!err && fflush(stdout))
		err = -errno;
	return err ? message_cannot(NULL, "write to standard output", err, NULL) : STATUS_OK;
}

static int
show_reply(const struct request *request, const char *path, json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *note = json_string_value(json_object_get(reply, "note"));
	const json_t *epoch = json_object_get(reply, "epoch");

	if (!json_is_true(json_object_get(reply, "ok"))) {
		message_print(path, "%s", error ? error : "dcpid refused without a reason");
		return STATUS_FAILURE;
	}
	if (request->prometheus)
		return show_metrics(request, json_object_get(reply, "status"));
	if (strcmp(request->command, "status") == 0)
		return show_status(reply, request->json);
	if (strcmp(request->command, "compact") == 0)
		return compact_print((uint64_t)json_integer_value(json_object_get(reply, "before_bytes")),
		                     (uint64_t)json_integer_value(json_object_get(reply, "after_bytes")));
	if (note && *note)
		message_print(path, "%s", note);
	if (strcmp(request->command, "epoch") == 0)
		printf("epoch %" JSON_INTEGER_FORMAT "\n", json_integer_value(epoch));
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

/* The service's database and socket lie apart; everybody else's socket lies in the database. */
static int
ask(const struct request *request, char *path, size_t size, json_t **reply)
{
	const char *directory = request->options.directory;
	int err;

	if (request->socket) {
		snprintf(path, size, "%s", request->socket);
		return exchange(path, make_request(request), patience_for(request), reply);
	}
	if (strcmp(directory, PROFILE_DIRECTORY) == 0) {
		snprintf(path, size, "%s", CONFIG_SOCKET);
		err = exchange(path, make_request(request), patience_for(request), reply);
		if (err != -ENOENT && err != -ECONNREFUSED)
			return err;
		snprintf(path, size, "%s/control", directory);
		err = exchange(path, make_request(request), patience_for(request), reply);
		if (err)
			snprintf(path, size, "%s", CONFIG_SOCKET);
		return err;
	}
	snprintf(path, size, "%s/control", directory);
	return exchange(path, make_request(request), patience_for(request), reply);
}

/* With a dcpid or without: that there is none is one of its findings. */
static int
examine(const struct request *request)
{
	const struct request question = {.options = request->options, .command = "status", .socket = request->socket};
	struct findings findings = {0};
	struct surroundings around;
	char path[PATH_MAX];
	json_t *reply;
	int err, status;

	doctor_surroundings(&around, request->options.directory);
	around.status_error = ask(&question, path, sizeof(path), &reply);
	around.status = json_object_get(reply, "status");
	err = doctor_examine(&around, &findings);
	if (!err)
		err = request->json ? doctor_print_json(&findings) : doctor_print(&findings);
	status = err ? message_cannot(NULL, "print the findings", err, NULL) : doctor_status(&findings);
	findings_fini(&findings);
	json_decref(reply);
	return status;
}

static int
run(const struct request *request)
{
	char path[PATH_MAX];
	json_t *reply;
	int err, status;

	if (strcmp(request->command, "check") == 0)
		return check_database(request->options.directory);
	if (strcmp(request->command, "doctor") == 0)
		return examine(request);
	if (strcmp(request->command, "salvage") == 0)
		return salvage_database(request->options.directory, request->to);
	if (request->label) {
		json_t *text = json_string(request->label);

		if (!text) {
			message_print("--label", "is not UTF-8");
			return STATUS_USAGE;
		}
		json_decref(text);
	}
	err = ask(request, path, sizeof(path), &reply);
	if (request->prometheus && (err == -ENOENT || err == -ECONNREFUSED || err == -ECONNRESET || err == -ETIMEDOUT))
		return show_metrics(request, NULL);
	if (strcmp(request->command, "compact") == 0 && !request->socket && (err == -ENOENT || err == -ECONNREFUSED))
		return compact_database(request->options.directory);
	if (err)
		return say_no_exchange(request, path, err);
	status = show_reply(request, path, reply);
	json_decref(reply);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct argp_option entries[] = {
		{"socket", KEY_SOCKET, "PATH", 0,
	         "Talk to the dcpid that listens at PATH (default: " CONFIG_SOCKET ", with --db: DIR/control)", 0},
		{"label", KEY_LABEL, "LABEL", 0, "With epoch: call the new epoch LABEL", 0},
		{"json", KEY_JSON, NULL, 0, "With status and doctor: print JSON", 0},
		{"prometheus", KEY_PROMETHEUS, NULL, 0, "With status: print metrics for Prometheus", 0},
		{"output", KEY_OUTPUT, "FILE", 0, "With status --prometheus: replace FILE by them", 0},
		{"to", KEY_TO, "NEWDIR", 0, "With salvage: make the new database in NEWDIR", 0},
		{0},
	};
	static const struct argp_child children[] = {{&options_database, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = entries,
		.parser = parse_option,
		.args_doc = "status|flush|epoch|reload|quit|compact|check|salvage|doctor",
		.doc = "Ask dcpid how it is and what to do, look after a profile database, find what is in the way."
		       "\v  status   what is collected, at what cost, and what is missing\n"
		       "  flush    write everything sampled up to now to the database\n"
		       "  epoch    do that and begin a new epoch; its number is printed\n"
		       "  reload   read the configuration again\n"
		       "  quit     write everything and end dcpid\n"
		       "  compact  give space that the database does not need back to the file system\n"
		       "  check    read the whole database, without a dcpid; say what is wrong\n"
		       "  salvage  read what is whole of a damaged database into a new one\n"
		       "  doctor   say what is in the way, what has no symbols, and what mends it\n\n"
		       "Each returns when the work is done. See dcpictl(1).",
		.children = children,
	};
	struct request request = {0};
	int err;

	text_init();
	options_init(&request.options);
	err = argp_parse(&argp, argc, argv, 0, NULL, &request);
	if (err)
		return message_cannot(NULL, "read the command line", -err, NULL);
	return run(&request);
}
