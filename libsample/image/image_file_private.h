/*
 * image_file_private.h - what the files of this room share of an opened image
 */
#ifndef DCPI_IMAGE_IMAGE_FILE_PRIVATE_H
#define DCPI_IMAGE_IMAGE_FILE_PRIVATE_H

#include "image/elf_file.h"
#include "image/image_file.h"
#include "image/segments.h"

#define DEBUG_ROOT "/usr/lib/debug"

struct image_file {
	struct elf_file main;  /* the image itself; not open when only its debug file was found */
	struct elf_file debug; /* the separate debug file; looked for when symbols are read */
	struct segment_table segments;
	char *path;
	char *debug_root;
};

/* image_file_open() with another folder in the place of DEBUG_ROOT. */
int image_file_open_below(const char *debug_root, const struct image *image, struct image_file **file);

#endif
