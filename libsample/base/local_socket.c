#include "base/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct address {
	struct sockaddr_un socket;
	int directory; /* what a long path goes through; -1: none */
};

static int
address_init(struct address *address, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(path);
	char directory[PATH_MAX];
	int used;

	memset(address, 0, sizeof(*address));
	address->directory = -1;
	address->socket.sun_family = AF_UNIX;
	if (!*name)
		return -EINVAL;
	if (length < sizeof(address->socket.sun_path)) {
		memcpy(address->socket.sun_path, path, length + 1);
		return 0;
	}
	used = snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (used < 0 || (size_t)used >= sizeof(directory))
		return -ENAMETOOLONG;
	address->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (address->directory < 0)
		return -errno;
	used = snprintf(address->socket.sun_path, sizeof(address->socket.sun_path), "/proc/self/fd/%d/%s",
	                address->directory, name);
	return used < 0 || (size_t)used >= sizeof(address->socket.sun_path) ? -ENAMETOOLONG : 0;
}

static void
address_fini(struct address *address)
{
	if (address->directory >= 0)
		close(address->directory);
}

/* -EAGAIN when the listener accepts no client within `patience_s`; 0: do not wait. */
static int
connect_to(const struct address *address, int patience_s)
{
	const struct timeval patience = {.tv_sec = patience_s};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (patience_s ? 0 : SOCK_NONBLOCK), 0);
	int err;

	if (fd < 0)
		return -errno;
	if (patience_s && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		goto failed;
	if (TEMP_FAILURE_RETRY(connect(fd, (const struct sockaddr *)&address->socket, sizeof(address->socket))) == 0)
		return fd;
failed:
	err = -errno;
	close(fd);
	return err;
}

int
local_socket_connect(const char *path, int patience_s)
{
	struct address address;
	int fd = address_init(&address, path);

	if (fd == 0)
		fd = connect_to(&address, patience_s);
	address_fini(&address);
	return fd == -EAGAIN ? -ETIMEDOUT : fd;
}

/* Make room at `path` for a socket. */
static int
remove_stale(const struct address *address, const char *path)
{
	struct stat status;
	int fd;

	if (lstat(path, &status))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	fd = connect_to(address, 0);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || fd == -EAGAIN) /* EAGAIN: it listens, and its queue is full */
		return -EADDRINUSE;
	if (fd != -ECONNREFUSED)
		return fd;
	return unlink(path) ? -errno : 0;
}

static int
listen_at(const struct address *address, mode_t mode, int backlog)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	/* nobody can connect before listen(2), so nobody can use the permissions that bind(2) gives */
	if (bind(fd, (const struct sockaddr *)&address->socket, sizeof(address->socket)) == 0 &&
	    chmod(address->socket.sun_path, mode) == 0 && listen(fd, backlog) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int
local_socket_listen(const char *path, mode_t mode, int backlog)
{
	struct address address;
	int fd = address_init(&address, path);

	if (fd == 0)
		fd = remove_stale(&address, path);
	if (fd == 0)
		fd = listen_at(&address, mode, backlog);
	address_fini(&address);
	return fd;
}

pid_t
local_socket_owner(const char *path)
{
	struct ucred credentials = {.pid = 0};
	socklen_t length = sizeof(credentials);
	int fd = local_socket_connect(path, 0);

	if (fd < 0)
		return fd == -ETIMEDOUT ? fd : 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length))
		credentials.pid = 0;
	close(fd);
	return credentials.pid;
}
