#include "dcpi-tools/common/refresh.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/local_socket.h"
#include "control/request.h"
#include "profile/profile.h"

#define CONNECT_S 1
#define ANSWER_S  2

/* Is it the process `owner` that listens? 0: the owner is not known. */
static bool
is_of_owner(int fd, int owner)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return owner == 0 || (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == owner);
}

/* 0: it has answered, whatever it says; -ENOENT: it is not the owner's; an error of local_socket_connect(); -errno. */
static int
ask(const char *path, int owner)
{
	static const char request[] = "{\"command\":\"refresh\"}\n";
	const struct timeval patience = {.tv_sec = ANSWER_S};
	const int fd = local_socket_connect(path, CONNECT_S);
	int err = 0;
	char first;

	if (fd < 0)
		return fd;
	/* the answer comes when all is written: its first byte is enough */
	if (!is_of_owner(fd, owner))
		err = -ENOENT;
	else if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	         send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 || recv(fd, &first, sizeof(first), 0) < 0)
		err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return err;
}

void
refresh_database(const char *directory)
{
	static bool is_silent;
	const int owner = is_silent ? 0 : profile_owner(directory);
	const bool is_hidden = owner == -EACCES; /* its lock is not for the group */
	/* the service makes a database that was deleted anew when it flushes */
	const bool is_service = !is_silent && strcmp(directory, PROFILE_DIRECTORY) == 0;
	char path[PATH_MAX];
	int err;

	if (owner <= 0 && !is_hidden && !is_service)
		return;
	snprintf(path, sizeof(path), "%s/control", directory);
	err = ask(path, owner > 0 ? owner : 0);
	if (err && err != -ETIMEDOUT) /* a dcpid whose configuration names the socket */
		err = ask(CONFIG_SOCKET, owner > 0 ? owner : 0);
	is_silent = err == -ETIMEDOUT;
}
