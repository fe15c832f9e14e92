#include "dcpi-tools/common/database.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/control_exchange.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "profile/profile.h"

#define CONNECT_S 1
#define ANSWER_S  2

static const char *
open_hint(int err)
{
	switch (-err) {
	case EACCES:
	case EPERM:
		return "are you in group dcpi?";
	case ENOENT:
	case DCPI_ENODATABASE:
		return "start the daemon with 'systemctl start dcpid', or name a database with --db DIR";
	case ENOTDIR:
		return "an archive? 'dcpitar -x' extracts the database in it";
	case DCPI_EDAMAGED:
		return DATABASE_DAMAGE_ADVICE;
	case DCPI_EREADERS:
		return "try again in a moment";
	default:
		return NULL;
	}
}

struct guard
database_guard(const char *shown)
{
	return (struct guard){
		.subject = shown,
		.claim = "the database is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
}

/* 0: it has replied, whatever it says; an error of control_exchange(). */
static int
ask_to_refresh(const char *path, pid_t owner)
{
	const struct control_peer peer = {.path = path, .connect_s = CONNECT_S, .answer_s = ANSWER_S, .owner = owner};
	json_t *reply;
	int err = control_exchange(&peer, json_pack("{s:s}", "command", "refresh"), &reply);

	json_decref(reply);
	return err;
}

/*
 * Have the dcpid that writes to the database write what it has in memory, at its control socket there or at the
 * service's: dcpid flushes once a minute while it meets nothing new. After one that did not answer within three
 * seconds, the process asks nobody again. Without a dcpid, without the right to ask, or when it cannot write, the
 * database is read as it is: `dcpictl status` says what is wrong.
 */
static void
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
	err = ask_to_refresh(path, owner > 0 ? owner : 0);
	/* a dcpid whose configuration names the socket */
	if (err == -ENOENT || err == -ECONNREFUSED || err == -EACCES)
		err = ask_to_refresh(CONFIG_SOCKET, owner > 0 ? owner : 0);
	is_silent = err == -ETIMEDOUT;
}

int
database_open(struct database *database, const char *directory)
{
	struct profile_options options = {.write = false};
	int err;

	memset(database, 0, sizeof(*database));
	database->directory = directory;
	database->shown = text_shown(directory);
	if (!database->shown)
		return message_cannot(directory, "open the profile database", -ENOMEM, NULL);
	database->guard = database_guard(database->shown);
	refresh_database(directory);
	guard_enter(&database->guard);
	err = profile_open(directory, &options, &database->profile);
	if (!err)
		return 0;
	database->profile = NULL;
	database_close(database);
	return message_cannot(directory, "open the profile database", err, open_hint(err));
}

/* A process that is stopped (^Z) inside a read transaction keeps the database from reusing pages. */
static void
block_stops(sigset_t *before)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stops, before);
}

int
database_read(struct profile *profile, const struct selection_request *request, struct selection **selection, char *why,
              size_t size)
{
	sigset_t before;
	int err;

	block_stops(&before);
	err = selection_read(profile, request, selection, why, size);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int
database_snapshot(struct database *database, int fd)
{
	sigset_t before;
	int err;

	block_stops(&before);
	err = profile_snapshot(database->profile, fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int
database_read_each(struct profile *profile, const struct selection_request *const *requests, size_t count,
                   struct selection **selections)
{
	sigset_t before;
	int err;

	block_stops(&before);
	err = selection_read_each(profile, requests, count, selections);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int
database_cannot_read(const struct database *database, int err)
{
	return message_cannot(database->directory, "read the profile database", err, open_hint(err));
}

int
database_cannot_select(const struct database *database, int err, const char *why)
{
	if (!why[0])
		return database_cannot_read(database, err);
	message_print(database->directory, "%s", why);
	return err == -EINVAL ? STATUS_USAGE : error_exit_status(err);
}

int
database_select(struct database *database, const struct selection_request *request, struct selection **selection)
{
	char why[512] = "";
	int err;

	*selection = NULL;
	if (request->since_ns && request->until_ns && request->since_ns >= request->until_ns) {
		message_print(NULL, "--since is not before --until");
		return STATUS_USAGE;
	}
	err = database_read(database->profile, request, selection, why, sizeof(why));
	return err ? database_cannot_select(database, err, why) : STATUS_OK;
}

void
database_close(struct database *database)
{
	profile_close(database->profile);
	guard_leave(&database->guard);
	free(database->shown);
	memset(database, 0, sizeof(*database));
}

int
database_cannot_write(const char *directory, int err)
{
	return message_cannot(directory, "write the profile database", err,
	                      err == -EACCES || err == -EPERM || err == -EROFS
	                              ? "name one of your own with --db DIR; dcpiprof reads it as well"
	                              : NULL);
}
