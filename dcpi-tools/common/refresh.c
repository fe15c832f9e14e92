#include "dcpi-tools/common/refresh.h"

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

#define PATIENCE_S 2

/* True when a dcpid has answered, whatever it says. */
static bool
ask(const char *path)
{
	static const char request[] = "{\"command\":\"refresh\"}\n";
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	const int fd = local_socket_connect(path, PATIENCE_S);
	bool is_answered;
	char first;

	if (fd < 0)
		return false;
	/* the answer comes when all is written: its first byte is enough */
	is_answered = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	              send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request) &&
	              recv(fd, &first, sizeof(first), 0) == sizeof(first);
	close(fd);
	return is_answered;
}

void
refresh_database(const char *directory)
{
	char path[PATH_MAX];

	if (profile_owner(directory) <= 0)
		return;
	snprintf(path, sizeof(path), "%s/control", directory);
	if (!ask(path))
		(void)ask(CONFIG_SOCKET); /* of the service, or of a dcpid whose configuration names the database */
}
