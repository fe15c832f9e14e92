/* Tests of profile/stacks.h: stacks in a database, from a session to a merged database. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/stack_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/merge_database.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"
#include "profile/store.h"

/* ---- as bytes ---- */

/* What was visited, as "number(offset<caller) ...". */
struct visited_nodes {
	char text[80 * STACKS_RUN_MAX];
	size_t size;
};

static int
visit_node(void *context, uint32_t number, const struct stack_node *node)
{
	struct visited_nodes *visited = context;

	visited->size += (size_t)snprintf(visited->text + visited->size, sizeof(visited->text) - visited->size,
	                                  " %u(%#" PRIx64 "<%u)", number, node->offset, node->caller);
	return 0;
}

static const struct stacks_key first = {.offset = 0x10, .image = 1, .caller = 1, .number = 2};

static int
decode(const char *data, size_t size)
{
	struct visited_nodes visited = {0};

	return stacks_decode(&first, data, size, visit_node, &visited);
}

static void
a_runs_nodes_are_distances(void **state)
{
	/* of the first offset, called by 1 + 3, their number 1 above; 5 bytes on, called by none, number 6 */
	static const char value[] = "\1\0\3\1\5\0\6";
	struct visited_nodes visited = {0};

	(void)state;
	assert_int_equal(stacks_decode(&first, value, sizeof(value) - 1, visit_node, &visited), 0);
	assert_string_equal(visited.text, " 2(0x10<1) 5(0x10<4) 6(0x15<0)");
	for (size_t size = 0; size < sizeof(value) - 1; size++)
		assert_int_equal(decode(value, size), size == 1 || size == 4 ? 0 : -DCPI_EDAMAGED);
	assert_int_equal(decode("\2", 1), -DCPI_EDAMAGED);                        /* of another format */
	assert_int_equal(decode("\1\0\0\1", 4), -DCPI_EDAMAGED);                  /* a node twice */
	assert_int_equal(decode("\1\0\0\2", 4), 0);                               /* two of one frame and caller */
	assert_int_equal(decode("\1\1\1\0", 4), -DCPI_EDAMAGED);                  /* calls itself */
	assert_int_equal(decode("\1\0\xfe\xff\xff\xff\xf\1", 8), -DCPI_EDAMAGED); /* no such caller */
	assert_int_equal(decode("\1\1\1\xfe\xff\xff\xff\xf", 8), -DCPI_EDAMAGED); /* no such number */
	assert_int_equal(decode("\1\xf0\xff\xff\xff\xff\xff\xff\xff\xff\1\1\1", 13), -DCPI_EDAMAGED); /* nor offset */
}

static void
a_run_has_a_limit(void **state)
{
	char value[1 + 3 * STACKS_RUN_MAX] = "\1";

	(void)state;
	for (size_t i = 0; i < STACKS_RUN_MAX; i++)
		memcpy(value + 1 + 3 * i, "\1\1\1", 3);
	assert_int_equal(stacks_decode(&first, value, sizeof(value) - 3, visit_node, &(struct visited_nodes){0}), 0);
	assert_int_equal(decode(value, sizeof(value)), -DCPI_EDAMAGED);
}

static void
a_key_is_the_first_node(void **state)
{
	const struct stacks_key key = {
		.image = 0x01020304, .offset = 0x1112131415161718, .caller = 0x21222324, .number = 0x31323334};
	uint8_t data[STACKS_KEY_SIZE];
	struct stacks_key read;

	(void)state;
	stacks_key_encode(&key, data);
	assert_memory_equal(data, "\1\2\3\4\x11\x12\x13\x14\x15\x16\x17\x18!\"#$1234", STACKS_KEY_SIZE);
	assert_int_equal(stacks_key_decode(data, STACKS_KEY_SIZE, &read), 0);
	assert_int_equal(read.image, key.image);
	assert_int_equal(read.offset, key.offset);
	assert_int_equal(read.caller, key.caller);
	assert_int_equal(read.number, key.number);
	assert_int_equal(stacks_key_decode(data, STACKS_KEY_SIZE - 1, &read), -DCPI_EDAMAGED);
	memcpy(data + 16, data + 12, 4); /* calls itself */
	assert_int_equal(stacks_key_decode(data, STACKS_KEY_SIZE, &read), -DCPI_EDAMAGED);
}

