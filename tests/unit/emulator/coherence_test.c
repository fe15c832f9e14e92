/* Tests of emulator/model/coherence.h: access for access beside a slow and obvious model. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <string.h>

#include "emulator/model/hierarchy_internal.h"
#include "emulator/setup.h"
#include "tests/unit/emulator/reference_cache.h"

#define CORES_MOST 48
#define HEAP       UINT64_C(0x4000001000)
#define CODE       UINT64_C(0x401000)
#define LATER      UINT64_C(1000000) /* cycles between accesses that must not meet */
#define TRANSFER   60
#define FAR        180

static struct machine machine;
static struct memory_system *memory;
static struct hierarchy *cores[CORES_MOST];
static uint64_t now;

/* Caches so small that lines are evicted all the time; 1 GHz, so that nanoseconds are cycles. */
static int
setup(void **state)
{
	(void)state;
	machine = (struct machine){
		.clock_mhz = 1000,
		.nodes = 2,
		.cores = 4,
		.line_bytes = 64,
		.code = {.bytes = 1024, .ways = 2, .latency_cycles = 4, .cores = 1},
		.level_count = 3,
		.levels = {{.bytes = 1024, .ways = 2, .latency_cycles = 4, .cores = 1},
	                   {.bytes = 4096, .ways = 4, .latency_cycles = 12, .cores = 1},
	                   {.bytes = 20480, .ways = 20, .latency_cycles = 40, .cores = 2}},
		.page_bytes = 4096,
		.controllers = 1,
		.load_count = 2,
		.loads = {{1, 200}, {20, 300}},
		.remote_latency_ns = 60,
		.transfer_ns = TRANSFER,
		.remote_transfer_ns = FAR,
		.placement = PLACEMENT_NODE,
	};
	now = 0;
	return 0;
}

static void
begin(unsigned core_count)
{
	memory = memory_system_new(&machine, SETUP_CACHES, 100000, 1);
	assert_non_null(memory);
	for (unsigned i = 0; i < core_count; i++) {
		cores[i] = hierarchy_new(memory, i, FILTER_NO_ROOM);
		assert_non_null(cores[i]);
	}
}

static int
teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CORES_MOST; i++) {
		hierarchy_free(cores[i]);
		cores[i] = NULL;
	}
	memory_system_free(memory);
	memory = NULL;
	return 0;
}

static struct access_result
load(unsigned core, uint64_t address)
{
	struct access_result result;

	hierarchy_load(cores[core], address, CODE, now, &result);
	now += LATER;
	return result;
}

static struct access_result
store(unsigned core, uint64_t address)
{
	struct access_result result;

	hierarchy_store(cores[core], address, CODE, now, now, &result);
	now += LATER;
	return result;
}

/* ---- what a line goes through ---- */

static void
a_line_that_another_core_has_written_comes_from_there(void **state)
{
	struct access_result result;

	(void)state;
	begin(4);
	assert_int_equal(store(0, HEAP).level, HIERARCHY_MEMORY);
	result = load(1, HEAP);
	assert_int_equal(result.transfer, TRANSFER_NODE);
	assert_int_equal(result.cycles, TRANSFER - 4);
	assert_int_equal(load(1, HEAP).transfer, TRANSFER_NONE);
	result = load(2, HEAP);                          /* clean by now: of another node, memory has it */
	assert_int_equal(result.transfer, TRANSFER_FAR); /* but that the other node's last level has it dirty */
	assert_int_equal(result.cycles, FAR - 4);
	assert_int_equal(load(3, HEAP).level, 2);
	assert_int_equal(load(0, HEAP).cycles, 0);
}

