/*
 * remote.h - replies of dcpid to commands that it executes
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_REMOTE_H
#define DCPI_TOOLS_CTL_REMOTE_H

#include <jansson.h>

#include "dcpi-tools/ctl/commands.h"

/* Print the reply to request->command; `path` is the socket, for messages. The exit status. */
int remote_print_reply(const struct ctl_request *request, const char *path, json_t *reply);

#endif
