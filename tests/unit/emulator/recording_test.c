/* Tests of emulator/record/recording.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/record/recording.h"
#include "tests/remove_tree.h"

#define NOBODY 65534

struct recording_fixture {
	char directory[64];
	struct recording *recording;
	struct record_vcpu *vcpu;
};

static const struct record_mmap program = {.build_id = {1, 2, 3}, .build_id_size = 3, .path = "/bin/program"};
static const uint8_t sizes[] = {4, 4, 4, 4};
static const uint8_t bytes[16] = {1, 2, 3, 4};

static int
setup(void **state)
{
	struct recording_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-record-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	fixture->recording = recording_new(fixture->directory, "program", 1000);
	fixture->vcpu = fixture->recording ? recording_add_vcpu(fixture->recording, 0) : NULL;
	*state = fixture;
	return fixture->vcpu && process_file_add_image(recording_file(fixture->recording), &program) == 0 ? 0 : -1;
}

static int
teardown(void **state)
{
	struct recording_fixture *fixture = *state;

	recording_free(fixture->recording);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static int
open_record(const struct recording_fixture *fixture, pid_t pid)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "%s/" RECORD_PREFIX "%d.0", fixture->directory, (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void
read_header(const struct recording_fixture *fixture, pid_t pid, struct record_header *header)
{
	int fd = open_record(fixture, pid);

	assert_int_equal(pread(fd, header, sizeof(*header), 0), sizeof(*header));
	close(fd);
}

static uint32_t
add_block(struct recording_fixture *fixture, uint32_t image, uint64_t offset, uint16_t count, uint64_t address,
          uint32_t *first)
{
	const struct code_block block = {
		.type = CODE_BLOCK, .instruction_count = count, .image = image, .offset = offset};

	return recording_add_block(fixture->recording, &block, sizes, bytes, address, first);
}

static void
instructions_are_numbered_through_all_blocks(void **state)
{
	struct recording_fixture *fixture = *state;
	uint32_t first;

	assert_int_equal(add_block(fixture, 1, 0x100, 3, 0x400100, &first), 1);
	assert_int_equal(first, 1);
	assert_int_equal(add_block(fixture, 1, 0x200, 4, 0x400200, &first), 2);
	assert_int_equal(first, 4);
	assert_int_equal(add_block(fixture, 1, 0x300, 1, 0x400300, &first), 3);
	assert_int_equal(first, 8);
	assert_int_equal(add_block(fixture, 1, 0x200, 4, 0x400200, &first), 2); /* translated again */
	assert_int_equal(first, 4);
}

static void
code_without_a_file_is_told_apart_by_its_address_and_its_bytes(void **state)
{
	struct recording_fixture *fixture = *state;
	const struct code_block block = {.type = CODE_BLOCK, .instruction_count = 4};
	uint8_t others[16] = {1, 2, 3, 5};
	uint32_t first;

	assert_int_equal(add_block(fixture, 0, 0, 4, 0x7000, &first), 1);
	assert_int_equal(add_block(fixture, 0, 0, 4, 0x8000, &first), 2);
	assert_int_equal(recording_add_block(fixture->recording, &block, sizes, others, 0x7000, &first), 3);
	assert_int_equal(add_block(fixture, 0, 0, 4, 0x7000, &first), 1);
}

static void
stalls_of_one_place_are_added_up(void **state)
{
	struct recording_fixture *fixture = *state;
	const struct record_stall *stall;

	for (int i = 0; i < 3; i++)
		assert_true(record_stall_add(fixture->vcpu, 7, 5, REASON_DATA_CACHE, 100));
	assert_true(record_stall_add(fixture->vcpu, 7, 5, REASON_DATA_TLB, 30));
	assert_true(record_stall_add(fixture->vcpu, 7, 6, REASON_DATA_CACHE, 20));
	stall = record_stall_find(fixture->vcpu, 7, 5, REASON_DATA_CACHE);
	assert_int_equal(stall->times, 3);
	assert_int_equal(stall->cycles, 300);
	assert_int_equal(record_stall_find(fixture->vcpu, 7, 5, REASON_DATA_TLB)->cycles, 30);
	assert_int_equal(record_stall_find(fixture->vcpu, 7, 6, REASON_DATA_CACHE)->cycles, 20);
}

