/*
 * kernel_names.h - the kernel's functions, taken down for the database while the kernel runs
 *
 * A report may be asked for after a reboot, or elsewhere: then nobody knows these names any more. Stored are distances
 * from the image's start, never addresses. Thread rule: that of the profile.
 */
#ifndef DCPI_COLLECTORD_KERNEL_NAMES_H
#define DCPI_COLLECTORD_KERNEL_NAMES_H

#include "process/image_table.h"
#include "profile/profile.h"

/* Store the names of `image` (kernel or module), the session's number `number`. 0, or a negative error; -EACCES:
 * hidden. */
int kernel_names_store(struct profile *profile, uint32_t number, const struct image *image);

#endif
