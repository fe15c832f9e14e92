/*
 * images.h - names and text of the images of a database, for a machine that does not have their files
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TAR_IMAGES_H
#define DCPI_TOOLS_TAR_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct tar_images {
	uint64_t end_ns; /* of what was sampled, since 1970 */
	size_t epochs;
	size_t images;  /* with samples, that names may be had for */
	size_t named;   /* of these, now */
	size_t texts;   /* and whose sampled text is there */
	size_t taken;   /* from files, by this */
	uint64_t bytes; /* of data.mdb in the end */
};

/*
 * Count them; with `read_files`, first take from the files that are still there what is missing from the database,
 * which must be open for writing. 0, or an error of the database.
 */
int tar_images_take(struct profile *profile, bool read_files, struct tar_images *images);

#endif
