#include "tests/unit/test.h"

#include "analysis/stalls_internal.h"
#include "tests/unit/analysis/stalls_scene.h"

/* How far apart accesses are, out of machine code that GNU as made; the distances are read off the source. */

#define FREQUENCY 1000.0
#define AT        0x1000

struct loop_code {
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
};

static int
find_detail(void *argument, const struct instruction *instruction, struct instruction_detail *detail)
{
	const struct loop_code *code = argument;
	const size_t at = instruction->address - AT;

	return decoder_detail(code->decoder, code->bytes + at, code->size - at, instruction->address, detail);
}

/* Blocks end behind what does not just go on; the last goes back to the first. */
static void
make_blocks(struct stalls_scene *scene, const struct instruction_list *list)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		if (list->instructions[i].flow == FLOW_NEXT)
			continue;
		scene_block(scene, list->instructions + first, i + 1 - first, FREQUENCY);
		first = i + 1;
	}
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 1);
	for (uint32_t i = 1; i < scene->graph.block_count; i++)
		scene_edge(scene, i - 1, i, EDGE_FALL, FREQUENCY);
	scene_edge(scene, (uint32_t)scene->graph.block_count - 1, 0, EDGE_TAKEN, FREQUENCY - 1);
	scene_edge(scene, (uint32_t)scene->graph.block_count - 1, FLOW_OUTSIDE, EDGE_EXIT, 1);
}

static void
make_loop(struct stalls_scene *scene, struct loop_code *code, enum architecture architecture)
{
	struct instruction_list list = {0};

	code->decoder = decoder_new(architecture);
	assert_non_null(code->decoder);
	assert_int_equal(decoder_decode(code->decoder, code->bytes, code->size, AT, &list), 0);
	scene_begin(scene, architecture == ARCHITECTURE_X86_64 ? "amd-zen3" : "arm-cortex-a53");
	make_blocks(scene, &list);
	scene->input.detail = find_detail;
	scene->input.argument = code;
	instruction_list_free(&list);
}

/* The first instruction that loads or stores. */
static uint32_t
find_access(const struct stalls_scene *scene)
{
	uint32_t at = 0;

	while (!scene->instructions[at].loads && !scene->instructions[at].stores)
		at++;
	return at;
}

/* The analysis itself is private: the stride is asked for as it asks. */
static bool
stride_of(struct stalls_scene *scene, uint32_t at, double *bytes)
{
	uint32_t seen[SCENE_MAX] = {0}, queue[SCENE_MAX];
	double distances[SCENE_MAX];
	struct stall_analysis analysis = {
		.input = &scene->input,
		.graph = &scene->graph,
		.pipeline = &scene->pipeline,
		.seen = seen,
		.queue = queue,
		.distances = distances,
		.stride_steps_left = 1000,
	};

	scene_find(scene);
	return stall_find_stride(&analysis, at, bytes);
}

/* `known` is false where no stride can be told. */
static void
assert_stride(enum architecture architecture, const uint8_t *bytes, size_t size, bool known, double expected)
{
	struct loop_code code = {.bytes = bytes, .size = size};
	struct stalls_scene scene;
	double stride = 0;

	make_loop(&scene, &code, architecture);
	assert_int_equal(stride_of(&scene, find_access(&scene), &stride), known);
	if (known)
		assert_about(stride, expected, 0);
	scene_end(&scene);
	decoder_free(code.decoder);
}

#define KNOWN(expected, ...)                                                                                           \
	assert_stride(ARCHITECTURE_X86_64, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}),     \
	              true, expected)
#define NOT_KNOWN(...)                                                                                                 \
	assert_stride(ARCHITECTURE_X86_64, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}),     \
	              false, 0)

/* mov (%rdi), %rcx; add $8, %rdi; dec %rsi; jne */
static void
a_pointer_moves_by_what_is_added(void **state)
{
	(void)state;
	KNOWN(8, 0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4);
}

/* add $8, %rdi; mov (%rdi), %rdx; lea 24(%rdi), %rdi; sub $1, %rsi; jne */
static void
all_that_is_added_in_a_round_counts(void **state)
{
	(void)state;
	KNOWN(32, 0x48, 0x83, 0xc7, 0x08, 0x48, 0x8b, 0x17, 0x48, 0x8d, 0x7f, 0x18, 0x48, 0x83, 0xee, 0x01, 0x75, 0xef);
}

/* mov (%rdi,%rax,8), %rdx; inc %rax; cmp %rax, %rsi; jne */
static void
an_index_moves_by_its_scale(void **state)
{
	(void)state;
	KNOWN(8, 0x48, 0x8b, 0x14, 0xc7, 0x48, 0xff, 0xc0, 0x48, 0x39, 0xc6, 0x75, 0xf4);
}

