#include "process/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/hash.h"

struct mapped_image_node {
	struct mapped_image mapped; /* first: callers see only this */
	struct mapped_images *set;
	size_t references;
	bool identified;
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
	struct mapped_image_node *by_identity;
	struct mapped_image_node *by_name[IMAGE_KINDS];
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
	struct mapped_image_node *node;

	images->table = table;
	for (node = images->by_identity; node; node = node->hh.next)
		node->mapped.number = MAPPED_IMAGE_NO_NUMBER;
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++)
		for (node = images->by_name[kind]; node; node = node->hh.next)
			node->mapped.number = MAPPED_IMAGE_NO_NUMBER;
}

void
mapped_images_free(struct mapped_images *images)
{
	if (!images)
		return;
	HASH_FREE_ALL(images->changed);
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
	struct mapped_image_node *node;
	int err;

	first.content = 0;
	if (!image_identity(&first, &identity))
		return 0;
	err = remember_change(images, &identity, content);
	if (err)
		return err;
	HASH_FIND(hh, images->by_identity, &identity, sizeof(identity), node);
	if (node) {
		node->mapped.image.content = content;
		node->mapped.number = MAPPED_IMAGE_NO_NUMBER;
	}
	return 0;
}

struct mapped_image *
mapped_image_get(struct mapped_images *images, const struct image *image)
{
	const enum image_kind kind = image_kind_checked(image->kind);
	const char *path = image->path ? image->path : "";
	const size_t path_size = strlen(path) + 1, size = sizeof(struct mapped_image_node) + path_size;
	struct image_identity identity;
	const bool identified = image_identity(image, &identity);
	struct changed_file *changed = NULL;
	struct mapped_image_node *node;

	if (identified)
		HASH_FIND(hh, images->by_identity, &identity, sizeof(identity), node);
	else
		HASH_FIND_STR(images->by_name[kind], path, node);
	if (node)
		return mapped_image_share(&node->mapped);
	if (images->bytes + size > MAPPED_IMAGES_BYTES_MAX)
		return NULL;
	node = calloc(1, size);
	if (!node)
		return NULL;
	memcpy(node->path, path, path_size);
	node->set = images;
	node->references = 1;
	node->mapped.number = MAPPED_IMAGE_NO_NUMBER;
	node->mapped.is_anonymous = kind == IMAGE_ANON && strcmp(path, "[anon]") == 0;
	node->mapped.image = *image;
	node->mapped.image.kind = kind;
	node->mapped.image.path = node->path;
	node->identity = identity;
	node->identified = identified;
	if (identified && images->changed) {
		HASH_FIND(hh, images->changed, &identity, sizeof(identity), changed);
		node->mapped.image.content = changed ? changed->content : 0;
	}
	if (identified)
		HASH_ADD(hh, images->by_identity, identity, sizeof(identity), node);
	else
		HASH_ADD_STR(images->by_name[kind], path, node);
	if (!hash_added(node)) {
		free(node);
		return NULL;
	}
	images->bytes += size;
	return &node->mapped;
}

struct mapped_image *
mapped_image_share(struct mapped_image *image)
{
	((struct mapped_image_node *)image)->references++;
	return image;
}

void
mapped_image_release(struct mapped_image *image)
{
	struct mapped_image_node *node = (struct mapped_image_node *)image;

	if (!image || --node->references > 0)
		return;
	if (node->identified)
		HASH_DELETE(hh, node->set->by_identity, node);
	else
		HASH_DELETE(hh, node->set->by_name[image->image.kind], node);
	node->set->bytes -= sizeof(*node) + strlen(node->path) + 1;
	free(node);
}

void
mapped_image_set_mapped(struct mapped_image *image, uint64_t time_ns)
{
	if (image->image.kind == IMAGE_USER && image->image.inode != 0 && image->image.build_id_size == 0)
		image->mapped_ns = time_ns ? time_ns : 1;
}

int
mapped_image_intern(struct mapped_image *image)
{
	return image_table_intern(((struct mapped_image_node *)image)->set->table, &image->image, &image->number);
}

/* ---- address spaces ---- */

