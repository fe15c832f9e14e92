#include "dcpi-tools/ctl/remote.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/control_exchange.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/status.h"

#define RESTART_TRIES 50 /* for a dcpid that is started anew, each after: */
#define RESTART_STEP  UINT64_C(100000000)

/* ---- Asking ---- */

/* How long a command may take: dcpid answers when the work is done. */
static int
seconds_for(const struct ctl_request *request)
{
	return request->answer_s ? (int)request->answer_s : CLIENT_SECONDS;
}

/* Print why there was no answer, and what to do. The exit status. */
static int
print_no_answer(const struct ctl_request *request, const char *path, int err)
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
		              seconds_for(request));
		return STATUS_FAILURE;
	}
	return message_cannot(path, "talk to dcpid", err, NULL);
}

static json_t *
make_request(const struct ctl_request *request)
{
	json_t *object = json_pack("{s:s}", "command", request->command);
	int failed = 0;

	/* a label that is not UTF-8 fails here */
	if (request->label)
		failed |= json_object_set_new(object, "label", json_string(request->label));
	if (request->pid)
		failed |= json_object_set_new(object, "pid", json_integer(request->pid));
	return json_kept(object, failed);
}

static int
exchange(const struct ctl_request *request, const char *path, json_t **reply)
{
	const struct control_peer peer = {.path = path, .connect_s = CLIENT_SECONDS, .answer_s = seconds_for(request)};

	return control_exchange(&peer, make_request(request), reply);
}

int
remote_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply)
{
	const char *directory = request->options.directory;
	int err;

	if (request->socket) {
		snprintf(path, size, "%s", request->socket);
		return exchange(request, path, reply);
	}
	if (strcmp(directory, PROFILE_DIRECTORY) == 0) {
		snprintf(path, size, "%s", CONFIG_SOCKET);
		err = exchange(request, path, reply);
		if (err != -ENOENT && err != -ECONNREFUSED)
			return err;
		snprintf(path, size, "%s/control", directory);
		err = exchange(request, path, reply);
		if (err)
			snprintf(path, size, "%s", CONFIG_SOCKET);
		return err;
	}
	snprintf(path, size, "%s/control", directory);
	return exchange(request, path, reply);
}

/* ---- Replies ---- */

/* `status` is NULL when no dcpid runs: that it is down is a metric as well. */
static int
print_metrics(const struct ctl_request *request, const json_t *status)
{
	int err;

	if (!request->output) {
		err = status_print_metrics(status, time_now(), stdout);
		return err ? message_cannot(NULL, "write to standard output", err, NULL) : STATUS_OK;
	}
	err = status_write_metrics(status, time_now(), request->output);
	if (!err)
		return STATUS_OK;
	return message_cannot(request->output, "write the metrics", err,
	                      err == -EEXIST ? "what is there is no ordinary file" : NULL);
}

/* Print a reply of dcpid that is no refusal; `path` is the socket, for messages. The exit status. */
typedef int print_reply(const struct ctl_request *request, const char *path, json_t *reply);

static int
print_status(const struct ctl_request *request, const char *path, json_t *reply)
{
	json_t *status = json_object_get(reply, "status");
	int err;

	(void)path;
	if (request->prometheus)
		return print_metrics(request, status);
	if (request->json)
		err = json_print(json_incref(status), stdout);
	else
		err = status_print(status, time_now(), stdout);
	if (!err && fflush(stdout))
		err = -errno;
	return err ? message_cannot(NULL, "write to standard output", err, NULL) : STATUS_OK;
}

static int
print_note(const struct ctl_request *request, const char *path, json_t *reply)
{
	const char *note = json_string_value(json_object_get(reply, "note"));

	(void)request;
	if (note && *note)
		message_print(path, "%s", note);
	return STATUS_OK;
}

static int
print_epoch(const struct ctl_request *request, const char *path, json_t *reply)
{
	print_note(request, path, reply);
	printf("epoch %" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(reply, "epoch")));
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

static int
print_sizes(const struct ctl_request *request, const char *path, json_t *reply)
{
	(void)request;
	(void)path;
	return ctl_print_compacted((uint64_t)json_integer_value(json_object_get(reply, "before_bytes")),
	                           (uint64_t)json_integer_value(json_object_get(reply, "after_bytes")));
}

static bool
is_not_running(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ECONNRESET;
}

/* Print what remote_ask() returned, and free the reply. The exit status. */
static int
answer(const struct ctl_request *request, const char *path, int err, json_t *reply, print_reply *print)
{
	const char *error;
	int status = STATUS_FAILURE;

	if (err)
		return print_no_answer(request, path, err);
	error = json_string_value(json_object_get(reply, "error"));
	if (json_is_true(json_object_get(reply, "ok")))
		status = print(request, path, reply);
	else
		message_print(path, "%s", error ? error : "dcpid refused without a reason");
	json_decref(reply);
	return status;
}

/* Ask, up to `tries` times while no dcpid runs. */
static int
ask(const struct ctl_request *request, unsigned tries, print_reply *print)
{
	const struct timespec step = {.tv_nsec = RESTART_STEP};
	char path[PATH_MAX];
	json_t *reply;
	int err;

	while ((err = remote_ask(request, path, sizeof(path), &reply)) && is_not_running(err) && --tries)
		nanosleep(&step, NULL);
	return answer(request, path, err, reply, print);
}

int
ctl_remote(const struct ctl_request *request)
{
	return ask(request, 1, print_note);
}

int
ctl_epoch(const struct ctl_request *request)
{
	return ask(request, 1, print_epoch);
}

int
ctl_status(const struct ctl_request *request)
{
	char path[PATH_MAX];
	json_t *reply;
	const int err = remote_ask(request, path, sizeof(path), &reply);

	if (request->prometheus && (is_not_running(err) || err == -ETIMEDOUT))
		return print_metrics(request, NULL);
	return answer(request, path, err, reply, print_status);
}

int
ctl_compact(const struct ctl_request *request)
{
	struct ctl_request patient = *request;
	char path[PATH_MAX];
	json_t *reply;
	int err;

	patient.answer_s = CLIENT_COMPACT_SECONDS;
	err = remote_ask(&patient, path, sizeof(path), &reply);
	if (!request->socket && (err == -ENOENT || err == -ECONNREFUSED))
		return ctl_compact_offline(request);
	return answer(&patient, path, err, reply, print_sizes);
}

/* ---- Programs with a label ---- */

static int
ask_for_label(void *request)
{
	return ctl_remote(request) ? LABELLED_FAILED : 0;
}

int
remote_run_labelled(const struct ctl_request *request, char *const *command, struct child *child)
{
	struct ctl_request asking = *request;
	int err;

	asking.command = "label";
	asking.pid = 0;
	child->begin = ask_for_label;
	child->begin_context = &asking;
	err = child_run(child, command);
	child->begin_context = NULL;
	if (err >= 0)
		return err;
	(void)message_cannot(command[0], "run it", err, NULL);
	return err == -ENOENT ? LABELLED_NOT_FOUND : LABELLED_REFUSED;
}

/* dcpid may have been restarted while the program ran, and may still be starting. */
int
remote_flush_labelled(const struct ctl_request *request)
{
	struct ctl_request flush = *request;

	flush.command = "flush";
	flush.label = NULL;
	return ask(&flush, RESTART_TRIES, print_note);
}

int
ctl_label(const struct ctl_request *request)
{
	struct child child = {0};
	int status;

	if (!request->program)
		return ctl_remote(request);
	status = remote_run_labelled(request, request->program, &child);
	return status ? status : child_exit_status(child.status, remote_flush_labelled(request));
}
