/* Tests of emulator/clock/guest_state.h and host_thread.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulator/clock/guest_state.h"
#include "emulator/clock/host_thread.h"

static void
memory_is_copied_both_ways_with_its_base(void **state)
{
	char text[] = "abcdef", copy[3];
	const uint64_t base = (uintptr_t)text - 100;

	(void)state;
	assert_true(guest_memory_read(102, base, copy, sizeof(copy)));
	assert_memory_equal(copy, "cde", 3);
	assert_true(guest_memory_write(100, base, "xyz", 3));
	assert_string_equal(text, "xyzdef");
}

static void
memory_that_is_not_there_is_refused(void **state)
{
	char copy[8];

	(void)state;
	assert_false(guest_memory_read(0, (uintptr_t)copy, copy, sizeof(copy)));
	assert_false(guest_memory_read(16, 0, copy, sizeof(copy)));
	assert_false(guest_memory_write((uintptr_t) "constant", 0, copy, sizeof(copy)));
}

static void
a_string_may_end_where_memory_does(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), copy[64];

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	memcpy(pages + 4090, "ended", 6);
	assert_true(guest_memory_read_string((uintptr_t)pages + 4090, 0, copy, sizeof(copy)));
	assert_string_equal(copy, "ended");
	memcpy(pages + 4090, "endles", 6);
	assert_false(guest_memory_read_string((uintptr_t)pages + 4090, 0, copy, sizeof(copy)));
	assert_false(guest_memory_read_string((uintptr_t)pages, 0, copy, 0));
	munmap(pages, 4096);
}

static void
a_string_that_is_too_long_is_none(void **state)
{
	char copy[4];

	(void)state;
	assert_true(guest_memory_read_string((uintptr_t) "abc", 0, copy, sizeof(copy)));
	assert_false(guest_memory_read_string((uintptr_t) "abcd", 0, copy, sizeof(copy)));
}

static void
sequences_differ_by_seed_time_and_thread(void **state)
{
	static const struct {
		uint64_t seed, when;
		unsigned vcpu;
	} kinds[] = {{1, 0, 0}, {2, 0, 0}, {1, 5, 0}, {1, 0, 1}, {0, 1, 0}, {0, 0, 0}};
	uint64_t first[6];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct guest_random random;

		guest_random_init(&random, kinds[i].seed, kinds[i].when, kinds[i].vcpu);
		guest_random_fill(&random, &first[i], sizeof(first[i]));
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(first[i], first[j]);
	}
}

/* SplitMix64's first numbers from state 1234567, as published with it. */
static void
the_generator_is_the_published_one(void **state)
{
	struct guest_random random = {1234567};
	uint64_t numbers[2];

	(void)state;
	guest_random_fill(&random, numbers, sizeof(numbers));
	assert_true(numbers[0] == UINT64_C(6457827717110365317));
	assert_true(numbers[1] == UINT64_C(3203168211198807973));
}

static void
bits_are_as_often_set_as_not(void **state)
{
	struct guest_random random;
	unsigned ones = 0;

	(void)state;
	guest_random_init(&random, 1, 0, 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t bytes[7];

		guest_random_fill(&random, bytes, sizeof(bytes));
		for (unsigned j = 0; j < sizeof(bytes); j++)
			ones += (unsigned)__builtin_popcount(bytes[j]);
	}
	assert_in_range(ones, 27000, 29000); /* of 56,000 */
}

struct reading_sleeper {
	atomic_int thread;
	int pipe[2];
};

static void *
sleep_in_read(void *argument)
{
	struct reading_sleeper *sleeper = argument;
	const uint64_t before = host_thread_sleep_count();
	char byte;

	atomic_store(&sleeper->thread, (int)syscall(SYS_gettid));
	assert_int_equal(read(sleeper->pipe[0], &byte, 1), 1);
	assert_true(host_thread_sleep_count() > before);
	return NULL;
}

static void
a_sleeping_thread_is_distinguished_from_a_running_one(void **state)
{
	struct reading_sleeper sleeper = {0};
	pthread_t thread;

	(void)state;
	assert_int_equal(pipe(sleeper.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_read, &sleeper), 0);
	while (!atomic_load(&sleeper.thread) || !host_thread_sleeps(atomic_load(&sleeper.thread)))
		;
	assert_false(host_thread_sleeps((int)syscall(SYS_gettid)));
	assert_int_equal(write(sleeper.pipe[1], "", 1), 1);
	pthread_join(thread, NULL);
	assert_true(host_thread_sleeps(atomic_load(&sleeper.thread))); /* it is gone */
	close(sleeper.pipe[0]);
	close(sleeper.pipe[1]);
}

