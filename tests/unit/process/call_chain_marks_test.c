/* Tests of process/call_chain.h: chains as the kernel records them, and as nobody would. */
#include "tests/unit/process/story.h"

#include <linux/perf_event.h>

#include "process/call_chain.h"

#define USER UINT64_C(0x400000) /* where /bin/true is mapped, from the start of the file on */

struct chain {
	struct stack_table *stacks;
	uint32_t context, node;
	int cause;
};

/* The node and the cause of a sample of process 42 with this chain. */
static struct chain
intern(struct story *story, const uint64_t *addresses, uint32_t count)
{
	struct chain chain = {.stacks = stack_table_new(1 << 16)};
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = 42, .tid = 42, .time = 10 * MS};
	struct chain_frames frames;

	record.sample.call_chain = (const uint8_t *)addresses;
	record.sample.call_chain_count = count;
	record.sample.address = USER + 0x10;
	story_exec(story, 0, 42, "true");
	story_map(story, 0, 42, "/bin/true", 2, USER, 0x10000, 0);
	call_chain_find(story->attribution, &record, &frames);
	chain.context = frames.context;
	chain.cause = frames.cause;
	if (!frames.cause)
		assert_int_equal(chain_frames_intern(chain.stacks, &frames, &chain.node), 0);
	return chain;
}

static void
assert_node(const struct chain *chain, uint32_t number, uint64_t offset, uint32_t caller)
{
	const struct stack_node *node = stack_table_nodes(chain->stacks, number);

	assert_int_equal(node->offset, offset);
	assert_int_equal(node->caller, caller);
}

static void
return_addresses_lie_within_the_call(void **state)
{
	static const uint64_t addresses[] = {(uint64_t)PERF_CONTEXT_USER, USER + 0x10, USER + 0x20, USER + 0x30};
	struct chain chain = intern(*state, addresses, 4);

	assert_int_equal(chain.cause, 0);
	assert_int_equal(stack_table_count(chain.stacks), 3);
	assert_node(&chain, 1, 0x2f, 0);
	assert_node(&chain, 2, 0x1f, 1);
	assert_node(&chain, 3, 0x10, 2);
	assert_int_equal(chain.node, 3);
	stack_table_free(chain.stacks);
}

static void
a_caller_in_no_mapping_truncates(void **state)
{
	static const uint64_t callers[] = {0, 1, USER, 0x7000000, UINT64_MAX - 5000}; /* USER - 1 is not mapped */

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		const uint64_t addresses[] = {USER + 0x10, callers[i], USER + 0x30};
		struct chain chain = intern(*state, addresses, 3);

		assert_int_equal(chain.cause, 0);
		assert_int_equal(stack_table_count(chain.stacks), 2);
		assert_node(&chain, 1, STACK_END_UNKNOWN, 0);
		assert_int_equal(stack_table_nodes(chain.stacks, 1)->image, STACK_NO_IMAGE);
		assert_node(&chain, 2, 0x10, 1);
		stack_table_free(chain.stacks);
	}
}

static void
a_chain_that_begins_nowhere_has_no_node(void **state)
{
	static const uint64_t marks[] = {(uint64_t)PERF_CONTEXT_KERNEL, (uint64_t)PERF_CONTEXT_USER, UINT64_MAX};
	static const uint64_t nowhere[] = {0, USER + 0x10};
	static const uint64_t guest[] = {(uint64_t)PERF_CONTEXT_GUEST_USER, USER + 0x10};
	struct chain chain = intern(*state, marks, 3);

	assert_int_equal(chain.cause, 1 + UNKNOWN_MODE);
	assert_int_equal(stack_table_count(chain.stacks), 0);
	stack_table_free(chain.stacks);
	chain = intern(*state, nowhere, 2);
	assert_int_equal(chain.cause, 1 + UNKNOWN_ADDRESS);
	assert_int_equal(stack_table_count(chain.stacks), 0);
	stack_table_free(chain.stacks);
	chain = intern(*state, guest, 2);
	assert_int_equal(chain.cause, 1 + UNKNOWN_MODE);
	stack_table_free(chain.stacks);
}

/* 127 frames are where Linux stops; a table is not asked for more than STACK_DEPTH_MAX nodes, however long a chain is.
 */
static void
deep_chains_are_truncated(void **state)
{
	static const struct {
		uint32_t frames, nodes;
	} cases[] = {{126, 126}, {127, 128}, {128, 128}, {1024, 1024}, {1025, 1025}, {8000, 1025}};
	static uint64_t addresses[8000];

	for (uint32_t i = 0; i < 8000; i++)
		addresses[i] = USER + 0x10 + i;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chain chain = intern(*state, addresses, cases[i].frames);
		const bool is_truncated = cases[i].nodes != cases[i].frames || cases[i].frames == 1025;

		assert_int_equal(chain.cause, 0);
		assert_int_equal(stack_table_count(chain.stacks), cases[i].nodes);
		assert_int_equal(stack_table_nodes(chain.stacks, 1)->image == STACK_NO_IMAGE, is_truncated);
		if (is_truncated)
			assert_node(&chain, 1, STACK_END_DEPTH, 0);
		stack_table_free(chain.stacks);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(return_addresses_lie_within_the_call),
		STORY_TEST(a_caller_in_no_mapping_truncates),
		STORY_TEST(a_chain_that_begins_nowhere_has_no_node),
		STORY_TEST(deep_chains_are_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
