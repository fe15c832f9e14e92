/*
 * unnamed.h - images of the kernel whose functions the database does not name yet
 *
 * Thread rule: the flusher's thread.
 */
#ifndef DCPI_COLLECTORD_UNNAMED_H
#define DCPI_COLLECTORD_UNNAMED_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/kernel_names.h"
#include "process/image_table.h"
#include "process/kallsyms.h"
#include "profile/profile.h"

struct unnamed {
	struct kernel_names_image *images; /* whose names could not be stored so far */
	size_t count;
	struct kallsyms_copy *symbols; /* as they were read at the start, for the first time; NULL: to be read */
};

/*
 * Name the functions of the kernel and its modules when the image first comes to the database, or as soon as can be:
 * those that still wait, and of the `count` images that were just written, numbered from `first`, those that need it.
 */
void unnamed_store(struct unnamed *unnamed, struct profile *profile, const struct image *const *images, uint32_t first,
                   uint32_t count, const struct log *log);

/* Forget who waits: the database is another. Frees the symbols. */
void unnamed_fini(struct unnamed *unnamed);

#endif
