#include "dcpi-tools/import/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/build_id.h"
#include "profile/kernel_names.h"
#include "profile/stacks.h"

#define KEYS_FULL      ((size_t)1 << 20)  /* distinct ones: about 50 MiB */
#define KEYS_MAX       (KEYS_FULL + 4096) /* a sample has several */
#define EDGES_FULL     ((size_t)1 << 20)
#define NODES_FULL     ((size_t)1 << 20)    /* of stacks: 24 MiB, and as much in their hash table */
#define NODES_MAX      (NODES_FULL + 65536) /* 32 samples of 1024 frames are taken before the next look */
#define TABLE_FULL     ((size_t)2 << 20)    /* bytes; tables refuse entries beyond IMAGE_TABLE_BYTES_MAX */
#define NOTES_SIZE_MAX 65536

static int
make_tables(struct import_pending *pending)
{
	pending->images = image_table_new();
	pending->contexts = context_table_new();
	pending->stacks = stack_table_new(NODES_MAX);
	return pending->images && pending->contexts && pending->stacks ? 0 : -ENOMEM;
}

int
pending_init(struct import_pending *pending)
{
	memset(pending, 0, sizeof(*pending));
	pending->tally = tally_new(KEYS_MAX);
	return pending->tally ? make_tables(pending) : -ENOMEM;
}

void
pending_fini(struct import_pending *pending)
{
	image_table_free(pending->images);
	context_table_free(pending->contexts);
	stack_table_free(pending->stacks);
	tally_free(pending->tally);
	edge_list_fini(&pending->edges);
	memset(pending, 0, sizeof(*pending));
}

bool
pending_is_full(const struct import_pending *pending)
{
	return tally_size(pending->tally) >= KEYS_FULL || pending->edges.merged >= EDGES_FULL ||
	       stack_table_count(pending->stacks) >= NODES_FULL || image_table_bytes(pending->images) >= TABLE_FULL ||
	       context_table_bytes(pending->contexts) >= TABLE_FULL;
}

int
pending_add_stack(struct import_pending *pending, uint16_t event, uint32_t context, uint32_t node, uint16_t sum_event,
                  uint64_t period)
{
	const struct image stacks = {.kind = IMAGE_STACKS, .path = STACKS_PATH};
	struct sample_key key = {.offset = node, .context = context, .event = event};
	int err = image_table_intern(pending->images, &stacks, &key.image);

	if (err)
		return err;
	return period ? tally_add_with_sum(pending->tally, &key, 1, sum_event, period)
	              : tally_add(pending->tally, &key, 1);
}

int
pending_add_edge(struct import_pending *pending, uint16_t event, uint32_t image, uint64_t from, uint64_t to)
{
	return edge_list_gather(
		&pending->edges,
		&(struct profile_edge){.from = from, .to = to, .count = 1, .image = image, .event = event});
}

/* Whether the part of the kernel whose notes are in the file `path` has the image's build-id. */
static bool
has_build_id(const char *path, const struct image *image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
	uint8_t build_id[BUILD_ID_SIZE_MAX], *notes;
	ssize_t size = 0;

	if (fd < 0)
		return false;
	notes = malloc(NOTES_SIZE_MAX);
	do
		size = notes ? read(fd, notes, NOTES_SIZE_MAX) : 0;
	while (size < 0 && errno == EINTR);
	if (size > 0)
		found = build_id_from_notes(notes, (size_t)size, build_id);
	free(notes);
	close(fd);
	return found > 0 && found == image->build_id_size && memcmp(build_id, image->build_id, (size_t)found) == 0;
}

static bool
runs_here(const struct image *image)
{
	const int name_size = (int)strlen(image->path) - 2; /* of "[ext4]" */
	char path[PATH_MAX];

	if (image->build_id_size == 0)
		return false;
	if (image->kind == IMAGE_KERNEL)
		return has_build_id("/sys/kernel/notes", image);
	if (image->kind != IMAGE_MODULE || name_size <= 0 || strchr(image->path, '/'))
		return false;
	if (snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id", name_size, image->path + 1) >=
	    (int)sizeof(path))
		return false;
	return has_build_id(path, image);
}

