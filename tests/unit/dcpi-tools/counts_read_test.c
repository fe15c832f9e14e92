/* Tests of dcpi-tools/x/counts_read.h, on files that emulator/counts/counting.h writes. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/x/counts_read.h"
#include "emulator/counts/counting.h"
#include "tests/remove_tree.h"

struct counts_read_fixture {
	char directory[64];
	struct counting *counting;
	struct counted counted;
	struct counts_summary summary;
};

static const struct record_mmap program = {.build_id = {1, 2, 3}, .build_id_size = 3, .path = "/bin/program"};
static const struct record_mmap library = {.build_id = {4}, .build_id_size = 1, .path = "/lib/library.so"};

static int
setup(void **state)
{
	struct counts_read_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-counts-XXXXXX");
	if (!mkdtemp(fixture->directory) || counted_init(&fixture->counted))
		return -1;
	fixture->counting = counting_new(fixture->directory, "program");
	if (!fixture->counting || counting_add_vcpu(fixture->counting, 0) ||
	    process_file_add_image(counting_file(fixture->counting), &program) ||
	    process_file_add_image(counting_file(fixture->counting), &library))
		return -1;
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct counts_read_fixture *fixture = *state;

	counted_fini(&fixture->counted);
	counting_free(fixture->counting);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

/* A block of `count` instructions of 4 bytes each. */
static uint32_t
add_block(struct counts_read_fixture *fixture, uint32_t image, uint64_t offset, uint16_t count, uint8_t flags)
{
	const struct code_block block = {
		.type = CODE_BLOCK, .flags = flags, .instruction_count = count, .image = image, .offset = offset};
	uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX];
	uint32_t number, first;

	memset(sizes, 4, sizeof(sizes));
	number = process_file_add_block(counting_file(fixture->counting), &block, sizes, &first);
	assert_true(number > 0);
	assert_int_equal(process_file_add_block(counting_file(fixture->counting), &block, sizes, &first), number);
	return number;
}

static void
enter(struct counts_read_fixture *fixture, unsigned vcpu, uint32_t block, int times)
{
	for (int i = 0; i < times; i++)
		counting_enter(fixture->counting, vcpu, block);
}

static void
read_counts(struct counts_read_fixture *fixture)
{
	assert_int_equal(counts_read(fixture->directory, "", &fixture->counted, &fixture->summary), 0);
	edge_list_merge(&fixture->counted.edges);
}

/* Of the image with this number, in the order in which they were added. */
static uint64_t
count_of(struct counts_read_fixture *fixture, uint32_t image, uint64_t offset)
{
	size_t count;
	const struct tally_entry *entries = tally_sort(fixture->counted.tally, &count);

	for (size_t i = 0; i < count; i++)
		if (entries[i].image == image && entries[i].offset == offset)
			return entries[i].count;
	return 0;
}

static uint64_t
edge_of(const struct counts_read_fixture *fixture, uint32_t image, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < fixture->counted.edges.count; i++) {
		const struct profile_edge *edge = &fixture->counted.edges.edges[i];

		if (edge->image == image && edge->from == from && edge->to == to)
			return edge->count;
	}
	return 0;
}

static void
instructions_and_edges_are_counted(void **state)
{
	struct counts_read_fixture *fixture = *state;
	const uint32_t head = add_block(fixture, 1, 0x100, 2, 0), loop = add_block(fixture, 1, 0x108, 3, 0);

	enter(fixture, 0, head, 1);
	enter(fixture, 0, loop, 10);
	read_counts(fixture);
	assert_int_equal(count_of(fixture, 0, 0x100), 1);
	assert_int_equal(count_of(fixture, 0, 0x104), 1);
	assert_int_equal(count_of(fixture, 0, 0x110), 10);
	assert_int_equal(edge_of(fixture, 0, 0x104, 0x108), 1);
	assert_int_equal(edge_of(fixture, 0, 0x110, 0x108), 9);
	assert_int_equal(fixture->counted.totals[0], 32);
	assert_int_equal(fixture->summary.processes, 1);
	assert_int_equal(fixture->summary.uncounted, 0);
}

/* More than a slot has room for, and more than the first table of edges. */
static void
a_block_may_be_entered_from_any_number_of_others(void **state)
{
	struct counts_read_fixture *fixture = *state;
	const uint32_t called = add_block(fixture, 1, 0x100000, 1, 0);

	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t caller = add_block(fixture, 1, 0x1000 + 4 * i, 1, 0);

		for (uint32_t j = 0; j < 1 + i % 3; j++) {
			enter(fixture, 0, caller, 1);
			enter(fixture, 0, called, 1);
		}
	}
	read_counts(fixture);
	assert_int_equal(count_of(fixture, 0, 0x100000), 6000);
	assert_int_equal(edge_of(fixture, 0, 0x1000, 0x100000), 1);
	assert_int_equal(edge_of(fixture, 0, 0x1000 + 4 * 2999, 0x100000), 3);
	assert_int_equal(edge_of(fixture, 0, 0x100000, 0x1000 + 4 * 2999), 3);
}

