/* Tests of dcpi-tools/loc/trace_read.h, on files that emulator/locality/tracing.h writes, and on damaged ones. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/loc/trace_read.h"
#include "emulator/locality/tracing.h"
#include "tests/remove_tree.h"

#define BASE UINT64_C(0x4000000000)

struct trace_read_fixture {
	char directory[64];
	struct tracing *tracing;
	uint32_t first; /* instruction of a block of three */
	struct trace trace;
};

static const struct record_mmap program = {.build_id = {1, 2, 3}, .build_id_size = 3, .path = "/bin/program"};

static int
set_up(void **state)
{
	static const uint8_t sizes[3] = {4, 2, 4};
	const struct code_block block = {.type = CODE_BLOCK, .instruction_count = 3, .image = 1, .offset = 0x1000};
	struct trace_read_fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t number;

	*state = fixture;
	if (!fixture)
		return -1;
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-trace-XXXXXX");
	if (!mkdtemp(fixture->directory) || trace_init(&fixture->trace))
		return -1;
	fixture->tracing = tracing_new(fixture->directory, "program", 1000);
	if (!fixture->tracing || tracing_begin_thread(fixture->tracing, 0, 0) ||
	    tracing_begin_thread(fixture->tracing, 1, 0) ||
	    process_file_add_image(tracing_file(fixture->tracing), &program))
		return -1;
	number = process_file_add_block(tracing_file(fixture->tracing), &block, sizes, &fixture->first);
	return number ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct trace_read_fixture *fixture = *state;

	trace_fini(&fixture->trace);
	tracing_free(fixture->tracing);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
refer(struct trace_read_fixture *fixture, unsigned vcpu, uint32_t at, uint64_t address, bool is_store)
{
	const struct traced_access access = {address, NULL, 8, is_store};

	tracing_refer(fixture->tracing, vcpu, fixture->first + at, &access);
}

static struct trace_vcpu *
part_of(const struct trace_read_fixture *fixture)
{
	return tracing_file(fixture->tracing)->vcpus[0];
}

/* Of both threads together; an instruction that refers to nothing is none. */
static void
threads_are_added_up(void **state)
{
	struct trace_read_fixture *fixture = *state;
	const struct traced_instruction *found;

	for (unsigned i = 0; i < 10; i++) {
		refer(fixture, 0, 0, BASE + 64 * i, false);
		refer(fixture, 1, 0, BASE + 64 * (i + 5), false);
		refer(fixture, 1, 2, BASE + 8, true);
	}
	assert_int_equal(trace_read(&fixture->trace, fixture->directory), 0);
	assert_int_equal(fixture->trace.processes, 1);
	assert_int_equal(fixture->trace.count, 2);
	found = &fixture->trace.instructions[0];
	assert_int_equal(found->offset, 0x1000);
	assert_int_equal(found->exact.references, 20);
	assert_int_equal(found->low, BASE);
	assert_int_equal(found->high, BASE + 64 * 14);
	assert_false(found->stores);
	found = &fixture->trace.instructions[1];
	assert_int_equal(found->offset, 0x1006);
	assert_int_equal(found->exact.references, 10);
	assert_true(found->stores);
	assert_string_equal(image_table_get(fixture->trace.images, found->image - 1)->path, "/bin/program");
	assert_int_equal(fixture->trace.key_count, 21);
}

/* The thread whose lines were sampled decides for both. */
static void
lines_become_one_sample(void **state)
{
	struct trace_read_fixture *fixture = *state;
	const uint32_t groups[2] = {0, 1};
	uint64_t lines[2] = {0};

	for (unsigned i = 0; i < 100000; i++) {
		refer(fixture, 0, 0, BASE + 64 * i, false);
		refer(fixture, 1, 1, BASE + 64 * i, false);
	}
	((struct line_keys *)part_of(fixture)->lines)->halvings = 3;
	((struct line_keys *)part_of(fixture)->lines)->count =
		line_keys_sample(((struct line_keys *)part_of(fixture)->lines)->keys,
	                         ((struct line_keys *)part_of(fixture)->lines)->count, 3);
	assert_int_equal(trace_read(&fixture->trace, fixture->directory), 0);
	assert_int_equal(fixture->trace.halvings, 3);
	line_keys_count(fixture->trace.keys, fixture->trace.key_count, 3, groups, 2, 2, lines);
	assert_int_equal(lines[0], lines[1]);
	assert_true(lines[0] > 95000 && lines[0] < 105000);
}

static void
assert_damaged(struct trace_read_fixture *fixture)
{
	const int fd = open(tracing_file(fixture->tracing)->name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(trace_read_file(&fixture->trace, fd), -DCPI_EDAMAGED);
	close(fd);
	assert_int_equal(trace_read(&fixture->trace, fixture->directory), 0);
	assert_int_equal(fixture->trace.damaged, 1);
}

static void
scores_that_are_none_are_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	refer(fixture, 0, 0, BASE, false);
	part_of(fixture)->instructions[fixture->first].exact.spatial = NAN;
	assert_damaged(fixture);
}

static void
more_judged_than_there_are_is_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	refer(fixture, 0, 0, BASE, false);
	part_of(fixture)->instructions[fixture->first].sampled.judged = 5;
	assert_damaged(fixture);
}

static void
bursts_without_end_are_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	part_of(fixture)->bursts.products = INFINITY;
	assert_damaged(fixture);
}

static void
more_lines_than_there_is_room_for_are_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	((struct line_keys *)part_of(fixture)->lines)->count = TRACE_LINES_MAX + 1;
	assert_damaged(fixture);
}

static void
lines_of_no_instruction_are_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	((struct line_keys *)part_of(fixture)->lines)->count = 1;
	((struct line_keys *)part_of(fixture)->lines)->keys[0] = UINT64_MAX;
	assert_damaged(fixture);
}

static void
another_file_is_refused(void **state)
{
	struct trace_read_fixture *fixture = *state;

	tracing_file(fixture->tracing)->header->magic = 1;
	assert_damaged(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_are_added_up),
		TEST(lines_become_one_sample),
		TEST(scores_that_are_none_are_refused),
		TEST(more_judged_than_there_are_is_refused),
		TEST(bursts_without_end_are_refused),
		TEST(more_lines_than_there_is_room_for_are_refused),
		TEST(lines_of_no_instruction_are_refused),
		TEST(another_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
