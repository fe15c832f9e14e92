#include "process/mapped_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/hash.h"

struct mapped_image {
	struct mapped_image_head head;
	struct mapped_images *set;
	size_t references;
	bool identified;
	struct image image;
	struct image_identity identity;
	UT_hash_handle hh;
	char path[];
};

/* A file that was written to in place; its identity is that of its first content. */
struct changed_file {
	struct image_identity identity;
	uint32_t content;
	UT_hash_handle hh; /* in the order of the last change */
};

struct mapped_images {
	struct image_table *table;
	size_t bytes; /* of all images, their paths included */
	struct mapped_image *by_identity;
	struct mapped_image *by_name[IMAGE_KINDS];
	struct changed_file *changed;
};

struct mapped_images *
mapped_images_new(struct image_table *table)
{
	struct mapped_images *images = calloc(1, sizeof(*images));

	if (images)
		mapped_images_reset_ids(images, table);
	return images;
}

void
mapped_images_reset_ids(struct mapped_images *images, struct image_table *table)
{
	struct mapped_image *image;

	images->table = table;
	for (image = images->by_identity; image; image = image->hh.next)
		image->head.number = MAPPED_IMAGE_NO_NUMBER;
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++)
		for (image = images->by_name[kind]; image; image = image->hh.next)
			image->head.number = MAPPED_IMAGE_NO_NUMBER;
}

void
mapped_images_free(struct mapped_images *images)
{
	struct changed_file *file, *next;

	if (!images)
		return;
	file = images->changed;
	HASH_CLEAR(hh, images->changed);
	for (; file; file = next) {
		next = file->hh.next;
		free(file);
	}
	free(images);
}

static int
remember_change(struct mapped_images *images, const struct image_identity *identity, uint32_t content)
{
	struct changed_file *file;

	HASH_FIND(hh, images->changed, identity, sizeof(*identity), file);
	if (!file && HASH_COUNT(images->changed) >= MAPPED_IMAGES_CHANGED_MAX)
		file = images->changed; /* forget the one that was changed first */
	if (file)
		HASH_DELETE(hh, images->changed, file);
	else
		file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->identity = *identity;
	file->content = content;
	HASH_ADD(hh, images->changed, identity, sizeof(file->identity), file);
	if (hash_added(file))
		return 0;
	free(file);
	return -ENOMEM;
}

int
mapped_images_change(struct mapped_images *images, const struct image *image, uint32_t content)
{
	struct image first = *image;
	struct image_identity identity;
	struct mapped_image *mapped;
	int err;

	first.content = 0;
	if (!image_identity(&first, &identity))
		return 0;
	err = remember_change(images, &identity, content);
	if (err)
		return err;
	HASH_FIND(hh, images->by_identity, &identity, sizeof(identity), mapped);
	if (mapped) {
		mapped->image.content = content;
		mapped->head.number = MAPPED_IMAGE_NO_NUMBER;
	}
	return 0;
}

struct mapped_image *
mapped_image_get(struct mapped_images *images, const struct image *image)
{
	const enum image_kind kind = image_kind_checked(image->kind);
	const char *path = image->path ? image->path : "";
	const size_t path_size = strlen(path) + 1, size = sizeof(struct mapped_image) + path_size;
	struct image_identity identity;
	const bool identified = image_identity(image, &identity);
	struct changed_file *changed = NULL;
	struct mapped_image *mapped;

	if (identified)
		HASH_FIND(hh, images->by_identity, &identity, sizeof(identity), mapped);
	else
		HASH_FIND_STR(images->by_name[kind], path, mapped);
	if (mapped)
		return mapped_image_share(mapped);
	if (images->bytes + size > MAPPED_IMAGES_BYTES_MAX)
		return NULL;
	mapped = calloc(1, size);
	if (!mapped)
		return NULL;
	memcpy(mapped->path, path, path_size);
	mapped->set = images;
	mapped->references = 1;
	mapped->head.number = MAPPED_IMAGE_NO_NUMBER;
	mapped->head.is_anonymous = kind == IMAGE_ANON && strcmp(path, "[anon]") == 0;
	mapped->image = *image;
	mapped->image.kind = kind;
	mapped->image.path = mapped->path;
	mapped->identity = identity;
	mapped->identified = identified;
	if (identified && images->changed) {
		HASH_FIND(hh, images->changed, &identity, sizeof(identity), changed);
		mapped->image.content = changed ? changed->content : 0;
	}
	if (identified)
		HASH_ADD(hh, images->by_identity, identity, sizeof(identity), mapped);
	else
		HASH_ADD_STR(images->by_name[kind], path, mapped);
	if (!hash_added(mapped)) {
		free(mapped);
		return NULL;
	}
	images->bytes += size;
	return mapped;
}

struct mapped_image *
mapped_image_share(struct mapped_image *image)
{
	image->references++;
	return image;
}

void
mapped_image_release(struct mapped_image *image)
{
	if (!image || --image->references > 0)
		return;
	if (image->identified)
		HASH_DELETE(hh, image->set->by_identity, image);
	else
		HASH_DELETE(hh, image->set->by_name[image->image.kind], image);
	image->set->bytes -= sizeof(*image) + strlen(image->path) + 1;
	free(image);
}

enum image_kind
mapped_image_kind(const struct mapped_image *image)
{
	return image->image.kind;
}

void
mapped_image_set_mapped(struct mapped_image *image, uint64_t time_ns)
{
	if (image->image.kind == IMAGE_USER && image->image.inode != 0 && image->image.build_id_size == 0)
		image->head.mapped_ns = time_ns ? time_ns : 1;
}

int
mapped_image_intern(struct mapped_image *image, uint32_t *number)
{
	const int err = image_table_intern(image->set->table, &image->image, number);

	if (!err)
		image->head.number = *number;
	return err;
}
