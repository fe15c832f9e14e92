/*
 * capturer.h - names and text of the images that get samples, captured on the thread that runs dcpi-capture
 *
 * Images are captured one at a time, each by a process of its own; the thread itself captures the kernel and its
 * modules (kernel_text.h). The order is:
 * - images whose file may soon be gone: programs and libraries in none of the system's directories;
 * - images without names;
 * - images with samples at new places.
 * Files of packages stay where a report finds them. So their images wait for a while at the start, which spares short
 * runs the cost; then they are captured as samples have paid for it (capture_account.h).
 * Names of a file that may soon be gone are requested at once; its text, and names and text of other images, after
 * CAPTURE_FIRST_SAMPLES. An image is captured again after 10 s, 20 s, 40 s, ... an hour, if CAPTURE_MORE_SAMPLES, and
 * one in CAPTURE_MORE_PART of its samples, were at new places by then. Fewer such samples wait until an hour after the
 * last capture.
 * An eighth of the limit on overhead pays for the process, the thread and storing, a little of it in advance. Results
 * wait for the flusher to store them. If an image's file cannot be read, or the process dies of it, this is logged
 * once, and the image is not tried again.
 * Thread rule: capturer_track_images() is the event loop's; the others as they say.
 * The thread is woken only for an image that has become due by then, or whose samples may have paid for it.
 */
#ifndef DCPI_COLLECTORD_CAPTURER_H
#define DCPI_COLLECTORD_CAPTURER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/capture_thread.h"
#include "collectord/file_ids.h"
#include "collectord/flusher.h"
#include "process/attribution.h"
#include "process/image_table.h"

struct capturer_options {
	struct capture_thread *thread; /* borrowed */
	uint64_t limit;                /* bytes of the database that names and text may take */
	uint64_t overhead_limit_ppm;   /* of the machine's processor time, for all of dcpid */
	size_t cpu_count;
	uint64_t packages_wait_ns; /* images of packages are not captured before, counted from the start */
	struct file_ids *files;    /* build-ids of files; borrowed. NULL: the images have them */
	const struct log *log;     /* NULL is allowed */
};

/*
 * A run takes 2 to 20 ms of processor time (docs/benchmarks.md), as much as to take 10,000 to 100,000 samples. So the
 * first samples of an image are worth one if they are as many as a reader of its instructions could draw anything from.
 */
#define CAPTURE_FIRST_SAMPLES 32

/*
 * When an image has names and text in the database, samples at new places are worth another run if they are as many,
 * and this part of all its samples: a program goes on to reach new places for as long as it runs.
 */
#define CAPTURE_MORE_SAMPLES 1000
#define CAPTURE_MORE_PART    16

struct capturer;

/* NULL and errno. */
struct capturer *capturer_new(const struct capturer_options *options);

/* After capture_thread_stop(); no other thread may use it any more. NULL is allowed. */
void capturer_free(struct capturer *capturer);

/* The images that have samples by now, with the process that last ran each. Cheap. */
void capturer_track_images(struct capturer *capturer, const struct image_table *images,
                           const struct attribution *attribution);

/* The hook of the flusher that stores results and notes where samples were. */
struct flush_hook capturer_hook(struct capturer *capturer);

/*
 * Wait until images whose file may soon be gone were captured, at most `timeout_ns`: at the end, before the last flush.
 * Any thread.
 */
void capturer_drain(struct capturer *capturer, uint64_t timeout_ns);

/*
 * Is there something that the next flush should not be late for: many results to be stored, an image whose file may
 * soon be gone, and which was seen first less than half a minute ago, or images of which it is not known yet what the
 * database has? Where samples are is known after a flush. Any thread.
 */
bool capturer_expects_flush(struct capturer *capturer);

struct capturer_stats {
	uint64_t taken;        /* runs that gave something */
	uint64_t failed;       /* images that are not tried any more */
	uint64_t waiting;      /* images that are to be captured, now or later */
	uint64_t cpu_ns;       /* processor time of all runs, those of the thread itself included */
	uint64_t bytes, limit; /* of the database */
	bool is_full;
	bool kernel_is_closed; /* /proc/kcore may not be read */
};

/* Any thread. */
void capturer_stats(struct capturer *capturer, struct capturer_stats *stats);

/* Processor time that was spent in advance in the first minute: by children, by the thread that serves them, and by
 * storing. Any thread. */
uint64_t capturer_start_cpu_ns(struct capturer *capturer);

#endif
