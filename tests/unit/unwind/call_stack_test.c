/* Tests of unwind/call_stack.h: frames of the kernel and of a program, by hand-made tables. */
#include "tests/unit/process/story.h"
#include "tests/unit/unwind/table_fixture.h"

#include "unwind/call_stack.h"

#define PROGRAM UINT64_C(0x400000) /* file offset 0 of /bin/program */
#define JIT     UINT64_C(0x700000)
#define STACK   UINT64_C(0x7fff0000)

/* perf's numbers of registers */
enum { PERF_BP = 6, PERF_SP = 7, PERF_IP = 8 };

struct stack_scene {
	struct story *story;
	struct unwind_table *table; /* of /bin/program; NULL: there is none */
	uint64_t words[8];
	uint64_t registers[3];
	struct record sample;
	uint32_t kernel_depth;
	const struct attribution_moment *moment;
	struct chain_frames frames;
};

static enum unwind_code
find(void *context, uint32_t number, const struct unwind_table **table)
{
	const struct stack_scene *scene = context;

	if (image_table_get(scene->story->images, number)->kind != IMAGE_USER)
		return UNWIND_CODE_FRAME_POINTER;
	*table = scene->table;
	return scene->table ? UNWIND_CODE_TABLE : UNWIND_CODE_WITHOUT_TABLE;
}

/* A process whose functions push nothing but the return address; at 0x1000 is the outermost. */
static void
begin_scene(struct stack_scene *scene, struct story *story, bool has_table)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	struct unwind_frame_rules outermost = {.cfa_register = UNWIND_X86_64_RSP};
	const struct unwind_frame_rules plain = x86_64_rules(UNWIND_X86_64_RSP, 8);

	memset(scene, 0, sizeof(*scene));
	scene->story = story;
	outermost.registers[UNWIND_X86_64_RIP].kind = UNWIND_UNDEFINED;
	add_row(writer, 0x1000, &outermost);
	add_row(writer, 0x1100, &plain);
	add_row(writer, 0x2000, NULL);
	scene->table = table_of(writer);
	if (!has_table) {
		unwind_table_free(scene->table);
		scene->table = NULL;
	}
	story_exec(story, 1, 42, "program");
	story_map(story, 1, 42, "/bin/program", 7, PROGRAM, 0x10000, 0);
	story_map_memory(story, 1, 42, "//anon", JIT, 0x1000);
	scene->sample =
		(struct record){.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = 42, .tid = 42, .time = 5 * MS};
	scene->sample.sample.registers = (const uint8_t *)scene->registers;
	scene->sample.sample.register_count = 3;
	scene->sample.sample.stack = (const uint8_t *)scene->words;
	scene->sample.sample.stack_size = sizeof(scene->words);
	scene->registers[1] = STACK;
}

/* Unwind from `pc`; the scene is over then. */
static void
unwind(struct stack_scene *scene, uint64_t pc, size_t depth)
{
	const struct call_stack_tables tables = {
		.machine = UNWIND_X86_64, .find = find, .context = scene, .kernel_depth = scene->kernel_depth};
	const uint64_t mask = 1u << PERF_BP | 1u << PERF_SP | 1u << PERF_IP;

	scene->registers[2] = pc;
	call_stack_find(scene->story->attribution, &tables, &scene->sample, mask, depth, scene->moment, &scene->frames);
	unwind_table_free(scene->table);
}

static void
assert_offsets(const struct stack_scene *scene, size_t count, const uint64_t *offsets)
{
	assert_int_equal(scene->frames.cause, 0);
	assert_int_equal(scene->frames.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(scene->frames.nodes[i].offset, offsets[i]);
}

/* A return address counts as its call, the innermost address as itself. */
static void
frames_are_in_their_images_up_to_the_outermost(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.words[0] = PROGRAM + 0x1205;
	scene.words[1] = PROGRAM + 0x1010;
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_offsets(&scene, 3, (const uint64_t[]){0x1300, 0x1204, 0x100f});
	assert_false(scene.frames.is_truncated);
	assert_string_equal(context_table_get(scene.story->contexts, scene.frames.context)->comm, "program");
}

static void
without_a_table_the_stack_ends_and_says_so(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, false);
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_offsets(&scene, 1, (const uint64_t[]){0x1300});
	assert_true(scene.frames.is_truncated);
	assert_int_equal(scene.frames.end, STACK_END_NO_TABLES);
}

static void
code_made_at_run_time_is_left_by_its_frame_pointer(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.registers[0] = STACK + 16; /* the frame pointer */
	scene.words[2] = 0;
	scene.words[3] = PROGRAM + 0x1010;
	unwind(&scene, JIT + 0x20, 10);
	assert_offsets(&scene, 2, (const uint64_t[]){0x20, 0x100f});
	assert_false(scene.frames.is_truncated);
}

/* A recording may leave it out. Where the copy lies is not known then, so nothing is read from it. */
static void
without_a_stack_pointer_the_copy_is_not_used(void **state)
{
	struct stack_scene scene;
	const struct call_stack_tables tables = {.machine = UNWIND_X86_64, .find = find, .context = &scene};

	begin_scene(&scene, *state, true);
	scene.registers[0] = 16;
	scene.registers[1] = JIT + 0x20;
	scene.words[3] = PROGRAM + 0x1010;
	scene.sample.sample.register_count = 2;
	call_stack_find(scene.story->attribution, &tables, &scene.sample, 1u << PERF_BP | 1u << PERF_IP, 10, NULL,
	                &scene.frames);
	unwind_table_free(scene.table);
	assert_offsets(&scene, 1, (const uint64_t[]){0x20});
	assert_true(scene.frames.is_truncated);
	assert_int_equal(scene.frames.end, STACK_END_COPY);
}

