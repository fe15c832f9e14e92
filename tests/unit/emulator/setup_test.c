#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/setup.h"

static void
what_is_written_is_what_is_read(void **state)
{
	char directory[] = "/tmp/dcpi-setup-test.XXXXXX", path[128];
	struct setup *setup = calloc(1, sizeof(*setup)), *read_back = calloc(1, sizeof(*setup));
	int fd;

	(void)state;
	assert_non_null(mkdtemp(directory));
	setup_init(setup, 3);
	assert_int_equal(setup_write(setup, directory), 0);
	assert_int_equal(setup_write(setup, directory), -EEXIST);
	snprintf(path, sizeof(path), "%s/" SETUP_NAME, directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, read_back, sizeof(*read_back)), sizeof(*read_back));
	close(fd);
	assert_memory_equal(setup, read_back, sizeof(*setup));
	assert_int_equal(read_back->threads, 3);
	assert_int_equal(read_back->parts, SETUP_EVERYTHING);
	unlink(path);
	rmdir(directory);
	free(setup);
	free(read_back);
}

static void
every_part_and_event_has_a_name_of_its_own(void **state)
{
	(void)state;
	assert_string_equal(setup_part_name(0), "counts");
	assert_string_equal(setup_part_name(6), "truth");
	assert_null(setup_part_name(SETUP_PART_COUNT));
	assert_int_equal(SETUP_EVERYTHING, (1 << SETUP_PART_COUNT) - 1);
	assert_null(setup_event_name(SETUP_EVENT_COUNT));
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		assert_non_null(setup_event_name(i));
		assert_true(setup_event_period(i) > 0);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(setup_event_name(i), setup_event_name(j));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_what_is_read),
		cmocka_unit_test(every_part_and_event_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
