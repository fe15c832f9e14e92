#include "collectord/healing.h"

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

#define MESSAGE         "DCPID_DAMAGED"
#define MESSAGE_LABEL   "DCPID_LABEL"
#define MESSAGE_END     "DCPID_END"
#define MESSAGE_LEAVING "DCPID_LEAVING"
#define DIGITS          21 /* of a number, its sign included */

int
healing_set_aside(const char *directory, const struct profile *profile, const struct log *log)
{
	char name[QUARANTINE_NAME_SIZE], shown[PATH_MAX];
	int err = profile ? profile_quarantine(profile, name) : profile_quarantine_at(directory, name);

	if (err == -ENOENT && !profile)
		return 0; /* somebody removed it: then there is room */
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

/* A number of the message; 0 for what is none. */
static uint64_t
take_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

int
healing_take_message(struct healing_message *message)
{
	const char *damaged = getenv(MESSAGE), *label = getenv(MESSAGE_LABEL), *status = getenv(MESSAGE_LEAVING);
	sigset_t none;

	*message = (struct healing_message){0};
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

/* All that is ever said is allocated now: there is nothing to be allocated in a fault, nor when all is about to end. */
static bool
make_messages(struct healing *healing, const char *directory)
{
	if (asprintf(&healing->directory, MESSAGE "=%s", directory) < 0)
		healing->directory = NULL; /* which is undefined then */
	healing->end = calloc(1, sizeof(MESSAGE_END "=") + DIGITS);
	healing->leaving = calloc(1, sizeof(MESSAGE_LEAVING "=") + DIGITS);
	for (size_t i = 0; i < 2; i++)
		healing->labels[i] = calloc(1, sizeof(MESSAGE_LABEL "=") + EPOCH_LABEL_SIZE);
	return healing->directory && healing->end && healing->leaving && healing->labels[0] && healing->labels[1];
}

int
healing_prepare(struct healing *healing, const char *directory, char *const *arguments)
{
	size_t count = 0;

	while (environ[count])
		count++;
	memset(healing, 0, sizeof(*healing));
	healing->first = count;
	healing->environment = calloc(count + 5, sizeof(*healing->environment));
	if (!healing->environment || !make_messages(healing, directory))
		return -ENOMEM;
	memcpy(healing->environment, environ, count * sizeof(*environ));
	healing->environment[count] = healing->directory;
	healing->environment[count + 1] = healing->end;
	healing->environment[count + 2] = healing->leaving;
	healing_keep_end(healing, 0);
	healing_keep_label(healing, "");
	guard_begin_anew_with(arguments, healing->environment);
	return 0;
}

/* One pointer changes: whatever faults meanwhile has the old label or the new one. */
void
healing_keep_label(struct healing *healing, const char *label)
{
	char *next = healing->labels[1];

	snprintf(next, sizeof(MESSAGE_LABEL "=") + EPOCH_LABEL_SIZE, MESSAGE_LABEL "=%s", label);
	healing->labels[1] = healing->labels[0];
	healing->labels[0] = next;
	__atomic_store_n(&healing->environment[healing->first + 3], next, __ATOMIC_RELEASE);
}

void
healing_keep_end(struct healing *healing, uint64_t end_ns)
{
	snprintf(healing->end, sizeof(MESSAGE_END "=") + DIGITS, MESSAGE_END "=%" PRIu64, end_ns);
}

void
healing_end(struct healing *healing, int status)
{
	snprintf(healing->leaving, sizeof(MESSAGE_LEAVING "=") + DIGITS, MESSAGE_LEAVING "=%d", status);
}

void
healing_fini(struct healing *healing)
{
	guard_begin_anew_with(NULL, NULL);
	free(healing->directory);
	free(healing->end);
	free(healing->leaving);
	free(healing->labels[0]);
	free(healing->labels[1]);
	free(healing->environment);
}
