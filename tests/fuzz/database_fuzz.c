/*
 * database_fuzz - readers, the check and a flush over a database of any entries
 *
 * The input is a list of entries: table, size of key, key, size of value, value (sizes of one byte).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/captured.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"
#include "profile/selection.h"
#include "tests/remove_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *profile;
static char directory[] = "/tmp/dcpi-fuzz-XXXXXX";

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
clean_up(void)
{
	profile_close(profile);
	remove_tree(directory);
}

static void
open_once(void)
{
	const struct profile_options options = {.write = true};

	if (profile)
		return;
	require(mkdtemp(directory) != NULL);
	require(profile_open(directory, &options, &profile) == 0);
	require(mdb_env_set_flags(profile->store.env, MDB_NOSYNC, 1) == 0);
	atexit(clean_up);
}

/* The first bytes of `reader` as an entry; false at the end. */
static bool
put_entry(struct byte_reader *reader, MDB_txn *txn)
{
	uint8_t table = read_u8(reader), key_size = read_u8(reader);
	const uint8_t *key_data = read_bytes(reader, key_size);
	uint8_t size = read_u8(reader);
	const uint8_t *data = read_bytes(reader, size);
	MDB_val key = {key_size, (void *)key_data}, value = {size, (void *)data};

	if (reader->failed)
		return false;
	if (table < TABLE_COUNT && key_size > 0)
		require(mdb_put(txn, profile->store.tables[table], &key, &value, 0) == 0);
	return true;
}

static void
fill(const uint8_t *data, size_t size)
{
	struct byte_reader reader;
	MDB_txn *txn;

	reader_init(&reader, data, size);
	require(mdb_txn_begin(profile->store.env, NULL, 0, &txn) == 0);
	for (enum store_table table = 0; table < TABLE_COUNT; table++)
		require(mdb_drop(txn, profile->store.tables[table], 0) == 0);
	while (put_entry(&reader, txn))
		;
	require(mdb_txn_commit(txn) == 0);
}

static void
select_all(const char *comm, const char *cgroup)
{
	const struct selection_request request = {.epoch = "all", .comm = comm, .cgroup = cgroup};
	struct selection *selection;
	char why[128];

	if (selection_read(profile, &request, &selection, why, sizeof(why))) {
		require(strlen(why) < sizeof(why));
		return;
	}
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];

		require(count->image < selection->image_count && count->event < selection->event_count);
		require(selection->images[count->image].image->path != NULL && count->count > 0);
	}
	selection_free(selection);
}

static void
select_stacks(void)
{
	const struct selection_request request = {.epoch = "all", .stacks = true};
	struct selection *selection;
	char why[128];

	if (selection_read(profile, &request, &selection, why, sizeof(why)))
		return;
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct stack_node *node, *nodes = selection->stacks.nodes;
		uint32_t depth = 1;

		require(selection->counts[i].offset < selection->stacks.count);
		for (node = &nodes[selection->counts[i].offset]; node->caller; node = &nodes[node->caller]) {
			require(node->caller < (uint32_t)(node - nodes) && ++depth <= STACK_DEPTH_MAX);
			require(node->image == STACK_NO_IMAGE || node->image < selection->image_count);
		}
	}
	selection_free(selection);
}

/* One step of the garbage collection after another, until all is done. */
static void
collect(void)
{
	const struct retention_options options = {.blocks_max = 16};

	for (int step = 0; step < 1000 && profile_collect_garbage(profile, &options) > 0; step++)
		;
	gc_fini(&profile->gc);
}

static void
flush(void)
{
	static const struct tally_entry entries[] = {{.offset = 0x1000, .count = 1}, {.offset = 0x2000, .count = 1}};
	static const struct image image = {.kind = IMAGE_USER, .build_id = {1}, .build_id_size = 1, .path = "/x"};
	static const struct context context = {.comm = "x", .cgroup = "/", .label = ""};
	const struct image *images[] = {&image};
	const struct context *contexts[] = {&context};
	struct slice slice = {.id = 1, .epoch = 1, .start_ns = 1, .end_ns = 2, .event_count = 1};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 2,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.slice = &slice,
	};

	/* Each input is a session of its own. */
	profile->images.count = 0;
	profile->contexts.count = 0;
	(void)profile_flush(profile, &batch);
}

static void
read_captured(uint32_t image)
{
	struct captured_layout *layout;
	struct captured_extent extent;
	struct captured_text text;

	if (profile_get_layout(profile, image, &layout) == 0)
		free(layout);
	if (profile_get_extent(profile, image, &extent) == 0)
		free(extent.blocks);
	if (profile_get_text(profile, image, &text) == 0)
		for (size_t i = 0; i < text.count; i++)
			require(text.blocks[i].bytes != NULL &&
			        (i == 0 || text.blocks[i].number > text.blocks[i - 1].number));
	captured_text_fini(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_symbol *symbols;
	struct profile_stats stats;
	size_t count;

	open_once();
	fill(data, size);
	select_all(NULL, NULL);
	select_all("*e*", "/user.slice");
	select_stacks();
	require(profile_check(profile, NULL, NULL) >= 0);
	require(profile_stats(profile, &stats) == 0);
	if (profile_get_symbols(profile, 1, &symbols, &count) == 0)
		profile_free_symbols(symbols);
	read_captured(1);
	flush();
	collect();
	require(profile_check(profile, NULL, NULL) >= 0);
	return 0;
}
