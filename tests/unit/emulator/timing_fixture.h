/*
 * timing_fixture.h - a thread on a core, which executes blocks out of hexadecimal and is told what they miss
 */
#ifndef DCPI_TESTS_EMULATOR_TIMING_FIXTURE_H
#define DCPI_TESTS_EMULATOR_TIMING_FIXTURE_H

#include "tests/unit/emulator/block_fixture.h"

#include <elf.h>
#include <unistd.h>

#include "emulator/timing/block_entry.h"
#include "emulator/timing/core.h"
#include "emulator/timing/sample.h"
#include "tests/remove_tree.h"

struct timing_fixture {
	char directory[64];
	struct setup setup;
	struct timing timing;
	struct clock *clock;
	struct recording *recording;
	struct thread *thread;
	uint32_t blocks, instructions;
};

/* A thread begins on `machine`, of which `parts` are modelled; what else is wished is in `fixture->setup` before. */
static inline void
timing_fixture_begin(struct timing_fixture *fixture, uint32_t parts)
{
	fixture->setup.parts = parts;
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-timing-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	fixture->clock = clock_new(&fixture->setup, fixture->directory, "x86_64");
	assert_non_null(fixture->clock);
	fixture->recording = recording_new(fixture->directory, "program", 0);
	assert_non_null(fixture->recording);
	assert_int_equal(timing_init(&fixture->timing, &fixture->setup, EM_X86_64, BLOCK_CALLBACKS_8, fixture->clock,
	                             fixture->recording),
	                 0);
	assert_int_equal(thread_begin(&fixture->timing, 0), 0);
	fixture->thread = timing_thread(&fixture->timing, 0);
}

static inline struct timing_fixture *
timing_fixture_new(const char *machine)
{
	struct timing_fixture *fixture = calloc(1, sizeof(*fixture));
	char why[512];

	assert_non_null(fixture);
	setup_init(&fixture->setup, 1);
	fixture->setup.quantum_cycles = 0;
	memset(fixture->setup.periods, 0, sizeof(fixture->setup.periods));
	assert_int_equal(machine_choose(machine, &fixture->setup.machine, &fixture->setup.pipeline, why, sizeof(why)),
	                 0);
	return fixture;
}

static inline void
timing_fixture_free(struct timing_fixture *fixture)
{
	timing_fini(&fixture->timing);
	recording_free(fixture->recording);
	clock_free(fixture->clock);
	if (fixture->directory[0])
		remove_tree(fixture->directory);
	free(fixture);
}

/* A test's setup: a whole fixture. And its end. */
static inline int
timing_setup(void **state, const char *machine, uint32_t parts)
{
	struct timing_fixture *fixture = timing_fixture_new(machine);

	timing_fixture_begin(fixture, parts);
	*state = fixture;
	return 0;
}

static inline int
timing_in_order(void **state)
{
	return timing_setup(state, "in-order-2", SETUP_EVERYTHING);
}

static inline int
timing_out_of_order(void **state)
{
	return timing_setup(state, "e5-2690v4", SETUP_EVERYTHING);
}

static inline int
timing_teardown(void **state)
{
	timing_fixture_free(*state);
	return 0;
}

/* A block of these instructions, ended by NULL, at its own address. */
static inline struct code *
timing_fixture_code(struct timing_fixture *fixture, const char *const instructions[])
{
	struct block_bytes *code = calloc(1, sizeof(*code));
	const struct block *block;
	const uint32_t number = ++fixture->blocks;

	assert_non_null(code);
	for (size_t i = 0; instructions[i]; i++)
		block_bytes_add(code, instructions[i]);
	block = blocks_add(fixture->timing.blocks, FIXTURE_ADDRESS + 4096u * number, code->bytes, code->sizes,
	                   code->count, number, fixture->instructions + 1);
	fixture->instructions += (uint32_t)code->count;
	free(code);
	assert_non_null(block);
	return timing_add_code(&fixture->timing, block);
}

#define CODE_OF(fixture, ...) timing_fixture_code(fixture, (const char *const[]){__VA_ARGS__, NULL})

/* It is executed, of the clock and of these parts, not of all that is modelled. */
static inline void
execute_with(struct timing_fixture *fixture, struct code *code, uint32_t parts)
{
	struct timing timing = fixture->timing;

	timing.parts = parts | SETUP_CLOCK;
	if (!(parts & SETUP_CACHES))
		timing.memory = NULL;
	block_entry_callback (&timing)(0, code);
}

/* Execute `code` once. A test reports the misses of its loads after this call. */
static inline void
execute(struct timing_fixture *fixture, struct code *code)
{
	execute_with(fixture, code, 0);
}

/* Its instruction `index` loads from the second level of the caches and further: so many cycles later than a hit. */
static inline void
miss(struct timing_fixture *fixture, unsigned index, uint32_t cycles)
{
	const struct access_result result = {
		.level = 1,
		.cycles = cycles - (uint32_t)fixture->timing.level1_difference,
	};

	core_load_missed(fixture->thread, index, &result);
}

static inline uint64_t
stalled(const struct timing_fixture *fixture, uint32_t instruction, uint32_t culprit, enum record_reason reason)
{
	const struct record_stall *stall =
		&fixture->thread->record->stalls[record_stall_place(instruction, culprit, reason)];

	return stall->stalled == instruction && stall->culprit == culprit && stall->reason == (uint32_t)reason
	               ? stall->cycles
	               : 0;
}

static inline uint64_t
cycles_of(const struct timing_fixture *fixture, enum record_reason reason)
{
	return fixture->thread->record->counters.cycles[reason];
}

#endif
