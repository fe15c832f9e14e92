/*
 * file_identity.h - whether an open file is the one that was mapped, when there is no build-id to tell (private)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_IMAGE_FILE_IDENTITY_H
#define DCPI_IMAGE_FILE_IDENTITY_H

#include <stdbool.h>

#include "process/image_table.h"

/* Compares device, inode and, where both are known, the inode's generation. False when the image has no inode. */
bool file_is_image(int fd, const struct image *image);

#endif
