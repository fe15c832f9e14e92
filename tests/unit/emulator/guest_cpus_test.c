/* Tests of emulator/clock/guest_cpus.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/clock/guest_cpus.h"

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
		cmocka_unit_test(a_mask_has_a_bit_for_each_processor),
		cmocka_unit_test(the_first_processor_of_a_mask_is_its_lowest_bit),
		cmocka_unit_test(files_about_processors_are_known),
		cmocka_unit_test(the_file_says_which_processors_are_there),
		cmocka_unit_test(information_about_one_processor_stands_for_all),
		cmocka_unit_test(what_is_not_understood_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
