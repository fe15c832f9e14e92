/* Tests of salvage/salvage.h: the stacks of a damaged database. */
#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/stack_batch.h"

#include "salvage/salvage.h"

static void
a_node_that_is_lost_is_found_out_and_salvaged_without_its_callers(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct salvage_result result;
	const struct stacks_key gzip = {.image = 1, .offset = 0x10, .number = 1}; /* the run of its two nodes */
	uint8_t key[STACKS_KEY_SIZE];

	write_stacks(profile, START_NS);
	profile_close(profile);
	assert_int_equal(complaints(fixture->directory), 0);
	stacks_key_encode(&gzip, key);
	raw_delete_once(fixture->directory, "stacks", key, sizeof(key));
	assert_in_range(complaints(fixture->directory), 1, 10);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_int_equal(result.stacks.kept, 3);
	assert_int_equal(result.stacks.expected, 4);
	assert_int_equal(complaints(fixture->other), 0);
	profile = open_reader(fixture->other);
	assert_int_equal(node_count(profile), 4);
	assert_int_equal(samples_of(profile, 0x5000, STACK_END_UNKNOWN), 7);
	assert_int_equal(samples_of(profile, 0x5000, STACK_END_NO_TABLES), 2);
	profile_close(profile);
}

/* Numbers of callers that are damaged may make a stack of any depth: the new database can be read. */
static void
a_stack_that_is_too_deep_is_cut(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct stack_node chain[STACK_DEPTH_MAX + 1];
	struct salvage_result result;

	for (uint32_t i = 0; i <= STACK_DEPTH_MAX; i++)
		chain[i] = (struct stack_node){.offset = 0x10, .image = 0, .caller = i};
	flush(profile, begin_stacks_epoch(profile), START_NS,
	      (struct stack_batch){.images = images,
	                           .nodes = chain,
	                           .first_node = 1,
	                           .node_count = STACK_DEPTH_MAX + 1,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 3}});
	profile_close(profile);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_int_equal(complaints(fixture->other), 0);
	profile = open_reader(fixture->other);
	assert_int_equal(samples_of(profile, 0x10, 0x10), 3);
	profile_close(profile);
}

/* A count whose offset is damaged is one of node 0: the version before has the block, and the rest is salvaged. */
static void
counts_of_no_node_are_not_salvaged(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct salvage_result result;
	struct raw_entry block = {0};
	struct raw raw;

	write_stacks(profile, START_NS);
	profile_close(profile);
	raw_open(&raw, fixture->directory);
	assert_true(raw_entry_at(&raw, "counts", 0, &block));
	raw_put(&raw, "counts", block.key, block.key_size, "\1\0\7", 3);
	raw_close(&raw);
	free(block.key);
	free(block.value);
	assert_in_range(complaints(fixture->directory), 1, 10);
	assert_int_equal(profile_salvage(fixture->directory, fixture->other, NULL, &result), 0);
	assert_int_equal(result.stacks.kept, 5);
	assert_int_equal(complaints(fixture->other), 0);
	profile = open_reader(fixture->other);
	assert_int_equal(samples_of(profile, 0x5000, 0x10), 7);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_node_that_is_lost_is_found_out_and_salvaged_without_its_callers),
		CASE(a_stack_that_is_too_deep_is_cut),
		CASE(counts_of_no_node_are_not_salvaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
