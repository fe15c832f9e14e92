#include "tests/unit/process/story.h"

#define CODE UINT64_C(0x7f0000345000)
#define BASE UINT64_C(0x7f0000200000) /* CODE, down to a multiple of 2 MiB */

static int
setup(void **state)
{
	struct attribution_options options = {.exit_grace_ns = 1000 * MS, .clock_ns = story_clock};
	struct story *story;

	story_setup(state);
	story = *state;
	attribution_free(story->attribution);
	options.procfs = options.sysfs = options.cgroupfs = story->fake.path;
	options.tracks_jit = true;
	story->attribution = attribution_new(&options, story->images, story->contexts);
	return story->attribution ? 0 : -1;
}

static struct sample_key
sample(struct story *story, uint64_t at, uint32_t pid, uint64_t address)
{
	struct sample_key key = {0};

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, address, &key), 0);
	return key;
}

static const struct image *
image_of(struct story *story, uint64_t at, uint32_t pid, uint64_t address)
{
	return image_table_get(story->images, sample(story, at, pid, address).image);
}

static struct jit_process
take(struct story *story)
{
	struct jit_process maker;

	assert_true(attribution_take_jit_process(story->attribution, &maker));
	return maker;
}

static void
assert_none(struct story *story)
{
	struct jit_process maker;

	assert_false(attribution_take_jit_process(story->attribution, &maker));
}

static void
run(struct story *story, uint32_t pid, const char *comm)
{
	story_fork(story, 1, 1, pid);
	story_exec(story, 2, pid, comm);
	story_map_memory(story, 3, pid, "//anon", CODE, 0x1000);
}

static void
code_made_at_run_time_is_an_image_of_its_process(void **state)
{
	struct story *story = *state;
	const struct image *image;
	struct jit_process maker;

	run(story, 42, "node");
	assert_none(story);
	image = image_of(story, 4, 42, CODE + 0x10);
	assert_int_equal(image->kind, IMAGE_JIT);
	assert_string_equal(image->path, "[jit:node]");
	assert_int_equal(image->inode, 42);
	assert_true(jit_is_image(image));
	assert_int_equal(sample(story, 5, 42, CODE + 0x10).offset, CODE + 0x10 - BASE);
	maker = take(story);
	assert_int_equal(maker.pid, 42);
	assert_int_equal(maker.generation, image->inode_generation);
	assert_int_equal(maker.base, BASE);
	assert_int_equal(maker.begun_ns, 1 * MS);
	assert_int_equal(maker.ancestor_count, 1);
	assert_int_equal(maker.ancestors[0], 1);
	assert_null(maker.jitdump);
	assert_none(story);
}

static void
all_code_of_a_process_counts_from_one_base(void **state)
{
	struct story *story = *state;

	run(story, 42, "node");
	(void)sample(story, 4, 42, CODE);
	story_map_memory(story, 5, 42, "//anon", CODE + 0x100000000, 0x1000);
	story_map_memory(story, 5, 42, "[anon:v8]", 0x10000, 0x1000);
	assert_int_equal(sample(story, 6, 42, CODE + 0x100000004).offset, CODE + 0x100000004 - BASE);
	assert_int_equal(sample(story, 6, 42, 0x10000).offset, (0x10000 - BASE) % JIT_SPAN);
	assert_int_equal(image_table_count(story->images), 1);
}

static void
processes_do_not_share_code(void **state)
{
	struct story *story = *state;
	uint32_t first;

	run(story, 42, "node");
	first = sample(story, 4, 42, CODE).image;
	story_fork(story, 5, 42, 43);
	assert_int_not_equal(sample(story, 6, 43, CODE).image, first);
	assert_int_equal(take(story).ancestor_count, 2);
	assert_int_equal(take(story).pid, 42);
}

static void
another_program_in_the_process_has_other_code(void **state)
{
	struct story *story = *state;
	uint32_t first;

	run(story, 42, "node");
	first = sample(story, 4, 42, CODE).image;
	story_exec(story, 5, 42, "java");
	story_map_memory(story, 6, 42, "//anon", CODE, 0x1000);
	assert_int_not_equal(sample(story, 7, 42, CODE).image, first);
	assert_string_equal(image_of(story, 7, 42, CODE)->path, "[jit:java]");
}