struct address_space {
	struct mapping_budget *budget;
	struct mapping *mappings;
	size_t count, capacity;
	size_t last; /* where the last search ended; a hint only */
	size_t references;
	uint64_t insertions;
};

struct address_space *
address_space_share(struct address_space *space)
{
	if (space)
		space->references++;
	return space;
}

void
address_space_release(struct address_space *space)
{
	if (!space || --space->references > 0)
		return;
	for (size_t i = 0; i < space->count; i++)
		mapped_image_release(space->mappings[i].image);
	space->budget->used -= space->count;
	free(space->mappings);
	free(space);
}

/* Index of the first mapping that ends behind `address`. */
static size_t
first_behind(const struct address_space *space, uint64_t address)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->mappings[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct address_space *
space_new(struct mapping_budget *budget)
{
	struct address_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->budget = budget;
	space->references = 1;
	return space;
}

/* The budget has room for it. */
static struct address_space *
space_copy(const struct address_space *from)
{
	struct address_space *space;

	space = space_new(from->budget);
	if (!space)
		return NULL;
	space->mappings = malloc((from->count ? from->count : 1) * sizeof(struct mapping));
	if (!space->mappings) {
		free(space);
		return NULL;
	}
	if (from->count)
		memcpy(space->mappings, from->mappings, from->count * sizeof(struct mapping));
	for (size_t i = 0; i < from->count; i++)
		mapped_image_share(from->mappings[i].image);
	space->count = space->capacity = from->count;
	space->insertions = from->insertions;
	space->budget->used += space->count;
	return space;
}

/* Make *space one with a single reference: created when it is NULL, copied when it is shared. */
static int
unshare(struct address_space **space, struct mapping_budget *budget)
{
	struct address_space *mine;

	if (*space && (*space)->references == 1)
		return 0;
	if (*space && budget->limit - budget->used < (*space)->count)
		return -ENOSPC;
	mine = *space ? space_copy(*space) : space_new(budget);
	if (!mine)
		return -ENOMEM;
	address_space_release(*space);
	*space = mine;
	return 0;
}

static int
reserve(struct address_space *space, size_t more)
{
	size_t capacity = space->capacity ? space->capacity : 8;
	struct mapping *mappings;

	if (space->budget->limit - space->budget->used < more)
		return -ENOSPC;
	if (space->capacity - space->count >= more)
		return 0;
	while (capacity - space->count < more)
		capacity *= 2;
	mappings = realloc(space->mappings, capacity * sizeof(struct mapping));
	if (!mappings)
		return -ENOMEM;
	space->mappings = mappings;
	space->capacity = capacity;
	return 0;
}

static void
forget_older(struct address_space *space, uint64_t born, bool files_too)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->count; i++) {
		struct mapping *mapping = &space->mappings[i];

		if (mapping->born < born && (files_too || mapping->image->image.kind == IMAGE_ANON))
			mapped_image_release(mapping->image);
		else
			space->mappings[kept++] = *mapping;
	}
	space->budget->used -= space->count - kept;
	space->count = kept;
}

/*
 * Forget mappings that were inserted longest ago. An insertion adds two mappings at most, so the last
 * ADDRESS_SPACE_MAPPINGS_MAX / 4 insertions made at most half of the limit.
 */
static void
make_room(struct address_space *space)
{
	uint64_t born = space->insertions - ADDRESS_SPACE_MAPPINGS_MAX / 4;

	if (space->count + 2 <= ADDRESS_SPACE_MAPPINGS_MAX)
		return;
	forget_older(space, born, false);
	if (space->count > ADDRESS_SPACE_MAPPINGS_MAX / 4 * 3)
		forget_older(space, born, true);
}

/*
 * Replace what lies in [start, end) by `middle` (nothing when its image is NULL); the parts of mappings before
 * `start` and behind `end` stay. Room for two more mappings has been reserved.
 */
