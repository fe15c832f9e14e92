/*
 * kernel_names.h - the kernel's functions, taken down for the database while the kernel runs
 *
 * A report may be asked for after a reboot, or elsewhere: then nobody knows these names any more. Stored are distances
 * from the image's start, never addresses. A function begins with the padding before it, where that has a name. The
 * last name of the kernel's is that of its text's end.
 * Thread rule: that of the profile.
 */
#ifndef DCPI_COLLECTORD_KERNEL_NAMES_H
#define DCPI_COLLECTORD_KERNEL_NAMES_H

#include <stdbool.h>

#include "process/image_table.h"
#include "process/kallsyms.h"
#include "process/kernel_map.h"
#include "profile/profile.h"

struct kernel_names_image {
	uint32_t number;           /* the session's */
	const struct image *image; /* of the kernel or a module */
	int err;                   /* out: 0, or why it stays without names; -EACCES: hidden, -ENOENT: not loaded */
	bool is_told;              /* the caller's: that it stays without names was said */
};

/*
 * What an image that runs here has of text, as the names in the database tell: see struct kernel_known, whose context
 * is `profile`.
 */
uint64_t kernel_names_text_size(void *profile, const struct image *image);

/*
 * Store the names of all of them, each once, by one pass through `symbols`, or, when that is NULL, through
 * `procfs`/kallsyms, which is long.
 */
void kernel_names_store(struct profile *profile, const char *procfs, const struct kallsyms_copy *symbols,
                        struct kernel_names_image *images, size_t count);

#endif