/* The key that is 0 all through is the only one with image 0. */
static void
the_highest_number_has_a_key_of_its_own(void **state)
{
	uint8_t data[STACKS_KEY_SIZE] = {0};
	struct stacks_key read;
	uint32_t highest;

	(void)state;
	assert_int_equal(stacks_key_decode(data, sizeof(data), &read), 0);
	assert_int_equal(read.image, 0);
	for (size_t i = 4; i < sizeof(data); i++) {
		data[i] = 1;
		assert_int_equal(stacks_key_decode(data, sizeof(data), &read), -DCPI_EDAMAGED);
		data[i] = 0;
	}
	assert_int_equal(stacks_highest_decode("\1\x81\1", 3, &highest), 0);
	assert_int_equal(highest, 129);
	assert_int_equal(stacks_highest_decode("\1\x81", 2, &highest), -DCPI_EDAMAGED);
	assert_int_equal(stacks_highest_decode("\1\1\1", 3, &highest), -DCPI_EDAMAGED);
	assert_int_equal(stacks_highest_decode("\1\xff\xff\xff\xff\xf", 6, &highest), -DCPI_EDAMAGED);
}

/* ---- in a database ---- */

static void
stacks_are_read_as_they_were_written(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	assert_int_equal(node_count(profile), 0);
	write_stacks(profile, START_NS);
	assert_clean(profile);
	assert_int_equal(node_count(profile), 5);
	assert_int_equal(samples_of(profile, 0x5000, 0x10), 7);
	assert_int_equal(samples_of(profile, 0x5000, STACK_END_NO_TABLES), 2);
	profile_close(profile);
}

/* A session gives more nodes with its next flush; another session gives some that are there already. */
static void
each_node_is_stored_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t epoch = begin_stacks_epoch(profile);

	flush(profile, epoch, START_NS,
	      (struct stack_batch){.images = images,
	                           .nodes = nodes,
	                           .first_node = 1,
	                           .node_count = 3,
	                           .stacks_image = 2,
	                           .counts = {0, 1, 3}});
	assert_int_equal(node_count(profile), 3);
	flush(profile, epoch, START_NS + MINUTE_NS,
	      (struct stack_batch){.nodes = &nodes[3],
	                           .first_node = 4,
	                           .node_count = 2,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 4, 0, 1}});
	assert_int_equal(node_count(profile), 5);
	profile_reset_session(profile);
	flush(profile, epoch, START_NS + 2 * MINUTE_NS,
	      (struct stack_batch){.images = images,
	                           .nodes = nodes,
	                           .first_node = 1,
	                           .node_count = 5,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 0, 0, 1}});
	assert_clean(profile);
	assert_int_equal(node_count(profile), 5);
	assert_int_equal(samples_of(profile, 0x20, 0x10), 1);
	assert_int_equal(samples_of(profile, 0x5000, 0x10), 7);
	assert_int_equal(samples_of(profile, 0x5000, STACK_END_NO_TABLES), 2);
	profile_close(profile);
}

static void
a_batch_that_contradicts_itself_is_refused(void **state)
{
	static const struct stack_node unknown_caller = {.offset = 1, .image = 0, .caller = 2};
	static const struct stack_node unknown_image = {.offset = 1, .image = 9, .caller = 0};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t epoch = begin_stacks_epoch(profile);
	struct stack_batch batch = {
		.images = images, .nodes = &unknown_caller, .first_node = 1, .node_count = 1, .stacks_image = 2};

	assert_int_equal(try_flush(profile, epoch, START_NS, &batch), -EINVAL);
	batch.nodes = &unknown_image;
	assert_int_equal(try_flush(profile, epoch, START_NS, &batch), -EINVAL);
	batch.nodes = nodes;
	batch.first_node = 2;
	assert_int_equal(try_flush(profile, epoch, START_NS, &batch), -EINVAL);
	batch.first_node = 1;
	batch.counts[1] = 1; /* of a node that was not given */
	assert_int_equal(try_flush(profile, epoch, START_NS, &batch), -EINVAL);
	batch.counts[1] = 0;
	batch.counts[0] = 1;
	assert_int_equal(try_flush(profile, epoch, START_NS, &batch), 0);
	assert_clean(profile);
	profile_close(profile);
}

