/*
 * listen.h - the sockets that a server listens on: an address and a port, a Unix socket, or what systemd opened
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_WEB_LISTEN_H
#define DCPI_TOOLS_WEB_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_DEFAULT  "127.0.0.1:8680"
#define LISTEN_UNIX     "unix:" /* and a path */
#define LISTEN_URL_SIZE 256

/*
 * Listen at `place`: "127.0.0.1:8680", "[::1]:8680", "unix:/run/dcpiweb.sock"; port 0 is any that is free. A descriptor
 * (non-blocking, close-on-exec) that the caller owns, with a URL of it in `url`; -EINVAL when `place` is no such text;
 * else -errno.
 */
int listen_open(const char *place, char url[LISTEN_URL_SIZE]);

/* How many sockets systemd opened for this process (sd_listen_fds(3)): from descriptor LISTEN_FIRST on. */
#define LISTEN_FIRST 3
int listen_inherited(void);

/* Prepare an inherited socket: non-blocking, close-on-exec. 0 or -errno (-ENOTSOCK). */
int listen_adopt(int fd);

#endif