static void
replace(struct address_space *space, uint64_t start, uint64_t end, const struct mapping *middle)
{
	size_t first = first_behind(space, start), behind = first, added = 0;
	struct mapping pieces[3];

	while (behind < space->count && space->mappings[behind].start < end)
		behind++;
	if (first < behind && space->mappings[first].start < start) {
		pieces[added] = space->mappings[first];
		pieces[added++].end = start;
	}
	if (middle->image)
		pieces[added++] = *middle;
	if (first < behind && space->mappings[behind - 1].end > end) {
		pieces[added] = space->mappings[behind - 1];
		pieces[added].file_offset += end - pieces[added].start;
		pieces[added++].start = end;
	}
	for (size_t i = 0; i < added; i++)
		mapped_image_share(pieces[i].image);
	for (size_t i = first; i < behind; i++)
		mapped_image_release(space->mappings[i].image);
	memmove(&space->mappings[first + added], &space->mappings[behind],
	        (space->count - behind) * sizeof(struct mapping));
	memcpy(&space->mappings[first], pieces, added * sizeof(struct mapping));
	space->budget->used += added;
	space->budget->used -= behind - first;
	space->count = space->count - (behind - first) + added;
}

/* The mapping with equal bounds, offset and image, or NULL. */
static struct mapping *
find_equal(struct address_space *space, const struct mapping *mapping)
{
	size_t at = first_behind(space, mapping->start);
	struct mapping *found = &space->mappings[at];

	if (at == space->count || found->start != mapping->start || found->end != mapping->end ||
	    found->file_offset != mapping->file_offset || found->image != mapping->image)
		return NULL;
	return found;
}

int
address_space_insert(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end,
                     uint64_t file_offset, struct mapped_image *image)
{
	struct mapping mapping = {.start = start, .end = end, .file_offset = file_offset, .image = image};
	struct mapping *equal = *space ? find_equal(*space, &mapping) : NULL;
	int err;

	if (equal) { /* mprotect(2) makes a record of a mapping that exists */
		if ((*space)->references == 1)
			equal->born = (*space)->insertions;
		return 0;
	}
	err = unshare(space, budget);
	if (err)
		return err;
	make_room(*space);
	err = reserve(*space, 2);
	if (err)
		return err;
	mapping.born = ++(*space)->insertions;
	replace(*space, start, end, &mapping);
	return 0;
}

int
address_space_lay_over(struct address_space **space, struct mapping_budget *budget, const struct address_space *over)
{
	int err = 0;

	for (size_t i = 0; over && !err && i < over->count; i++) {
		const struct mapping *mapping = &over->mappings[i];

		err = address_space_insert(space, budget, mapping->start, mapping->end, mapping->file_offset,
		                           mapping->image);
	}
	return err;
}

int
address_space_remove(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end)
{
	struct mapping nothing = {0};
	size_t at;
	int err;

	if (!*space)
		return 0;
	at = first_behind(*space, start);
	if (at == (*space)->count || (*space)->mappings[at].start >= end)
		return 0;
	err = unshare(space, budget);
	if (err)
		return err;
	err = reserve(*space, 1);
	if (err)
		return err;
	replace(*space, start, end, &nothing);
	return 0;
}

const struct mapping *
address_space_find(struct address_space *space, uint64_t address)
{
	const struct mapping *mapping;
	size_t at;

	if (!space)
		return NULL;
	if (space->last < space->count) {
		mapping = &space->mappings[space->last];
		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	at = first_behind(space, address);
	if (at == space->count || space->mappings[at].start > address)
		return NULL;
	space->last = at;
	return &space->mappings[at];
}

const struct mapping *
address_space_behind(const struct address_space *space, uint64_t address)
{
	const size_t at = space ? first_behind(space, address) : 0;

	return space && at < space->count ? &space->mappings[at] : NULL;
}

bool
address_space_is_file(const struct address_space *space, uint64_t start, uint64_t end)
{
	const struct mapping *first, *mapping;
	size_t at;

	if (!space)
		return false;
	at = first_behind(space, start);
	first = &space->mappings[at];
	if (at == space->count || first->start > start || first->image->image.kind != IMAGE_USER)
		return false;
	for (mapping = first; mapping->end < end; mapping++) {
		const struct mapping *next = mapping + 1;

		if (++at == space->count || next->start != mapping->end || next->image != first->image ||
		    next->file_offset - first->file_offset != next->start - first->start)
			return false;
	}
	return true;
}

size_t
address_space_size(const struct address_space *space)
{
	return space ? space->count : 0;
}