/*
 * A recording has no names of the kernel's procedures: where build-ids say that it is of the kernel that runs here, or
 * of a module of it, store the names from /proc, for images of the session that have been flushed. Where names are
 * hidden, or memory ends, images stay without.
 */
static void
store_kernel_names(struct profile *profile, const struct image *images, uint32_t count)
{
	struct kernel_names_image *parts = calloc((size_t)count + 1, sizeof(*parts));
	size_t part_count = 0;

	for (uint32_t i = 0; parts && i < count; i++)
		if (runs_here(&images[i]) && !profile_has_symbols(profile, i))
			parts[part_count++] = (struct kernel_names_image){.number = i, .image = &images[i]};
	if (part_count > 0)
		kernel_names_store(profile, "/proc", NULL, parts, part_count);
	free(parts);
}

/* Copies of the images in the table, with the build-ids known so far. NULL: no memory. */
static struct image *
complete_images(const struct import_pending *pending, uint32_t count)
{
	struct image *images = calloc(count + 1, sizeof(*images));

	for (uint32_t i = 0; images && i < count; i++) {
		images[i] = *image_table_get(pending->images, i);
		build_ids_complete(pending->build_ids, &images[i]);
	}
	return images;
}

static int
flush(struct import_pending *pending)
{
	const uint32_t image_count = image_table_count(pending->images);
	const uint32_t context_count = context_table_count(pending->contexts);
	struct profile_batch batch = {
		.edges = pending->edges.edges,
		.edge_count = pending->edges.count,
		.image_count = image_count,
		.context_count = context_count,
		.first_node = 1,
		.node_count = stack_table_count(pending->stacks),
		.slice = &pending->slice,
	};
	const struct image **images = calloc(image_count + 1, sizeof(*images));
	const struct context **contexts = calloc(context_count + 1, sizeof(*contexts));
	struct image *copies = complete_images(pending, image_count);
	int err = images && contexts && copies ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < image_count; i++)
		images[i] = &copies[i];
	for (uint32_t i = 0; !err && i < context_count; i++)
		contexts[i] = context_table_get(pending->contexts, i);
	batch.images = images;
	batch.contexts = contexts;
	if (batch.node_count > 0)
		batch.nodes = stack_table_nodes(pending->stacks, 1);
	batch.entries = tally_sort(pending->tally, &batch.entry_count);
	if (!err)
		err = profile_flush(pending->profile, &batch);
	if (!err)
		store_kernel_names(pending->profile, copies, image_count);
	free(copies);
	free(contexts);
	free(images);
	return err;
}

/* Tables and session for the next batch, whose images and contexts are numbered from 0 again. */
static int
renew(struct import_pending *pending)
{
	struct image_table *images = pending->images;
	struct context_table *contexts = pending->contexts;
	struct stack_table *stacks = pending->stacks;
	const int err = make_tables(pending);

	if (!err)
		attribution_reset_ids(pending->attribution, pending->images, pending->contexts);
	profile_reset_session(pending->profile);
	import_tables_begin(pending->tables, pending->images);
	image_table_free(images);
	context_table_free(contexts);
	stack_table_free(stacks);
	tally_clear(pending->tally);
	edge_list_clear(&pending->edges);
	memset(pending->slice.events, 0, sizeof(pending->slice.events));
	pending->slice.sideband_lost = 0;
	return err;
}

int
pending_write(struct import_pending *pending)
{
	int err;

	edge_list_merge(&pending->edges);
	if (pending->epoch.id == 0) {
		err = profile_begin_epoch(pending->profile, &pending->epoch);
		if (err)
			return err;
	}
	pending->slice.epoch = pending->epoch.id;
	pending->slice.event_count = pending->epoch.event_count;
	err = flush(pending);
	if (err)
		return err;
	pending->images_written += image_table_count(pending->images);
	return renew(pending);
}
