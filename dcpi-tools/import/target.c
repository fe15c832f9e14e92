#include "dcpi-tools/import/target.h"

#include <errno.h>
#include <string.h>

#include "dcpi-tools/common/message.h"

#define TRIES      5
#define SIZE_LIMIT (UINT64_C(64) << 30) /* bytes, of a database that is made */

/* -ESTALE: what was opened was replaced meanwhile, by dcpid which compacted it. */
static int
open_again(struct target *target)
{
	const struct profile_options options = {.write = true, .beside = true, .size_limit = SIZE_LIMIT};
	int err = -ESTALE;

	profile_close(target->profile);
	target->profile = NULL;
	for (int i = 0; i < TRIES && err == -ESTALE; i++)
		err = profile_open(target->directory, &options, &target->profile);
	if (err)
		target->profile = NULL;
	return err;
}

int
target_open(struct target *target, const char *directory, const volatile sig_atomic_t *stop)
{
	int err;

	*target = (struct target){.directory = directory, .stop = stop};
	err = open_again(target);
	if (!err)
		return 0;
	return message_cannot(directory, "write the profile database", err,
	                      err == -EACCES || err == -EPERM || err == -EROFS ? "name one of your own with --db DIR"
	                                                                       : NULL);
}

void
target_close(struct target *target)
{
	profile_close(target->profile);
	memset(target, 0, sizeof(*target));
}

struct proceeding {
	const struct target *target;
	struct progress progress;
};

static int
proceed(void *context, uint64_t done, uint64_t all)
{
	struct proceeding *proceeding = context;

	progress_show(&proceeding->progress, done, all);
	return *proceeding->target->stop ? -EINTR : 0;
}

int
target_adopt(struct target *target, struct profile *from, const char *host, const char *what,
             struct database_merge *adoption)
{
	struct proceeding proceeding = {.target = target};
	const struct database_merge_options options = {.host = host, .proceed = proceed, .context = &proceeding};
	int err = target->profile ? 0 : open_again(target);

	progress_begin(&proceeding.progress, what);
	for (int i = 0; i < TRIES && !err; i++) {
		err = profile_merge_database(target->profile, from, &options, adoption);
		if (err != -ESTALE)
			break;
		err = open_again(target);
	}
	progress_end(&proceeding.progress);
	return err;
}
