/*
 * exchange.h - one request to dcpid and its reply
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_EXCHANGE_H
#define DCPI_TOOLS_CTL_EXCHANGE_H

#include <jansson.h>
#include <time.h>

#define EXCHANGE_REPLY_MAX (1 << 20) /* bytes */
#define EXCHANGE_SECONDS   60        /* that dcpid may take for most: it answers when the work is done */

/*
 * Send `request` (given away) to the socket at `path` and read the reply, which may take `seconds`. 0 with *reply, an
 * object; -ENOENT or -ECONNREFUSED when no dcpid listens; -ETIMEDOUT; -ECONNRESET when it left without a word; -EPROTO
 * for what is no reply, or has control characters in it, which dcpid escapes and a stranger's socket may not: texts of
 * a reply go to terminals as they are; else -errno.
 */
int exchange(const char *path, json_t *request, time_t seconds, json_t **reply);

#endif