/* Far more instructions than there are places to begin at: each finds its own, wherever another one was. */
static void
stalls_whose_places_meet_stay_apart(void **state)
{
	struct recording_fixture *fixture = *state;
	const uint32_t far = RECORD_STALLS / 2;

	for (uint32_t i = 1; i <= 100; i++)
		for (uint32_t k = 0; k < 8; k++)
			assert_true(
				record_stall_add(fixture->vcpu, i + k % 4 * far, i, REASON_CODE_CACHE + k / 4, i + k));
	for (uint32_t i = 1; i <= 100; i++)
		for (uint32_t k = 0; k < 8; k++)
			assert_int_equal(
				record_stall_find(fixture->vcpu, i + k % 4 * far, i, REASON_CODE_CACHE + k / 4)->cycles,
				i + k);
}

/* Two stalls with one first slot: the second is in the next slot. */
static void
stalls_with_one_first_slot_are_apart(void **state)
{
	struct recording_fixture *fixture = *state;
	const uint32_t other = 7 + RECORD_STALLS / 2;
	const struct record_pair pair = {other, other};
	struct record_stall *found;
	uint32_t at;

	assert_true(record_stall_add(fixture->vcpu, 7, 7, REASON_DATA_CACHE, 10));
	assert_true(record_stall_add(fixture->vcpu, other, other, REASON_DATA_CACHE, 20));
	assert_true(record_stall_add(fixture->vcpu, other, other, REASON_DATA_CACHE, 40));
	assert_ptr_equal(record_stall_find(fixture->vcpu, other, other, REASON_DATA_CACHE),
	                 record_stall_find(fixture->vcpu, 7, 7, REASON_DATA_CACHE) + 1);
	assert_int_equal(record_stall_find(fixture->vcpu, other, other, REASON_DATA_CACHE)->cycles, 60);
	assert_int_equal(record_stall_find(fixture->vcpu, 7, 7, REASON_DATA_CACHE)->cycles, 10);
	/* where it was last it is known again, and what lies in its first slot is another's */
	found = record_stall_find(fixture->vcpu, other, other, REASON_DATA_CACHE);
	at = record_stall_bytes(fixture->vcpu, found);
	assert_ptr_equal(record_stall_at(fixture->vcpu, at), found);
	assert_true(record_stall_is(found, &pair, REASON_DATA_CACHE));
	assert_false(record_stall_is(found - 1, &pair, REASON_DATA_CACHE));
	assert_false(record_stall_is(found, &pair, REASON_DATA_TLB));
}

static void
where_no_place_is_left_it_is_said(void **state)
{
	struct recording_fixture *fixture = *state;
	struct record_header header;
	uint32_t added = 0;

	while (added < RECORD_STALLS && record_stall_add(fixture->vcpu, 1, added, REASON_DATA_CACHE, 1))
		added++;
	assert_true(added >= 1000 && added < RECORD_STALLS);
	process_file_count_unrecorded(recording_file(fixture->recording));
	read_header(fixture, getpid(), &header);
	assert_int_equal(header.unrecorded, 1);
}

