/* A call chain becomes a stack: callers lie within their calls, and a stack ends where a caller is unknown. */
#include "tests/unit/process/story.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "process/call_chain.h"

#define TEXT 0xffffffff81000000

static const uint64_t user_mark = (uint64_t)PERF_CONTEXT_USER, kernel_mark = (uint64_t)PERF_CONTEXT_KERNEL;

/* A program at 0x400000 and a library at 0x7f0000; each maps its file from the second page on. */
static void
begin(struct story *story)
{
	fake_text(&story->fake, "kallsyms", "ffffffff81000000 T _stext\nffffffff81100000 T _etext\n");
	assert_int_equal(story_scan(story), 0);
	story_exec(story, 0, 42, "true");
	story_map(story, 0, 42, "/bin/true", 2, 0x400000, 0x1000, 0x1000);
	story_map(story, 0, 42, "/lib/libc.so", 3, 0x7f0000, 0x1000, 0x1000);
}

/* The node of a chain; 0: its innermost frame is unknown, for *cause. */
static uint32_t
intern(struct story *story, struct stack_table *stacks, const uint64_t *chain, uint32_t count, int *cause)
{
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = 42, .tid = 42, .time = MS};
	struct chain_frames frames;
	uint32_t node;

	record.sample.address = 0x400010;
	record.sample.call_chain = (const uint8_t *)chain;
	record.sample.call_chain_count = count;
	call_chain_find(story->attribution, &record, &frames);
	*cause = frames.cause;
	if (*cause)
		return 0;
	assert_int_equal(chain_frames_intern(stacks, &frames, &node), 0);
	assert_string_equal(context_table_get(story->contexts, frames.context)->comm, "true");
	return node;
}

/* Checks a node's frame, and is the node of its caller. */
static uint32_t
assert_frame(struct story *story, const struct stack_table *stacks, uint32_t node, const char *path, uint64_t offset)
{
	const struct stack_node *frame;

	assert_in_range(node, 1, stack_table_count(stacks));
	frame = stack_table_nodes(stacks, node);
	assert_int_equal(frame->offset, offset);
	if (path)
		assert_string_equal(image_table_get(story->images, frame->image)->path, path);
	else
		assert_int_equal(frame->image, STACK_NO_IMAGE);
	return frame->caller;
}

static void
a_callers_offset_lies_within_its_call(void **state)
{
	const uint64_t chain[] = {user_mark, 0x7f0020, 0x400015, 0x400105};
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(100);
	uint32_t node;
	int cause;

	begin(story);
	node = intern(story, stacks, chain, 4, &cause);
	assert_int_equal(cause, 0);
	node = assert_frame(story, stacks, node, "/lib/libc.so", 0x1020);
	node = assert_frame(story, stacks, node, "/bin/true", 0x1014);
	node = assert_frame(story, stacks, node, "/bin/true", 0x1104);
	assert_int_equal(node, 0);
	stack_table_free(stacks);
}

/* Where user code entered the kernel, its address is no return address. */
static void
the_first_user_frame_below_the_kernel_is_exact(void **state)
{
	const uint64_t chain[] = {kernel_mark, TEXT + 0x10, TEXT + 0x25, user_mark, 0x7f0020, 0x400015};
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(100);
	uint32_t node;
	int cause;

	begin(story);
	node = intern(story, stacks, chain, 6, &cause);
	assert_int_equal(cause, 0);
	node = assert_frame(story, stacks, node, "[kernel]", 0x10);
	node = assert_frame(story, stacks, node, "[kernel]", 0x24);
	node = assert_frame(story, stacks, node, "/lib/libc.so", 0x1020);
	node = assert_frame(story, stacks, node, "/bin/true", 0x1014);
	assert_int_equal(node, 0);
	stack_table_free(stacks);
}

static void
a_stack_ends_at_the_first_unknown_caller(void **state)
{
	const uint64_t chain[] = {user_mark, 0x400010, 0x900000, 0x400105};
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(100);
	uint32_t node;
	int cause;

	begin(story);
	node = intern(story, stacks, chain, 4, &cause);
	assert_int_equal(cause, 0);
	node = assert_frame(story, stacks, node, "/bin/true", 0x1010);
	node = assert_frame(story, stacks, node, NULL, STACK_END_UNKNOWN);
	assert_int_equal(node, 0);
	stack_table_free(stacks);
}

static void
without_a_known_innermost_frame_there_is_no_stack(void **state)
{
	const uint64_t unknown[] = {user_mark, 0x900000, 0x400105}, marks[] = {user_mark};
	const uint64_t guest[] = {(uint64_t)PERF_CONTEXT_GUEST, 0x400010};
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(100);
	int cause;

	begin(story);
	intern(story, stacks, unknown, 3, &cause);
	assert_int_equal(cause, 1 + UNKNOWN_ADDRESS);
	intern(story, stacks, marks, 1, &cause);
	assert_int_equal(cause, 1 + UNKNOWN_MODE);
	intern(story, stacks, guest, 2, &cause);
	assert_int_equal(cause, 1 + UNKNOWN_MODE);
	assert_int_equal(stack_table_count(stacks), 0);
	stack_table_free(stacks);
}

/* Linux stops at 127 frames and does not say so; a chain of more comes from a kernel that was told otherwise. */
static void
a_stack_of_as_many_frames_as_linux_records_is_truncated(void **state)
{
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(5000);
	uint64_t chain[2000];
	int cause;

	begin(story);
	chain[0] = user_mark;
	for (size_t i = 1; i < 2000; i++)
		chain[i] = 0x400001 + i % 0x800;
	for (uint32_t count = 126; count <= 128; count++) {
		uint32_t node = intern(story, stacks, chain, 1 + count, &cause);

		for (uint32_t i = 1; i < count; i++)
			node = stack_table_nodes(stacks, node)->caller;
		node = stack_table_nodes(stacks, node)->caller;
		if (count == 127)
			node = assert_frame(story, stacks, node, NULL, STACK_END_DEPTH);
		assert_int_equal(node, 0);
	}
	{
		uint32_t node = intern(story, stacks, chain, 2000, &cause);

		for (uint32_t i = 0; i < CALL_CHAIN_MAX; i++)
			node = stack_table_nodes(stacks, node)->caller;
		assert_int_equal(assert_frame(story, stacks, node, NULL, STACK_END_DEPTH), 0);
	}
	stack_table_free(stacks);
}

static void
a_full_table_says_so(void **state)
{
	const uint64_t chain[] = {user_mark, 0x7f0020, 0x400015, 0x400105};
	struct story *story = *state;
	struct stack_table *stacks = stack_table_new(2);
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = 42, .tid = 42, .time = MS};
	struct chain_frames frames;
	uint32_t node;

	begin(story);
	record.sample.call_chain = (const uint8_t *)chain;
	record.sample.call_chain_count = 4;
	call_chain_find(story->attribution, &record, &frames);
	assert_int_equal(chain_frames_intern(stacks, &frames, &node), -ENOSPC);
	stack_table_free(stacks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_callers_offset_lies_within_its_call),
		STORY_TEST(the_first_user_frame_below_the_kernel_is_exact),
		STORY_TEST(a_stack_ends_at_the_first_unknown_caller),
		STORY_TEST(without_a_known_innermost_frame_there_is_no_stack),
		STORY_TEST(a_stack_of_as_many_frames_as_linux_records_is_truncated),
		STORY_TEST(a_full_table_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