static void
a_store_removes_the_copies_of_others(void **state)
{
	struct access_result result;

	(void)state;
	begin(4);
	load(0, HEAP);
	load(1, HEAP);
	result = store(0, HEAP);
	assert_int_equal(result.transfer, TRANSFER_NODE);
	assert_int_equal(result.cycles, TRANSFER - 4);
	assert_int_equal(store(0, HEAP).cycles, 0);
	assert_int_equal(load(1, HEAP).transfer, TRANSFER_NODE);
	load(2, HEAP);
	result = store(1, HEAP);
	assert_int_equal(result.transfer, TRANSFER_FAR);
	assert_int_equal(result.cycles, FAR - 4);
	assert_int_equal(store(1, HEAP).cycles, 0);
}

static void
what_one_core_uses_alone_costs_as_before(void **state)
{
	(void)state;
	begin(4);
	load(0, HEAP);
	assert_int_equal(store(0, HEAP).cycles, 0);
	assert_int_equal(store(0, HEAP).transfer, TRANSFER_NONE);
	for (unsigned core = 0; core < 4; core++) { /* each its own line */
		load(core, HEAP + 4096 + core * 64);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(store(core, HEAP + 4096 + core * 64 + i).cycles, 0);
	}
}

static void
lines_from_before_the_second_thread_are_known(void **state)
{
	(void)state;
	begin(1);
	store(0, HEAP);
	load(0, HEAP + 64);
	memory_system_share(memory);
	cores[2] = hierarchy_new(memory, 2, FILTER_NO_ROOM);
	assert_non_null(cores[2]);
	assert_int_equal(load(2, HEAP).transfer, TRANSFER_FAR);
	assert_int_equal(store(2, HEAP + 64).transfer, TRANSFER_FAR);
	assert_int_equal(load(0, HEAP + 64).transfer, TRANSFER_FAR);
}

/* Two hierarchies of one core: of two threads that take turns on it. */
static void
threads_of_one_core_know_each_other(void **state)
{
	struct hierarchy *other;
	struct access_result result;

	(void)state;
	begin(1);
	other = hierarchy_new(memory, 0, FILTER_NO_ROOM);
	assert_non_null(other);
	store(0, HEAP);
	hierarchy_store(other, HEAP, CODE, now, now, &result);
	assert_int_equal(result.transfer, TRANSFER_NODE);
	hierarchy_free(other); /* with the line, which is then nobody's */
	assert_int_equal(load(0, HEAP).transfer, TRANSFER_NONE);
	assert_int_equal(store(0, HEAP).transfer, TRANSFER_NONE);
}

static void
a_line_that_another_core_may_write_is_not_prefetched(void **state)
{
	(void)state;
	machine.prefetcher_count = 1;
	machine.prefetchers[0] = (struct machine_prefetcher){
		.kind = PREFETCH_NEXT_LINE, .level = 1, .entries = 1, .degree = 1, .distance = 1, .accuracy = 1};
	begin(2);
	store(1, HEAP + 64);
	load(0, HEAP);
	assert_int_equal(store(1, HEAP + 64).cycles, 0);
	assert_int_equal(load(0, HEAP + 64).transfer, TRANSFER_NODE);
	load(0, HEAP + 4096);
	assert_int_equal(load(0, HEAP + 4096 + 64).level, 0);
	assert_int_equal(store(1, HEAP + 4096 + 64).transfer, TRANSFER_NODE);
}

/* ---- beside an obvious model: each access looks into each cache ---- */

struct reference_machine {
	unsigned cores, nodes;
	struct reference_cache first[CORES_MOST], second[CORES_MOST], last[CORES_MOST];
	uint64_t written_back;
};

struct reference_access {
	unsigned level;
	bool any, dirty, far;
	uint32_t cycles;
};

static struct reference_cache
reference_of(const struct machine_cache *cache)
{
	return reference_new((unsigned)(cache->bytes / machine.line_bytes / cache->ways), cache->ways, false);
}

