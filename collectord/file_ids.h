/*
 * file_ids.h - build-ids of the files that got samples
 *
 * The kernel's records tell a file by device, inode and generation. (They could tell its build-id, but whoever asks for
 * that spoils the records of others, perf's among them.) So each file that got samples is read once, soon after its
 * first one, through the process that mapped it (process/mapped_file.h). What it said is remembered by device, inode
 * and generation, so that a steady machine reads nothing twice; when a file is mapped again, a second or more after it
 * was last looked at, and more than a sixty-fourth of its age, or 15 s, only its size and times are compared. A file
 * that was written to in place has another `content` from then on.
 *
 * A thread asks, and a child of dcpid reads, with a deadline (helper.h): a file system that does not answer delays the
 * build-ids of others by FILE_IDS_PATIENCE_NS, and its device is not asked again for a while.
 *
 * All is bounded: what was asked about first is forgotten first.
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

/* A file got samples: have it looked at, if it was not a moment ago. */
void file_ids_ask(struct file_ids *ids, const struct sampled_file *file);

/* True when a file has another content than it had: device, inode and generation are in *image, `content` is the new
 * one; attribution_change_file(). */
bool file_ids_take_change(struct file_ids *ids, struct image *image, uint32_t *content);

/* Wait until all that was asked is answered, at most `timeout_ns`. */
void file_ids_settle(struct file_ids *ids, uint64_t timeout_ns);

enum file_state {
	FILE_WAITS, /* not answered yet, or never asked about */
	FILE_KNOWN, /* it has a build-id */
	FILE_HAS_NONE,
	FILE_UNREAD, /* it has gone, or could not be read */
};

/* Add the build-id of an image that is a file to it, if it is known, and whether it is root's. FILE_HAS_NONE for what
 * is no file. */
enum file_state file_ids_complete(struct file_ids *ids, struct image *image);

struct file_ids_stats {
	uint64_t read;    /* files that told their build-id, or that they have none */
	uint64_t unread;  /* that had gone, or could not be read */
	uint64_t hung;    /* of those, whose file system did not answer in time */
	uint64_t changed; /* that were written to in place */
	uint64_t looks;   /* answers, of files that were known, too */
	size_t waiting;
};
void file_ids_stats(struct file_ids *ids, struct file_ids_stats *stats);

/* Processor time of the child, which dcpid's own does not contain while that lives. */
uint64_t file_ids_cpu_ns(const struct file_ids *ids);

#endif
