/*
 * Tests of emulator/timing/core.c, out of order: a window of 60 and 6 a cycle, which is 10 cycles; a
 * load's value after 5 cycles, and here 100 later.
 */
#include "tests/unit/emulator/timing_fixture.h"

#define LOAD_RAX    "48 8b 07"       /* mov (%rdi),%rax */
#define LOCK_ADD    "f0 48 83 07 01" /* lock addq $1,(%rdi) */
#define LOAD_RBX    "48 8b 1e"       /* mov (%rsi),%rbx */
#define LOAD_BY_RAX "48 8b 18"       /* mov (%rax),%rbx */
#define LOAD_BY_RBX "48 8b 0b"       /* mov (%rbx),%rcx */
#define CHASE       "48 8b 00"       /* mov (%rax),%rax */
#define MOVE_ON     "48 83 c0 08"    /* add $8,%rax */
#define ADD_RBX     "48 01 d8"       /* add %rbx,%rax */
#define REPLACE     "48 89 d0"       /* mov %rdx,%rax */
#define ADD_RDX     "48 01 d2"       /* add %rdx,%rdx: one a cycle */
#define LOOP        "75 fb"          /* jne, to the addition */
#define HIDDEN      10
#define HIDDEN_PAIR 30 /* of a block of two that takes a cycle: the window lasts longer */
#define LOAD        5
#define MISS        100

/* It is full when what is looked at begins, and of nothing that was before. */
static void
fill_window(struct timing_fixture *fixture)
{
	struct code *chain = CODE_OF(fixture, ADD_RDX, LOOP);

	for (int i = 0; i < 100; i++)
		execute(fixture, chain);
}

static int
setup(void **state)
{
	struct timing_fixture *fixture = timing_fixture_new("e5-2690v4");

	fixture->setup.pipeline.window = 60;
	fixture->setup.pipeline.issue_width = 6;
	fixture->setup.pipeline.operations[CLASS_LOAD].latency = LOAD;
	timing_fixture_begin(fixture, SETUP_CLOCK | SETUP_TRUTH);
	fill_window(fixture);
	*state = fixture;
	return 0;
}

/* Cycles from here on that are no execution. */
static uint64_t
waited(const struct timing_fixture *fixture)
{
	return cycles_of(fixture, REASON_DATA_CACHE);
}

static void
the_window_hides_what_it_holds(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	miss(fixture, 0, MISS);
	assert_int_equal(waited(fixture), LOAD + MISS - HIDDEN);
	assert_int_equal(stalled(fixture, 3, 3, REASON_DATA_CACHE), LOAD + MISS - HIDDEN);
}

static void
what_the_window_hides_whole_costs_nothing(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	miss(fixture, 0, HIDDEN - LOAD);
	assert_int_equal(waited(fixture), 0);
}

static void
independent_misses_overlap(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX, LOAD_RBX));
	miss(fixture, 0, MISS);
	miss(fixture, 1, MISS);
	assert_int_equal(waited(fixture), LOAD + MISS - HIDDEN_PAIR);
}

static void
a_window_later_nothing_overlaps(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *chain = CODE_OF(fixture, ADD_RDX, LOOP), *load = CODE_OF(fixture, LOAD_RAX);

	execute(fixture, load);
	miss(fixture, 0, MISS);
	for (int i = 0; i < 2 * HIDDEN; i++)
		execute(fixture, chain);
	execute(fixture, load);
	miss(fixture, 0, MISS);
	assert_int_equal(waited(fixture), 2 * (LOAD + MISS - HIDDEN));
}

static void
an_address_that_was_loaded_waits(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX, LOAD_BY_RAX));
	miss(fixture, 0, MISS);
	miss(fixture, 1, MISS);
	/* by itself the second retires a cycle later */
	assert_int_equal(waited(fixture), 2 * (LOAD + MISS) - HIDDEN_PAIR - 1);
}

/* Over a block that calculates with it; time that the blocks take themselves is not waited. */
static void
an_address_made_of_what_was_loaded_waits_in_a_later_block(void **state)
{
	struct timing_fixture *fixture = *state;
	uint64_t ready;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	miss(fixture, 0, MISS);
	ready = core_time(fixture->thread, 0);
	execute(fixture, CODE_OF(fixture, MOVE_ON));
	execute(fixture, CODE_OF(fixture, LOAD_BY_RAX));
	miss(fixture, 0, MISS);
	assert_int_equal(core_time(fixture->thread, 0), ready + LOAD + MISS);
}

