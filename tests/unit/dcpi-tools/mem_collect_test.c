/* Tests of dcpi-tools/mem/collect.h with records that were made by hand. */
#include "dcpi-tools/mem/collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/dcpi-tools/record_made.h"

#define SECONDS_MAX 20 /* after which the test counts as hung */

static void
a_record_of_impossibly_many_processors_is_left_out(void **state)
{
	const struct record_header header = {.magic = RECORD_MAGIC, .vcpu_count = UINT32_MAX, .pid = 1};
	struct memory_profile profile;
	struct collector *collector;
	struct setup setup;
	char directory[64];

	(void)state;
	setup_init(&setup, 1);
	setup.machine = (struct machine){.cores = 1, .nodes = 1, .clock_mhz = 1000, .line_bytes = 64};
	record_made_directory(directory);
	record_made_file(directory, RECORD_PREFIX "1.0", &header, NULL);
	assert_int_equal(memory_profile_init(&profile), 0);
	collector = collector_new(&profile, &setup, directory, 1000);
	assert_non_null(collector);
	alarm(SECONDS_MAX);
	assert_int_equal(collector_poll(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	alarm(0);
	assert_int_equal(profile.process_count, 0);
	collector_free(collector);
	memory_profile_fini(&profile);
	record_made_remove(directory);
}

/* The plugin of a virtual CPU records one access more, at `time`. */
static void
record_access_at(const char *directory, unsigned vcpu, uint64_t number, uint64_t time)
{
	const struct record_access access = {.time = time, .address = 0x1000, .weight = 1, .tid = 1};
	const struct record_access_head head = {.written = number + 1, .read = number};
	const off_t ring = (off_t)(RECORD_VCPU_OFFSET(vcpu) + offsetof(struct record_vcpu, accesses));
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" RECORD_PREFIX "1.0", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &access, sizeof(access), ring + (off_t)(sizeof(head) + number * sizeof(access))),
	                 sizeof(access));
	assert_int_equal(pwrite(fd, &head, sizeof(head), ring), sizeof(head));
	close(fd);
}

struct collect_fixture {
	struct memory_profile profile;
	struct collector *collector;
	struct setup setup;
	char directory[64];
};

static int
setup(void **state)
{
	static const struct record_header header = {.magic = RECORD_MAGIC, .vcpu_count = 2, .pid = 1};
	struct collect_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture || memory_profile_init(&fixture->profile))
		return -1;
	setup_init(&fixture->setup, 1);
	fixture->setup.machine = (struct machine){.cores = 2, .nodes = 1, .clock_mhz = 1000, .line_bytes = 64};
	record_made_directory(fixture->directory);
	record_made_file(fixture->directory, RECORD_PREFIX "1.0", &header, NULL);
	fixture->collector = collector_new(&fixture->profile, &fixture->setup, fixture->directory, 1000);
	return fixture->collector ? 0 : -1;
}

static int
teardown(void **state)
{
	struct collect_fixture *fixture = *state;

	collector_free(fixture->collector);
	memory_profile_fini(&fixture->profile);
	record_made_remove(fixture->directory);
	free(fixture);
	return 0;
}

/* While the second ring was read, its thread went on, and the first one's with it: what the latter did meanwhile is
 * found in the next round. */
static void
threads_that_go_on_while_rings_are_read_are_not_late(void **state)
{
	struct collect_fixture *fixture = *state;
	const uint64_t quantum = fixture->setup.quantum_cycles;

	record_access_at(fixture->directory, 0, 0, 1000);
	record_access_at(fixture->directory, 1, 0, 1000 + 100 * quantum);
	assert_int_equal(collector_poll(fixture->collector), 0);
	record_access_at(fixture->directory, 0, 1, 1000 + 50 * quantum);
	record_access_at(fixture->directory, 1, 1, 1000 + 101 * quantum);
	assert_int_equal(collector_poll(fixture->collector), 0);
	assert_int_equal(collector_finish(fixture->collector), 0);
	assert_int_equal(fixture->profile.totals.late_events, 0);
	assert_int_equal(fixture->profile.access_count, 4);
}

/* A server's first thread serves; its second one woke up after it had slept for long. */
static void
threads_are_not_late_that_are_far_behind_one_that_slept(void **state)
{
	struct collect_fixture *fixture = *state;
	const uint64_t quantum = fixture->setup.quantum_cycles;

	record_access_at(fixture->directory, 0, 0, 1000);
	record_access_at(fixture->directory, 1, 0, 1000 + 10000 * quantum);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(collector_poll(fixture->collector), 0);
	record_access_at(fixture->directory, 0, 1, 1000 + 50 * quantum);
	assert_int_equal(collector_poll(fixture->collector), 0);
	assert_int_equal(collector_finish(fixture->collector), 0);
	assert_int_equal(fixture->profile.totals.late_events, 0);
}

/* The plugin says that the thread of a virtual CPU is in a system call. */
static void
set_away(const char *directory, unsigned vcpu)
{
	const uint64_t is_away = 1;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" RECORD_PREFIX "1.0", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &is_away, sizeof(is_away),
	                        (off_t)(RECORD_VCPU_OFFSET(vcpu) + offsetof(struct record_vcpu, accesses) +
	                                offsetof(struct record_access_head, is_away))),
	                 sizeof(is_away));
	close(fd);
}

/* As before, but the first thread waits: it will not come back before the other one. If it did, that would be late. */
static void
a_thread_in_a_system_call_is_not_waited_for(void **state)
{
	struct collect_fixture *fixture = *state;
	const uint64_t quantum = fixture->setup.quantum_cycles;

	record_access_at(fixture->directory, 0, 0, 1000);
	record_access_at(fixture->directory, 1, 0, 1000 + 10000 * quantum);
	set_away(fixture->directory, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(collector_poll(fixture->collector), 0);
	record_access_at(fixture->directory, 0, 1, 1000 + 50 * quantum);
	assert_int_equal(collector_poll(fixture->collector), 0);
	assert_int_equal(collector_finish(fixture->collector), 0);
	assert_int_equal(fixture->profile.totals.late_events, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_impossibly_many_processors_is_left_out),
		cmocka_unit_test_setup_teardown(threads_that_go_on_while_rings_are_read_are_not_late, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_in_a_system_call_is_not_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_are_not_late_that_are_far_behind_one_that_slept, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
