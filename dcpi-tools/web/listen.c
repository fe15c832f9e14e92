#include "dcpi-tools/web/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local_socket.h"

#define BACKLOG     64
#define SOCKET_MODE 0660 /* of a Unix socket: the group may connect */
#define FDS_MAX     8
#define HOST_SIZE   64

/* The address of "127.0.0.1:8680" or "[::1]:8680", which the caller frees; NULL: it is none. */
static struct addrinfo *
parse_address(const char *place)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                               .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	const char *colon = strrchr(place, ':');
	const bool is_bracketed = place[0] == '[';
	struct addrinfo *found = NULL;
	char host[HOST_SIZE];
	size_t length;

	if (!colon || colon == place || !colon[1] || (is_bracketed && colon[-1] != ']'))
		return NULL;
	length = (size_t)(colon - place) - (is_bracketed ? 2 : 0);
	if (length >= sizeof(host) || (!is_bracketed && memchr(place, ':', length)))
		return NULL;
	memcpy(host, place + is_bracketed, length);
	host[length] = '\0';
	return getaddrinfo(host, colon + 1, &hints, &found) == 0 ? found : NULL;
}

/* A socket that listens at the address: a descriptor or -errno. */
static int
bind_address(const struct addrinfo *address)
{
	const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int
open_address(const char *place, char url[LISTEN_URL_SIZE])
{
	struct addrinfo *address = parse_address(place);
	char port[NI_MAXSERV] = "?";
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	int fd;

	if (!address)
		return -EINVAL;
	fd = bind_address(address);
	freeaddrinfo(address);
	if (fd < 0)
		return fd;
	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
	snprintf(url, LISTEN_URL_SIZE, "http://%.*s:%s/", (int)(strrchr(place, ':') - place), place, port);
	return fd;
}

int
listen_open(const char *place, char url[LISTEN_URL_SIZE])
{
	const size_t prefix = strlen(LISTEN_UNIX);

	if (strncmp(place, LISTEN_UNIX, prefix) != 0)
		return open_address(place, url);
	if (!place[prefix])
		return -EINVAL;
	snprintf(url, LISTEN_URL_SIZE, "%s", place);
	return local_socket_listen(place + prefix, SOCKET_MODE, BACKLOG);
}

int
listen_inherited(void)
{
	const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int fds = 0;

	if (process && count && strtol(process, NULL, 10) == getpid())
		fds = (int)strtol(count, NULL, 10);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (fds < 0)
		return 0;
	return fds < FDS_MAX ? fds : FDS_MAX;
}

int
listen_adopt(int fd)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0)
		return -errno;
	if (!listens)
		return -EINVAL;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}
