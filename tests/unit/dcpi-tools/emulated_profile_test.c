/* Tests of dcpi-tools/emu/emulated_profile.h, on files that emulator/record/recording.h writes. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/emu/emulated_profile.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emu/stall_truth.h"
#include "emulator/record/recording.h"
#include "machine/emulated_cpu.h"
#include "profile/selection.h"
#include "tests/accuracy/recorded_stalls.h"
#include "tests/remove_tree.h"

#define PROGRAM_OFFSET 0x1000
#define LIBRARY_OFFSET 0x2000

struct emulated_profile_fixture {
	char directory[64], records[96], database[96];
	struct recording *recording;
	struct record_vcpu *vcpu;
	struct setup setup;
	uint32_t program_block, program_first, library_block, library_first;
	uint32_t epoch;
	struct profile *profile;
	struct selection *selection;
};

static const struct record_mmap program = {.build_id = {1, 2, 3}, .build_id_size = 3, .path = "/bin/program"};
static const struct record_mmap library = {.build_id = {4}, .build_id_size = 1, .path = "/lib/library.so"};
static const uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX] = {4, 4, 4, 4, 4, 4, 4, 4};
static const uint8_t bytes[64];

static uint32_t
add_block(struct emulated_profile_fixture *fixture, uint32_t image, uint64_t offset, uint16_t count, uint8_t flags,
          uint32_t *first)
{
	const struct code_block block = {
		.type = CODE_BLOCK, .flags = flags, .instruction_count = count, .image = image, .offset = offset};

	return recording_add_block(fixture->recording, &block, sizes, bytes, offset, first);
}

static int
setup(void **state)
{
	struct emulated_profile_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-emulated-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->records, sizeof(fixture->records), "%s/records", fixture->directory);
	snprintf(fixture->database, sizeof(fixture->database), "%s/db", fixture->directory);
	if (mkdir(fixture->records, 0700))
		return -1;
	setup_init(&fixture->setup, 2);
	fixture->setup.machine = (struct machine){
		.name = "toy", .pipeline_name = "in-order-2", .clock_mhz = 1000, .line_bytes = 64, .page_bytes = 4096};
	fixture->recording = recording_new(fixture->records, "program", 0);
	fixture->vcpu = fixture->recording ? recording_add_vcpu(fixture->recording, 0) : NULL;
	if (!fixture->vcpu || process_file_add_image(recording_file(fixture->recording), &program) ||
	    process_file_add_image(recording_file(fixture->recording), &library))
		return -1;
	fixture->program_block = add_block(fixture, 1, PROGRAM_OFFSET, 4, 0, &fixture->program_first);
	fixture->library_block = add_block(fixture, 2, LIBRARY_OFFSET, 2, 0, &fixture->library_first);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct emulated_profile_fixture *fixture = *state;

	selection_free(fixture->selection);
	profile_close(fixture->profile);
	recording_free(fixture->recording);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
complain(void *context, const char *text)
{
	(void)context;
	fail_msg("%s", text);
}

/* Write it, check the database, and select all of it. */
static void
keep(struct emulated_profile_fixture *fixture)
{
	const struct emulated_profile profile = {
		.setup = &fixture->setup,
		.records = fixture->records,
		.label = "try1",
		.start_ns = UINT64_C(1000000000),
		.end_ns = UINT64_C(2000000000),
	};
	const struct profile_options options = {0};
	const struct selection_request request = {.epoch = "latest"};
	char why[256];

	assert_int_equal(emulated_profile_write(&profile, fixture->database, &fixture->epoch), 0);
	assert_int_equal(profile_open(fixture->database, &options, &fixture->profile), 0);
	assert_int_equal(profile_check(fixture->profile, complain, NULL), 0);
	assert_int_equal(selection_read(fixture->profile, &request, &fixture->selection, why, sizeof(why)), 0);
}

