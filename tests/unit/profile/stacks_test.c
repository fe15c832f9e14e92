/* Tests of profile/stacks.h: stacks in a database, from a session to a merged database. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/stack_batch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "profile/merge_database.h"

/* ---- as bytes ---- */

static int
count_nodes(void *context, uint32_t number, uint32_t caller)
{
	uint32_t *sum = context;

	*sum = *sum * 100 + number * 10 + caller;
	return 0;
}

static const struct stacks_key first_block = {.image = 1};

static void
a_frames_nodes_are_distances(void **state)
{
	uint32_t sum = 0;

	(void)state;
	assert_int_equal(stacks_decode(&first_block, "\1\2\1\3\5", 5, count_nodes, &sum),
	                 0); /* 2, called by 1; 5, by none */
	assert_int_equal(sum, 2150);
	for (size_t size = 0; size < 5; size++)
		if (size != 3)
			assert_int_equal(stacks_decode(&first_block, "\1\2\1\3\5", size, count_nodes, &sum),
			                 -DCPI_EDAMAGED);
	assert_int_equal(stacks_decode(&first_block, "\2\2\1", 3, count_nodes, &sum),
	                 -DCPI_EDAMAGED); /* of another format */
	assert_int_equal(stacks_decode(&first_block, "\1\2\3", 3, count_nodes, &sum),
	                 -DCPI_EDAMAGED); /* no such caller */
	assert_int_equal(stacks_decode(&first_block, "\1\2\0", 3, count_nodes, &sum),
	                 -DCPI_EDAMAGED); /* calls itself */
	assert_int_equal(stacks_decode(&first_block, "\1\2\1\0\1", 5, count_nodes, &sum),
	                 -DCPI_EDAMAGED); /* a number twice */
	assert_int_equal(stacks_decode(&first_block, "\1\xff\xff\xff\xff\x1f\1", 7, count_nodes, &sum), -DCPI_EDAMAGED);
	/* 257, called by 256, belongs to another block */
	assert_int_equal(stacks_decode(&first_block, "\1\x81\2\1", 4, count_nodes, &sum), -DCPI_EDAMAGED);
}

static void
a_key_is_an_image_an_offset_and_a_block_of_callers(void **state)
{
	const struct stacks_key key = {.image = 0x01020304, .offset = 0x1112131415161718, .block = 0x21222324};
	uint8_t data[STACKS_KEY_SIZE];
	struct stacks_key read;

	(void)state;
	stacks_key_encode(&key, data);
	assert_memory_equal(data, "\1\2\3\4\x11\x12\x13\x14\x15\x16\x17\x18!\"#$", STACKS_KEY_SIZE);
	assert_int_equal(stacks_key_decode(data, STACKS_KEY_SIZE, &read), 0);
	assert_memory_equal(&read, &key, sizeof(key));
	assert_int_equal(stacks_key_decode(data, STACKS_KEY_SIZE - 1, &read), -DCPI_EDAMAGED);
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

/* One frame that calls itself: a value has nodes of 256 callers at most, however many there are. */
static void
nodes_of_one_frame_are_in_blocks_of_callers(void **state)
{
	enum { DEPTH = 1000 };
	const struct stacks_key last = {.image = 1, .offset = 0x10, .block = (DEPTH - 1) >> STACKS_BLOCK_SHIFT};
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct stack_node chain[DEPTH];
	uint8_t key[STACKS_KEY_SIZE];
	struct stack_nodes all;

	for (uint32_t i = 0; i < DEPTH; i++)
		chain[i] = (struct stack_node){.offset = 0x10, .image = 0, .caller = i};
	flush(profile, begin_stacks_epoch(profile), START_NS,
	      (struct stack_batch){.images = images,
	                           .nodes = chain,
	                           .first_node = 1,
	                           .node_count = DEPTH,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 3}});
	assert_clean(profile);
	assert_int_equal(stacks_read(profile, &all), 0);
	assert_int_equal(all.count, 1 + DEPTH);
	for (uint32_t i = 1; i <= DEPTH; i++)
		assert_int_equal(all.nodes[i].caller, i - 1);
	stack_nodes_fini(&all);
	profile_reset_session(profile);
	sweep_all(profile);
	assert_clean(profile);
	assert_int_equal(node_count(profile), 3);
	profile_close(profile);
	stacks_key_encode(&last, key);
	raw_put_once(fixture->directory, "stacks", key, sizeof(key), "\1\xe9\7\1", 4); /* 1001, called by 1000 */
	assert_int_equal(complaints(fixture->directory) > 0, 1); /* above the highest number, and of no caller */
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
	const struct stacks_key at = {.image = 9, .offset = 0x20}; /* an image that is not there */
	uint8_t key[STACKS_KEY_SIZE];

	write_stacks(profile, START_NS);
	profile_close(profile);
	stacks_key_encode(&at, key);
	raw_put_once(fixture->directory, "stacks", key, sizeof(key), "\1\3\1", 3); /* a number that is taken */
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
		cmocka_unit_test(a_frames_nodes_are_distances),
		cmocka_unit_test(a_key_is_an_image_an_offset_and_a_block_of_callers),
		CASE(stacks_are_read_as_they_were_written),
		CASE(each_node_is_stored_once),
		CASE(a_batch_that_contradicts_itself_is_refused),
		CASE(what_no_count_refers_to_is_swept),
		CASE(nodes_of_one_frame_are_in_blocks_of_callers),
		CASE(another_databases_stacks_meet_those_here),
		CASE(a_damaged_frame_is_found_out),
		CASE(a_stack_that_is_too_deep_is_damage),
		CASE(another_database_at_the_path_has_other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
