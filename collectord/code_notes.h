/*
 * code_notes.h - which processes tell what code they made, and the files in which they do
 *
 * The event loop says which processes execute memory without a file (process/jit.h). A thread has a child of
 * dcpid (helper.h) look whether they tell about it, and keeps what was found as a descriptor that only stands for the
 * file (process/jit.h), so that it can be read when the process has ended, or a container with it. One that tells
 * nothing is asked again, ever more seldom, while it lives: the map of a JVM comes when somebody asks for it.
 *
 * A process whose file system does not answer delays the others by CODE_NOTES_PATIENCE_NS; then its device is not asked
 * for a while (silent_devices.h). What it tells is not known: it keeps an image of its own, without names.
 *
 * All is bounded: whoever has not been heard of for longest is forgotten first.
 *
 * Thread rule: any thread, but for code_notes_settle() and code_notes_open(), which wait, and which the event loop must
 * not call.
 */
#ifndef DCPI_COLLECTORD_CODE_NOTES_H
#define DCPI_COLLECTORD_CODE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "process/jit.h"

#define CODE_NOTES_MAX         1024 /* processes that are remembered */
#define CODE_FILES_MAX         256  /* files that are kept */
#define CODE_NOTES_PATIENCE_NS UINT64_C(2000000000)

struct code_notes;

/* Starts the thread. `procfs` and `log` are borrowed; the log may be NULL. NULL and errno. */
struct code_notes *code_notes_new(const char *procfs, const struct log *log);
void code_notes_free(struct code_notes *notes); /* NULL is allowed */

/* A process was met, and is looked at; its jitdump is the notes' now. Without memory it stays without names. */
void code_notes_meet(struct code_notes *notes, const struct jit_process *maker);

/* Has the process of this image told nothing so far? Then have it looked at once more. */
void code_notes_ask(struct code_notes *notes, const struct image *image);

/* Have those looked at, too, whose time has come, and wait at most so long until all have been. */
void code_notes_settle(struct code_notes *notes, uint64_t timeout_ns);

/*
 * Does the process of this image tell what its code is, for all that is known? Yes while nothing is. One that was said
 * to tell nothing and does later is to be renewed (attribution_reset_jit()), which code_notes_take_renewal() says.
 */
bool code_notes_tells(struct code_notes *notes, const struct image *image);
bool code_notes_take_renewal(struct code_notes *notes, uint32_t *pid, uint64_t *generation);

/* Did it live, and have the code of this image, when it was last looked at or opened? */
bool code_notes_lives(struct code_notes *notes, const struct image *image);

/* Its code is not what it was: renew it, but a process at most once in a while, which doubles. True when it will be. */
bool code_notes_renew(struct code_notes *notes, const struct image *image);

/* What there is to read of an image. */
struct code_note {
	int fd; /* O_PATH, for mapped_file_reopen(); the caller's, for code_notes_close() */
	uint64_t base;
	uint64_t size;   /* of the file */
	bool is_changed; /* since the last call */
};

/* As it is now. 0; -ENOENT; -EBUSY, -ETIMEDOUT: its file system does not answer; or -errno. */
int code_notes_open(struct code_notes *notes, const struct image *image, struct code_note *note);

/* Whoever is the last to have it may wait for the end of its file system: the child is. */
void code_notes_close(struct code_notes *notes, int fd);

/* Processor time of the child, which dcpid's own does not contain while that lives. */
uint64_t code_notes_cpu_ns(const struct code_notes *notes);

#endif
