/*
 * request.h - the requests of tools to dcpid over its control socket, and the path of the socket
 *
 * A request is one line, a JSON object: {"command":"epoch","label":"nightly"}, {"command":"label","label":"run1"}. It
 * comes from outside; the caller has limited its length. Fuzzed by tests/fuzz/request_fuzz.c. Thread rule: stateless.
 */
#ifndef DCPI_CONTROL_REQUEST_H
#define DCPI_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/process_labels.h"
#include "profile/epoch.h"

/* Default paths of the configuration and of the control socket. */
#define CONFIG_FILE   "/etc/dcpi/dcpid.conf"
#define CONFIG_SOCKET "/run/dcpid/control"

#define REQUEST_SIZE_MAX 4096 /* bytes, with the newline */

enum command {
	COMMAND_STATUS,
	COMMAND_FLUSH,
	COMMAND_EPOCH,
	COMMAND_RELOAD,
	COMMAND_QUIT,
	COMMAND_COMPACT,
	COMMAND_LABEL,
	COMMAND_REFRESH,
};
#define COMMANDS 8

/* Properties of a command; collectord/daemon.c has the functions that run commands. */
struct command_entry {
	const char *name;
	bool owner_only; /* only for root and the daemon's user; false: also for members of the daemon's group */
	bool is_limited; /* writes to the disk: group members have an allowance (control_peer_spend()) */
	bool takes_label;
	bool takes_pid;
};
const struct command_entry *command_entry(enum command command);

struct control_request {
	enum command command;
	char label[EPOCH_LABEL_SIZE]; /* of an epoch: "" for none; of a process tree: never "" */
	uint32_t pid; /* of the process to label; 0: the process that sent the request, at its next exec */
};

/* 0; -EINVAL with a sentence in `why` when `line` is no request. */
int request_parse(const char *line, size_t length, struct control_request *request, char *why, size_t size);

_Static_assert(LABEL_SIZE == EPOCH_LABEL_SIZE, "one rule for all labels");

/*
 * Check that `label` is valid for an epoch or a process tree: at most EPOCH_LABEL_SIZE - 1 bytes of printable UTF-8
 * without "/". 0, or -EINVAL.
 */
int request_check_label(const char *label, char *why, size_t size);

#endif
