/* Tests of emulator/timing/block_entry.c: when a block begins, what is modelled happens, and nothing else. */
#include "tests/unit/emulator/timing_fixture.h"

#define BLOCKS 48
#define STEPS  20000
#define BRANCH "75 f0"          /* jne, to 14 bytes before its end */
#define CALL   "e8 00 10 00 00" /* to 4096 bytes behind it */
#define CALLS  "ff d0"          /* call *%rax */
#define JUMPS  "ff e0"          /* jmp *%rax */
#define RETURN "c3"
#define MOVABS "48 b8 11 22 33 44 55 66 77 08" /* of ten bytes */
#define ADD    "48 01 d8"                      /* add %rbx,%rax */
#define MUL    "48 0f af c3"                   /* imul %rbx,%rax */

struct model {
	const char *machine;
	enum machine_predictor predictor;
	uint32_t parts;
};

static struct timing_fixture *
begin(const struct model *model)
{
	struct timing_fixture *fixture = timing_fixture_new(model->machine);

	fixture->setup.periods[SETUP_EVENT_CYCLES] = 1000;
	fixture->setup.periods[SETUP_EVENT_BRANCH] = 7;
	fixture->setup.machine.predictor = model->predictor;
	fixture->setup.machine.history_bits = 8;
	timing_fixture_begin(fixture, model->parts);
	return fixture;
}

/* One after the other as in a program: on one line, on two, on more; on one page, on two. */
static struct code *
add_code(struct timing_fixture *fixture, uint64_t *address, unsigned i)
{
	static const char *const ends[] = {ADD, BRANCH, NULL, CALL, CALLS, JUMPS, RETURN};
	const char *end = ends[i % (sizeof(ends) / sizeof(ends[0]))];
	struct block_bytes *code = calloc(1, sizeof(*code));
	const struct block *block;
	char loop[sizeof(BRANCH)];

	assert_non_null(code);
	block_bytes_add(code, MUL);
	for (unsigned k = 0; k < i * 5 % 17; k++)
		block_bytes_add(code, k % 3 ? ADD : MOVABS);
	snprintf(loop, sizeof(loop), "75 %02x", (uint8_t) - (int)(code->size + 2));
	block_bytes_add(code, end ? end : loop);
	block = blocks_add(fixture->timing.blocks, *address, code->bytes, code->sizes, code->count, i + 1,
	                   fixture->instructions + 1);
	fixture->instructions += (uint32_t)code->count;
	*address += code->size + (i % 5 == 0 ? 1500 : 0);
	free(code);
	assert_non_null(block);
	return timing_add_code(&fixture->timing, block);
}

/* A block follows itself, one of two, or any. */
static unsigned
next_of(unsigned block, uint64_t random)
{
	if (random % 8 < 2)
		return block;
	return random % 8 < 7 ? (block * 7 + (unsigned)(random >> 8) % 2) % BLOCKS : (unsigned)(random >> 8) % BLOCKS;
}

static void
run(struct timing_fixture *fixture)
{
	const qemu_plugin_vcpu_udata_cb_t enter = block_entry_callback(&fixture->timing);
	struct code *codes[BLOCKS] = {NULL};
	uint64_t address = FIXTURE_ADDRESS, random = 88172645463325252;
	unsigned block = 0;

	for (unsigned i = 0; i < BLOCKS; i++)
		codes[i] = add_code(fixture, &address, i);
	for (unsigned i = 0; i < STEPS; i++) {
		enter(0, codes[block]);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		block = next_of(block, random);
	}
	if (fixture->setup.parts & SETUP_CLOCK)
		core_settle(fixture->thread);
	thread_publish(fixture->thread);
}

/* All that is modelled happened, and nothing else. */
static void
assert_modelled(const struct timing_fixture *fixture)
{
	const struct record_counters *counters = &fixture->thread->record->counters;
	const uint32_t parts = fixture->setup.parts;

	assert_int_equal(counters->events[SETUP_EVENT_BRANCH] > 100, (parts & SETUP_BRANCHES) != 0);
	assert_int_equal(counters->events[SETUP_EVENT_LEVEL1_CODE] > 10, (parts & SETUP_CACHES) != 0);
	assert_int_equal(counters->cycles[REASON_EXECUTION] > STEPS, (parts & SETUP_CLOCK) != 0);
	assert_int_equal(counters->samples[SETUP_EVENT_BRANCH] > 10, (parts & SETUP_SAMPLES) != 0);
}

/* Two runs leave equal results: nothing in them is of the host. */
static void
compare(const struct model *model, struct timing_fixture *wanted)
{
	const struct record_vcpu *one = wanted->thread->record, *other;
	struct timing_fixture *fixture = begin(model);

	run(fixture);
	other = fixture->thread->record;
	assert_memory_equal(&one->counters, &other->counters, sizeof(one->counters));
	assert_memory_equal(one->executions, other->executions, (BLOCKS + 1) * sizeof(one->executions[0]));
	assert_memory_equal(one->stalls, other->stalls, sizeof(one->stalls));
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		assert_memory_equal(one->samples[i], other->samples[i],
		                    fixture->instructions * sizeof(one->samples[i][0]));
	timing_fixture_free(fixture);
}

static void
entering_a_block_does_what_is_modelled(void **state)
{
	const struct model *model = *state;
	struct timing_fixture *wanted = begin(model);

	run(wanted);
	assert_modelled(wanted);
	compare(model, wanted);
	timing_fixture_free(wanted);
}

#define MODELS_OF(machine, predictor)                                                                                  \
	{machine, predictor, SETUP_COUNTS}, {machine, predictor, SETUP_BRANCHES}, {machine, predictor, SETUP_CACHES},  \
		{machine, predictor, SETUP_CLOCK}, {machine, predictor, SETUP_BRANCHES | SETUP_CACHES},                \
		{machine, predictor, SETUP_BRANCHES | SETUP_CLOCK},                                                    \
		{machine, predictor, SETUP_CACHES | SETUP_TLBS | SETUP_CLOCK},                                         \
	{                                                                                                              \
		machine, predictor, SETUP_EVERYTHING                                                                   \
	}

int
main(void)
{
	static struct model models[] = {
		MODELS_OF("in-order-2", PREDICTOR_BIMODAL),
		MODELS_OF("in-order-2", PREDICTOR_GSHARE),
		MODELS_OF("e5-2690v4", PREDICTOR_BIMODAL),
		MODELS_OF("e5-2690v4", PREDICTOR_GSHARE),
	};
	struct CMUnitTest tests[sizeof(models) / sizeof(models[0])];

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		tests[i] = (struct CMUnitTest){models[i].machine, entering_a_block_does_what_is_modelled, NULL, NULL,
		                               &models[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