static size_t
event_number(const struct emulated_profile_fixture *fixture, const char *name)
{
	size_t i = 0;

	while (i < fixture->selection->event_count && strcmp(fixture->selection->events[i].name, name) != 0)
		i++;
	return i;
}

static uint32_t
image_number(const struct emulated_profile_fixture *fixture, const struct record_mmap *file)
{
	for (size_t i = 0; i < fixture->selection->image_count; i++)
		if (strcmp(fixture->selection->images[i].image->path, file->path) == 0)
			return (uint32_t)i;
	fail_msg("no image %s", file->path);
	return 0;
}

static uint64_t
count_of(const struct emulated_profile_fixture *fixture, const char *event, const struct record_mmap *file,
         uint64_t offset)
{
	const size_t number = event_number(fixture, event);
	const uint32_t image = image_number(fixture, file);

	for (size_t i = 0; i < fixture->selection->count_count; i++) {
		const struct selection_count *count = &fixture->selection->counts[i];

		if (count->event == number && count->image == image && count->offset == offset)
			return count->count;
	}
	return 0;
}

static void
samples_and_executions_are_at_their_instructions(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	struct record_vcpu *other = recording_add_vcpu(fixture->recording, 3);

	fixture->vcpu->executions[fixture->program_block] = 10;
	other->executions[fixture->program_block] = 5;
	other->executions[fixture->library_block] = 7;
	fixture->vcpu->samples[SETUP_EVENT_CYCLES][fixture->program_first + 1] = 20;
	other->samples[SETUP_EVENT_CYCLES][fixture->program_first + 1] = 3;
	other->samples[SETUP_EVENT_BRANCH][fixture->library_first] = 2;
	keep(fixture);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(count_of(fixture, "executions", &program, PROGRAM_OFFSET + 4 * i), 15);
	assert_int_equal(count_of(fixture, "executions", &program, PROGRAM_OFFSET + 16), 0);
	assert_int_equal(count_of(fixture, "executions", &library, LIBRARY_OFFSET + 4), 7);
	assert_int_equal(count_of(fixture, "cycles", &program, PROGRAM_OFFSET + 4), 23);
	assert_int_equal(count_of(fixture, "branch-misses", &library, LIBRARY_OFFSET), 2);
}

static void
the_label_has_the_time_of_the_emulation(void **state)
{
	const struct selection_request request = {.label = "try1"};
	struct emulated_profile_fixture *fixture = *state;
	struct selection *selection;
	char why[256];

	fixture->vcpu->samples[SETUP_EVENT_CYCLES][1] = 1;
	keep(fixture);
	assert_int_equal(selection_read(fixture->profile, &request, &selection, why, sizeof(why)), 0);
	assert_true(selection->run.is_known);
	assert_int_equal(selection->run.begin_ns, UINT64_C(1000000000));
	assert_int_equal(selection->run.elapsed_ns, UINT64_C(1000000000));
	selection_free(selection);
}

static void
the_epoch_tells_machine_label_and_periods(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	char machine[MACHINE_NAME_SIZE], pipeline[PIPELINE_NAME_SIZE];
	const struct epoch *epoch;

	fixture->setup.periods[SETUP_EVENT_CYCLES] = 10007;
	fixture->vcpu->samples[SETUP_EVENT_CYCLES][1] = 1;
	keep(fixture);
	epoch = &fixture->selection->epochs[0];
	assert_string_equal(epoch->label, "try1");
	assert_true(emulated_cpu_names(epoch->cpu, machine, pipeline));
	assert_string_equal(machine, "toy");
	assert_string_equal(pipeline, "in-order-2");
	assert_int_equal(epoch->cpu_count, 2);
	assert_string_equal(epoch->events[0].name, "cycles");
	assert_string_equal(epoch->events[0].encoding.unit, "cycles");
	assert_int_equal(epoch->events[0].encoding.type, EVENT_TYPE_EMULATED);
	assert_int_equal(epoch->events[0].period, 10007);
	assert_int_equal(epoch->events[0].precise, EVENT_PRECISE_MAX);
}

