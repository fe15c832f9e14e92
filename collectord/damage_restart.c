#include "collectord/damage_restart.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/guard.h"
#include "base/text.h"
#include "profile/profile.h"

#define MESSAGE         "DCPID_DAMAGED"
#define MESSAGE_LABEL   "DCPID_LABEL"
#define MESSAGE_END     "DCPID_END"
#define MESSAGE_LEAVING "DCPID_LEAVING"
#define DIGITS          21 /* of a number, its sign included */

int
damage_restart_set_aside(const char *directory, const struct profile *profile, const struct log *log)
{
	char name[QUARANTINE_NAME_SIZE], shown[PATH_MAX];
	int err = profile ? profile_quarantine(profile, name) : profile_quarantine_at(directory, name);

	if (err == -ENOENT && !profile)
		return 0; /* it was removed meanwhile: a new one can be made */
	escape_text(directory, shown, sizeof(shown));
	if (!err)
		log_write(log, LOG_LEVEL_ERROR,
		          "%s: the database is damaged: it was put aside as %s/%s, and a new one is begun; 'dcpictl "
		          "--db %s/%s salvage --to NEWDIR' saves what is whole of it",
		          shown, shown, name, shown, name);
	else if (err == -EAGAIN)
		log_write(log, LOG_LEVEL_ERROR,
		          "%s: the database is damaged again, within a minute: the disk or the memory of this machine "
		          "may be failing",
		          shown);
	else
		log_write(log, LOG_LEVEL_ERROR, "%s: the database is damaged, and cannot be put aside: %s", shown,
		          error_text(err));
	return err;
}

/* A number of the message; 0: it is not there, or not a number. */
static uint64_t
take_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

int
damage_restart_read_message(struct damage_restart_message *message)
{
	const char *damaged = getenv(MESSAGE), *label = getenv(MESSAGE_LABEL), *status = getenv(MESSAGE_LEAVING);
	sigset_t none;

	*message = (struct damage_restart_message){0};
	if (damaged) {
		message->damaged = strdup(damaged);
		if (!message->damaged)
			return -ENOMEM;
		snprintf(message->label, sizeof(message->label), "%s", label ? label : "");
		message->end_ns = take_number(MESSAGE_END);
		message->was_leaving = status && *status;
		message->status = (int)take_number(MESSAGE_LEAVING);
		/* the thread of the fault may have blocked what the event loop waits for */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	unsetenv(MESSAGE);
	unsetenv(MESSAGE_LABEL);
	unsetenv(MESSAGE_END);
	unsetenv(MESSAGE_LEAVING);
	return 0;
}

/* All is allocated now: in a fault, and when dcpid is about to end, nothing can be allocated. */
static bool
make_variables(struct damage_restart *restart, const char *directory)
{
	if (asprintf(&restart->directory, MESSAGE "=%s", directory) < 0)
		restart->directory = NULL; /* which is undefined then */
	restart->end = calloc(1, sizeof(MESSAGE_END "=") + DIGITS);
	restart->leaving = calloc(1, sizeof(MESSAGE_LEAVING "=") + DIGITS);
	for (size_t i = 0; i < 2; i++)
		restart->labels[i] = calloc(1, sizeof(MESSAGE_LABEL "=") + EPOCH_LABEL_SIZE);
	return restart->directory && restart->end && restart->leaving && restart->labels[0] && restart->labels[1];
}

int
damage_restart_prepare(struct damage_restart *restart, const char *directory, char *const *arguments)
{
	size_t count = 0;

	while (environ[count])
		count++;
	memset(restart, 0, sizeof(*restart));
	restart->first = count;
	restart->environment = calloc(count + 5, sizeof(*restart->environment));
	if (!restart->environment || !make_variables(restart, directory))
		return -ENOMEM;
	memcpy(restart->environment, environ, count * sizeof(*environ));
	restart->environment[count] = restart->directory;
	restart->environment[count + 1] = restart->end;
	restart->environment[count + 2] = restart->leaving;
	damage_restart_set_end(restart, 0);
	damage_restart_set_label(restart, "");
	guard_begin_anew_with(arguments, restart->environment);
	return 0;
}

/* One pointer changes: a fault meanwhile finds the old label or the new one. */
void
damage_restart_set_label(struct damage_restart *restart, const char *label)
{
	char *next = restart->labels[1];

	snprintf(next, sizeof(MESSAGE_LABEL "=") + EPOCH_LABEL_SIZE, MESSAGE_LABEL "=%s", label);
	restart->labels[1] = restart->labels[0];
	restart->labels[0] = next;
	__atomic_store_n(&restart->environment[restart->first + 3], next, __ATOMIC_RELEASE);
}

void
damage_restart_set_end(struct damage_restart *restart, uint64_t end_ns)
{
	snprintf(restart->end, sizeof(MESSAGE_END "=") + DIGITS, MESSAGE_END "=%" PRIu64, end_ns);
}

void
damage_restart_set_exit(struct damage_restart *restart, int status)
{
	snprintf(restart->leaving, sizeof(MESSAGE_LEAVING "=") + DIGITS, MESSAGE_LEAVING "=%d", status);
}

void
damage_restart_fini(struct damage_restart *restart)
{
	guard_begin_anew_with(NULL, NULL);
	free(restart->directory);
	free(restart->end);
	free(restart->leaving);
	free(restart->labels[0]);
	free(restart->labels[1]);
	free(restart->environment);
}
