#include "dcpi-tools/ctl/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/control_exchange.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

/* How long a command may take: dcpid answers when the work is done. */
static int
seconds_for(const struct ctl_request *request)
{
	return strcmp(request->command, "compact") == 0 ? CLIENT_COMPACT_SECONDS : CLIENT_SECONDS;
}

int
client_print_no_answer(const struct ctl_request *request, const char *path, int err)
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
client_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply)
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