/* Slices are merged, a sweep goes on meanwhile, and what is dropped takes its nodes along, but not their callers. */
static void
what_no_count_refers_to_is_swept(void **state)
{
	const struct retention_options drop_options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t epoch = write_stacks(profile, START_NS);

	for (uint64_t i = 1; i < 20; i++)
		flush(profile, epoch, START_NS + i * MINUTE_NS,
		      (struct stack_batch){.stacks_image = 2, .counts = {0, i % 2, 0, 0, 0}});
	flush(profile, epoch, START_NS + 2 * DAY_NS,
	      (struct stack_batch){.stacks_image = 2, .counts = {0, 5, 0, 0, 0}});
	profile_close(profile);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(profile_collect_garbage(profile, &(struct retention_options){.blocks_max = 1}), 1);
	merge_all(profile, START_NS + 30 * DAY_NS);
	sweep_all(profile);
	assert_int_equal(node_count(profile), 5);
	assert_int_equal(samples_of(profile, 0x5000, 0x10), 7);
	assert_int_equal(samples_of(profile, 0x20, 0x10), 15);
	assert_int_equal(profile_drop_old(profile, &drop_options, START_NS), 1);
	sweep_all(profile);
	assert_int_equal(samples_of(profile, 0x20, 0x10), 5);
	assert_int_equal(node_count(profile), 2);
	assert_int_equal(stats_of(profile).images, 2); /* libc is gone */
	profile_close(profile);
}

/* ---- runs ---- */

#define MANY 20000

/* Nodes in the order of their numbers, from 1. */
struct many {
	struct profile *profile;
	MDB_txn *txn;
	struct stack_node nodes[MANY + 1];
	uint32_t count;
};

/* Returns the number of the node: that of an equal one which was put before, or the next. */
static uint32_t
put_node(struct many *many, uint64_t offset, uint32_t image, uint32_t caller)
{
	const struct stack_node node = {.offset = offset, .image = image, .caller = caller};
	uint32_t number;

	assert_int_equal(stacks_intern(&many->profile->store, many->txn, &node, &number), 0);
	if (number == many->count + 1)
		many->nodes[++many->count] = node;
	assert_in_range(number, 1, many->count);
	assert_memory_equal(&many->nodes[number], &node, sizeof(node));
	return number;
}

/* What is like programs: a recursion of one frame; one caller's many callees; stacks whose outer frames are few. */
static void
put_many(struct many *many)
{
	unsigned seed = 1;

	for (uint32_t caller = 0; caller < 1000;)
		caller = put_node(many, 0x10, 1, caller);
	for (uint64_t i = 0; i < 5000; i++)
		put_node(many, 0x1000 + i * 7919 % 5000, 2, 1000);
	while (many->count < MANY) {
		uint32_t caller = 0;

		for (uint32_t depth = 0; depth < 12 && many->count < MANY; depth++)
			caller = put_node(many, 4 * (uint64_t)(rand_r(&seed) % (depth < 6 ? 4 : 400)), 3 + depth,
			                  caller);
	}
}

static uint64_t
bytes_of_stacks(struct profile *profile)
{
	uint64_t bytes;
	MDB_txn *txn;

	assert_int_equal(store_begin(&profile->store, false, &txn), 0);
	assert_int_equal(store_table_bytes(&profile->store, txn, TABLE_STACKS, &bytes), 0);
	assert_int_equal(store_leave(&profile->store, txn, 0), 0);
	return bytes;
}

/* Sweep, five runs at a time, what `marks` has no mark for. */
static void
sweep_unmarked(struct profile *profile, const struct gc_marks *marks)
{
	struct stacks_key next = {0};
	int result = 1;

	while (result > 0) {
		MDB_txn *txn;

		assert_int_equal(store_begin(&profile->store, true, &txn), 0);
		result = stacks_sweep(&profile->store, txn, marks, 5, &next);
		assert_in_range(result, 0, 1);
		assert_int_equal(store_end(&profile->store, txn, 0), 0);
	}
}

/*
 * Each node has one number however often it is asked for; all are read as they were put; and what is not marked goes,
 * while the rest stays as dense as it was.
 */
