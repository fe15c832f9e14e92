/* Tests of block_is_undelayed(), compared with whole schedules. */
#include "tests/unit/emulator/block_fixture.h"

#include "code/schedule.h"
#include "emulator/block/block_internal.h"

#define TRIES 4000

static uint32_t
next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

/* Instructions that load, compute, divide, jump, and wait for one another. */
static void
make_code(uint32_t *random, struct block_bytes *code)
{
	static const char *const pool[] = {
		"48 8b 07" /* mov (%rdi),%rax */,
		"48 01 c1" /* add %rax,%rcx */,
		"48 89 f2" /* mov %rsi,%rdx */,
		"48 8b 1a" /* mov (%rdx),%rbx */,
		"31 c0" /* xor %eax,%eax */,
		"48 0f af cb" /* imul %rbx,%rcx */,
		"48 85 c0" /* test %rax,%rax */,
		"48 89 0e" /* mov %rcx,(%rsi) */,
		"f7 f1" /* div %ecx */,
		"53" /* push %rbx */,
		"f2 0f 58 c1" /* addsd xmm1,xmm0 */,
		"90" /* nop */,
	};

	*code = (struct block_bytes){.size = 0};
	for (unsigned left = 1 + next_random(random) % 5; left; left--)
		block_bytes_add(code, pool[next_random(random) % (sizeof(pool) / sizeof(pool[0]))]);
}

/* Little, of few registers and hardly ever of a unit, as blocks leave it. */
static void
make_state(uint32_t *random, struct pipeline_state *state)
{
	*state = (struct pipeline_state){{0}};
	for (unsigned left = 1 + next_random(random) % 2; left; left--)
		state->ready[next_random(random) % 8] = (uint8_t)(next_random(random) % 5);
	state->ready[REGISTER_FLAGS] = (uint8_t)(next_random(random) % 2);
	if (next_random(random) % 8 == 0)
		state->busy[next_random(random) % 6] = 3;
}

/* Whether the whole schedule is as it is behind nothing. */
static bool
is_scheduled_alike(const struct pipeline *pipeline, const struct block_bytes *code, const struct pipeline_state *state)
{
	struct instruction_list list = {0};
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct schedule_times times, alone = {{0}};
	unsigned cycles[FIXTURE_SIZES], cycles_alone[FIXTURE_SIZES];
	bool is_alike;

	assert_int_equal(decoder_decode(decoder, code->bytes, code->size, FIXTURE_ADDRESS, &list), 0);
	pipeline_state_to_times(state, &times);
	schedule_issue(pipeline, list.instructions, list.count, &times, cycles);
	schedule_issue(pipeline, list.instructions, list.count, &alone, cycles_alone);
	is_alike = memcmp(cycles, cycles_alone, list.count * sizeof(cycles[0])) == 0 &&
	           memcmp(&times, &alone, sizeof(times)) == 0;
	instruction_list_free(&list);
	decoder_free(decoder);
	return is_alike;
}

static void
what_is_undelayed_has_the_same_schedule(void **state)
{
	struct blocks *blocks = *state;
	struct pipeline *pipeline = fixture_pipeline("in-order-2");
	struct block_bytes *code = malloc(sizeof(*code));
	unsigned alike = 0, undelayed = 0;
	uint32_t random = 1;

	for (unsigned i = 1; i < TRIES; i++) {
		const struct block *block;
		struct pipeline_state before;
		bool is_alike;

		make_code(&random, code);
		make_state(&random, &before);
		block = blocks_add(blocks, FIXTURE_ADDRESS, code->bytes, code->sizes, code->count, i, 1);
		is_alike = is_scheduled_alike(pipeline, code, &before);
		alike += is_alike;
		if (!block_is_undelayed(blocks_first_variant(blocks, block), &before))
			continue;
		assert_true(is_alike);
		undelayed++;
	}
	free(code);
	free(pipeline);
	assert_true(alike < TRIES * 3 / 4);
	assert_true(undelayed > alike / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_undelayed_has_the_same_schedule, blocks_setup, blocks_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