/* The load between them hits, and hands on what it waited for. */
static void
an_address_waits_through_a_load_that_hits(void **state)
{
	struct timing_fixture *fixture = *state;
	uint64_t ready;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	miss(fixture, 0, MISS);
	ready = core_time(fixture->thread, 0);
	execute(fixture, CODE_OF(fixture, LOAD_BY_RAX));
	execute(fixture, CODE_OF(fixture, LOAD_BY_RBX));
	miss(fixture, 0, MISS);
	assert_int_equal(core_time(fixture->thread, 0), ready + LOAD + MISS);
}

/* Whichever of the two loads it is that takes longer. */
static void
an_address_made_of_two_loads_waits_for_the_later(void **state)
{
	struct timing_fixture *fixture = *state;

	for (unsigned later = 0; later < 2; later++) {
		uint64_t ready;

		fill_window(fixture);
		execute(fixture, CODE_OF(fixture, LOAD_RAX, LOAD_RBX));
		miss(fixture, 0, later ? MISS : 2 * MISS);
		miss(fixture, 1, later ? 2 * MISS : MISS);
		ready = core_time(fixture->thread, later);
		execute(fixture, CODE_OF(fixture, ADD_RBX));
		execute(fixture, CODE_OF(fixture, LOAD_BY_RAX));
		miss(fixture, 0, MISS);
		assert_int_equal(core_time(fixture->thread, 0), ready + LOAD + MISS);
	}
}

/* The same of loads of two blocks: both registers wait when the third reads them. */
static void
an_address_made_of_two_registers_waits_for_the_later(void **state)
{
	struct timing_fixture *fixture = *state;

	for (unsigned later = 0; later < 2; later++) {
		uint64_t first, ready;

		fill_window(fixture);
		execute(fixture, CODE_OF(fixture, LOAD_RAX));
		miss(fixture, 0, later ? MISS : 2 * MISS);
		first = core_time(fixture->thread, 0);
		execute(fixture, CODE_OF(fixture, LOAD_RBX));
		miss(fixture, 0, later ? 2 * MISS : MISS);
		ready = later ? core_time(fixture->thread, 0) : first;
		execute(fixture, CODE_OF(fixture, ADD_RBX));
		execute(fixture, CODE_OF(fixture, LOAD_BY_RAX));
		miss(fixture, 0, MISS);
		assert_int_equal(core_time(fixture->thread, 0), ready + LOAD + MISS);
	}
}

static void
a_register_that_was_written_again_is_not_waited_for(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	miss(fixture, 0, MISS);
	execute(fixture, CODE_OF(fixture, REPLACE));
	execute(fixture, CODE_OF(fixture, LOAD_BY_RAX));
	miss(fixture, 0, MISS);
	assert_int_equal(waited(fixture), LOAD + MISS - HIDDEN);
}

/* However long it is: each turn takes what a load takes. */
static void
a_pointer_chase_takes_its_latency_each_time(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *chase = CODE_OF(fixture, CHASE);
	uint64_t begin;

	execute(fixture, chase);
	miss(fixture, 0, MISS);
	begin = core_time(fixture->thread, 0);
	for (int i = 0; i < 1000; i++) {
		execute(fixture, chase);
		miss(fixture, 0, MISS);
	}
	assert_int_equal(core_time(fixture->thread, 0) - begin, 1000 * (LOAD + MISS));
}

static void
one_miss_in_flight_at_a_time_makes_them_follow_each_other(void **state)
{
	struct timing_fixture *fixture = *state;

	fixture->timing.misses_in_flight = 1;
	core_reset_mshrs(fixture->thread);
	execute(fixture, CODE_OF(fixture, LOAD_RAX, LOAD_RBX));
	miss(fixture, 0, MISS);
	miss(fixture, 1, MISS);
	/* by itself the second retires a cycle later */
	assert_int_equal(waited(fixture), 2 * (LOAD + MISS) - HIDDEN_PAIR - 1);
}

/* What is hidden is what came first: here 10 cycles of the translation; of what waits for memory, too, those as well.
 */
static void
a_wait_is_told_by_what_it_was_for(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOAD_RAX);

	for (unsigned waits = 0; waits < 2; waits++) {
		const struct access_result result = {
			.level = 1,
			.cycles = MISS - LOAD - (uint32_t)fixture->timing.level1_difference,
			.tlb_cycles = 30,
			.wait_cycles = waits ? 40 : 0,
		};

		fill_window(fixture);
		execute(fixture, code);
		core_load_missed(fixture->thread, 0, &result);
		assert_int_equal(stalled(fixture, 3, 3, REASON_DATA_CACHE), (waits + 1) * (MISS - LOAD));
		assert_int_equal(stalled(fixture, 3, 3, REASON_DATA_TLB), (waits + 1) * (30 + LOAD - HIDDEN));
		assert_int_equal(stalled(fixture, 3, 3, REASON_BANDWIDTH), waits * 40);
	}
}

