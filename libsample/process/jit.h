/*
 * jit.h - processes that execute memory without a file, and the files in which they name the code there
 *
 * A run-time compiler may describe its code in a file that other programs read (image/jit_code.h): a jitdump that it
 * maps, or /tmp/perf-PID.map. So that the code can get names later, each such process has an image of its own, of kind
 * IMAGE_JIT: its inode is the pid, its generation distinguishes processes of one pid, and an offset is the distance of
 * an address from `base`, modulo JIT_SPAN.
 * Thread rule: struct jit_processes belongs to one thread; jit_file_find() and jit_process_is_alive() are stateless.
 */
#ifndef DCPI_PROCESS_JIT_H
#define DCPI_PROCESS_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/address_space.h"
#include "process/image_table.h"
#include "process/mapped_file.h"
#include "process/process_table.h"

#define JIT_SPAN          (UINT64_C(1) << 44)
#define JIT_ANCESTORS     8
#define JIT_PROCESSES_MAX 1024 /* that wait for jit_processes_take() */

/* What is needed to find the file of a process. */
struct jit_process {
	uint32_t pid;
	uint64_t generation;
	uint64_t base;
	uint64_t begun_ns;                 /* record time at which the process began; 0: not known */
	uint32_t ancestors[JIT_ANCESTORS]; /* its parent first: one of them may live when the process has ended */
	unsigned ancestor_count;
	char *jitdump; /* the jitdump that it mapped, as it sees it; NULL: none. Owned */
};

/* Is it the image of such a process? Code that the kernel made has no inode. */
static inline bool
jit_is_image(const struct image *image)
{
	return image->kind == IMAGE_JIT && image->inode != 0;
}

/* ---- processes that were seen and not taken yet ---- */

struct jit_processes;

/* `images` and `processes` are borrowed. NULL and errno (ENOMEM). */
struct jit_processes *jit_processes_new(struct mapped_images *images, struct process_table *processes);
void jit_processes_free(struct jit_processes *jit); /* NULL is allowed */

/* The process maps `path` executable: it may be a jitdump. 0 or -ENOMEM. */
int jit_processes_map(struct jit_processes *jit, struct process *process, const char *path);

/*
 * The image of the process's code, to which `address` belongs, and the offset. `start` is the address of the mapping.
 * NULL: no memory. Borrowed; it lives as long as the process's next exec or reset.
 */
struct mapped_image *jit_processes_image(struct jit_processes *jit, struct process *process, uint64_t start,
                                         uint64_t address, uint64_t *offset);

/* The process has other code now: the next call begins another image. Nothing when it has another generation. */
void jit_processes_reset(struct jit_processes *jit, uint32_t pid, uint64_t generation);

/* The next process that has a new image or has mapped a jitdump; its jitdump is the caller's to free. */
bool jit_processes_take(struct jit_processes *jit, struct jit_process *process);

/* ---- the file of a process, as that process sees it ----
 *
 * Its jitdump, or /tmp/perf-PID.map, where PID is its number in its own pid namespace. The path is followed from the
 * root of the process, without symbolic links, or, when it has ended, of the nearest of its ancestors that lives. A
 * file that is deleted, but that the process still holds open, is found by its descriptor. Only a regular file counts
 * that we may read and that nobody else can have written: it belongs to the process's user (or to its ancestor's) or to
 * root, is not writable by everybody, and was written since the process began - maps outlive their processes, and pids
 * are used again. Finding it may wait for as long as a file system does not answer: only for a process that may hang.
 * The result is an O_PATH descriptor: it keeps the file as an open one does, also when its name and its mount have
 * gone, but to close it asks the file system nothing.
 */

/*
 * An O_PATH descriptor of it, for mapped_file_reopen(), or -ENOENT: there is none, or its process and all ancestors are
 * gone; -EACCES: not readable for us; -EPERM: not the process's own; -ESTALE: an older process's; -EINVAL: no regular
 * file; or -errno. `step` (NULL: nothing) gets each directory on the way, and the file, before anything is asked of it;
 * it may return -EBUSY: what lies there is not known.
 */
int jit_file_find(const char *procfs, const struct jit_process *process, mapped_file_step *step, void *context);

/* Does this process live, and not a later one of its pid? */
bool jit_process_is_alive(const char *procfs, const struct jit_process *process);

#endif
