/*
 * local_socket.h - Unix stream sockets by path, even a path that is too long for a socket address
 *
 * A socket address holds 107 bytes of path. A longer one is reached through its directory: /proc/self/fd/N/name.
 * Descriptors are close-on-exec. Thread rule: stateless.
 */
#ifndef DCPI_BASE_LOCAL_SOCKET_H
#define DCPI_BASE_LOCAL_SOCKET_H

#include <sys/types.h>

/*
 * A connected socket that the caller owns; -ENOENT or -ECONNREFUSED when no process listens there; -ETIMEDOUT when the
 * listener accepts no client within `patience_s` seconds; else -errno. Each send has this time limit, too.
 */
int local_socket_connect(const char *path, int patience_s);

/*
 * A listening, non-blocking socket at `path`, made with permissions `mode`. A socket there that no process listens to
 * is replaced. -EADDRINUSE when a process listens to it, -EEXIST when `path` is no socket, else -errno.
 */
int local_socket_listen(const char *path, mode_t mode, int backlog);

/* The process that listens at `path`; 0 when there is none; -ETIMEDOUT when a process listens but its queue is full. */
pid_t local_socket_owner(const char *path);

#endif