static void
a_jitdump_that_is_mapped_is_told(void **state)
{
	struct story *story = *state;
	struct jit_process maker;

	run(story, 42, "node");
	story_map(story, 4, 42, "/home/anna/jit-42.dump", 0, 0x500000, 0x1000, 0);
	assert_none(story);
	(void)sample(story, 5, 42, CODE);
	maker = take(story);
	assert_string_equal(maker.jitdump, "/home/anna/jit-42.dump");
	free(maker.jitdump);
	story_map(story, 6, 42, "/tmp/jit-.dump", 0, 0x600000, 0x1000, 0);
	story_map(story, 6, 42, "/tmp/jit-42.dump.so", 0, 0x600000, 0x1000, 0);
	story_map(story, 6, 42, "/tmp/my-jit-42.dump", 0, 0x600000, 0x1000, 0);
	assert_none(story);
}

static void
one_that_is_mapped_later_is_told_under_the_same_image(void **state)
{
	struct story *story = *state;
	struct jit_process first, second;

	run(story, 42, "java");
	(void)sample(story, 4, 42, CODE);
	first = take(story);
	story_map(story, 5, 42, "/tmp/jit-42.dump", 0, 0x500000, 0x1000, 0);
	second = take(story);
	assert_int_equal(first.generation, second.generation);
	assert_string_equal(second.jitdump, "/tmp/jit-42.dump");
	free(second.jitdump);
}

static void
renewed_code_is_another_image_with_the_same_offsets(void **state)
{
	struct story *story = *state;
	struct sample_key first, second;
	struct jit_process maker;

	run(story, 42, "node");
	first = sample(story, 4, 42, CODE);
	maker = take(story);
	attribution_reset_jit(story->attribution, 42, maker.generation - 1);
	attribution_reset_jit(story->attribution, 41, maker.generation);
	assert_int_equal(sample(story, 5, 42, CODE).image, first.image);
	attribution_reset_jit(story->attribution, 42, maker.generation);
	second = sample(story, 6, 42, CODE);
	assert_int_not_equal(second.image, first.image);
	assert_int_equal(second.offset, first.offset);
	assert_true(take(story).generation > maker.generation);
}

static void
a_new_session_keeps_the_image(void **state)
{
	struct story *story = *state;
	struct image_table *images = image_table_new();
	struct context_table *contexts = context_table_new();
	uint64_t generation;

	run(story, 42, "node");
	generation = image_of(story, 4, 42, CODE)->inode_generation;
	attribution_reset_ids(story->attribution, images, contexts);
	image_table_free(story->images);
	context_table_free(story->contexts);
	story->images = images;
	story->contexts = contexts;
	assert_int_equal(image_of(story, 5, 42, CODE)->inode_generation, generation);
}

static void
memory_with_another_name_is_what_it_was(void **state)
{
	struct story *story = *state;

	story_fork(story, 1, 1, 42);
	story_map_memory(story, 3, 42, "[heap]", 0x5000, 0x1000);
	story_map_memory(story, 3, 42, "/memfd:code (deleted)", 0x9000, 0x1000);
	assert_sample(story, 4, 42, 0x5010, "[heap]", 0x10);
	assert_sample(story, 4, 42, 0x9010, "memfd:code", 0x10);
	assert_none(story);
}

/* They stay without names, and nothing else happens. */
static void
more_than_can_wait_are_not_told(void **state)
{
	struct story *story = *state;
	struct jit_process maker;
	size_t count = 0;

	for (uint32_t pid = 10; pid < 10 + JIT_PROCESSES_MAX + 50; pid++) {
		run(story, pid, "node");
		(void)sample(story, 4, pid, CODE);
	}
	while (attribution_take_jit_process(story->attribution, &maker))
		count++;
	assert_int_equal(count, JIT_PROCESSES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, story_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_made_at_run_time_is_an_image_of_its_process),
		TEST(all_code_of_a_process_counts_from_one_base),
		TEST(processes_do_not_share_code),
		TEST(another_program_in_the_process_has_other_code),
		TEST(a_jitdump_that_is_mapped_is_told),
		TEST(one_that_is_mapped_later_is_told_under_the_same_image),
		TEST(renewed_code_is_another_image_with_the_same_offsets),
		TEST(a_new_session_keeps_the_image),
		TEST(memory_with_another_name_is_what_it_was),
		TEST(more_than_can_wait_are_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
