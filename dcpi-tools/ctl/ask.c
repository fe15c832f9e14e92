#include "dcpi-tools/ctl/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/compact.h"
#include "dcpi-tools/ctl/exchange.h"

/* What a command may take: it is answered when the work is done. */
static time_t
patience_for(const struct ctl_request *request)
{
	return strcmp(request->command, "compact") == 0 ? COMPACT_SECONDS : EXCHANGE_SECONDS;
}

int
ask_say_no_answer(const struct ctl_request *request, const char *path, int err)
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
make_request(const struct ctl_request *request)
{
	json_t *object = json_pack("{s:s}", "command", request->command);

	int failed = 0;

	/* what is not UTF-8 cannot be sent; say what dcpid would */
	if (request->label)
		failed |= json_object_set_new(object, "label", json_string(request->label));
	if (request->pid)
		failed |= json_object_set_new(object, "pid", json_integer(request->pid));
	return json_kept(object, failed);
}

int
ask_dcpid(const struct ctl_request *request, char *path, size_t size, json_t **reply)
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
