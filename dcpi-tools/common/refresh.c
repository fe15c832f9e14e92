#include "dcpi-tools/common/refresh.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "control/request.h"
#include "dcpi-tools/common/control_exchange.h"
#include "profile/profile.h"

#define CONNECT_S 1
#define ANSWER_S  2

/* 0: it has replied, whatever it says; an error of control_exchange(). */
static int
ask(const char *path, pid_t owner)
{
	const struct control_peer peer = {.path = path, .connect_s = CONNECT_S, .answer_s = ANSWER_S, .owner = owner};
	json_t *reply;
	int err = control_exchange(&peer, json_pack("{s:s}", "command", "refresh"), &reply);

	json_decref(reply);
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
	/* a dcpid whose configuration names the socket */
	if (err == -ENOENT || err == -ECONNREFUSED || err == -EACCES)
		err = ask(CONFIG_SOCKET, owner > 0 ? owner : 0);
	is_silent = err == -ETIMEDOUT;
}
