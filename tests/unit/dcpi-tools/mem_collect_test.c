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

/* While the second ring was read, its thread went on, and the first one's with it: what the latter did meanwhile is
 * found in the next round. */
static void
threads_that_go_on_while_rings_are_read_are_not_late(void **state)
{
	const struct record_header header = {.magic = RECORD_MAGIC, .vcpu_count = 2, .pid = 1};
	struct memory_profile profile;
	struct collector *collector;
	struct setup setup;
	char directory[64];

	(void)state;
	setup_init(&setup, 1);
	setup.machine = (struct machine){.cores = 2, .nodes = 1, .clock_mhz = 1000, .line_bytes = 64};
	record_made_directory(directory);
	record_made_file(directory, RECORD_PREFIX "1.0", &header, NULL);
	assert_int_equal(memory_profile_init(&profile), 0);
	collector = collector_new(&profile, &setup, directory, 1000);
	assert_non_null(collector);
	record_access_at(directory, 0, 0, 1000);
	record_access_at(directory, 1, 0, 1000 + 100 * setup.quantum_cycles);
	assert_int_equal(collector_poll(collector), 0);
	record_access_at(directory, 0, 1, 1000 + 50 * setup.quantum_cycles);
	record_access_at(directory, 1, 1, 1000 + 101 * setup.quantum_cycles);
	assert_int_equal(collector_poll(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(profile.totals.late_events, 0);
	assert_int_equal(profile.access_count, 4);
	collector_free(collector);
	memory_profile_fini(&profile);
	record_made_remove(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_impossibly_many_processors_is_left_out),
		cmocka_unit_test(threads_that_go_on_while_rings_are_read_are_not_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