/* mov %rsi, %rax; and %rcx, %rax; shl $6, %rax; mov %rsi, (%rdi,%rax); sub $1, %rsi; jne */
static void
copies_masks_and_shifts_are_followed(void **state)
{
	(void)state;
	KNOWN(-64, 0x48, 0x89, 0xf0, 0x48, 0x21, 0xc8, 0x48, 0xc1, 0xe0, 0x06, 0x48, 0x89, 0x34, 0x07, 0x48, 0x83, 0xee,
	      0x01, 0x75, 0xec);
}

/* lea (%rdi,%rax,4), %rdx; mov (%rdx), %rcx; sub $2, %rax; jne */
static void
an_address_made_of_a_sum_is_followed(void **state)
{
	(void)state;
	KNOWN(-8, 0x48, 0x8d, 0x14, 0x87, 0x48, 0x8b, 0x0a, 0x48, 0x83, 0xe8, 0x02, 0x75, 0xf3);
}

/* mov (%rdi,%rax), %rdx; add $0x1000, %rax; and $0x7ffffff, %eax; sub $1, %rsi; jne */
static void
a_mask_lets_an_index_go_round(void **state)
{
	(void)state;
	KNOWN(4096, 0x48, 0x8b, 0x14, 0x07, 0x48, 0x05, 0x00, 0x10, 0x00, 0x00, 0x25, 0xff, 0xff, 0xff, 0x07, 0x48,
	      0x83, 0xee, 0x01, 0x75, 0xeb);
}

/* lock addq $1, (%rdi); sub $1, %rsi; jne -- and mov 0x100(%rip), %rdx; sub $1, %rsi; jne */
static void
what_nothing_writes_stays(void **state)
{
	(void)state;
	KNOWN(0, 0xf0, 0x48, 0x83, 0x07, 0x01, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf5);
	KNOWN(0, 0x48, 0x8b, 0x15, 0x00, 0x01, 0x00, 0x00, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf3);
}

/* mov (%rdi), %rdi; sub $1, %rsi; jne -- and mov (%rdi,%rax), %rdx; add %rdx, %rax; sub $1, %rsi; jne */
static void
addresses_out_of_memory_are_not_known(void **state)
{
	(void)state;
	NOT_KNOWN(0x48, 0x8b, 0x3f, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf7);
	NOT_KNOWN(0x48, 0x8b, 0x14, 0x07, 0x48, 0x01, 0xd0, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf3);
}

/* mov (%rdi), %rcx; add $8, %rdi; call; dec %rsi; jne */
static void
behind_a_call_nothing_is_known(void **state)
{
	(void)state;
	NOT_KNOWN(0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc7, 0x08, 0xe8, 0xf4, 0xff, 0xff, 0xff, 0x48, 0xff, 0xce, 0x75, 0xef);
}

/* Each followed by subs x2, x2, #1; b.ne */
static void
aarch64_has_the_same_forms(void **state)
{
	/* ldr x1, [x0]; add x0, x0, #8 */
	static const uint8_t added[] = {0x01, 0x00, 0x40, 0xf9, 0x00, 0x20, 0x00, 0x91,
	                                0x42, 0x04, 0x00, 0xf1, 0xa1, 0xff, 0xff, 0x54};
	/* ldr x1, [x0, x3, lsl #3]; add x3, x3, #2 */
	static const uint8_t scaled[] = {0x01, 0x78, 0x63, 0xf8, 0x63, 0x08, 0x00, 0x91,
	                                 0x42, 0x04, 0x00, 0xf1, 0xa1, 0xff, 0xff, 0x54};
	/* ldr x1, [x0]; add x0, x0, #1, lsl #12 */
	static const uint8_t shifted[] = {0x01, 0x00, 0x40, 0xf9, 0x00, 0x04, 0x40, 0x91,
	                                  0x42, 0x04, 0x00, 0xf1, 0xa1, 0xff, 0xff, 0x54};

	(void)state;
	assert_stride(ARCHITECTURE_AARCH64, added, sizeof(added), true, 8);
	assert_stride(ARCHITECTURE_AARCH64, scaled, sizeof(scaled), true, 16);
	assert_stride(ARCHITECTURE_AARCH64, shifted, sizeof(shifted), true, 4096);
}