static void
threads_are_added_up_and_transfers_between_images_are_left_out(void **state)
{
	struct counts_read_fixture *fixture = *state;
	const uint32_t here = add_block(fixture, 1, 0x100, 1, 0), there = add_block(fixture, 2, 0x100, 1, 0);

	assert_int_equal(counting_add_vcpu(fixture->counting, 5), 0);
	for (unsigned vcpu = 0; vcpu <= 5; vcpu += 5) {
		enter(fixture, vcpu, here, 1);
		enter(fixture, vcpu, there, 1);
	}
	enter(fixture, 3, here, 2); /* a thread that was not added */
	read_counts(fixture);
	assert_int_equal(count_of(fixture, 0, 0x100), 2);
	assert_int_equal(count_of(fixture, 1, 0x100), 2);
	assert_int_equal(fixture->counted.edges.count, 0);
	assert_int_equal(fixture->summary.uncounted, 2);
}

static void
an_instruction_that_repeats_is_executed_once(void **state)
{
	struct counts_read_fixture *fixture = *state;
	const uint32_t first = add_block(fixture, 1, 0x100, 2, CODE_BLOCK_REPEATS);
	const uint32_t again = add_block(fixture, 1, 0x104, 1, CODE_BLOCK_REPEATS);
	const uint32_t after = add_block(fixture, 1, 0x108, 1, 0);

	enter(fixture, 0, first, 1);
	enter(fixture, 0, again, 7);
	enter(fixture, 0, after, 1);
	enter(fixture, 0, again, 1); /* jumped to: another execution */
	read_counts(fixture);
	assert_int_equal(count_of(fixture, 0, 0x100), 1);
	assert_int_equal(count_of(fixture, 0, 0x104), 2);
	assert_int_equal(edge_of(fixture, 0, 0x104, 0x104), 0);
	assert_int_equal(edge_of(fixture, 0, 0x104, 0x108), 1);
}

static void
code_without_a_file_is_added_up(void **state)
{
	struct counts_read_fixture *fixture = *state;

	enter(fixture, 0, add_block(fixture, 0, 0, 5, 0), 4);
	read_counts(fixture);
	assert_int_equal(fixture->counted.anonymous[0], 20);
	assert_int_equal(fixture->counted.totals[0], 20);
	assert_int_equal(tally_size(fixture->counted.tally), 0);
}

static void
a_child_counts_for_itself_from_zero(void **state)
{
	struct counts_read_fixture *fixture = *state;
	const uint32_t before = add_block(fixture, 1, 0x100, 1, 0), loop = add_block(fixture, 1, 0x200, 1, 0);
	int status;
	pid_t pid;

	enter(fixture, 0, before, 1);
	counting_before_fork(fixture->counting);
	pid = fork();
	if (pid == 0) {
		if (counting_fork(fixture->counting))
			_exit(1);
		enter(fixture, 0, loop, 3);
		enter(fixture, 0, add_block(fixture, 2, 0x300, 1, 0), 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	enter(fixture, 0, loop, 1);
	read_counts(fixture);
	assert_int_equal(fixture->summary.processes, 2);
	assert_int_equal(count_of(fixture, 0, 0x100), 1);
	assert_int_equal(count_of(fixture, 0, 0x200), 4);
	assert_int_equal(count_of(fixture, 1, 0x300), 1);
	assert_int_equal(edge_of(fixture, 0, 0x100, 0x200), 2); /* each of both from where the fork was */
}

static void
a_file_that_contradicts_itself_is_damaged(void **state)
{
	struct counts_read_fixture *fixture = *state;
	char name[128];
	const uint32_t absurd = COUNTS_VCPUS_MAX + 1;
	int fd;

	enter(fixture, 0, add_block(fixture, 1, 0x100, 1, 0), 1);
	snprintf(name, sizeof(name), "%s/" COUNTS_PREFIX "%d.0", fixture->directory, (int)getpid());
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &absurd, sizeof(absurd), offsetof(struct record_header, vcpu_count)),
	                 sizeof(absurd));
	assert_int_equal(counts_read_file(fd, "", &fixture->counted, &fixture->summary), -DCPI_EDAMAGED);
	close(fd);
	read_counts(fixture);
	assert_int_equal(fixture->summary.damaged, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(instructions_and_edges_are_counted),
		TEST(a_block_may_be_entered_from_any_number_of_others),
		TEST(threads_are_added_up_and_transfers_between_images_are_left_out),
		TEST(an_instruction_that_repeats_is_executed_once),
		TEST(code_without_a_file_is_added_up),
		TEST(a_child_counts_for_itself_from_zero),
		TEST(a_file_that_contradicts_itself_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
