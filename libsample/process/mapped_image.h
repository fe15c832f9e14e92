/*
 * mapped_image.h - the images that are mapped now, each once, whether it was sampled or not
 *
 * Thousands of mappings share a few hundred images, and most images are never sampled: an image gets its number
 * in the session's table with its first sample and is forgotten here with its last mapping. All of them take
 * MAPPED_IMAGES_BYTES_MAX at most: other users choose the names, and to map costs them nothing.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_MAPPED_IMAGE_H
#define DCPI_PROCESS_MAPPED_IMAGE_H

#include "process/image_table.h"

#define MAPPED_IMAGES_BYTES_MAX   ((size_t)32 << 20)
#define MAPPED_IMAGES_CHANGED_MAX 4096

struct mapped_images; /* the set */
struct mapped_image;

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

enum image_kind mapped_image_kind(const struct mapped_image *image);

/* It was mapped at `time_ns`, in record time: kept for a file that only its inode identifies. */
void mapped_image_set_mapped(struct mapped_image *image, uint64_t time_ns);

#define MAPPED_IMAGE_NO_NUMBER UINT32_MAX /* more than a table holds */

/* The first member of a mapped image, read inline for each sample. */
struct mapped_image_head {
	uint64_t mapped_ns;
	uint32_t number;   /* in the session's table; MAPPED_IMAGE_NO_NUMBER: none yet */
	bool is_anonymous; /* memory without a file, that has no name */
};

/* When it was mapped the last time; 0: it is no such file. */
static inline uint64_t
mapped_image_mapped_ns(const struct mapped_image *image)
{
	return ((const struct mapped_image_head *)image)->mapped_ns;
}

/*
 * The file was written to: it is another image from now on, in all its mappings. `content` counts from 1; only
 * MAPPED_IMAGES_CHANGED_MAX files are remembered while they are not mapped. 0 or -ENOMEM.
 */
int mapped_images_change(struct mapped_images *images, const struct image *image, uint32_t content);

/* Memory without a file and without a name: what a process executes in it is code that it made (jit.h). */
static inline bool
mapped_image_is_anonymous(const struct mapped_image *image)
{
	return ((const struct mapped_image_head *)image)->is_anonymous;
}

/* Give an image without a number one in the session's table. 0, or as image_table_intern(). */
int mapped_image_intern(struct mapped_image *image, uint32_t *number);

/* Its number in the session's table, given now if it has none. 0, or as image_table_intern(). */
static inline int
mapped_image_number(struct mapped_image *image, uint32_t *number)
{
	*number = ((const struct mapped_image_head *)image)->number;
	return *number != MAPPED_IMAGE_NO_NUMBER ? 0 : mapped_image_intern(image, number);
}

#endif
