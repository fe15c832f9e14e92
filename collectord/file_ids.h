/*
 * file_ids.h - build-ids of the files that got samples
 *
 * The kernel's records identify a file by device, inode and generation. (They could have its build-id, but requesting
 * that spoils the records of other programs, perf's among them.) So each file that got samples is read once, soon after
 * its first sample, through the process that mapped it (process/mapped_file.h). Its build-id is remembered by device,
 * inode and generation, so that nothing is read twice on a steady machine. When a file is mapped again, only its size
 * and times are compared, and only if the last look is older than a second and than a sixty-fourth of the file's age
 * (15 s at most). A file that was written to in place has another `content` from then on.
 *
 * A thread sends requests, and a child of dcpid reads, with a deadline (helper.h): a file system that does not answer
 * delays the build-ids of others by FILE_IDS_PATIENCE_NS, and its device is avoided for a while.
 *
 * The number of files is bounded: the file that was requested first is dropped first.
 * Thread rule: any thread, but for file_ids_ask() and file_ids_take_change(), which are one thread's.
 */
#ifndef DCPI_COLLECTORD_FILE_IDS_H
#define DCPI_COLLECTORD_FILE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/attribution.h"
#include "process/image_table.h"

#define FILE_IDS_MAX         16384 /* files that are remembered */
#define FILE_IDS_WAITING_MAX 4096  /* that are to be looked at */
#define FILE_IDS_PATIENCE_NS UINT64_C(2000000000)

struct file_ids;

/* Starts the thread. `log` is borrowed. NULL and errno. */
struct file_ids *file_ids_new(const struct log *log);
void file_ids_free(struct file_ids *ids); /* NULL is allowed */

/* A file got samples: have it looked at, unless it was a moment ago. What cannot be queued is, when it is mapped again.
 */
void file_ids_ask(struct file_ids *ids, const struct sampled_file *file);

/*
 * True when a file has another content than it had, for attribution_change_file(): *image has its device, inode and
 * generation, *content the new one.
 */
bool file_ids_take_change(struct file_ids *ids, struct image *image, uint32_t *content);

/* Wait until all files were looked at that were asked for, at most `timeout_ns`. */
void file_ids_wait(struct file_ids *ids, uint64_t timeout_ns);

enum file_state {
	FILE_WAITS, /* not looked at yet, or never asked for */
	FILE_KNOWN, /* it has a build-id */
	FILE_HAS_NONE,
	FILE_UNREAD, /* it has gone, or could not be read */
};

/*
 * Fill in the build-id of an image that is a file, if it is known, and whether the file is root's. FILE_HAS_NONE for an
 * image that is no file.
 */
enum file_state file_ids_complete(struct file_ids *ids, struct image *image);

struct file_ids_stats {
	uint64_t read;    /* files whose build-id was found, or that have none */
	uint64_t unread;  /* files that had gone, or could not be read */
	uint64_t hung;    /* of those, the ones whose file system did not answer in time */
	uint64_t changed; /* files that were written to in place */
	uint64_t looks;   /* answers, of known files as well */
	size_t waiting;
};
void file_ids_stats(struct file_ids *ids, struct file_ids_stats *stats);

/* Processor time of the child, which dcpid's own does not contain while that lives. */
uint64_t file_ids_cpu_ns(const struct file_ids *ids);

#endif
