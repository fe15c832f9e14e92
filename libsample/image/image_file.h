/*
 * image_file.h - an ELF file on disk that stands for an image of the profile
 *
 * Only this room uses libdw and libelf. Tools open image files, with the rights of the user who runs them; the daemon
 * never does.
 * Thread rule: one thread per image_file; any number of threads may convert addresses and offsets.
 */
#ifndef DCPI_IMAGE_IMAGE_FILE_H
#define DCPI_IMAGE_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

struct image_file;

/*
 * Find and open the file of `image` (kinds user, module and vdso): at its path, else by build-id below
 * /usr/lib/debug/.build-id. 0; -ENOENT; -EACCES; -DCPI_EBUILDID when there is only a file of another build, which is
 * not used; -DCPI_EDAMAGED when it is no ELF file. Without a build-id, the file must have the device and inode of the
 * image.
 */
int image_file_open(const struct image *image, struct image_file **file);

/*
 * Open an image by descriptors that the caller knows to be the image's: of its file, and of its separate debug file
 * (-1: none). They then belong to the image_file, also on failure. If the image has a build-id, it is compared
 * nevertheless, and a debug file of another build is ignored. No other file is opened, now or later. Both files are
 * mapped: if one becomes shorter meanwhile, its reader gets a SIGBUS. Errors of image_file_open().
 */
int image_file_open_descriptors(const struct image *image, int main, int debug, struct image_file **file);

/*
 * Open an image that a database has captured (profile/captured.h): it converts addresses and offsets, but has no
 * symbols and no lines. 0, -ENOMEM, -DCPI_EDAMAGED.
 */
struct captured_layout;
int image_file_from_captured(const struct captured_layout *layout, struct image_file **file);
void image_file_close(struct image_file *file); /* NULL is allowed */

/* The ELF virtual address of file offset `offset`, by the program headers; -ENOENT when no segment holds it. */
int image_file_address(const struct image_file *file, uint64_t offset, uint64_t *address);

/*
 * The part of the file, from *start to *end - 1, that is mapped together with `offset`; -ENOENT when no segment holds
 * `offset`.
 */
int image_file_segment(const struct image_file *file, uint64_t offset, uint64_t *start, uint64_t *end);

/* The file offset of an ELF virtual address; -ENOENT when no segment holds it. */
int image_file_offset(const struct image_file *file, uint64_t address, uint64_t *offset);

/*
 * DT_SONAME: the name by which programs look for this library. 0 with a new string in *soname (free it); -ENOENT when
 * there is none, -DCPI_EDAMAGED, -ENOMEM.
 */
int image_file_soname(const struct image_file *file, char **soname);

/* ---- for the files of this room, which know image/elf_file.h ---- */

struct elf_file;
struct elf_segments;

#define IMAGE_FILE_DEBUG_ROOT "/usr/lib/debug"

/* image_file_open() with another directory instead of IMAGE_FILE_DEBUG_ROOT. */
int image_file_open_below(const char *debug_root, const struct image *image, struct image_file **file);

/* The ELF file of the image; NULL when only its debug file was found, or for a captured image. */
const struct elf_file *image_file_elf(const struct image_file *file);

/*
 * The separate debug file; NULL when it was not found, or not looked for yet. image_file_find_debug() looks for it by
 * build-id, then by .gnu_debuglink, in the file system only; it asks no server. If it cannot be found or read, only
 * names are missing.
 */
const struct elf_file *image_file_debug(const struct image_file *file);
void image_file_find_debug(struct image_file *file);
const struct elf_segments *image_file_segments(const struct image_file *file);

/*
 * Whether the open file is the one that was mapped, for images without a build-id: compares device, inode and, where
 * both are known, the inode's generation. False when the image has no inode.
 */
bool image_file_is_inode(int fd, const struct image *image);

/* Open a copy of this process's own vdso. 0, -ENOENT when it has none, -ENOMEM, -DCPI_EDAMAGED. */
int image_file_open_vdso(struct elf_file *elf);

#endif
