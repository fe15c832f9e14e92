/*
 * tar.h - dcpitar: pack a database into an archive, or extract one
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TAR_TAR_H
#define DCPI_TOOLS_TAR_TAR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/common/options.h"

struct tar_request {
	struct options options;
	const char *archive; /* "-" is standard output, or input */
	bool extract;
	const char *target;       /* where to extract to; NULL: called as the archive */
	bool images;              /* read the files of images for what was not captured */
	uint64_t limit_bytes;     /* of what is extracted */
	char *name;               /* of the archive, without folders and .tar.zst; free() */
	char directory[PATH_MAX]; /* a temporary one, to work in */
};

/* Both run in the process that temporary_directory_run() forks. An exit status: 0, or another after a message. */
int tar_pack(const struct tar_request *request);
int tar_extract(const struct tar_request *request);

#endif
