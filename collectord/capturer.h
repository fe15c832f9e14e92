/*
 * capturer.h - the thread that has names and text taken of the images that get samples
 *
 * One image at a time, each by a process of its own (capture_child.h), but the kernel's and its modules' by the thread
 * itself (kernel_text.h): first those that may soon be gone - programs and libraries that lie in none of the system's
 * directories - then those without names, then those with samples at new places. What packages installed waits at the
 * start for a while: packages keep their files, where a report finds them, and a short run is not burdened; then it is
 * asked about as samples have paid for it, each some nanoseconds. An image is asked about again after 10 s, 20 s, 40 s,
 * ... an hour, when CAPTURE_MORE_SAMPLES and one in CAPTURE_MORE_PART of its samples were at new places by then, or
 * else an hour after the last time; but at once for the text of one that was asked about before anybody knew where its
 * samples are. What that costs is paid from an eighth of the limit on overhead, a little of it in advance. What was
 * taken waits for the flusher to store it. An image whose file cannot be read, or that costs a process its life, is
 * said once and not tried again. Thread rule: capturer_see() is the event loop's, capturer_settle(), capturer_forget()
 * and capturer_begin_database() are the flusher's; the others as they say.
 */
#ifndef DCPI_COLLECTORD_CAPTURER_H
#define DCPI_COLLECTORD_CAPTURER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/file_ids.h"
#include "process/attribution.h"
#include "process/image_table.h"
#include "profile/profile.h"
#include "tally/tally.h"

struct capturer_options {
	const char *program;         /* dcpi-capture; borrowed */
	uint64_t limit;              /* bytes of the database that names and text may take */
	uint64_t overhead_limit_ppm; /* of the machine's processor time, for all of dcpid */
	size_t cpu_count;
	uint64_t packages_wait_ns; /* nothing that packages installed is asked about before, counted from the start */
	struct file_ids *files;    /* who knows their build-ids; borrowed. NULL: the images have them */
	const struct log *log;     /* NULL is allowed */
};

/*
 * Of an image whose names and text are there, samples at new places are worth another run when they are as many, and
 * this part of all its samples: a run takes 5 to 20 ms of processor time, and a program goes on to reach new places for
 * as long as it runs.
 */
#define CAPTURE_MORE_SAMPLES 32
#define CAPTURE_MORE_PART    16

struct capturer;

/* Starts the thread. NULL and errno. */
struct capturer *capturer_new(const struct capturer_options *options);

/* Ends the thread, and a process that it has waiting. After whoever else uses it. NULL is allowed. */
void capturer_free(struct capturer *capturer);

/* The images that have samples by now, and who was last seen to run them. Cheap. */
void capturer_see(struct capturer *capturer, const struct image_table *images, const struct attribution *attribution);

/*
 * After a flush: store what was taken, and note where the samples of `entries`, whose images are of `images`, were: of
 * events below `first_sum`.
 */
void capturer_settle(struct capturer *capturer, struct profile *profile, const struct image_table *images,
                     size_t first_sum, const struct tally_entry *entries, size_t count);

/* These images are about to be freed. */
void capturer_forget(struct capturer *capturer, const struct image_table *images);

/* The database is another: what the one before had must be taken again. */
void capturer_begin_database(struct capturer *capturer);

/*
 * Wait until what may soon be gone was taken, at most `timeout_ns`: at the end, before the last flush. Any thread.
 */
void capturer_hurry(struct capturer *capturer, uint64_t timeout_ns);

struct capturer_stats {
	uint64_t taken;        /* runs that gave something */
	uint64_t failed;       /* images that are not tried any more */
	uint64_t waiting;      /* images that something is wanted of, now or later */
	uint64_t cpu_ns;       /* processor time of all runs, those of the thread itself included */
	uint64_t bytes, limit; /* of the database */
	bool is_full;
	bool kernel_is_closed; /* /proc/kcore may not be read */
};

/* Any thread. */
void capturer_stats(struct capturer *capturer, struct capturer_stats *stats);

/* Processor time that was spent in advance in the first minute, children's and its own thread's. Any thread. */
uint64_t capturer_start_cpu_ns(struct capturer *capturer);

#endif
