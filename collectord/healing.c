#include "collectord/healing.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/guard.h"

#define MESSAGE "DCPID_DAMAGED"

int
healing_set_aside(const char *directory, const struct profile *profile, const struct log *log)
{
	char name[ASIDE_NAME_SIZE], shown[PATH_MAX];
	int err = profile ? profile_set_aside(profile, name) : profile_set_aside_at(directory, name);

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

char *
healing_take_message(void)
{
	const char *message = getenv(MESSAGE);
	char *directory = message ? strdup(message) : NULL;
	sigset_t none;

	unsetenv(MESSAGE);
	if (directory) { /* the thread of the fault may have blocked what the event loop waits for */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	return directory;
}

int
healing_prepare(struct healing *healing, const char *directory, char *const *arguments)
{
	size_t count = 0;

	while (environ[count])
		count++;
	memset(healing, 0, sizeof(*healing));
	healing->environment = calloc(count + 2, sizeof(*healing->environment));
	if (!healing->environment)
		return -ENOMEM;
	if (asprintf(&healing->message, MESSAGE "=%s", directory) < 0) {
		healing->message = NULL; /* which is undefined then */
		return -ENOMEM;
	}
	memcpy(healing->environment, environ, count * sizeof(*environ));
	healing->environment[count] = healing->message;
	guard_begin_anew_with(arguments, healing->environment);
	return 0;
}

void
healing_end(void)
{
	guard_begin_anew_with(NULL, NULL);
}

void
healing_fini(struct healing *healing)
{
	healing_end();
	free(healing->message);
	free(healing->environment);
}