static struct reference_machine *
reference_machine_new(void)
{
	struct reference_machine *reference = calloc(1, sizeof(*reference));

	assert_non_null(reference);
	reference->cores = machine.cores;
	reference->nodes = machine.nodes;
	for (unsigned i = 0; i < machine.cores; i++) {
		reference->first[i] = reference_of(&machine.levels[0]);
		reference->second[i] = reference_of(&machine.levels[1]);
	}
	for (unsigned i = 0; i < machine.nodes; i++)
		reference->last[i] = reference_of(&machine.levels[2]);
	return reference;
}

static void
reference_machine_free(struct reference_machine *reference)
{
	for (unsigned i = 0; i < CORES_MOST; i++) {
		reference_free(&reference->first[i]);
		reference_free(&reference->second[i]);
		reference_free(&reference->last[i]);
	}
	free(reference);
}

static void
look_into(struct reference_cache *cache, uint64_t line, bool writes, bool is_far, struct reference_access *found)
{
	struct reference_way *way = reference_find(cache, line);

	if (!way)
		return;
	if (way->written)
		found->far = is_far;
	else if (!found->dirty)
		found->far |= is_far;
	found->any = true;
	found->dirty |= way->written;
	way->written = false;
	if (writes)
		way->line = REFERENCE_NONE;
}

static void
reference_write_back(struct reference_machine *reference, unsigned core, unsigned level, uint64_t line)
{
	struct reference_cache *caches[] = {&reference->second[core],
	                                    &reference->last[core / (reference->cores / reference->nodes)]};

	for (; level < 3; level++) {
		struct reference_way *way = reference_find(caches[level - 1], line);

		if (way) {
			way->written = true;
			return;
		}
	}
	reference->written_back++;
}

static struct reference_access
reference_use(struct reference_machine *reference, unsigned core, uint64_t line, bool writes)
{
	const unsigned in_node = reference->cores / reference->nodes, node = core / in_node;
	struct reference_cache *levels[] = {&reference->first[core], &reference->second[core], &reference->last[node]};
	const struct reference_way *first = reference_find(levels[0], line);
	const bool has = writes ? first && first->written : first || reference_find(levels[1], line);
	static const uint32_t cycles[] = {0, 8, 36};
	struct reference_access access = {.level = HIERARCHY_MEMORY};

	for (unsigned i = 0; !has && i < reference->cores; i++) {
		if (i == core)
			continue;
		look_into(&reference->first[i], line, writes, i / in_node != node, &access);
		look_into(&reference->second[i], line, writes, i / in_node != node, &access);
	}
	for (unsigned i = 0; !has && i < reference->nodes; i++) {
		if (i != node)
			look_into(&reference->last[i], line, writes, true, &access);
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct reference_found found = reference_access(levels[i], line, writes && i == 0);

		if (found.hit) {
			access.level = i;
			break;
		}
		if (found.victim != REFERENCE_NONE && found.was_written)
			reference_write_back(reference, core, i + 1, found.victim);
	}
	access.cycles = access.level == HIERARCHY_MEMORY ? 196 + (node ? 60 : 0) : cycles[access.level];
	if (access.level == HIERARCHY_MEMORY && access.dirty) {
		access.level = 2;
		access.cycles = 0;
	}
	if (access.dirty || (writes && access.any)) {
		const uint32_t transfer = access.far ? FAR - 4 : TRANSFER - 4;

		access.cycles = transfer > access.cycles ? transfer : access.cycles;
	}
	if (access.dirty && !writes)
		reference_write_back(reference, core, access.far ? 3 : 2, line);
	return access;
}

static uint32_t
random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*seed >> 33) % limit);
}

/* A few lines that all cores write, some that they read, and each core's own. */
static uint64_t
any_line(uint64_t *seed, unsigned core, bool *writes)
{
	const uint32_t kind = random_below(seed, 10);

	*writes = random_below(seed, 3) == 0;
	if (kind < 3)
		return random_below(seed, 12);
	if (kind < 6) {
		*writes = random_below(seed, 200) == 0;
		return 64 + random_below(seed, 300);
	}
	return 1024 + core * 256 + random_below(seed, 90);
}

