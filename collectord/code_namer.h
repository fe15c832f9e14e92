/*
 * code_namer.h - names of functions that processes made at run time, captured on the thread that runs dcpi-capture
 *
 * After a flush, the namer gets the blocks of such code that have samples (process/jit.h). dcpi-capture reads the file
 * in which the process names its functions (jit_files.h) when there are new blocks, or when the file has changed, which
 * is often only when the process ends. The result waits for the flusher to store it. Files are read one at a time, each
 * at most every 10 s, and so rarely that it takes a thousandth of a CPU (the wait is at most ten minutes); at the end,
 * each is read once more.
 *
 * When the process reused memory for other code, its image gets no new names, and the process gets another image.
 *
 * Thread rule: code_namer_store() is the flusher's; the others any thread's.
 */
#ifndef DCPI_COLLECTORD_CODE_NAMER_H
#define DCPI_COLLECTORD_CODE_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/capture_thread.h"
#include "collectord/flusher.h"
#include "collectord/jit_files.h"
#include "profile/profile.h"

#define CODE_NAMER_IMAGES_MAX 256
#define CODE_NAMER_BLOCKS_MAX 262144 /* with samples, of all images: 1 MiB */

struct code_namer_options {
	struct capture_thread *thread; /* borrowed */
	struct jit_files *files;
	uint64_t limit;               /* bytes of the database that all names and text may take; 0: any */
	void (*ready)(void *context); /* something waits to be stored; called on the thread. NULL is allowed */
	void *context;
	const struct log *log; /* NULL is allowed */
};

struct code_namer;

/* NULL and errno. */
struct code_namer *code_namer_new(const struct code_namer_options *options);
void code_namer_free(struct code_namer *namer); /* after capture_thread_stop(). NULL is allowed */

/* The hook of the flusher that takes samples in and stores results. */
struct flush_hook code_namer_hook(struct code_namer *namer);

/* Is there code made at run time that has samples, or a result to be stored? Then the next flush has work. Any thread.
 */
bool code_namer_expects_flush(struct code_namer *namer);

/* Store the results that wait: for after capture_thread_stop(), because the hook does it until then. */
bool code_namer_has_results(struct code_namer *namer); /* any thread's */
void code_namer_store(struct code_namer *namer, struct profile *profile);

/* Read all files now, and wait for that, at most `timeout_ns`: at the end, before the last store. */
void code_namer_drain(struct code_namer *namer, uint64_t timeout_ns);

#endif