static void
truth_is_kept_beside_the_samples_and_not_among_them(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	const uint32_t first = fixture->program_first;
	struct recorded_stalls truth;

	fixture->vcpu->executions[fixture->program_block] = 1;
	record_stall_add(fixture->vcpu, first + 2, first, REASON_DATA_CACHE, 100);
	record_stall_add(fixture->vcpu, first + 2, first, REASON_DATA_CACHE, 20);
	record_stall_add(fixture->vcpu, first + 2, fixture->library_first, REASON_MISPREDICT, 9);
	record_stall_add(fixture->vcpu, first + 1, 0, REASON_CODE_CACHE, 7);
	keep(fixture);
	assert_int_equal(recorded_stalls_read(fixture->profile,
	                                      fixture->selection->images[image_number(fixture, &program)].number,
	                                      fixture->epoch, &truth),
	                 0);
	assert_int_equal(truth.count, 3);
	assert_int_equal(truth.stalls[0].from, PROGRAM_OFFSET + 4);
	assert_int_equal(truth.stalls[0].to, PROGRAM_OFFSET + 4); /* itself */
	assert_int_equal(truth.stalls[0].reason, TRUTH_CODE_CACHE);
	assert_int_equal(truth.stalls[1].from, PROGRAM_OFFSET + 8);
	assert_int_equal(truth.stalls[1].to, PROGRAM_OFFSET);
	assert_int_equal(truth.stalls[1].reason, TRUTH_DATA_CACHE);
	assert_int_equal(truth.stalls[1].cycles, 120);
	assert_true(truth.stalls[2].to == TRUTH_ELSEWHERE);
	assert_int_equal(truth.stalls[2].cycles, 9);
	assert_int_equal(recorded_stalls_at(&truth, PROGRAM_OFFSET + 5), 1);
	assert_int_equal(recorded_stalls_at(&truth, PROGRAM_OFFSET + 9), 3);
	recorded_stalls_fini(&truth);
	for (size_t i = 0; i < fixture->selection->event_count; i++)
		if (strncmp(fixture->selection->events[i].name, "truth.", 6) == 0)
			assert_int_equal(fixture->selection->events[i].totals.samples, 0);
}

static void
an_instruction_that_repeats_is_executed_once(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	uint32_t first;
	const uint32_t ends = add_block(fixture, 1, 0x3000, 2, CODE_BLOCK_REPEATS, &first);
	const uint32_t alone = add_block(fixture, 1, 0x3004, 1, CODE_BLOCK_REPEATS, &first);
	const uint32_t other = add_block(fixture, 1, 0x4000, 1, CODE_BLOCK_REPEATS, &first);

	fixture->vcpu->executions[ends] = 3;
	fixture->vcpu->executions[alone] = 300;
	fixture->vcpu->executions[other] = 8; /* nothing leads to it but jumps */
	keep(fixture);
	assert_int_equal(count_of(fixture, "executions", &program, 0x3000), 3);
	assert_int_equal(count_of(fixture, "executions", &program, 0x3004), 3);
	assert_int_equal(count_of(fixture, "executions", &program, 0x4000), 8);
}

static void
code_without_a_file_is_unknown(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	uint32_t first;
	const uint32_t block = add_block(fixture, 0, 0x7000, 3, 0, &first);

	fixture->vcpu->executions[block] = 4;
	fixture->vcpu->samples[SETUP_EVENT_CYCLES][first] = 6;
	fixture->vcpu->samples[SETUP_EVENT_CYCLES][fixture->program_first] = 1;
	keep(fixture);
	assert_int_equal(fixture->selection->events[0].totals.samples, 7);
	assert_int_equal(fixture->selection->events[0].totals.unknown[UNKNOWN_ADDRESS], 6);
}

