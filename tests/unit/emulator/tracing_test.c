/* Tests of emulator/locality/tracing.h: what is added up, and what is left out because it is there for the record. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/locality/trace_file.h"
#include "emulator/locality/tracing.h"
#include "tests/remove_tree.h"

#define BASE           UINT64_C(0x4000000000)
#define THREAD_POINTER UINT64_C(0x4001000000)
#define COUNTDOWN      (THREAD_POINTER - 72)
#define STACK          UINT64_C(0x4002000000)
#define CUT_BLOCK      254 /* its end, and that of the next, are near the end of a page */
#define BLOCK_SIZE     4   /* instructions */

enum traced_image {
	IMAGE_PROGRAM = 1,
	IMAGE_LIBC,
};

struct tracing_fixture {
	char directory[64];
	struct tracing *tracing;
	uint64_t memory; /* what is read */
};

static int
begin(void **state, uint64_t exact)
{
	struct tracing_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-tracing-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	fixture->tracing = tracing_new(fixture->directory, "program", exact);
	return fixture->tracing ? tracing_begin_thread(fixture->tracing, 0, THREAD_POINTER) : -1;
}

static int
set_up(void **state)
{
	return begin(state, 1000000);
}

static int
set_up_sampling(void **state)
{
	return begin(state, 1000);
}

static int
tear_down(void **state)
{
	struct tracing_fixture *fixture = *state;

	tracing_free(fixture->tracing);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

/* Its first instruction; blocks are numbered from 1, and follow one another in the image. */
static uint32_t
describe_block(struct tracing_fixture *fixture, uint32_t block, enum traced_image image, bool calls, bool jumps)
{
	const struct trace_block described = {
		.offset = 0x1000 + block * 16,
		.end = 0x1000 + block * 16 + 16,
		.image = image,
		.first = block * BLOCK_SIZE,
		.count = BLOCK_SIZE,
		.code = image == IMAGE_LIBC ? TRACE_SYSTEM : TRACE_PROGRAM,
		.calls = calls,
		.jumps = jumps,
	};

	tracing_describe(fixture->tracing, block, &described);
	return described.first;
}

static uint32_t
add_block(struct tracing_fixture *fixture, uint32_t block, enum traced_image image, bool calls)
{
	return describe_block(fixture, block, image, calls, false);
}

static void
refer(struct tracing_fixture *fixture, uint32_t instruction, uint64_t address, uint32_t bytes, bool is_store)
{
	const struct traced_access access = {address, &fixture->memory, bytes, is_store};

	tracing_refer(fixture->tracing, 0, instruction, &access);
}

static const struct trace_vcpu *
part_of(const struct tracing_fixture *fixture)
{
	return tracing_file(fixture->tracing)->vcpus[0];
}

static uint64_t
references_of(const struct tracing_fixture *fixture, uint32_t instruction)
{
	const struct trace_instruction *found = &part_of(fixture)->instructions[instruction];

	return found->exact.references + found->sampled.references;
}

static void
an_instruction_has_its_references(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);
	const struct trace_instruction *found = &part_of(fixture)->instructions[first];

	tracing_enter(fixture->tracing, 0, 1);
	for (unsigned i = 0; i < 100; i++)
		refer(fixture, first, BASE + 8 * i, 8, i == 50);
	assert_int_equal(found->exact.references, 100);
	assert_int_equal(found->low, BASE);
	assert_int_equal(found->high, BASE + 8 * 99);
	assert_int_equal(found->stores, 1);
	assert_true(locality_spatial(&found->exact) == 0.99);
	assert_int_equal(((const struct line_keys *)part_of(fixture)->lines)->count, 13);
}

static void
a_wide_access_is_one_to_each_word(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);

	refer(fixture, first, BASE, 32, false);
	assert_int_equal(references_of(fixture, first), 4);
	refer(fixture, first, BASE + 32, 4, false);
	assert_int_equal(references_of(fixture, first), 5);
}

