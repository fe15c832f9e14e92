#include "dcpi-tools/import/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/import/kernel_symbols.h"

#define KEYS_FULL  ((size_t)1 << 20)  /* distinct ones: about 50 MiB */
#define KEYS_MAX   (KEYS_FULL + 4096) /* a sample has several */
#define EDGES_FULL ((size_t)1 << 20)
#define TABLE_FULL ((size_t)2 << 20) /* bytes; beyond IMAGE_TABLE_BYTES_MAX they take nothing */

static int
make_tables(struct pending *pending)
{
	pending->images = image_table_new();
	pending->contexts = context_table_new();
	return pending->images && pending->contexts ? 0 : -ENOMEM;
}

int
pending_init(struct pending *pending)
{
	memset(pending, 0, sizeof(*pending));
	pending->tally = tally_new(KEYS_MAX);
	return pending->tally ? make_tables(pending) : -ENOMEM;
}

void
pending_fini(struct pending *pending)
{
	image_table_free(pending->images);
	context_table_free(pending->contexts);
	tally_free(pending->tally);
	edge_list_fini(&pending->edges);
	memset(pending, 0, sizeof(*pending));
}

bool
pending_is_full(const struct pending *pending)
{
	return tally_size(pending->tally) >= KEYS_FULL || pending->edges.merged >= EDGES_FULL ||
	       image_table_bytes(pending->images) >= TABLE_FULL || context_table_bytes(pending->contexts) >= TABLE_FULL;
}

int
pending_add_edge(struct pending *pending, uint16_t event, uint32_t image, uint64_t from, uint64_t to)
{
	return edge_list_gather(
		&pending->edges,
		&(struct profile_edge){.from = from, .to = to, .count = 1, .image = image, .event = event});
}

/* Copies of what the table has, with the build-ids that are known by now. NULL: no memory. */
static struct image *
complete_images(const struct pending *pending, uint32_t count)
{
	struct image *images = calloc(count + 1, sizeof(*images));

	for (uint32_t i = 0; images && i < count; i++) {
		images[i] = *image_table_get(pending->images, i);
		build_ids_complete(pending->build_ids, &images[i]);
	}
	return images;
}

static int
flush(struct pending *pending)
{
	const uint32_t image_count = image_table_count(pending->images);
	const uint32_t context_count = context_table_count(pending->contexts);
	struct profile_batch batch = {
		.edges = pending->edges.edges,
		.edge_count = pending->edges.count,
		.image_count = image_count,
		.context_count = context_count,
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
	batch.entries = tally_sort(pending->tally, &batch.entry_count);
	if (!err)
		err = profile_flush(pending->profile, &batch);
	if (!err)
		kernel_symbols_store(pending->profile, copies, image_count);
	free(copies);
	free(contexts);
	free(images);
	return err;
}

/* The next batch has numbers of its own. */
static int
renew(struct pending *pending)
{
	struct image_table *images = pending->images;
	struct context_table *contexts = pending->contexts;
	const int err = make_tables(pending);

	if (!err)
		attribution_reset_ids(pending->attribution, pending->images, pending->contexts);
	profile_reset_session(pending->profile);
	image_table_free(images);
	context_table_free(contexts);
	tally_clear(pending->tally);
	edge_list_clear(&pending->edges);
	memset(pending->slice.events, 0, sizeof(pending->slice.events));
	pending->slice.sideband_lost = 0;
	return err;
}

int
pending_write(struct pending *pending)
{
	int err = 0;

	edge_list_merge(&pending->edges);
	if (pending->epoch.id == 0)
		err = profile_begin_epoch(pending->profile, &pending->epoch);
	pending->slice.epoch = pending->epoch.id;
	pending->slice.event_count = pending->epoch.event_count;
	if (!err)
		err = flush(pending);
	if (err)
		return err;
	pending->images_written += image_table_count(pending->images);
	return renew(pending);
}
