/*
 * unwind_tables.h - the unwind tables of the images whose stacks are sampled, in memory
 *
 * When the event loop finds a frame in an image without a table, the image is noted. Its table is looked up in the
 * database, on the flusher's thread, and if it is not there, dcpi-capture makes it from the file (capture_thread.h):
 * those first that most frames need. Until a table has come, stacks wait (held_stacks.h) or end at the image's first
 * frame (STACK_END_NO_TABLES).
 * Files that only root can have put where they are share a table if they have one build-id, and the flusher stores it;
 * other users' files, which may claim any build-id, have one each, which is not stored. Tables take at most a limit of
 * memory: those that serve the fewest frames for their size are given back, and looked up again when they are of more
 * use than others that are there. A part of the limit on overhead pays for making tables, some of it in advance, so the
 * start's tables come within seconds; a table is made when there is enough for it. An image whose file gives no table
 * is not tried again. Thread rule: the event loop's, except for the hook.
 */
#ifndef DCPI_COLLECTORD_UNWIND_TABLES_H
#define DCPI_COLLECTORD_UNWIND_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/capture_thread.h"
#include "collectord/file_ids.h"
#include "collectord/flusher.h"
#include "process/attribution.h"
#include "process/image_table.h"
#include "unwind/call_stack.h"

#define UNWIND_TABLES_IMAGES_MAX 2048 /* whose tables are known, or are to be made; of others, stacks end */

#define UNWIND_TABLES_AWAIT_NS UINT64_C(3000000000) /* for which a table is waited for after it was asked for */

struct unwind_tables_options {
	struct capture_thread *thread; /* borrowed */
	struct file_ids *files;        /* build-ids of files; borrowed. NULL: the images have them */
	size_t memory_limit;           /* bytes of tables */
	uint64_t capture_limit; /* bytes of the database that names, text and tables may take; 0: no table is kept */
	uint64_t overhead_limit_ppm; /* of the machine's processor time, for all of dcpid */
	size_t cpu_count;
	void (*ready)(void *context); /* something is to be looked up: flusher_call_store() is called. NULL: never */
	void *context;
	const struct log *log; /* NULL is allowed */
};

struct unwind_tables;

struct unwind_tables *unwind_tables_new(const struct unwind_tables_options *options); /* NULL and errno */

/* After capture_thread_stop(); no other thread may use it any more. NULL is allowed. */
void unwind_tables_free(struct unwind_tables *tables);

/* The hook of the flusher that looks tables up and stores those that were made. */
struct flush_hook unwind_tables_hook(struct unwind_tables *tables);

/*
 * Take tables that have come, and have those made that were missing since the last call; `images` has the session's
 * numbers, and the attribution the process that last ran each. Once a drain.
 */
void unwind_tables_sync(struct unwind_tables *tables, const struct image_table *images,
                        const struct attribution *attribution);

/* The session's numbers of images are given anew: those of the next unwind_tables_sync() are others. */
void unwind_tables_end_session(struct unwind_tables *tables);

/* True when tables, or the build-ids of their files, will be there in a moment: the next sync should not be late. */
bool unwind_tables_expect(const struct unwind_tables *tables);

/* Will the table of an image, whose lack has ended a stack, be there in a moment? False: it is there, or will not. */
bool unwind_tables_await(struct unwind_tables *tables, uint32_t number);

/* How the code of an image of the last unwind_tables_sync() is unwound: for struct call_stack_tables. */
enum unwind_code unwind_tables_find(void *tables, uint32_t number, const struct unwind_table **table);

struct unwind_tables_stats {
	size_t images;          /* that stacks had frames in */
	size_t loaded, waiting; /* of them: tables in memory; tables that are to be looked up or made */
	size_t without;         /* their files give none */
	size_t memory;          /* bytes of tables */
	uint64_t made, evicted;
	uint64_t cpu_ns; /* processor time of making tables */
};
/* Processor time of the tables that were made in the first minute. */
uint64_t unwind_tables_start_cpu_ns(const struct unwind_tables *tables);

void unwind_tables_stats(const struct unwind_tables *tables, struct unwind_tables_stats *stats);

#endif