static void
many_nodes_take_few_bytes(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct many *many = calloc(1, sizeof(*many));
	struct gc_marks marks = {.bits = calloc(MANY / 8 + 1, 1), .end = MANY + 1};
	struct stack_nodes all;
	uint32_t kept = 0;

	many->profile = profile;
	assert_int_equal(store_begin(&profile->store, true, &many->txn), 0);
	put_many(many);
	assert_int_equal(store_end(&profile->store, many->txn, 0), 0);
	assert_in_range(bytes_of_stacks(profile) / MANY, 1, 14);
	assert_int_equal(stacks_read(profile, &all), 0);
	assert_int_equal(all.count, 1 + MANY);
	for (uint32_t i = 1; i <= MANY; i++)
		assert_memory_equal(&all.nodes[i], &many->nodes[i], sizeof(many->nodes[i]));
	stack_nodes_fini(&all);

	/* of the stacks behind the first 6,000 nodes, one in three, with their callers */
	for (uint32_t i = MANY; i > 6000; i--)
		if (i % 24 < 8)
			gc_mark(&marks, i);
	for (uint32_t i = MANY; i > 0; i--)
		if (gc_is_marked(&marks, i))
			gc_mark(&marks, many->nodes[i].caller);
	for (uint32_t i = 1; i <= MANY; i++)
		kept += gc_is_marked(&marks, i);
	sweep_unmarked(profile, &marks);
	assert_int_equal(stacks_read(profile, &all), 0);
	assert_int_equal(all.count, 1 + kept);
	for (uint32_t i = 1; i < all.count; i++) {
		const struct stack_node *put = &many->nodes[all.numbers[i]];

		assert_true(gc_is_marked(&marks, all.numbers[i]));
		assert_int_equal(all.nodes[i].offset, put->offset);
		assert_int_equal(all.nodes[i].image, put->image);
		assert_int_equal(all.numbers[all.nodes[i].caller], put->caller);
	}
	assert_in_range(bytes_of_stacks(profile) / kept, 1, 20);
	stack_nodes_fini(&all);
	free(marks.bits);
	free(many);
	profile_close(profile);
}

/* A salvaged database may have one frame and caller under two numbers: both stay, and stacks_intern() finds one. */
static void
a_node_may_have_two_numbers(void **state)
{
	const struct stack_node lost = {.offset = STACK_END_UNKNOWN, .image = STACK_NO_IMAGE};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct store *store = &profile->store;
	struct stack_nodes all;
	uint32_t number;
	MDB_txn *txn;

	assert_int_equal(store_begin(store, true, &txn), 0);
	for (uint32_t i = 300; i > 0; i--)
		assert_int_equal(stacks_append(store, txn, i, &lost), 0);
	assert_int_equal(stacks_append(store, txn, 7, &lost), -DCPI_EDAMAGED);
	assert_int_equal(stacks_append(store, txn, 0, &lost), -DCPI_EDAMAGED);
	assert_int_equal(stacks_set_highest(store, txn, 300), 0);
	assert_int_equal(stacks_intern(store, txn, &lost, &number), 0);
	assert_int_equal(number, 300);
	assert_int_equal(store_end(store, txn, 0), 0);
	assert_int_equal(stacks_read(profile, &all), 0);
	assert_int_equal(all.count, 1 + 300);
	stack_nodes_fini(&all);
	profile_close(profile);
}

static void
a_node_above_the_highest_number_is_damage(void **state)
{
	const struct stacks_key wrong = {.image = 1, .offset = 0x10, .caller = 1000, .number = 1001};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint8_t key[STACKS_KEY_SIZE];

	write_stacks(profile, START_NS);
	assert_clean(profile);
	profile_close(profile);
	stacks_key_encode(&wrong, key);
	raw_put_once(fixture->directory, "stacks", key, sizeof(key), "\1", 1);
	assert_in_range(complaints(fixture->directory), 1, 10);
}

