/*
 * client.h - one request to dcpid over its socket, and its reply
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_CLIENT_H
#define DCPI_TOOLS_CTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>
#include <time.h>

#include "dcpi-tools/ctl/commands.h"

#define CLIENT_REPLY_MAX       (1 << 20) /* bytes */
#define CLIENT_SECONDS         60        /* that dcpid may take for most: it answers when the work is done */
#define CLIENT_COMPACT_SECONDS 3600

/*
 * Send `request` (given away) to the socket at `path` and read the reply, which may take `seconds`. 0 with *reply, an
 * object; -ENOENT or -ECONNREFUSED when no dcpid listens; -ETIMEDOUT; -ECONNRESET when it closed without a reply;
 * -EPROTO for what is no reply, or has control characters in it, which dcpid escapes and a stranger's socket may not:
 * texts of a reply go to terminals as they are; else -errno.
 */
int client_exchange(const char *path, json_t *request, time_t seconds, json_t **reply);

/*
 * Send the command, to the socket that was named, else to the service's or to that in the database's directory; `path`
 * becomes that socket. 0 with *reply, the caller's, or an error of client_exchange().
 */
int client_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply);

/* Print why there was no answer, and what to do. The exit status. */
int client_print_no_answer(const struct ctl_request *request, const char *path, int err);

#endif
