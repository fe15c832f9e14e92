/*
 * place.h - are the files that a writer has open still those at its path? (private to profile/)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_PLACE_H
#define DCPI_PROFILE_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

/* What was opened. The descriptor keeps the number of a deleted file from being given to the next one. */
struct place {
	int data; /* -1: nothing was opened yet */
	dev_t device;
	ino_t data_number;
	ino_t lock_number; /* of LMDB's lock file */
};

#define PLACE_INIT                                                                                                     \
	{                                                                                                              \
		.data = -1                                                                                             \
	}

/* Note what lies in `directory`, which has just been opened. 0 or -errno, the old note being kept. */
int place_note(struct place *place, int directory);
void place_fini(struct place *place);

/* Is the data in `directory` what was noted? */
bool place_has_data(const struct place *place, int directory);

/* Do its readers use the lock file that was noted? */
bool place_has_lock(const struct place *place, int directory);

/* Is `descriptor` still what `directory` (or AT_FDCWD) calls `name`? Symbolic links are not followed. */
bool place_is_called(int descriptor, int directory, const char *name);

#endif
