/*
 * scratch.h - work in a temporary directory that is always removed
 *
 * A child process works; when it ends in any way, or a signal ends this process, the directory is removed.
 * Thread rule: one thread, one directory.
 */
#ifndef DCPI_TOOLS_TAR_SCRATCH_H
#define DCPI_TOOLS_TAR_SCRATCH_H

#define SCRATCH_DATABASE "db"     /* a database's directory */
#define SCRATCH_FILE     "packed" /* a file */

struct tar_scratch {
	char *path;
};

/* Make one in `directory`, or, when that is NULL, in $TMPDIR or else /var/tmp. 0 or -errno. */
int scratch_make(struct tar_scratch *scratch, const char *directory);

/* "PATH/NAME", for free(); NULL when memory ends. */
char *scratch_file(const struct tar_scratch *scratch, const char *name);

/*
 * Do `work` and remove the directory. The status that `work` returned; STATUS_FAILURE after a message when its process
 * died. A signal that ends this process ends `work` first, and does not return.
 */
int scratch_run(struct tar_scratch *scratch, int (*work)(void *context), void *context);

#endif
