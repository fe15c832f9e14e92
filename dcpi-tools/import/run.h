/*
 * run.h - dcpimport: import each file of the command line into the database, and report on all
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_RUN_H
#define DCPI_TOOLS_IMPORT_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "dcpi-tools/common/options.h"

struct import_request {
	struct options options;
	const char *label; /* NULL: the file's name */
	const char *host;  /* NULL: the name in the recording */
	bool sums;
	char **files;
	size_t file_count;
};

int import_run(const struct import_request *request); /* an exit status */

#endif