/* Each run can be read, and no node is there twice; but which run has a node, its key does not say any more. */
static void
runs_that_overlap_are_damage(void **state)
{
	const struct stacks_key between = {.image = 1, .offset = 0x18, .number = 4}; /* in the run from 0x10 to 0x20 */
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint8_t key[STACKS_KEY_SIZE];
	MDB_txn *txn;

	flush(profile, begin_stacks_epoch(profile), START_NS,
	      (struct stack_batch){.images = images,
	                           .nodes = nodes,
	                           .first_node = 1,
	                           .node_count = 3,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 7}});
	assert_int_equal(store_begin(&profile->store, true, &txn), 0);
	assert_int_equal(stacks_set_highest(&profile->store, txn, 4), 0);
	assert_int_equal(store_end(&profile->store, txn, 0), 0);
	assert_clean(profile);
	profile_close(profile);
	stacks_key_encode(&between, key);
	raw_put_once(fixture->directory, "stacks", key, sizeof(key), "\1", 1);
	assert_int_equal(complaints(fixture->directory), 1);
}

#define DEPTH 900

/* A stack of DEPTH frames, 16 bytes apart, with a sample. */
static void
write_deep_stack(struct profile *profile)
{
	static struct stack_node chain[DEPTH];
	static const struct image *const own[] = {&stacks_of_all, &gzip_image, &libc_image};
	const uint32_t epoch = begin_stacks_epoch(profile);
	struct slice slice = {
		.epoch = epoch,
		.start_ns = START_NS,
		.end_ns = START_NS + MINUTE_NS,
		.event_count = 1,
		.events[0].samples = 1,
	};
	struct tally_entry entry = {.offset = DEPTH, .count = 1};
	const struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 3,
		.images = own,
		.context_count = 2,
		.contexts = two_contexts,
		.first_node = 1,
		.node_count = DEPTH,
		.nodes = chain,
		.slice = &slice,
	};

	for (uint32_t i = 0; i < DEPTH; i++)
		chain[i] = (struct stack_node){.offset = (uint64_t)i * 16, .image = 1, .caller = i};
	assert_int_equal(profile_flush(profile, &batch), 0);
}

/* Garbage of stacks is removed when no page is free: else a flush could not be written until something is dropped. */
static void
a_full_database_is_swept(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 1 << 20);
	const struct retention_options options = {0};
	struct stack_node node = {.image = 2};
	unsigned seed = 1;
	uint32_t number;
	int result;

	write_deep_stack(profile);
	/* ever more nodes between those, which no count refers to, until there is no room for one */
	for (unsigned together = 256; together > 0;) {
		MDB_txn *txn;
		int err = 0;

		assert_int_equal(store_begin(&profile->store, true, &txn), 0);
		for (unsigned i = 0; !err && i < together; i++) {
			node.offset = (uint64_t)rand_r(&seed) % ((uint64_t)DEPTH * 16);
			node.caller = (uint32_t)rand_r(&seed) % DEPTH;
			err = stacks_intern(&profile->store, txn, &node, &number);
		}
		err = store_end(&profile->store, txn, err);
		if (err)
			assert_int_equal(err, -DCPI_EFULL);
		together = err ? together / 2 : together;
	}
	assert_in_range(node_count(profile), 10 * DEPTH, 1000000);
	while ((result = profile_collect_garbage(profile, &options)) > 0)
		assert_clean(profile);
	assert_int_equal(result, 0);
	assert_int_equal(node_count(profile), DEPTH);
	profile_close(profile);
}

