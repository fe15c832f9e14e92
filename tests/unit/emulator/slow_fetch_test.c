/* Tests of emulator/timing/{enter,slow_block,fetch_line,fetch_page,slow_fetch}.c: straight on, all is as it is when
 * nothing is straight. */
#include "tests/unit/emulator/timing_fixture.h"

#include "emulator/model/hierarchy_state.h"
#include "emulator/timing/enter.h"

#define BLOCKS 2400
#define MOVABS "48 b8 11 22 33 44 55 66 77 08" /* of ten bytes */
#define LOAD   "48 8b 07"                      /* mov (%rdi),%rax */
#define BRANCH "74 10"
#define CALL   "e8 00 00 00 00"
#define CALL_A "ff d0" /* call *%rax */
#define JUMP_A "ff e0"
#define RETURN "c3"

/* What differs from the machine's file, and what is modelled of it. */
struct model {
	const char *machine;
	uint32_t parts;
	bool has_no_prefetcher, is_code_recent; /* recent: its TLB of code is of sets of four */
	unsigned code_ways, second_ways;        /* of level 1; of the second TLB. 0: those of the file */
};

/* Of one machine: on one, blocks are entered by edges of any kind, and code that is no plain hit is fetched whole; on
 * the other all is as straight as it can be. */
struct pair {
	struct timing_fixture *whole, *straight;
};

static struct timing_fixture *
begin(const struct model *model)
{
	struct timing_fixture *fixture = timing_fixture_new(model->machine);
	struct machine *machine = &fixture->setup.machine;

	fixture->setup.periods[SETUP_EVENT_CYCLES] = 1000;
	fixture->setup.periods[SETUP_EVENT_BRANCH] = 7;
	fixture->setup.periods[SETUP_EVENT_CODE_TLB] = 5;
	fixture->setup.periods[SETUP_EVENT_CODE_WALK] = 3;
	fixture->setup.periods[SETUP_EVENT_LEVEL1_CODE] = 9;
	if (model->has_no_prefetcher)
		machine->prefetcher_count = 0;
	if (model->is_code_recent)
		machine->code_tlb = (struct machine_tlb){.entries = 64, .ways = 4};
	if (model->code_ways)
		machine->code.ways = model->code_ways;
	if (model->second_ways) {
		machine->shared_tlb.ways = model->second_ways;
		machine->shared_tlb.entries = 32 * model->second_ways;
	}
	timing_fixture_begin(fixture, model->parts);
	return fixture;
}

static int
begin_both(void **state)
{
	const struct model *model = *state;
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	pair->whole = begin(model);
	pair->whole->thread->hierarchy->simple_code_slots = 0;
	slow_choose_ways(pair->whole->thread);
	pair->straight = begin(model);
	assert_true(pair->straight->thread->hierarchy->simple_code_slots > 0);
	enter_init(&pair->straight->timing);
	*state = pair;
	return 0;
}

static int
end_both(void **state)
{
	struct pair *pair = *state;

	timing_fixture_free(pair->whole);
	timing_fixture_free(pair->straight);
	free(pair);
	return 0;
}

/* On one line, two or three; eight to a page. */
static struct code *
code_of(struct timing_fixture *fixture, unsigned i)
{
	static const char *const endings[] = {LOAD, BRANCH, BRANCH, BRANCH, BRANCH, LOAD, CALL, CALL_A, JUMP_A, RETURN};
	const uint64_t address = FIXTURE_ADDRESS + i / 8 * 4096 + i % 8 * 448 + i % 3 * 20;
	struct block_bytes bytes = {.size = 0};
	const struct block *block;

	for (unsigned k = 0; k < 1 + i % 13; k++)
		block_bytes_add(&bytes, MOVABS);
	block_bytes_add(&bytes, endings[i % 10]);
	block = blocks_add(fixture->timing.blocks, address, bytes.bytes, bytes.sizes, bytes.count, i + 1,
	                   fixture->instructions + 1);
	assert_non_null(block);
	fixture->instructions += (uint32_t)bytes.count;
	return timing_add_code(&fixture->timing, block);
}