static void
a_mask_has_a_bit_for_each_processor(void **state)
{
	uint8_t mask[4];

	(void)state;
	guest_cpus_mask(mask, sizeof(mask), 18);
	assert_memory_equal(mask, "\xff\xff\x03\x00", 4);
	guest_cpus_mask(mask, sizeof(mask), 1000);
	assert_memory_equal(mask, "\xff\xff\xff\xff", 4);
	assert_int_equal(guest_cpus_mask_size(1), 8);
	assert_int_equal(guest_cpus_mask_size(64), 8);
	assert_int_equal(guest_cpus_mask_size(65), 16);
	assert_int_equal(guest_cpus_mask_size(1024), 128);
}

static void
the_first_processor_of_a_mask_is_its_lowest_bit(void **state)
{
	(void)state;
	assert_int_equal(guest_cpus_first((const uint8_t[]){0, 0x28}, 2), 11);
	assert_int_equal(guest_cpus_first((const uint8_t[]){0, 0}, 2), -1);
	assert_int_equal(guest_cpus_first(NULL, 0), -1);
}

static void
files_about_processors_are_known(void **state)
{
	(void)state;
	assert_true(guest_cpus_is_listing("/sys/devices/system/cpu/online"));
	assert_true(guest_cpus_is_listing("/proc/cpuinfo"));
	assert_false(guest_cpus_is_listing("/proc/meminfo"));
	assert_false(guest_cpus_is_listing("/sys/devices/system/cpu/onlinE"));
}

static ssize_t
read_replaced(int fd, const char *path, unsigned cpus, char *text, size_t size)
{
	ssize_t length;

	assert_int_equal(guest_cpus_replace(fd, path, cpus, true), 0);
	length = read(fd, text, size - 1);
	assert_true(length > 0);
	text[length] = '\0';
	return length;
}

static void
the_file_says_which_processors_are_there(void **state)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char text[64];

	(void)state;
	read_replaced(fd, "/sys/devices/system/cpu/online", 18, text, sizeof(text));
	assert_string_equal(text, "0-17\n");
	read_replaced(fd, "/sys/devices/system/cpu/present", 1, text, sizeof(text));
	assert_string_equal(text, "0\n");
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void
information_about_one_processor_stands_for_all(void **state)
{
	static const char host[] = "processor\t: 0\nmodel name\t: it\n\nprocessor\t: 1\nmodel name\t: it\n\n";
	int fd;
	char text[256], path[] = "/tmp/dcpi-cpus-XXXXXX";

	(void)state;
	fd = mkstemp(path);
	assert_int_equal(write(fd, host, strlen(host)), strlen(host));
	read_replaced(fd, "/proc/cpuinfo", 3, text, sizeof(text));
	assert_string_equal(text, "processor\t: 0\nmodel name\t: it\n\nprocessor\t: 1\nmodel name\t: it\n\n"
	                          "processor\t: 2\nmodel name\t: it\n\n");
	close(fd);
	unlink(path);
}

static void
what_is_not_understood_stays(void **state)
{
	const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	char byte;

	(void)state;
	assert_int_equal(guest_cpus_replace(fd, "/proc/cpuinfo", 3, true), -ENOTSUP);
	assert_int_equal(read(fd, &byte, 1), 1);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_copied_both_ways_with_its_base),
		cmocka_unit_test(memory_that_is_not_there_is_refused),
		cmocka_unit_test(a_string_may_end_where_memory_does),
		cmocka_unit_test(a_string_that_is_too_long_is_none),
		cmocka_unit_test(sequences_differ_by_seed_time_and_thread),
		cmocka_unit_test(the_generator_is_the_published_one),
		cmocka_unit_test(bits_are_as_often_set_as_not),
		cmocka_unit_test(a_sleeping_thread_is_distinguished_from_a_running_one),
		cmocka_unit_test(a_mask_has_a_bit_for_each_processor),
		cmocka_unit_test(the_first_processor_of_a_mask_is_its_lowest_bit),
		cmocka_unit_test(files_about_processors_are_known),
		cmocka_unit_test(the_file_says_which_processors_are_there),
		cmocka_unit_test(information_about_one_processor_stands_for_all),
		cmocka_unit_test(what_is_not_understood_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
