/*
 * code_notes.h - which processes tell what code they made, and the files in which they do
 *
 * The event loop says which processes execute memory without a file (process/code_maker.h); the flusher's thread looks
 * whether they tell about it, and keeps the file open, so that it can be read when the process has ended, or a
 * container with it. One that tells nothing is asked again, ever more seldom, while it lives: the map of a JVM comes
 * when somebody asks for it.
 *
 * All is bounded: whoever has not been heard of for longest is forgotten first.
 *
 * Thread rule: any thread, but for code_notes_look() and code_notes_tells(), which are one thread's and may wait for
 * disks.
 */
#ifndef DCPI_COLLECTORD_CODE_NOTES_H
#define DCPI_COLLECTORD_CODE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/code_maker.h"

#define CODE_NOTES_MAX 1024 /* processes that are remembered */
#define CODE_FILES_MAX 256  /* files that are open */

struct code_notes;

/* `procfs` is borrowed. NULL and errno (ENOMEM). */
struct code_notes *code_notes_new(const char *procfs);
void code_notes_free(struct code_notes *notes); /* NULL is allowed */

/* A process was met; its jitdump is the notes' now. Without memory it stays without names. */
void code_notes_meet(struct code_notes *notes, const struct code_maker *maker);

/* True while there are processes that were met and not looked at. */
bool code_notes_wants_look(struct code_notes *notes);

/* Look for the files of those that were met, and of those whose time has come. */
void code_notes_look(struct code_notes *notes);

/*
 * Does the process of this image tell what its code is? If not, it is looked at once more. One that was said to tell
 * nothing and does later is to be renewed (attribution_renew_code()), which code_notes_take_renewal() says.
 */
bool code_notes_tells(struct code_notes *notes, const struct image *image);
bool code_notes_take_renewal(struct code_notes *notes, uint32_t *pid, uint64_t *generation);

/* Does it live, and has the code of this image still? */
bool code_notes_lives(struct code_notes *notes, const struct image *image);

/* Its code is not what it was: renew it, but a process at most once in a while, which doubles. True when it will be. */
bool code_notes_renew(struct code_notes *notes, const struct image *image);

/* What there is to read of an image. */
struct code_note {
	int fd; /* the caller's */
	uint64_t base;
	uint64_t size;   /* of the file */
	bool is_changed; /* since the last call */
	bool lives;      /* the process does */
};

/* 0, -ENOENT or -errno. */
int code_notes_open(struct code_notes *notes, const struct image *image, struct code_note *note);

#endif
