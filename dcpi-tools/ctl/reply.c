#include "dcpi-tools/ctl/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/compact.h"
#include "dcpi-tools/ctl/metrics.h"
#include "dcpi-tools/ctl/status_text.h"

int
reply_show_metrics(const struct ctl_request *request, const json_t *status)
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

int
reply_show(const struct ctl_request *request, const char *path, json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *note = json_string_value(json_object_get(reply, "note"));
	const json_t *epoch = json_object_get(reply, "epoch");

	if (!json_is_true(json_object_get(reply, "ok"))) {
		message_print(path, "%s", error ? error : "dcpid refused without a reason");
		return STATUS_FAILURE;
	}
	if (request->prometheus)
		return reply_show_metrics(request, json_object_get(reply, "status"));
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
