#include "dcpi-tools/ctl/remote.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/client.h"
#include "dcpi-tools/ctl/metrics.h"
#include "dcpi-tools/ctl/status_text.h"

/* `status` is NULL when no dcpid runs: that it is down is a metric as well. */
static int
print_metrics(const struct ctl_request *request, const json_t *status)
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
print_status(json_t *reply, bool as_json)
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

int
remote_print_reply(const struct ctl_request *request, const char *path, json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *note = json_string_value(json_object_get(reply, "note"));
	const json_t *epoch = json_object_get(reply, "epoch");

	if (!json_is_true(json_object_get(reply, "ok"))) {
		message_print(path, "%s", error ? error : "dcpid refused without a reason");
		return STATUS_FAILURE;
	}
	if (request->prometheus)
		return print_metrics(request, json_object_get(reply, "status"));
	if (strcmp(request->command, "status") == 0)
		return print_status(reply, request->json);
	if (strcmp(request->command, "compact") == 0)
		return ctl_print_compacted((uint64_t)json_integer_value(json_object_get(reply, "before_bytes")),
		                           (uint64_t)json_integer_value(json_object_get(reply, "after_bytes")));
	if (note && *note)
		message_print(path, "%s", note);
	if (strcmp(request->command, "epoch") == 0)
		printf("epoch %" JSON_INTEGER_FORMAT "\n", json_integer_value(epoch));
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

int
ctl_remote(const struct ctl_request *request)
{
	char path[PATH_MAX];
	json_t *reply;
	int err, status;

	err = client_ask(request, path, sizeof(path), &reply);
	if (request->prometheus && (err == -ENOENT || err == -ECONNREFUSED || err == -ECONNRESET || err == -ETIMEDOUT))
		return print_metrics(request, NULL);
	if (strcmp(request->command, "compact") == 0 && !request->socket && (err == -ENOENT || err == -ECONNREFUSED))
		return ctl_compact(request->options.directory);
	if (err)
		return client_print_no_answer(request, path, err);
	status = remote_print_reply(request, path, reply);
	json_decref(reply);
	return status;
}
