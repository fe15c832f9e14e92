/*
 * image_file.h - an ELF file on disk that stands for an image of the profile
 *
 * libdw and libelf are used here and nowhere else. Opened by tools, as the user who runs them; never by the daemon.
 * Thread rule: one thread per image_file; any number may ask for addresses and offsets.
 */
#ifndef DCPI_IMAGE_IMAGE_FILE_H
#define DCPI_IMAGE_IMAGE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

struct image_file;

/*
 * Find and open the file of `image` (kinds user, module and vdso): at its path, else by build-id below
 * /usr/lib/debug/.build-id. 0; -ENOENT; -EACCES; -DCPI_EBUILDID when there is a file but of another build (it is not
 * used); -DCPI_EDAMAGED for what is no ELF file. Without a build-id, device and inode must be the same.
 */
int image_file_open(const struct image *image, struct image_file **file);

/*
 * The same of descriptors that somebody opened who knows that they are the image's, and that are the image_file's from
 * here on, also on failure: of the file, and of its separate debug file (-1: none). Where the image has a build-id, it
 * is compared all the same, and a debug file of another build is left out. Nothing is opened here nor later. Both are
 * mapped: a file that is cut short meanwhile costs its reader a SIGBUS.
 */
int image_file_open_descriptors(const struct image *image, int main, int debug, struct image_file **file);
void image_file_close(struct image_file *file); /* NULL is allowed */

/* The ELF virtual address of file offset `offset`, by the program headers; -ENOENT when no segment holds it. */
int image_file_address(const struct image_file *file, uint64_t offset, uint64_t *address);

/* The part of the file, from *start to *end - 1, that is mapped together with what is at `offset`; -ENOENT likewise. */
int image_file_segment(const struct image_file *file, uint64_t offset, uint64_t *start, uint64_t *end);

/* The offset of an address. */
int image_file_offset(const struct image_file *file, uint64_t address, uint64_t *offset);

#endif