static void
children_are_contexts_of_their_own_beside_their_parents(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	int status;
	pid_t pid;

	fixture->vcpu->samples[SETUP_EVENT_CYCLES][fixture->program_first] = 1;
	recording_before_fork(fixture->recording);
	pid = fork();
	if (pid == 0) {
		if (recording_fork(fixture->recording, 100))
			_exit(1);
		fixture->vcpu->samples[SETUP_EVENT_CYCLES][fixture->program_first] = 10;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	keep(fixture);
	assert_int_equal(count_of(fixture, "cycles", &program, PROGRAM_OFFSET), 11);
}

/* What the guest may do to the file that it has open. */
static void
damage(const struct emulated_profile_fixture *fixture, const void *data, size_t size, uint64_t offset)
{
	char name[160];
	int fd;

	snprintf(name, sizeof(name), "%s/" RECORD_PREFIX "%d.0", fixture->records, (int)getpid());
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, size, (off_t)offset), size);
	close(fd);
}

static int
read_record(const struct emulated_profile_fixture *fixture, record_stall_visit *visit)
{
	struct image_table *images = image_table_new();
	struct record_reading reading;
	char name[160];
	int fd, err;

	snprintf(name, sizeof(name), "%s/" RECORD_PREFIX "%d.0", fixture->records, (int)getpid());
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	err = record_reading_init(&reading, fd, images);
	if (!err)
		err = record_read_stalls(&reading, visit, NULL);
	record_reading_fini(&reading);
	image_table_free(images);
	close(fd);
	return err;
}

static int
ignore_stall(void *context, const struct record_stall *stall)
{
	(void)context;
	(void)stall;
	return 0;
}

static void
a_record_that_contradicts_itself_is_damaged(void **state)
{
	struct emulated_profile_fixture *fixture = *state;
	const uint32_t absurd_cpus = RECORD_VCPUS_MAX + 1, one = 1;
	const struct record_stall absurd_stall = {.stalled = 7}, absurd_culprit = {.stalled = 6, .culprit = 7},
				  absurd_reason = {.stalled = 6, .reason = REASON_COUNT};
	const uint64_t stalls = RECORD_VCPU_OFFSET(0) + offsetof(struct record_vcpu, stalls);

	assert_int_equal(read_record(fixture, ignore_stall), 0);
	damage(fixture, &absurd_stall, sizeof(absurd_stall), stalls);
	assert_int_equal(read_record(fixture, ignore_stall), -DCPI_EDAMAGED);
	damage(fixture, &absurd_culprit, sizeof(absurd_culprit), stalls);
	assert_int_equal(read_record(fixture, ignore_stall), -DCPI_EDAMAGED);
	damage(fixture, &absurd_reason, sizeof(absurd_reason), stalls);
	assert_int_equal(read_record(fixture, ignore_stall), -DCPI_EDAMAGED);
	damage(fixture, &(struct record_stall){.stalled = 6, .culprit = 6}, sizeof(struct record_stall), stalls);
	assert_int_equal(read_record(fixture, ignore_stall), 0);
	damage(fixture, &absurd_cpus, sizeof(absurd_cpus), offsetof(struct record_header, vcpu_count));
	assert_int_equal(read_record(fixture, ignore_stall), -DCPI_EDAMAGED);
	damage(fixture, &one, sizeof(one), offsetof(struct record_header, vcpu_count));
	damage(fixture, "\xff", 1, offsetof(struct record_header, log_size) + 7);
	assert_int_equal(read_record(fixture, ignore_stall), -DCPI_EDAMAGED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_and_executions_are_at_their_instructions),
		TEST(the_epoch_tells_machine_label_and_periods),
		TEST(the_label_has_the_time_of_the_emulation),
		TEST(truth_is_kept_beside_the_samples_and_not_among_them),
		TEST(an_instruction_that_repeats_is_executed_once),
		TEST(code_without_a_file_is_unknown),
		TEST(children_are_contexts_of_their_own_beside_their_parents),
		TEST(a_record_that_contradicts_itself_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