static void
a_killed_process_leaves_what_it_recorded(void **state)
{
	struct recording_fixture *fixture = *state;
	struct record_counters counters;
	struct record_header header;
	int status, fd;
	pid_t pid;

	recording_before_fork(fixture->recording);
	pid = fork();
	if (pid == 0) {
		if (recording_fork(fixture->recording, 5000))
			_exit(1);
		fixture->vcpu->counters.calls = 42;
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	fd = open_record(fixture, pid);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(header.magic, RECORD_MAGIC);
	assert_int_equal(header.vcpu_count, 1);
	assert_int_equal(pread(fd, &counters, sizeof(counters), (off_t)RECORD_VCPU_OFFSET(0)), sizeof(counters));
	assert_int_equal(counters.calls, 42);
	close(fd);
}

static void
a_child_records_for_itself_from_its_parents_clock_on(void **state)
{
	struct recording_fixture *fixture = *state;
	struct record_header header;
	uint32_t first;
	int status;
	pid_t pid;

	assert_int_equal(add_block(fixture, 1, 0x100, 3, 0x400100, &first), 1);
	fixture->vcpu->counters.clock = 5000;
	fixture->vcpu->counters.calls = 9;
	fixture->vcpu->executions[1] = 77;
	recording_before_fork(fixture->recording);
	pid = fork();
	if (pid == 0) {
		bool right = recording_fork(fixture->recording, 5000) == 0;

		right = right && fixture->vcpu->counters.clock == 5000 && fixture->vcpu->counters.calls == 0;
		right = right && fixture->vcpu->executions[1] == 0;
		fixture->vcpu->executions[1] = 1;
		right = right && add_block(fixture, 1, 0x100, 3, 0x400100, &first) == 1 && first == 1;
		right = right && add_block(fixture, 1, 0x900, 3, 0x400900, &first) == 2 && first == 4;
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fixture->vcpu->executions[1], 77);
	read_header(fixture, pid, &header);
	assert_int_equal(header.pid, pid);
	assert_int_equal(header.parent, getpid());
	assert_int_equal(header.start_cycles, 5000);
	assert_string_equal(header.comm, "program");
}

static void
without_a_directory_the_child_records_nowhere(void **state)
{
	struct recording_fixture *fixture = *state;
	int status;
	pid_t pid;

	recording_before_fork(fixture->recording);
	pid = fork();
	if (pid == 0) {
		remove_tree(fixture->directory);
		if (recording_fork(fixture->recording, 0) != -ENOENT)
			_exit(1);
		fixture->vcpu->executions[1] = 5;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fixture->vcpu->executions[1], 0);
}

static void
what_is_mapped_stays_when_a_virtual_cpu_before_it_is_added(void **state)
{
	struct recording_fixture *fixture = *state;
	struct record_vcpu *fifth = recording_add_vcpu(fixture->recording, 5);

	assert_non_null(fifth);
	assert_non_null(recording_add_vcpu(fixture->recording, 3));
	fifth->stalls[RECORD_STALLS - 1].cycles = 1; /* the last byte of the file */
	assert_ptr_equal(recording_add_vcpu(fixture->recording, 5), fifth);
	assert_null(recording_add_vcpu(fixture->recording, RECORD_VCPUS_MAX));
	assert_int_equal(errno, ENOSPC);
}

/* Becomes nobody's; whether a virtual CPU can be added then, and another name of a file of root's stays root's. */
static bool
adds_as_nobody(struct recording_fixture *fixture, const char *kept)
{
	char name[128];
	struct stat status;

	recording_before_fork(fixture->recording);
	if (recording_fork(fixture->recording, 0))
		return false;
	snprintf(name, sizeof(name), "%s/objects.%d.7", fixture->directory, (int)getpid());
	if (link(kept, name))
		return false;
	process_file_give(recording_file(fixture->recording), NOBODY);
	if (stat(name, &status) || status.st_uid != 0)
		return false;
	return setuid(NOBODY) == 0 && recording_add_vcpu(fixture->recording, 1);
}

static void
a_process_of_root_that_becomes_another_user_s_has_threads(void **state)
{
	struct recording_fixture *fixture = *state;
	char kept[128];
	int status, fd;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	snprintf(kept, sizeof(kept), "%s/kept", fixture->directory);
	fd = open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod(fixture->directory, 01733), 0);
	pid = fork();
	if (pid == 0)
		_exit(adds_as_nobody(fixture, kept) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(instructions_are_numbered_through_all_blocks),
		TEST(code_without_a_file_is_told_apart_by_its_address_and_its_bytes),
		TEST(stalls_of_one_place_are_added_up),
		TEST(stalls_whose_places_meet_stay_apart),
		TEST(stalls_with_one_first_slot_are_apart),
		TEST(where_no_place_is_left_it_is_said),
		TEST(a_killed_process_leaves_what_it_recorded),
		TEST(a_child_records_for_itself_from_its_parents_clock_on),
		TEST(without_a_directory_the_child_records_nowhere),
		TEST(what_is_mapped_stays_when_a_virtual_cpu_before_it_is_added),
		TEST(a_process_of_root_that_becomes_another_user_s_has_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
