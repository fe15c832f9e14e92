/*
 * address_space.h - the images that are mapped now, and which of them lies where
 *
 * Thousands of mappings share a few hundred images, and most images are never sampled. So an image gets its number in
 * the session's table with its first sample, and is forgotten here with its last mapping. All images together take at
 * most MAPPED_IMAGES_BYTES_MAX: other users choose the names, and mapping costs them nothing.
 *
 * An address space is a sorted array of mappings that do not overlap, of one process or of several with equal mappings.
 * A fork shares its parent's array; the first change by either makes a copy. NULL is the empty address space. There is
 * no record of munmap, so mappings that are gone accumulate in a process that maps new addresses all the time: beyond
 * ADDRESS_SPACE_MAPPINGS_MAX the oldest are forgotten, memory without a file first.
 * Thread rule: one thread for a set of images, and for all address spaces of a budget.
 */
#ifndef DCPI_PROCESS_ADDRESS_SPACE_H
#define DCPI_PROCESS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

#define MAPPED_IMAGES_BYTES_MAX   ((size_t)32 << 20)
#define MAPPED_IMAGES_CHANGED_MAX 4096

#define MAPPED_IMAGE_NO_NUMBER UINT32_MAX /* more than a table holds */

struct mapped_images; /* the set */

/* Read only. */
struct mapped_image {
	uint64_t mapped_ns; /* record time, of a file that only its inode identifies: mapped last; 0: no such file */
	uint32_t number;    /* in the session's table; MAPPED_IMAGE_NO_NUMBER: none yet */
	bool is_anonymous;  /* no file and no name: what a process executes there is code that it made (jit.h) */
	struct image image;
};

/* `table` is borrowed and must outlive the set. NULL and errno (ENOMEM). */
struct mapped_images *mapped_images_new(struct image_table *table);
void mapped_images_free(struct mapped_images *images); /* after every image was released; NULL is allowed */

/* All images get new numbers, of `table`, which is borrowed as in mapped_images_new(). */
void mapped_images_reset_ids(struct mapped_images *images, struct image_table *table);

/* The image with this identity, new or not, with a reference the caller owns; copies *image. NULL: no memory, or no
 * room. */
struct mapped_image *mapped_image_get(struct mapped_images *images, const struct image *image);
struct mapped_image *mapped_image_share(struct mapped_image *image); /* one reference more */
void mapped_image_release(struct mapped_image *image);               /* one less; NULL is allowed */

/* Note that the image was mapped at `time_ns`, in record time. */
void mapped_image_set_mapped(struct mapped_image *image, uint64_t time_ns);

/*
 * The file was written to: it is another image from now on, in all its mappings. `content` counts from 1; only
 * MAPPED_IMAGES_CHANGED_MAX files are remembered while they are not mapped. 0 or -ENOMEM.
 */
int mapped_images_change(struct mapped_images *images, const struct image *image, uint32_t content);

/* Give an image without a number one in the session's table. 0, or as image_table_intern(). */
int mapped_image_intern(struct mapped_image *image);

/* The image's number in the session's table, given now if it has none. 0, or as image_table_intern(). */
static inline int
mapped_image_number(struct mapped_image *image, uint32_t *number)
{
	const int err = image->number == MAPPED_IMAGE_NO_NUMBER ? mapped_image_intern(image) : 0;

	*number = image->number;
	return err;
}

/* ---- address spaces ---- */

#define ADDRESS_SPACE_MAPPINGS_MAX 16384

struct mapping {
	uint64_t start, end;  /* first address, and first one behind */
	uint64_t file_offset; /* of `start` */
	struct mapped_image *image;
	uint64_t born; /* counts the insertions into this address space */
};

/* Mappings of all address spaces together, shared ones once. */
struct mapping_budget {
	size_t used, limit;
};

struct address_space;

struct address_space *address_space_share(struct address_space *space); /* one reference more */
void address_space_release(struct address_space *space);                /* one less */

/*
 * Put [start, end) into *space, which is created, or copied when it is shared; mappings below it are cut, split or
 * removed. Takes a reference to `image` of its own. 0; -ENOSPC when the budget is spent, -ENOMEM: then *space is as it
 * was.
 */
int address_space_insert(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end,
                         uint64_t file_offset, struct mapped_image *image);

/* Insert all mappings of `over` into *space. 0, -ENOSPC or -ENOMEM: then only a part of them. */
int address_space_lay_over(struct address_space **space, struct mapping_budget *budget,
                           const struct address_space *over);

/* Remove everything in [start, end). 0, -ENOSPC (it splits a mapping) or -ENOMEM. */
int address_space_remove(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end);

/* The mapping that holds `address`, or NULL; valid until the next change. */
const struct mapping *address_space_find(struct address_space *space, uint64_t address);

/* The first mapping that ends behind `address`: the one that holds it, or the next. NULL: there is none. */
const struct mapping *address_space_behind(const struct address_space *space, uint64_t address);

/* Does one IMAGE_USER cover all of [start, end), in one mapping or in mappings that continue each other? */
bool address_space_is_file(const struct address_space *space, uint64_t start, uint64_t end);

size_t address_space_size(const struct address_space *space);

#endif
