/* Tests of emulator/timing/core.c: accesses of several sizes and kinds are what their parts are. */
#include "tests/unit/emulator/timing_fixture.h"

#include "emulator/timing/core.h"

#define BLOCKS 64
#define LOAD   "48 8b 07" /* mov (%rdi),%rax */
#define OTHER  "48 8b 1e" /* mov (%rsi),%rbx */
#define USE    "48 01 d8" /* add %rbx,%rax */
#define STORE  "48 89 01" /* mov %rax,(%rcx) */
#define UPDATE "48 01 19" /* add %rbx,(%rcx) */
#define NOP    "90"
#define BASE   UINT64_C(0x4000000000)

/* A machine of config/machines, with a second TLB of another shape unless 0, and another level 3, and level 1. */
struct shape {
	const char *machine;
	unsigned tlb_entries, tlb_ways;
	unsigned third_ways; /* of a small level 3, unless 0 */
	unsigned first_ways; /* of 64 sets, unless 0 */
	bool is_shared;      /* with another thread, which does nothing */
};

static struct timing_fixture *
begin(const struct shape *shape)
{
	struct timing_fixture *fixture = timing_fixture_new(shape->machine);
	static const enum setup_event events[] = {SETUP_EVENT_LEVEL1_DATA, SETUP_EVENT_LEVEL2, SETUP_EVENT_LAST_LEVEL,
	                                          SETUP_EVENT_DATA_TLB, SETUP_EVENT_DATA_WALK};

	fixture->setup.periods[SETUP_EVENT_CYCLES] = 1000;
	for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		fixture->setup.periods[events[i]] = 3 + 2 * i;
	if (shape->tlb_ways) {
		fixture->setup.machine.shared_tlb.entries = shape->tlb_entries;
		fixture->setup.machine.shared_tlb.ways = shape->tlb_ways;
	}
	if (shape->third_ways) {
		fixture->setup.machine.levels[2].ways = shape->third_ways;
		fixture->setup.machine.levels[2].bytes = shape->third_ways * 64 * 1000;
	}
	if (shape->first_ways) {
		fixture->setup.machine.levels[0].ways = shape->first_ways;
		fixture->setup.machine.levels[0].bytes = shape->first_ways * 64 * 64;
	}
	fixture->setup.threads = 2;
	timing_fixture_begin(fixture, SETUP_EVERYTHING);
	if (shape->is_shared)
		assert_int_equal(thread_begin(&fixture->timing, 1), 0);
	return fixture;
}

static void
access_memory(struct thread *thread, const struct access *access, uint64_t address, bool is_store)
{
	core_access_bytes(thread, access, address, 8, is_store);
}

/* For the most part in the first or the second level; lines in turn, which are prefetched; anywhere. */
static uint64_t
address_of(uint64_t random, unsigned i)
{
	switch (random % 8) {
	case 0:
		return BASE + (random >> 8 & 0x3ffff8);
	case 1:
	case 2:
		return BASE + (uint64_t)i * 32 % 0x100000;
	case 3:
	case 4:
		return BASE + (random >> 8 & 0x1fff8);
	default:
		return BASE + (random >> 8 & 0x3ff8);
	}
}

static void
compare(const struct timing_fixture *fixture, const struct timing_fixture *same)
{
	const struct record_vcpu *one = fixture->thread->record, *other = same->thread->record;

	assert_true(other->counters.events[SETUP_EVENT_LEVEL2] > 1000);
	assert_true(other->counters.events[SETUP_EVENT_DATA_TLB] > 1000);
	assert_true(other->counters.samples[SETUP_EVENT_LEVEL1_DATA] > 100);
	assert_memory_equal(&one->counters, &other->counters, sizeof(one->counters));
	assert_memory_equal(one->stalls, other->stalls, sizeof(one->stalls));
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		assert_memory_equal(one->samples[i], other->samples[i],
		                    same->instructions * sizeof(one->samples[i][0]));
}

static void
load_and_store(struct thread *thread, const struct access *access, uint64_t address)
{
	access_memory(thread, access, address, false);
	access_memory(thread, access, address, true);
}

static void
update(struct thread *thread, const struct access *access, uint64_t address)
{
	core_access_update(thread, access, address, 8);
}

static void
run_updates(struct timing_fixture *fixture,
            void (*done)(struct thread *thread, const struct access *access, uint64_t address))
{
	struct code *code = CODE_OF(fixture, UPDATE, LOAD, USE);
	uint64_t random = 88172645463325252;

	for (unsigned i = 0; i < 50000; i++) {
		execute_with(fixture, code, SETUP_BRANCHES | SETUP_CACHES);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		done(fixture->thread, &code->accesses[0], address_of(random, i) + (random % 16 == 0 ? 61 : 0));
		access_memory(fixture->thread, &code->accesses[1], address_of(random >> 3, i), false);
	}
	core_settle(fixture->thread);
	thread_publish(fixture->thread);
}

static void
an_update_is_a_load_and_a_store(void **state)
{
	struct timing_fixture *one = begin(*state), *other = begin(*state);

	run_updates(one, update);
	run_updates(other, load_and_store);
	compare(one, other);
	timing_fixture_free(one);
	timing_fixture_free(other);
}

int
main(void)
{
	static struct shape shapes[] = {
		{"in-order-2", 0, 0},
		{"in-order-2", 384, 6},
		{"in-order-2", 256, 8},
		{"in-order-2", 96, 12},
		{"e5-2690v4", 0, 0},
		{"e5-2690v4", 64, 4},
		{"e5-2690v4", 96, 6},
		{"e5-2690v4", 64, 8},
		{"e5-2690v4", 0, 0, 20},
		{"e5-2690v4", 64, 4, 16},
		{"e5-2690v4", 0, 0, 8},
		{"e5-2603v1", 0, 0},
		{"in-order-2", 0, 0, 0, 8},
		{"e5-2690v4", 0, 0, 0, 4},
		{"in-order-2", 0, 0, 0, 0, true},
		{"e5-2690v4", 0, 0, 0, 0, true},
		{"e5-2690v4", 0, 0, 20, 0, true},
		{"e5-2603v1", 0, 0, 0, 0, true},
	};
	struct CMUnitTest tests[sizeof(shapes) / sizeof(shapes[0])];

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tests[i] =
			(struct CMUnitTest){shapes[i].machine, an_update_is_a_load_and_a_store, NULL, NULL, &shapes[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