/* What an access that takes 400 cycles may have waited for `cause`, at most. */
static double
most_of(const uint8_t *bytes, size_t size, enum stall_cause cause)
{
	struct loop_code code = {.bytes = bytes, .size = size};
	struct stalls_scene scene;
	uint32_t at;
	double high;

	make_loop(&scene, &code, ARCHITECTURE_X86_64);
	at = find_access(&scene);
	scene.samples[at] = 400 * FREQUENCY;
	scene.pipeline.data.memory_cycles = 1000;
	scene.pipeline.data_tlb.miss_cycles = 51200;
	scene_find(&scene);
	high = scene_stall(&scene, at, cause)->high;
	scene_end(&scene);
	decoder_free(code.decoder);
	return high;
}

/* 8 bytes on: each eighth time another line of 64, each 512th another page. */
static void
a_stride_bounds_misses_by_lines_and_pages(void **state)
{
	static const uint8_t loop[] = {0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4};

	(void)state;
	assert_about(most_of(loop, sizeof(loop), CAUSE_DATA_CACHE), 1000 / 8.0, 1e-6);
	assert_about(most_of(loop, sizeof(loop), CAUSE_DATA_TLB), 51200 / 512.0, 1e-6);
}

/*
 * Frequencies that are right only relative to one another: a round, at best one cycle for its branch, took 400 of their
 * units, so that a cycle is 400 of them at most, and 8/4096 of a walk of 60 cycles 46.9.
 */
static void
a_bound_in_cycles_is_worth_most_at_the_best_case(void **state)
{
	static const uint8_t bytes[] = {0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4};
	struct loop_code code = {.bytes = bytes, .size = sizeof(bytes)};
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, &code, ARCHITECTURE_X86_64);
	scene.samples[0] = 400 * FREQUENCY;
	scene.frequencies.is_relative = true;
	scene.pipeline.data_tlb.miss_cycles = 60;
	scene_find(&scene);
	assert_about(scene.schedules[0].best_cycles, 1, 0);
	assert_about(scene_stall(&scene, 0, CAUSE_DATA_TLB)->high, 8 / 4096.0 * 60 * 400, 1e-6);
	scene_end(&scene);
	decoder_free(code.decoder);
}

/* A sum of 8-byte elements, once in a loop that goes round a thousand times, and once in one of four rounds. */
static void
without_a_small_loop_a_stride_says_nothing(void **state)
{
	static const uint8_t bytes[] = {0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4};
	struct loop_code code = {.bytes = bytes, .size = sizeof(bytes)};
	struct stalls_scene scene;

	(void)state;
	make_loop(&scene, &code, ARCHITECTURE_X86_64);
	scene.samples[0] = 400 * FREQUENCY;
	scene_find(&scene);
	assert_letters(&scene, 0, "d");
	scene.edge_frequencies[0].value = scene.edge_frequencies[2].value = FREQUENCY / 4;
	scene.edge_frequencies[1].value = FREQUENCY * 3 / 4;
	scene_find(&scene);
	assert_letters(&scene, 0, "ITdDp"); /* and its code may be gone meanwhile, too */
	scene_end(&scene);
	decoder_free(code.decoder);
}

/* Nine loads: mov (%rdi), %rcx eight times and once more, add $8, %rdi, dec %rsi, jne. */
static void
with_many_accesses_in_a_round_a_stride_says_nothing(void **state)
{
	static const uint8_t tail[] = {0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xdc};
	uint8_t bytes[9 * 3 + sizeof(tail)];

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		memcpy(bytes + i * 3, (const uint8_t[]){0x48, 0x8b, 0x0f}, 3);
	memcpy(bytes + 27, tail, sizeof(tail));
	assert_true(most_of(bytes, sizeof(bytes), CAUSE_DATA_CACHE) > 300);
	assert_about(most_of(bytes + 3, sizeof(bytes) - 3, CAUSE_DATA_CACHE), 1000 / 8.0, 1e-6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pointer_moves_by_what_is_added),
		cmocka_unit_test(all_that_is_added_in_a_round_counts),
		cmocka_unit_test(an_index_moves_by_its_scale),
		cmocka_unit_test(copies_masks_and_shifts_are_followed),
		cmocka_unit_test(an_address_made_of_a_sum_is_followed),
		cmocka_unit_test(a_mask_lets_an_index_go_round),
		cmocka_unit_test(what_nothing_writes_stays),
		cmocka_unit_test(addresses_out_of_memory_are_not_known),
		cmocka_unit_test(behind_a_call_nothing_is_known),
		cmocka_unit_test(aarch64_has_the_same_forms),
		cmocka_unit_test(a_stride_bounds_misses_by_lines_and_pages),
		cmocka_unit_test(a_bound_in_cycles_is_worth_most_at_the_best_case),
		cmocka_unit_test(without_a_small_loop_a_stride_says_nothing),
		cmocka_unit_test(with_many_accesses_in_a_round_a_stride_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