static void
a_program_of_32_bits_is_not_unwound(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.sample.sample.is_32_bit = true;
	scene.registers[0] = STACK + 16;
	scene.words[3] = PROGRAM + 0x1010;
	unwind(&scene, JIT + 0x20, 10);
	assert_offsets(&scene, 1, (const uint64_t[]){0x20});
	assert_true(scene.frames.is_truncated);
	assert_int_equal(scene.frames.end, STACK_END_NO_TABLES);
}

static void
a_stack_that_is_deeper_than_wanted_is_cut(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	for (size_t i = 0; i < 8; i++)
		scene.words[i] = PROGRAM + 0x1205;
	unwind(&scene, PROGRAM + 0x1300, 3);
	assert_offsets(&scene, 3, (const uint64_t[]){0x1300, 0x1204, 0x1204});
	assert_int_equal(scene.frames.end, STACK_END_DEPTH);
	assert_true(scene.frames.is_truncated);
}

static void
a_stack_beyond_the_copy_says_so(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.words[0] = PROGRAM + 0x1205;
	scene.sample.sample.stack_size = 8;
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_offsets(&scene, 2, (const uint64_t[]){0x1300, 0x1204});
	assert_int_equal(scene.frames.end, STACK_END_COPY);
}

/* As when another program is executed: the registers are of code that is not mapped any more. */
static void
the_kernels_frames_stay_when_the_programs_are_not_known(void **state)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, PROGRAM + 0x1400};
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.sample.sample.call_chain = (const uint8_t *)chain;
	scene.sample.sample.call_chain_count = 2;
	unwind(&scene, 0x10, 10);
	assert_offsets(&scene, 1, (const uint64_t[]){0x1400});
	assert_true(scene.frames.is_truncated);
	assert_int_equal(scene.frames.end, STACK_END_UNKNOWN);
}

/* The frames of the chain are the innermost; those of the registers called them. */
static void
a_chain_and_a_stack_are_one(void **state)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, PROGRAM + 0x1400, PROGRAM + 0x1500};
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.sample.sample.call_chain = (const uint8_t *)chain;
	scene.sample.sample.call_chain_count = 3;
	scene.words[0] = PROGRAM + 0x1010;
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_offsets(&scene, 4, (const uint64_t[]){0x1400, 0x14ff, 0x1300, 0x100f});
	assert_false(scene.frames.is_truncated);
}

/* Where kernel.perf_event_max_stack was lowered, what called the last frame is not known. */
static void
a_chain_as_long_as_the_kernel_makes_them_is_cut(void **state)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, PROGRAM + 0x1400, PROGRAM + 0x1500};

	for (uint32_t limit = 2; limit <= 3; limit++) {
		struct stack_scene scene;

		begin_scene(&scene, *state, true);
		scene.sample.sample.call_chain = (const uint8_t *)chain;
		scene.sample.sample.call_chain_count = 3;
		scene.words[0] = PROGRAM + 0x1010;
		scene.kernel_depth = limit;
		unwind(&scene, PROGRAM + 0x1300, 10);
		assert_int_equal(scene.frames.count, limit == 2 ? 2 : 4);
		assert_int_equal(scene.frames.is_truncated, limit == 2);
		assert_int_equal(scene.frames.end, limit == 2 ? STACK_END_DEPTH : scene.frames.end);
	}
}

/* A sample that has waited: its process has executed another program since, and that one has ended. */
static void
a_stack_is_unwound_in_the_maps_of_its_moment(void **state)
{
	struct attribution_moment moment = {.context = 77};
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	moment.space = attribution_share_space(scene.story->attribution, 42);
	scene.moment = &moment;
	scene.words[0] = PROGRAM + 0x1010;
	story_exec(scene.story, 10, 42, "next");
	story_exit(scene.story, 20, 42, 42);
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_offsets(&scene, 2, (const uint64_t[]){0x1300, 0x100f});
	assert_false(scene.frames.is_truncated);
	assert_int_equal(scene.frames.context, 77);
	address_space_release(moment.space);
}

static void
a_sample_of_nothing_known_has_a_cause(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	unwind(&scene, 0x10, 10);
	assert_int_equal(scene.frames.count, 0);
	assert_int_equal(scene.frames.cause, 1 + UNKNOWN_ADDRESS);
}

static void
a_sample_without_registers_or_chain_has_a_cause(void **state)
{
	struct stack_scene scene;

	begin_scene(&scene, *state, true);
	scene.sample.sample.registers = NULL;
	unwind(&scene, PROGRAM + 0x1300, 10);
	assert_int_equal(scene.frames.cause, 1 + UNKNOWN_MODE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(frames_are_in_their_images_up_to_the_outermost),
		STORY_TEST(without_a_table_the_stack_ends_and_says_so),
		STORY_TEST(code_made_at_run_time_is_left_by_its_frame_pointer),
		STORY_TEST(without_a_stack_pointer_the_copy_is_not_used),
		STORY_TEST(a_program_of_32_bits_is_not_unwound),
		STORY_TEST(a_stack_that_is_deeper_than_wanted_is_cut),
		STORY_TEST(a_stack_beyond_the_copy_says_so),
		STORY_TEST(the_kernels_frames_stay_when_the_programs_are_not_known),
		STORY_TEST(a_chain_and_a_stack_are_one),
		STORY_TEST(a_chain_as_long_as_the_kernel_makes_them_is_cut),
		STORY_TEST(a_stack_is_unwound_in_the_maps_of_its_moment),
		STORY_TEST(a_sample_of_nothing_known_has_a_cause),
		STORY_TEST(a_sample_without_registers_or_chain_has_a_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
