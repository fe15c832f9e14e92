/*
 * runs.h - the runs of programs whose records (locality/record.h) lie in a directory, and how they get into the
 * database
 *
 * A run is a program's first process and the children that it forked. When none of its processes lives any more, its
 * records become an epoch, called like the program, and are removed when that is on the disk: whatever happens, they
 * are in one of the two places.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_RUNS_H
#define DCPI_TOOLS_LOC_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"

struct loc_file {
	char *name; /* in the directory */
	uint32_t pid, number, first_pid;
	uint64_t began_ns, first_ns; /* since 1970; as in the record, first_ of its run */
	uint64_t written_ns;         /* when something was added last, as far as the file system says */
	bool lives;                  /* a process that writes to it */
	bool is_kept;                /* in the database, and not removed yet */
	char label[EPOCH_LABEL_SIZE];
};

struct loc_runs {
	const char *directory;
	int fd; /* of the directory, locked; -1: there is none */
	bool is_full;
	struct loc_file *files; /* of a run together, the newest run last */
	size_t count, room;
};

/*
 * Look at the records in `directory`, which must live as long, and wait until no other dcpiloc does. No directory: no
 * runs. STATUS_OK; or an exit status after messages, of those that are damaged: the others are there.
 */
int loc_runs_init(struct loc_runs *runs, const char *directory);
void loc_runs_fini(struct loc_runs *runs);

/* Files of the run that has the file `at`: up to which. */
size_t loc_run_end(const struct loc_runs *runs, size_t at);

/*
 * Keep the runs that have ended in the database `database` and remove them here. STATUS_OK, or an exit status after a
 * message: what could not be kept is still here.
 */
int loc_runs_keep(struct loc_runs *runs, const char *database);

#endif
