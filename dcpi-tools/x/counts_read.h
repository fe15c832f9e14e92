/*
 * counts_read.h - add up the files of the counts plugin (emulator/counts/counts_file.h)
 *
 * Files are not trusted: a file that contradicts itself is refused.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_X_COUNTS_READ_H
#define DCPI_TOOLS_X_COUNTS_READ_H

#include "dcpi-tools/emulated/counted.h"

struct counts_summary {
	uint64_t processes;  /* that were begun */
	uint64_t programs;   /* that ran in them */
	uint64_t unfollowed; /* programs executed without the emulator */
	uint64_t uncounted;  /* blocks entered that nothing is known of */
	uint64_t running;    /* processes that had not ended */
	uint64_t damaged;    /* files that were not what they should be */
};

/* All files in the directory. 0, -ENOMEM, or -errno of the directory. `label` is that of all contexts. */
int counts_read(const char *directory, const char *label, struct counted *counted, struct counts_summary *summary);

/* Read one open file. 0, -DCPI_EDAMAGED, -ENOMEM, -errno. */
int counts_read_file(int fd, const char *label, struct counted *counted, struct counts_summary *summary);

#endif