/* Until a block of the program begins; what libc does for it is left out, too. */
static void
the_library_is_left_out(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t own = add_block(fixture, 1, IMAGE_PROGRAM, false),
		       libc = add_block(fixture, 2, IMAGE_LIBC, false);

	tracing_enter(fixture->tracing, 0, 1);
	tracing_enter_library(fixture->tracing, 0);
	tracing_enter(fixture->tracing, 0, 2);
	refer(fixture, libc, BASE, 8, false);
	assert_int_equal(references_of(fixture, libc), 0);
	tracing_enter(fixture->tracing, 0, 1);
	refer(fixture, own, BASE, 8, false);
	assert_int_equal(references_of(fixture, own), 1);
	tracing_enter(fixture->tracing, 0, 2);
	refer(fixture, libc, BASE, 8, false);
	assert_int_equal(references_of(fixture, libc), 1);
}

static void
a_call_of_the_library_is_left_out(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t caller = add_block(fixture, 1, IMAGE_PROGRAM, true),
		       table = add_block(fixture, 2, IMAGE_PROGRAM, false),
		       linker = add_block(fixture, 3, IMAGE_LIBC, false),
		       after = add_block(fixture, 9, IMAGE_PROGRAM, false);

	for (unsigned i = 0; i < 20; i++) {
		tracing_enter(fixture->tracing, 0, 1);
		refer(fixture, caller, STACK + 16, 8, true);              /* a register is saved */
		refer(fixture, caller + 1, BASE + 8 * i, 8, false);       /* the program's own */
		refer(fixture, caller + 2, STACK + 64 + 8 * i, 8, false); /* likewise, of its frame */
		refer(fixture, caller + 3, STACK - 8, 8, true);           /* where the call returns to */
		tracing_enter(fixture->tracing, 0, 2);
		refer(fixture, table, BASE + 0x10000, 8, false);
		if (i == 0) {
			tracing_enter(fixture->tracing, 0, 3);
			refer(fixture, linker, BASE + 0x20000, 8, false);
		}
		tracing_enter_library(fixture->tracing, 0);
		tracing_enter(fixture->tracing, 0, 9);
		refer(fixture, after, STACK + 16, 8, false);       /* and restored */
		refer(fixture, after + 1, BASE + 8 * i, 8, false); /* the program's own */
	}
	assert_int_equal(references_of(fixture, caller), 0);
	assert_int_equal(references_of(fixture, caller + 1), 20);
	assert_int_equal(references_of(fixture, caller + 2), 20);
	assert_int_equal(references_of(fixture, caller + 3), 0);
	assert_int_equal(references_of(fixture, table), 0);
	assert_int_equal(references_of(fixture, linker), 1);
	assert_int_equal(references_of(fixture, after), 0);
	assert_int_equal(references_of(fixture, after + 1), 20);
	assert_int_equal(part_of(fixture)->left_out, 80);
}

