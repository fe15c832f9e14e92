/*
 * code_namer.h - the thread that has the functions named that processes made at run time
 *
 * After a flush it is told which blocks of such code have samples (process/jit.h). It has what the process told
 * (code_notes.h) read by dcpi-capture, when there are new blocks, or when the process has told more: often only when it
 * ends. What was taken waits for the flusher to store it. A file is read every 10 s at most, and so seldom that it
 * takes a thousandth of a CPU; at the end, once more.
 *
 * When memory was used again, the image gets no new names and the process another image.
 *
 * Thread rule: code_namer_note() and code_namer_store() are the flusher's; the others any thread's.
 */
#ifndef DCPI_COLLECTORD_CODE_NAMER_H
#define DCPI_COLLECTORD_CODE_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/code_notes.h"
#include "profile/profile.h"
#include "tally/tally.h"

#define CODE_NAMER_IMAGES_MAX 256
#define CODE_NAMER_BLOCKS_MAX 262144 /* with samples, of all images: 1 MiB */

struct code_namer_options {
	const char *program; /* dcpi-capture; borrowed */
	struct code_notes *notes;
	uint64_t limit;               /* bytes of the database that all names and text may take; 0: any */
	void (*ready)(void *context); /* something waits to be stored; called on the namer's thread. NULL is allowed */
	void *context;
	const struct log *log; /* NULL is allowed */
};

struct code_namer;

/* Starts the thread. NULL and errno. */
struct code_namer *code_namer_new(const struct code_namer_options *options);

/* End the thread, and a process that it has waiting; what was taken can still be stored. */
void code_namer_stop(struct code_namer *namer);
void code_namer_free(struct code_namer *namer); /* stops it, if nobody has. NULL is allowed */

/* Where samples were that have been written; images by the numbers of the entries. */
void code_namer_note(struct code_namer *namer, const struct image *const *images, const struct tally_entry *entries,
                     size_t count);

/* Store what was taken. */
bool code_namer_wants_store(struct code_namer *namer); /* any thread's */
void code_namer_store(struct code_namer *namer, struct profile *profile);

/* Have everything read that there is to read, and wait for it, at most so long: at the end, before the last store. */
void code_namer_hurry(struct code_namer *namer, uint64_t timeout_ns);

/* The database is another: what the one before had must be taken again. */
void code_namer_begin_database(struct code_namer *namer);

#endif
