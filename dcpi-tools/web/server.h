/*
 * server.h - the HTTP server: requests that are allowed become views, everything else a sentence
 *
 * It reads and never writes. Only GET and HEAD; a Host header that names this machine (a page of another site whose
 * name was made to lead here is refused); headers and queries that are bounded; a bounded number of connections, each
 * of which is closed when nothing moves for some time. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_WEB_SERVER_H
#define DCPI_TOOLS_WEB_SERVER_H

#include <stddef.h>

#include <event2/event.h>

#include "dcpi-tools/web/reports.h"

struct server;

struct server_options {
	struct event_base *base;
	struct reports *reports;
	const char *directory;    /* of the database, as tools get it; NULL: their default */
	const char *const *hosts; /* names that a Host header may have besides localhost and addresses */
	size_t host_count;
};

/* NULL and errno. Options are borrowed. */
struct server *server_new(const struct server_options *options);
void server_free(struct server *server); /* NULL is allowed */

/* Serve the clients of a socket that listens, which is the server's then: 0 or -errno. */
int server_accept(struct server *server, int listening);

#endif