/* An atomic access is issued when no older instruction is left, so its whole miss is waited for. */
static void
an_atomic_access_hides_nothing(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, LOCK_ADD);
	const struct access_result result = {
		.level = 2,
		.cycles = MISS - LOAD - (uint32_t)fixture->timing.level1_difference,
		.transfer = TRANSFER_NODE,
	};

	fill_window(fixture);
	execute(fixture, code);
	core_load_missed(fixture->thread, 0, &result);
	assert_int_equal(stalled(fixture, 3, 3, REASON_TRANSFER), MISS - LOAD);
	assert_int_equal(cycles_of(fixture, REASON_TRANSFER), MISS - LOAD);
	assert_int_equal(cycles_of(fixture, REASON_DATA_CACHE), 0);
}

static void
a_page_alone_is_waited_for(void **state)
{
	struct timing_fixture *fixture = *state;

	execute(fixture, CODE_OF(fixture, LOAD_RAX));
	core_load_missed(fixture->thread, 0, &(const struct access_result){.tlb_missed = true, .tlb_cycles = 40});
	assert_int_equal(stalled(fixture, 3, 3, REASON_DATA_TLB), 40 + LOAD - HIDDEN);
	assert_int_equal(waited(fixture), 0);
}

/* More stalls than are remembered, and then one that waits for what came first. */
static void
stalls_of_the_window_are_found_among_many(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *chain = CODE_OF(fixture, ADD_RDX, LOOP), *load = CODE_OF(fixture, LOAD_RAX);

	for (unsigned stalls = 1; stalls <= 3 * THREAD_HISTORY; stalls *= 2) {
		uint64_t before;

		fill_window(fixture);
		for (unsigned i = 0; i < stalls; i++)
			core_store_missed(fixture->thread, 0, &(struct access_result){.level = 1, .cycles = MISS});
		for (unsigned i = 0; i < 2 * HIDDEN; i++)
			execute(fixture, chain);
		execute(fixture, load);
		before = waited(fixture);
		miss(fixture, 0, MISS);
		assert_int_equal(waited(fixture) - before, LOAD + MISS - HIDDEN);
	}
}

/* What comes behind a branch that was predicted wrongly was not in the window before. */
static void
a_misprediction_empties_the_window(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *load = CODE_OF(fixture, LOAD_RAX);

	core_mispredicted(fixture->thread, &load->edge);
	assert_int_equal(cycles_of(fixture, REASON_MISPREDICT), fixture->setup.pipeline.mispredict_cycles);
	execute(fixture, load);
	miss(fixture, 0, MISS);
	assert_int_equal(waited(fixture), LOAD + MISS);
}

/* However many stalls came since: of those that are forgotten, what entered before them does not know. */
static void
a_window_that_was_emptied_holds_what_came_since(void **state)
{
	const unsigned counts[] = {1, 20, THREAD_HISTORY, THREAD_HISTORY + HIDDEN, THREAD_HISTORY + HIDDEN + 6};
	struct timing_fixture *fixture = *state;
	struct code *load = CODE_OF(fixture, LOAD_RAX);

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const unsigned count = counts[i], forgotten = count > THREAD_HISTORY ? count - THREAD_HISTORY : 0;
		struct thread *thread = fixture->thread;
		uint64_t before;

		fill_window(fixture);
		core_mispredicted(thread, &load->edge);
		execute(fixture, load);
		for (unsigned stall = 0; stall < count; stall++)
			core_stall(thread, 0, 3, REASON_WRITE_BUFFER, 1);
		before = waited(fixture);
		miss(fixture, 0, MISS);
		assert_int_equal(waited(fixture) - before,
		                 LOAD + MISS - count + (forgotten > HIDDEN ? forgotten - HIDDEN : 0));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_window_hides_what_it_holds),
		TEST(what_the_window_hides_whole_costs_nothing),
		TEST(independent_misses_overlap),
		TEST(a_window_later_nothing_overlaps),
		TEST(an_address_that_was_loaded_waits),
		TEST(an_address_made_of_what_was_loaded_waits_in_a_later_block),
		TEST(an_address_waits_through_a_load_that_hits),
		TEST(an_address_made_of_two_loads_waits_for_the_later),
		TEST(an_address_made_of_two_registers_waits_for_the_later),
		TEST(a_register_that_was_written_again_is_not_waited_for),
		TEST(a_pointer_chase_takes_its_latency_each_time),
		TEST(one_miss_in_flight_at_a_time_makes_them_follow_each_other),
		TEST(a_wait_is_told_by_what_it_was_for),
		TEST(an_atomic_access_hides_nothing),
		TEST(a_page_alone_is_waited_for),
		TEST(stalls_of_the_window_are_found_among_many),
		TEST(a_misprediction_empties_the_window),
		TEST(a_window_that_was_emptied_holds_what_came_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
