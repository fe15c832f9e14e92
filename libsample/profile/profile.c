#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/handle.h"

static uint64_t
round_to_pages(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes > UINT64_MAX - page ? bytes / page * page : (bytes + page - 1) / page * page;
}

static uint64_t
size_limit_of(uint64_t asked)
{
	return round_to_pages(asked ? asked : PROFILE_SIZE_DEFAULT);
}

static int
open_files(const char *directory, struct profile *profile)
{
	int err;

	profile->directory = directory_open(directory, profile->store.write);
	if (profile->directory < 0)
		return profile->directory;
	profile->store.directory = profile->directory;
	if (profile->store.write && !profile->store.beside) {
		profile->lock = writer_lock(profile->directory);
		if (profile->lock < 0)
			return profile->lock;
		directory_remove_copy(profile->directory);
	}
	err = store_open(&profile->store);
	return err || !profile->store.write ? err : place_note(&profile->place, profile->directory);
}

int
profile_open(const char *directory, const struct profile_options *options, struct profile **profile)
{
	struct profile *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->directory = -1;
	new->lock = -1;
	new->copying.fd = -1;
	pthread_mutex_init(&new->copying.lock, NULL);
	new->place = (struct place)PLACE_INIT;
	new->store.write = options->write;
	new->store.beside = options->write && options->beside;
	new->size_limit = size_limit_of(options->size_limit);
	new->store.size_limit = new->size_limit;
	new->store.log = options->log;
	new->path = strdup(directory);
	err = new->path ? open_files(directory, new) : -ENOMEM;
	/* What is not there is no database, whichever part of it is missing. */
	if (err == -ENOENT && !options->write)
		err = -DCPI_ENODATABASE;
	if (err) {
		profile_close(new);
		return err;
	}
	*profile = new;
	return 0;
}

void
profile_close(struct profile *profile)
{
	if (!profile)
		return;
	if (profile->store.env)
		store_close(&profile->store);
	if (profile->lock >= 0)
		writer_unlock(profile->lock);
	if (profile->directory >= 0)
		close(profile->directory);
	numbers_fini(&profile->images);
	numbers_fini(&profile->contexts);
	sweep_fini(&profile->sweep);
	place_fini(&profile->place);
	pthread_mutex_destroy(&profile->copying.lock);
	free(profile->path);
	free(profile);
}

void
profile_renew_session(struct profile *profile)
{
	sweep_end_session(&profile->sweep, &profile->images, &profile->contexts);
	numbers_forget(&profile->images);
	numbers_forget(&profile->contexts);
}

int
profile_set_size_limit(struct profile *profile, uint64_t size_limit)
{
	int err;

	if (!profile->store.write)
		return -EINVAL;
	err = store_limit_size(&profile->store, size_limit_of(size_limit));
	if (!err)
		profile->size_limit = size_limit_of(size_limit);
	return err;
}

const char *
profile_path(const struct profile *profile)
{
	return profile->path;
}

int
profile_owner(const char *directory)
{
	int fd = directory_open(directory, false), owner;

	if (fd < 0)
		return fd;
	owner = writer_lock_owner(fd);
	close(fd);
	return owner;
}
