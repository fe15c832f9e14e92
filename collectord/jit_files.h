/*
 * jit_files.h - the files in which processes name the code that they made: perf maps and jitdumps
 *
 * The event loop adds processes that execute memory without a file. A thread has a child of dcpid (helper.h) look for
 * the file of each process (process/jit.h). It keeps the file as an O_PATH descriptor, so that it can be read when the
 * process, or its container, has ended. While a process without a file lives, the child looks again, at growing
 * intervals: a JVM writes its map when somebody requests it.
 *
 * A file system that does not answer delays other processes by JIT_FILES_PATIENCE_NS; then its device is avoided for a
 * while (helper.h). Whether such a process has a file is not known: it keeps an image of its own, without names.
 *
 * The number of processes is bounded: the one that was not asked about for longest is dropped first.
 *
 * Thread rule: any thread, but for jit_files_wait() and jit_files_open(), which wait, and which the event loop must not
 * call.
 */
#ifndef DCPI_COLLECTORD_JIT_FILES_H
#define DCPI_COLLECTORD_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/flusher.h"
#include "process/jit.h"

#define JIT_FILES_PROCESSES_MAX 1024 /* processes that are remembered */
#define JIT_FILES_MAX           256  /* files that are kept */
#define JIT_FILES_PATIENCE_NS   UINT64_C(2000000000)

struct jit_files;

/* Starts the thread. `procfs` and `log` are borrowed; the log may be NULL. NULL and errno. */
struct jit_files *jit_files_new(const char *procfs, const struct log *log);
void jit_files_free(struct jit_files *files); /* NULL is allowed */

/* Have the file of a process looked for; takes its jitdump over. Without memory the process stays without names. */
void jit_files_add(struct jit_files *files, const struct jit_process *maker);

/* If no file of the image's process was found so far, have it looked for once more. */
void jit_files_retry(struct jit_files *files, const struct image *image);

/* Look for the files of processes that are due, too, and wait until all were looked at, at most `timeout_ns`. */
void jit_files_wait(struct jit_files *files, uint64_t timeout_ns);

/*
 * Has the process of this image a file? True while that is not known. If this returned false and a file is found later,
 * the process is to get a new image (attribution_reset_jit()), which jit_files_take_renewal() says: true with its
 * number and generation, false when there is none left.
 */
bool jit_files_has_map(struct jit_files *files, const struct image *image);
bool jit_files_take_renewal(struct jit_files *files, uint32_t *pid, uint64_t *generation);

/* Did the process live, with the code of this image, when it was last looked at or opened? */
bool jit_files_is_alive(struct jit_files *files, const struct image *image);

/*
 * The process of this image reused memory for other code: give it a new image, but at most once in a while, which
 * doubles each time. True when it gets one.
 */
bool jit_files_renew(struct jit_files *files, const struct image *image);

/* An open file. */
struct jit_open_file {
	int fd; /* O_PATH, for mapped_file_reopen(); the caller's, for jit_files_close() */
	uint64_t base;
	uint64_t size;   /* of the file */
	bool is_changed; /* since the last call */
};

/* The file as it is now. 0; -ENOENT; -EBUSY, -ETIMEDOUT: its file system does not answer; or -errno. */
int jit_files_open(struct jit_files *files, const struct image *image, struct jit_open_file *file);

/* Close `fd` in the child: the last close of a file may wait for its file system. */
void jit_files_close(struct jit_files *files, int fd);

/*
 * The hook of the flusher that writes the code of processes without a file as one image, "[anon]": it has no names and
 * will have none. `is_named`: code of other processes gets names (code_namer.h); otherwise it is in that image, too.
 */
struct flush_hook jit_files_hook(struct jit_files *files, bool is_named);

/* Processor time of the child, which dcpid's own does not contain while that lives. */
uint64_t jit_files_cpu_ns(const struct jit_files *files);

#endif