/* As the emulator does it: of any thread, or of the first one that is alone. */
static void
enter(struct timing_fixture *fixture, struct code *code, bool is_alone)
{
	(is_alone ? enter_alone(&fixture->timing, code) : enter_any(code))(0, code);
}

/* Mostly around where it was before, and loads that are waited for in later blocks. */
static void
run(struct timing_fixture *fixture, bool is_straight)
{
	struct code *codes[BLOCKS];
	uint64_t random = 88172645463325252;
	unsigned at = 0;

	for (unsigned i = 0; i < BLOCKS; i++)
		codes[i] = code_of(fixture, i);
	for (unsigned i = 0; i < 100000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		at = (at + (random % 8 ? random >> 8 & 3 : random >> 8)) % BLOCKS;
		if (is_straight)
			enter(fixture, codes[at], i % 64);
		else
			execute_parts(fixture, codes[at], hot_parts(&fixture->timing));
		if (at % 5 == 0)
			slow_access(fixture->thread, &codes[at]->accesses[0], 0x4000000000 + (random >> 20 & 0xffff8),
			            8, false);
	}
	core_settle(fixture->thread);
	thread_publish(fixture->thread);
}

static void
going_straight_changes_nothing(void **state)
{
	struct pair *pair = *state;
	const struct record_vcpu *whole = pair->whole->thread->record, *straight = pair->straight->thread->record;

	run(pair->whole, false);
	run(pair->straight, true);
	assert_true(whole->counters.events[SETUP_EVENT_LEVEL1_CODE] > 1000);
	assert_true(whole->counters.events[SETUP_EVENT_CODE_TLB] > 1000);
	assert_true(whole->counters.events[SETUP_EVENT_BRANCH] > 100);
	assert_true(whole->counters.samples[SETUP_EVENT_LEVEL1_CODE] > 100);
	assert_memory_equal(&straight->counters, &whole->counters, sizeof(whole->counters));
	assert_memory_equal(straight->stalls, whole->stalls, sizeof(whole->stalls));
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		assert_memory_equal(straight->samples[i], whole->samples[i],
		                    pair->whole->instructions * sizeof(whole->samples[i][0]));
}

#define IN_ORDER     "in-order-2"
#define OUT_OF_ORDER "e5-2690v4"
#define NO_CLOCK     (SETUP_COUNTS | SETUP_CACHES | SETUP_TLBS | SETUP_BRANCHES | SETUP_SAMPLES)

#define TEST(name, ...)                                                                                                \
	{                                                                                                              \
		name "_going_straight_changes_nothing", going_straight_changes_nothing, begin_both, end_both,          \
			&(struct model)                                                                                \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("in_order", IN_ORDER, SETUP_EVERYTHING),
		TEST("in_order_with_eight_ways_and_sets_of_pages", IN_ORDER, SETUP_EVERYTHING, .code_ways = 8,
	             .is_code_recent = true),
		TEST("in_order_with_a_second_tlb_of_eight_ways", IN_ORDER, SETUP_EVERYTHING, .second_ways = 8),
		TEST("in_order_without_time", IN_ORDER, NO_CLOCK),
		TEST("out_of_order", OUT_OF_ORDER, SETUP_EVERYTHING),
		TEST("out_of_order_without_prefetchers", OUT_OF_ORDER, SETUP_EVERYTHING, .has_no_prefetcher = true),
		TEST("out_of_order_with_a_second_tlb_of_eight_ways", OUT_OF_ORDER, SETUP_EVERYTHING,
	             .has_no_prefetcher = true, .second_ways = 8),
		TEST("out_of_order_with_four_ways", OUT_OF_ORDER, SETUP_EVERYTHING, .code_ways = 4, .second_ways = 12),
		TEST("out_of_order_without_time", OUT_OF_ORDER, NO_CLOCK, .second_ways = 4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