/* What has the number of the stacks' image in the database that was there before is no image of stacks in this one. */
static void
another_database_at_the_path_has_other_numbers(void **state)
{
	static const struct image tar_image = {.kind = IMAGE_USER, .path = "/usr/bin/tar"};
	static const struct image *const others[] = {&gzip_image, &libc_image, &tar_image};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct stack_batch batch = {.images = images_backwards,
	                            .nodes = &nodes[3],
	                            .first_node = 1,
	                            .node_count = 1,
	                            .stacks_image = 0,
	                            .counts = {1}};
	char path[PATH_MAX];

	assert_int_equal(try_flush(profile, begin_stacks_epoch(profile), START_NS, &batch), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(profile_recover(profile, false), 1);
	batch = (struct stack_batch){.images = others, .stacks_image = 0, .counts = {1}};
	assert_int_equal(try_flush(profile, begin_stacks_epoch(profile), START_NS, &batch), 0);
	assert_clean(profile);
	profile_close(profile);
}

/* Numbers there are not those here: nodes, and images, come in another order, and one is new. */
static void
another_databases_stacks_meet_those_here(void **state)
{
	static const struct stack_node others[] = {
		{.offset = STACK_END_NO_TABLES, .image = STACK_NO_IMAGE, .caller = 0},
		{.offset = 0x10, .image = 2, .caller = 0},
		{.offset = 0x5000, .image = 1, .caller = 1},
		{.offset = 0x24, .image = 2, .caller = 2},
		{.offset = 0x5000, .image = 1, .caller = 4},
	};
	const struct database_merge_options options = {.host = "beta"};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct profile *other = open_writer(fixture->other, 0);
	struct database_merge result;

	write_stacks(profile, START_NS);
	flush(other, begin_stacks_epoch(other), START_NS,
	      (struct stack_batch){.images = images_backwards,
	                           .nodes = others,
	                           .first_node = 1,
	                           .node_count = 5,
	                           .stacks_image = 0,
	                           .counts = {0, 0, 10, 0, 20}});
	assert_int_equal(profile_merge_database(profile, other, &options, &result), 0);
	assert_clean(profile);
	assert_int_equal(node_count(profile), 7);
	assert_int_equal(samples_of(profile, 0x5000, 0x10), 7 + 20);
	assert_int_equal(samples_of(profile, 0x5000, STACK_END_NO_TABLES), 2 + 10);
	profile_close(other);
	profile_close(profile);
}

/* ---- damage ---- */

static void
a_damaged_frame_is_found_out(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct stack_nodes all;
	/* an image that is not there, and a number that is taken */
	const struct stacks_key at = {.image = 9, .offset = 0x20, .caller = 2, .number = 3};
	uint8_t key[STACKS_KEY_SIZE];

	write_stacks(profile, START_NS);
	profile_close(profile);
	stacks_key_encode(&at, key);
	raw_put_once(fixture->directory, "stacks", key, sizeof(key), "\1", 1);
	assert_in_range(complaints(fixture->directory), 2, 10);
	profile = open_reader(fixture->directory);
	assert_int_equal(stacks_read(profile, &all), -DCPI_EDAMAGED);
	profile_close(profile);
}

/* Readers may follow the callers of a stack by recursion. */
static void
a_stack_that_is_too_deep_is_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct stack_node chain[STACK_DEPTH_MAX + 1];
	struct stack_nodes all;

	for (uint32_t depth = STACK_DEPTH_MAX; depth <= STACK_DEPTH_MAX + 1; depth++) {
		struct profile *profile = open_writer(fixture->directory, 0);

		for (uint32_t i = 0; i < depth; i++)
			chain[i] = (struct stack_node){.offset = 0x10, .image = 0, .caller = i};
		flush(profile, begin_stacks_epoch(profile), START_NS,
		      (struct stack_batch){.images = images,
		                           .nodes = chain,
		                           .first_node = 1,
		                           .node_count = depth,
		                           .stacks_image = 2,
		                           .counts = {0, 0, 3}});
		assert_int_equal(stacks_read(profile, &all), depth <= STACK_DEPTH_MAX ? 0 : -DCPI_EDAMAGED);
		stack_nodes_fini(&all);
		profile_close(profile);
	}
	assert_in_range(complaints(fixture->directory), 1, 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runs_nodes_are_distances),
		cmocka_unit_test(a_run_has_a_limit),
		cmocka_unit_test(a_key_is_the_first_node),
		cmocka_unit_test(the_highest_number_has_a_key_of_its_own),
		CASE(stacks_are_read_as_they_were_written),
		CASE(each_node_is_stored_once),
		CASE(a_batch_that_contradicts_itself_is_refused),
		CASE(what_no_count_refers_to_is_swept),
		CASE(many_nodes_take_few_bytes),
		CASE(a_node_may_have_two_numbers),
		CASE(a_node_above_the_highest_number_is_damage),
		CASE(runs_that_overlap_are_damage),
		CASE(a_full_database_is_swept),
		CASE(another_databases_stacks_meet_those_here),
		CASE(a_damaged_frame_is_found_out),
		CASE(a_stack_that_is_too_deep_is_damage),
		CASE(another_database_at_the_path_has_other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