/* Registers are saved on the way to the call, and restored on one of the ways back, which all end with jumps. */
static void
what_leads_to_a_call_and_back_is_left_out(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t loop = add_block(fixture, 1, IMAGE_PROGRAM, false),
		       way = describe_block(fixture, 3, IMAGE_PROGRAM, false, true),
		       caller = add_block(fixture, 5, IMAGE_PROGRAM, true);
	const uint32_t after = add_block(fixture, 7, IMAGE_PROGRAM, false),
		       back = describe_block(fixture, 9, IMAGE_PROGRAM, false, true),
		       other = describe_block(fixture, 11, IMAGE_PROGRAM, false, true);

	for (unsigned i = 0; i < 40; i++) {
		tracing_enter(fixture->tracing, 0, 1);
		refer(fixture, loop, STACK + 32, 8, true); /* the program's own */
		tracing_enter(fixture->tracing, 0, 3);
		refer(fixture, way, STACK + 16, 8, true);
		refer(fixture, way + 1, BASE + 8 * i, 8, false);
		tracing_enter(fixture->tracing, 0, 5);
		refer(fixture, caller, STACK - 8, 8, true);
		tracing_enter_library(fixture->tracing, 0);
		tracing_enter(fixture->tracing, 0, 7);
		refer(fixture, after, BASE + 8 * i, 8, false);
		tracing_enter(fixture->tracing, 0, i % 2 ? 9 : 11);
		refer(fixture, i % 2 ? back : other, STACK + 16, 8, false);
		if (i % 2 == 0)
			refer(fixture, other + 1, BASE + 0x10000 + 8 * i, 8, true);
	}
	assert_int_equal(references_of(fixture, loop), 40);
	assert_int_equal(references_of(fixture, way), 0);
	assert_int_equal(references_of(fixture, way + 1), 40);
	assert_int_equal(references_of(fixture, caller), 0);
	assert_int_equal(references_of(fixture, after), 40);
	assert_int_equal(references_of(fixture, back), 0);
	assert_int_equal(references_of(fixture, other), 20); /* where the program refers to data, too */
	assert_int_equal(references_of(fixture, other + 1), 20);
}

/* Before an instruction that reaches into the next page, and behind it: each of three blocks continues the one before.
 */
static void
a_call_that_is_cut_at_a_page_is_left_out(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t saving = add_block(fixture, CUT_BLOCK, IMAGE_PROGRAM, false),
		       across = add_block(fixture, CUT_BLOCK + 1, IMAGE_PROGRAM, false),
		       caller = add_block(fixture, CUT_BLOCK + 2, IMAGE_PROGRAM, true);

	for (unsigned i = 0; i < 20; i++) {
		tracing_enter(fixture->tracing, 0, CUT_BLOCK);
		refer(fixture, saving, STACK + 16, 8, true);
		tracing_enter(fixture->tracing, 0, CUT_BLOCK + 1);
		refer(fixture, across, STACK + 24, 8, true);
		tracing_enter(fixture->tracing, 0, CUT_BLOCK + 2);
		refer(fixture, caller, STACK - 8, 8, true);
		tracing_enter_library(fixture->tracing, 0);
	}
	assert_int_equal(references_of(fixture, saving), 0);
	assert_int_equal(references_of(fixture, across), 0);
	assert_int_equal(references_of(fixture, caller), 0);
}

/* Its handler is the program's, and the library goes on where it was. */
static void
a_signal_leaves_the_library(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t caller = add_block(fixture, 1, IMAGE_PROGRAM, true),
		       table = add_block(fixture, 2, IMAGE_PROGRAM, false),
		       handler = add_block(fixture, 9, IMAGE_PROGRAM, false),
		       libc = add_block(fixture, 20, IMAGE_LIBC, false);

	for (unsigned i = 0; i < 20; i++) {
		tracing_enter(fixture->tracing, 0, 1);
		refer(fixture, caller + 3, STACK - 8, 8, true);
		tracing_enter(fixture->tracing, 0, 2);
		refer(fixture, table, BASE + 0x10000, 8, false);
		tracing_enter_library(fixture->tracing, 0);
		tracing_enter(fixture->tracing, 0, 9);
		refer(fixture, handler, BASE + 8 * i, 8, false);
		tracing_enter_library(fixture->tracing, 0);
		tracing_enter(fixture->tracing, 0, 20);
		refer(fixture, libc, BASE + 8 * i, 8, false);
	}
	assert_int_equal(references_of(fixture, caller + 3), 0);
	assert_int_equal(references_of(fixture, table), 0);
	assert_int_equal(references_of(fixture, handler), 20);
	assert_int_equal(references_of(fixture, libc), 0);
}

