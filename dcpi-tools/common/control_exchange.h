/*
 * control_exchange.h - one request to a dcpid over its control socket, and the reply
 *
 * A request is a line of JSON, and so is the reply (control/request.h). Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_CONTROL_EXCHANGE_H
#define DCPI_TOOLS_CONTROL_EXCHANGE_H

#include <jansson.h>
#include <sys/types.h>

/* Where a dcpid listens, and how long to wait for it. */
struct control_peer {
	const char *path;
	int connect_s; /* seconds while its queue of clients is full, and then to take the request */
	int answer_s;  /* seconds until the whole reply is there: dcpid replies when the work is done */
	pid_t owner;   /* the process that must listen there; 0: any */
};

/*
 * Send `request`, which is freed (NULL: -ENOMEM), and read the reply. 0 with *reply, an object; -ENOENT or
 * -ECONNREFUSED when no dcpid listens, -ENOENT also when another process than `owner` does; -ETIMEDOUT; -ECONNRESET
 * when it closed without a reply; -EPROTO when the reply is invalid or has control characters: dcpid escapes these,
 * another process's socket may not, and texts of a reply are printed on terminals unchanged; else -errno.
 */
int control_exchange(const struct control_peer *peer, json_t *request, json_t **reply);

#endif