static void
compare(unsigned accesses)
{
	const uint64_t first_line = HEAP / 64;
	struct reference_machine *reference = reference_machine_new();
	uint64_t seed = 7, written_back = 0;
	unsigned transfers = 0, from_memory = 0;

	begin(machine.cores);
	for (unsigned i = 0; i < accesses; i++) {
		const unsigned core = random_below(&seed, machine.cores);
		bool writes;
		const uint64_t line = first_line + any_line(&seed, core, &writes);
		const struct access_result result = writes ? store(core, line * 64) : load(core, line * 64);
		const struct reference_access expected = reference_use(reference, core, line, writes);
		const bool waits = expected.dirty || (writes && expected.any);

		assert_int_equal(result.level, expected.level);
		assert_int_equal(result.transfer, !waits ? TRANSFER_NONE : expected.far ? TRANSFER_FAR : TRANSFER_NODE);
		assert_int_equal(result.cycles, expected.cycles);
		transfers += waits;
		from_memory += result.level == HIERARCHY_MEMORY;
	}
	for (unsigned i = 0; i < machine.cores; i++)
		written_back += hierarchy_traffic(cores[i]).written_back;
	assert_int_equal(written_back, reference->written_back);
	assert_true(transfers > accesses / 20 && from_memory > accesses / 100);
	reference_machine_free(reference);
}

static void
accesses_are_those_of_a_model_that_looks_everywhere(void **state)
{
	(void)state;
	compare(300000);
}

static void
and_of_a_machine_of_four_nodes(void **state)
{
	(void)state;
	machine.nodes = 4;
	machine.cores = 16;
	machine.levels[2].cores = 4;
	compare(300000);
}

/* More cores than the directory has bits. */
static void
and_with_cores_that_share_a_bit(void **state)
{
	(void)state;
	machine.nodes = 4;
	machine.cores = 48;
	machine.levels[2].cores = 12;
	compare(200000);
}

/* ---- threads ---- */

#define THREADS 4
#define LINES   16

static void *
hammer(void *data)
{
	const unsigned core = (unsigned)(uintptr_t)data;
	uint64_t seed = core + 1, time = 0;
	struct access_result result;

	for (unsigned i = 0; i < 300000; i++) {
		const uint64_t address = HEAP + 64 * random_below(&seed, LINES);

		if (random_below(&seed, 2))
			hierarchy_store(cores[core], address, CODE, time, time, &result);
		else
			hierarchy_load(cores[core], address, CODE, time, &result);
		time += 100;
	}
	return NULL;
}

/* No two of them have written a line, and whoever has, has it alone. */
static void
threads_that_write_the_same_lines_agree(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	begin(THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned at = 0; at < LINES; at++) {
		const uint64_t number = page_map_recent_number(&cores[0]->regions, memory->pages, HEAP + 64 * at) / 64;
		unsigned has = 0, written = 0;

		for (unsigned i = 0; i < THREADS; i++) {
			const struct filter_entry *entry = l1_find(&cores[i]->data, number);

			has += entry != NULL;
			written += entry && entry->key & FILTER_WRITTEN;
		}
		assert_true(written <= 1);
		assert_true(!written || has == 1);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_line_that_another_core_has_written_comes_from_there),
		CASE(a_store_removes_the_copies_of_others),
		CASE(what_one_core_uses_alone_costs_as_before),
		CASE(lines_from_before_the_second_thread_are_known),
		CASE(threads_of_one_core_know_each_other),
		CASE(a_line_that_another_core_may_write_is_not_prefetched),
		CASE(accesses_are_those_of_a_model_that_looks_everywhere),
		CASE(and_of_a_machine_of_four_nodes),
		CASE(and_with_cores_that_share_a_bit),
		CASE(threads_that_write_the_same_lines_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
