/*
 * tar.h - what dcpitar does: pack a database into an archive, or extract one
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TAR_TAR_H
#define DCPI_TOOLS_TAR_TAR_H

#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/tar/scratch.h"

struct tar_request {
	struct options options;
	const char *archive; /* "-" is standard output, or input */
	bool extract;
	const char *target;         /* where to extract to; NULL: called as the archive */
	bool images;                /* read the files of images for what was not captured */
	uint64_t limit_bytes;       /* of what is extracted */
	char *name;                 /* of the archive, without folders and .tar.zst; free() */
	struct tar_scratch scratch; /* where it is made */
};

/* Both run in the process that scratch_run() forks. An exit status: 0, or another after a message. */
int tar_pack(const struct tar_request *request);
int tar_extract(const struct tar_request *request);

#endif
