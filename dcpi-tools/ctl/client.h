/*
 * client.h - a command of dcpictl that a running dcpid executes
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_CLIENT_H
#define DCPI_TOOLS_CTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "dcpi-tools/ctl/commands.h"

#define CLIENT_SECONDS         60 /* that dcpid may take for most: it answers when the work is done */
#define CLIENT_COMPACT_SECONDS 3600

/*
 * Send the command, to the socket that was named, else to the service's or to that in the database's directory; `path`
 * becomes that socket. 0 with *reply, the caller's, or an error of control_exchange().
 */
int client_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply);

/* Print why there was no answer, and what to do. The exit status. */
int client_print_no_answer(const struct ctl_request *request, const char *path, int err);

#endif
