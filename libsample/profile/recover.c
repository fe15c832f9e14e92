/* profile_recover(): see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/handle.h"

/* The writer's lock of the database at the path, when the one that is held was deleted or lies elsewhere by now. */
static int
retake_lock(struct profile *profile, int directory)
{
	int lock;

	if (place_is_called(profile->lock, directory, WRITER_LOCK))
		return 0;
	lock = writer_lock(directory);
	if (lock < 0)
		return lock;
	if (profile->lock >= 0)
		close(profile->lock); /* nobody looks for it any more */
	profile->lock = lock;
	return 0;
}

/* What a transaction that failed wrote may be there after all: then it must not be written again. */
static void
settle_doubt(struct profile *profile)
{
	MDB_envinfo info;

	if (profile->doubt.transaction && mdb_env_info(profile->store.env, &info) == 0)
		profile->doubt.is_written = info.me_last_txnid >= profile->doubt.transaction;
	profile->doubt.transaction = 0;
}

static void
forget_numbers(struct profile *profile)
{
	numbers_fini(&profile->images);
	numbers_fini(&profile->contexts);
	sweep_fini(&profile->sweep);
	profile->sweep = (struct sweep){0};
	profile->doubt = (struct doubt){0};
}

/* Give up what is open, and open what lies in `directory`, which becomes the profile's. */
static int
open_anew(struct profile *profile, int directory)
{
	const bool is_same = place_has_data(&profile->place, directory);
	int err;

	if (profile->store.env)
		store_close(&profile->store);
	close(profile->directory);
	profile->directory = directory;
	profile->store.directory = directory;
	profile->store.size_limit = profile->size_limit;
	err = store_open(&profile->store);
	if (err)
		return err;
	err = place_note(&profile->place, directory);
	if (err) {
		store_close(&profile->store);
		return err;
	}
	if (is_same)
		settle_doubt(profile);
	else
		forget_numbers(profile);
	return is_same ? 0 : 1;
}

/* Without a descriptor to spare, this can still be told. */
static bool
is_in_place(const struct profile *profile)
{
	return profile->store.env && place_is_called(profile->directory, AT_FDCWD, profile->path) &&
	       place_is_called(profile->lock, profile->directory, WRITER_LOCK) &&
	       place_has_data(&profile->place, profile->directory) &&
	       place_has_lock(&profile->place, profile->directory);
}

/* What became of a directory that cannot be opened nor made. */
static int
explain_missing(const struct profile *profile, int err)
{
	struct stat stat;

	return lstat(profile->path, &stat) < 0 && errno == ENOENT ? -DCPI_EGONE : err;
}

int
profile_recover(struct profile *profile, bool anew)
{
	int directory, err;

	if (!profile->store.write)
		return -EINVAL;
	if (!anew && is_in_place(profile))
		return 0;
	directory = directory_open(profile->path, true);
	if (directory < 0)
		return explain_missing(profile, directory);
	err = retake_lock(profile, directory);
	if (err) {
		close(directory);
		return err;
	}
	if (!anew && profile->store.env && place_has_data(&profile->place, directory) &&
	    place_has_lock(&profile->place, directory)) {
		close(directory);
		return 0;
	}
	return open_anew(profile, directory);
}