/* Where the library stores in a thread's own memory; and where the program reads how far that is. */
static void
the_countdown_is_left_out(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);

	fixture->memory = COUNTDOWN - THREAD_POINTER;
	refer(fixture, first, COUNTDOWN, 8, false);
	refer(fixture, first + 1, BASE, 8, false);
	assert_int_equal(references_of(fixture, first), 1);
	assert_int_equal(references_of(fixture, first + 1), 1);
	tracing_library_stores(fixture->tracing, 0, COUNTDOWN);
	for (unsigned i = 0; i < 3; i++) {
		refer(fixture, first, COUNTDOWN, 8, i == 2);
		refer(fixture, first + 1, BASE, 8, false);
		refer(fixture, first + 2, COUNTDOWN - 8, 8, false);
		refer(fixture, first + 3, BASE + 8, 4, false);
	}
	assert_int_equal(references_of(fixture, first), 0);
	assert_int_equal(references_of(fixture, first + 1), 0);
	assert_int_equal(references_of(fixture, first + 2), 3);
	assert_int_equal(references_of(fixture, first + 3), 3);
	assert_int_equal(part_of(fixture)->left_out, 8);
}

static void
behind_what_is_exact_reuse_is_sampled(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);
	const struct trace_instruction *found = &part_of(fixture)->instructions[first];
	const uint64_t count = 1000 + TRACE_BURST * TRACE_PART + 10;

	/* each address again after 99 others: 6 is the bucket */
	for (uint64_t i = 0; i < count; i++)
		refer(fixture, first, BASE + 8 * (i % 100), 8, false);
	assert_int_equal(found->exact.references, 1000);
	assert_int_equal(found->exact.judged, 1000);
	assert_int_equal(found->sampled.references, count - 1000);
	assert_int_equal(found->sampled.judged, TRACE_BURST - LOCALITY_WARM_REFERENCES);
	assert_true(locality_temporal(&found->sampled) == 10.0 / 16);
	assert_int_equal(part_of(fixture)->bursts.count, 1);
}

static void
a_child_begins_anew(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);
	int status;
	pid_t child;

	refer(fixture, first, BASE, 8, false);
	child = fork();
	if (child == 0) {
		if (tracing_fork(fixture->tracing) || references_of(fixture, first) != 0)
			_exit(1);
		refer(fixture, first, BASE, 8, false);
		refer(fixture, first, BASE + 64, 8, false);
		_exit(references_of(fixture, first) == 2 &&
		                      ((const struct line_keys *)part_of(fixture)->lines)->count == 2
		              ? 0
		              : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(references_of(fixture, first), 1);
}

static void
threads_are_apart_and_ended_ones_stay(void **state)
{
	struct tracing_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, IMAGE_PROGRAM, false);
	const struct traced_access access = {BASE, &fixture->memory, 8, false};

	tracing_refer(fixture->tracing, 1, first, &access);
	assert_int_equal(tracing_file(fixture->tracing)->header->unrecorded, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(tracing_begin_thread(fixture->tracing, 1, 0), 0);
		tracing_refer(fixture->tracing, 1, first, &access);
		tracing_end_thread(fixture->tracing, 1);
	}
	assert_int_equal(references_of(fixture, first), 0);
	assert_int_equal(((const struct trace_vcpu *)tracing_file(fixture->tracing)->vcpus[1])
	                         ->instructions[first]
	                         .exact.references,
	                 2);
	assert_int_equal(tracing_begin_thread(fixture->tracing, TRACE_VCPUS_MAX, 0), -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_instruction_has_its_references),
		TEST(a_wide_access_is_one_to_each_word),
		TEST(the_library_is_left_out),
		TEST(a_call_of_the_library_is_left_out),
		TEST(what_leads_to_a_call_and_back_is_left_out),
		TEST(a_call_that_is_cut_at_a_page_is_left_out),
		TEST(a_signal_leaves_the_library),
		TEST(the_countdown_is_left_out),
		cmocka_unit_test_setup_teardown(behind_what_is_exact_reuse_is_sampled, set_up_sampling, tear_down),
		TEST(a_child_begins_anew),
		TEST(threads_are_apart_and_ended_ones_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
