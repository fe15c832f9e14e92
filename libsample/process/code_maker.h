/*
 * code_maker.h - processes that execute memory without a file: what they made at run time
 *
 * Their code has no name of its own, but they may tell what it is, in files that others read (image/perf_map.h,
 * image/jitdump.h). So that names can be given later, each of them has an image of its own, of kind IMAGE_JIT: its
 * inode is the process, its generation tells processes of one number apart, and an offset is the distance of an
 * address from `base`, modulo CODE_MAKER_SPAN.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_CODE_MAKER_H
#define DCPI_PROCESS_CODE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "process/image_table.h"
#include "process/mapped_image.h"
#include "process/process_table.h"

#define CODE_MAKER_SPAN      (UINT64_C(1) << 44)
#define CODE_MAKER_ANCESTORS 8
#define CODE_MAKERS_MAX      1024 /* that wait to be taken */

/* What is to be known to find what a process tells. */
struct code_maker {
	uint32_t pid;
	uint64_t generation;
	uint64_t base;
	uint64_t begun_ns;                        /* record time at which the process began; 0: not known */
	uint32_t ancestors[CODE_MAKER_ANCESTORS]; /* its parent, and so on: who lives when it does not any more */
	unsigned ancestor_count;
	char *jitdump; /* the file that it mapped to tell so, as it sees it; NULL: none. Owned */
};

struct code_makers; /* those that were met and not taken yet */

/* `images` and `processes` are borrowed. NULL and errno (ENOMEM). */
struct code_makers *code_makers_new(struct mapped_images *images, struct process_table *processes);
void code_makers_free(struct code_makers *makers); /* NULL is allowed */

/* The process maps `path` so that its code can be executed: it may be a jitdump. 0 or -ENOMEM. */
int code_makers_map(struct code_makers *makers, struct process *process, const char *path);

/* Is this image memory that may hold code made at run time? */
bool code_makers_want(const struct mapped_image *image);

/*
 * The image of the process's code, to which `address` belongs, and the offset. `start` is the address of the mapping.
 * NULL: no memory. Borrowed; it lives as long as the process's next exec or renewal.
 */
struct mapped_image *code_makers_image(struct code_makers *makers, struct process *process, uint64_t start,
                                       uint64_t address, uint64_t *offset);

/* The process has other code now: the next call begins another image. Nothing when it is not of this generation. */
void code_makers_renew(struct code_makers *makers, uint32_t pid, uint64_t generation);

/* The next that was met for the first time, or has told something new; its jitdump is the caller's to free. */
bool code_makers_take(struct code_makers *makers, struct code_maker *maker);

/* Is it such an image? Code that the kernel made has no inode. */
static inline bool
code_maker_is_image(const struct image *image)
{
	return image->kind == IMAGE_JIT && image->inode != 0;
}

#endif
