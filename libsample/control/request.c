#include "control/request.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Who may give a command, and how often: collectord/control.h applies owner_only and is_limited. */
static const struct command_entry command_entries[COMMANDS] = {
	[COMMAND_STATUS] = {.name = "status"},
	[COMMAND_FLUSH] = {.name = "flush", .is_limited = true},
	[COMMAND_EPOCH] = {.name = "epoch", .is_limited = true, .takes_label = true},
	[COMMAND_RELOAD] = {.name = "reload", .owner_only = true},
	[COMMAND_QUIT] = {.name = "quit", .owner_only = true},
	[COMMAND_COMPACT] = {.name = "compact", .owner_only = true},
	[COMMAND_LABEL] = {.name = "label", .takes_label = true, .takes_pid = true},
	[COMMAND_REFRESH] = {.name = "refresh"}, /* limits itself: a flush in a flush interval, whoever asks */
};

const struct command_entry *
command_entry(enum command command)
{
	return &command_entries[command];
}

int
request_check_label(const char *label, char *why, size_t size)
{
	char shown[4 * EPOCH_LABEL_SIZE];

	if (strlen(label) >= EPOCH_LABEL_SIZE) {
		snprintf(why, size, "the label is %zu bytes long; at most %d are accepted", strlen(label),
		         EPOCH_LABEL_SIZE - 1);
		return -EINVAL;
	}
	/* text that escaping leaves as it is has no character that must be escaped */
	if (strcmp(escape_text(label, shown, sizeof(shown)), label) != 0 || strchr(label, '/')) {
		snprintf(why, size, "the label may have neither \"/\", \"\\\" nor control characters");
		return -EINVAL;
	}
	return 0;
}

static int
find_command(const char *name, enum command *command, char *why, size_t size)
{
	const char *names[COMMANDS], *near;
	char shown[64];

	for (int i = 0; i < COMMANDS; i++) {
		names[i] = command_entries[i].name;
		if (strcmp(names[i], name) == 0) {
			*command = (enum command)i;
			return 0;
		}
	}
	near = suggest_name(name, names, COMMANDS);
	snprintf(why, size, "there is no command %s%s%s%s", escape_text(name, shown, sizeof(shown)),
	         near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
	return -EINVAL;
}

static int
read_label(const json_t *label, struct control_request *request, char *why, size_t size)
{
	const struct command_entry *command = command_entry(request->command);
	int err;

	if (!label && request->command != COMMAND_LABEL)
		return 0;
	if (!json_is_string(label)) {
		snprintf(why, size, label ? "the label is not a string" : "which label?");
		return -EINVAL;
	}
	if (!command->takes_label) {
		snprintf(why, size, "%s takes no label", command->name);
		return -EINVAL;
	}
	err = request_check_label(json_string_value(label), why, size);
	if (err)
		return err;
	if (request->command == COMMAND_LABEL && !*json_string_value(label)) {
		snprintf(why, size, "the label is empty");
		return -EINVAL;
	}
	snprintf(request->label, sizeof(request->label), "%s", json_string_value(label));
	return 0;
}

static int
read_pid(const json_t *pid, struct control_request *request, char *why, size_t size)
{
	if (!pid)
		return 0;
	if (!command_entry(request->command)->takes_pid) {
		snprintf(why, size, "%s takes no pid", command_entry(request->command)->name);
		return -EINVAL;
	}
	if (!json_is_integer(pid) || json_integer_value(pid) < 1 || json_integer_value(pid) > INT32_MAX) {
		snprintf(why, size, "the pid is not a number from 1 on");
		return -EINVAL;
	}
	request->pid = (uint32_t)json_integer_value(pid);
	return 0;
}

static int
read_request(const json_t *object, struct control_request *request, char *why, size_t size)
{
	const char *name = json_string_value(json_object_get(object, "command"));
	int err;

	if (!name) {
		snprintf(why, size, "the request has no \"command\"");
		return -EINVAL;
	}
	err = find_command(name, &request->command, why, size);
	if (err)
		return err;
	err = read_label(json_object_get(object, "label"), request, why, size);
	if (err)
		return err;
	return read_pid(json_object_get(object, "pid"), request, why, size);
}

int
request_parse(const char *line, size_t length, struct control_request *request, char *why, size_t size)
{
	json_error_t error;
	json_t *object;
	int err;

	memset(request, 0, sizeof(*request));
	if (length > REQUEST_SIZE_MAX) {
		snprintf(why, size, "the request is longer than %d bytes", REQUEST_SIZE_MAX);
		return -EINVAL;
	}
	object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!object) {
		snprintf(why, size, "the request is not a JSON object: %s", error.text);
		return -EINVAL;
	}
	err = read_request(object, request, why, size);
	json_decref(object);
	return err;
}
