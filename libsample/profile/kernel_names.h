/*
 * kernel_names.h - names of the kernel's functions, stored into the database while the kernel runs
 *
 * A report may be made after a reboot, or on another machine, where the names cannot be found any more. Offsets from
 * the image's start are stored, never addresses. A function begins with the padding before it if that has a name. The
 * last name of the kernel is that of the end of its text.
 * Thread rule: that of the profile.
 */
#ifndef DCPI_PROFILE_KERNEL_NAMES_H
#define DCPI_PROFILE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/image_table.h"
#include "process/kallsyms.h"
#include "profile/profile.h"

struct kernel_names_image {
	uint32_t number;           /* the session's */
	const struct image *image; /* of the kernel or a module */
	int err;                   /* out: 0, or why it stays without names; -EACCES: hidden, -ENOENT: not loaded */
	bool is_failure_said;      /* the caller's: the log has that it stays without names */
};

/*
 * The size of an image's text as the names in the database have it, for an image that runs here; 0: not known. A
 * callback of struct kernel_known, with `profile` as its context.
 */
uint64_t kernel_names_text_size(void *profile, const struct image *image);

/*
 * Store the names of all images, each once, in one pass through `symbols`, or, when that is NULL, through
 * `procfs`/kallsyms, which is long.
 */
void kernel_names_store(struct profile *profile, const char *procfs, const struct kallsyms_copy *symbols,
                        struct kernel_names_image *images, size_t count);

/* Images whose names are not in the database yet. All zero: none. */
struct pending_kernel_names {
	struct kernel_names_image *images; /* whose names could not be stored so far */
	size_t count;
	struct kallsyms_copy *symbols; /* as they were read at the start, for the first call; NULL: to be read */
};

/*
 * Store the names of images that are pending, and of those of the `count` images that were just written, numbered from
 * `first`, that have none. An image whose names cannot be stored for now stays pending.
 */
void kernel_names_store_pending(struct pending_kernel_names *pending, struct profile *profile,
                                const struct image *const *images, uint32_t first, uint32_t count,
                                const struct log *log);

/* Nothing is pending any more. Frees the symbols. */
void kernel_names_free_pending(struct pending_kernel_names *pending);

#endif
