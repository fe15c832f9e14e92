#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/byte_source.h"

#define FILE_SIZE (3 * BYTE_SOURCE_WINDOW + 5)

/* A file whose bytes tell where they are: no two neighbours in 251 are alike. */
static uint8_t
byte_at(uint64_t offset)
{
	return (uint8_t)(offset % 251);
}

static int
setup(void **state)
{
	uint8_t *bytes = malloc(FILE_SIZE);
	int *fd = malloc(sizeof(*fd));

	assert_true(bytes && fd);
	for (size_t i = 0; i < FILE_SIZE; i++)
		bytes[i] = byte_at(i);
	*fd = memfd_create("bytes", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(write(*fd, bytes, FILE_SIZE), FILE_SIZE);
	assert_int_equal(lseek(*fd, 0, SEEK_SET), 0);
	free(bytes);
	*state = fd;
	return 0;
}

static int
teardown(void **state)
{
	int *fd = *state;

	close(*fd);
	free(fd);
	return 0;
}

static void
assert_bytes(struct byte_source *source, uint64_t offset, size_t size)
{
	const uint8_t *bytes;

	assert_int_equal(byte_source_need(source, size, &bytes), 0);
	assert_int_equal(source->offset, offset);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], byte_at(offset + i));
}

static void
all_bytes_come_in_order_whatever_is_asked_for_at_once(void **state)
{
	int *fd = *state;
	struct byte_source source;
	uint64_t offset = 0;
	size_t size = 1;
	const uint8_t *bytes;

	assert_int_equal(byte_source_init(&source, *fd, 0, UINT64_MAX), 0);
	for (; offset + size <= FILE_SIZE; offset += size, size = size * 7 % 65521) {
		assert_bytes(&source, offset, size);
		assert_int_equal(byte_source_skip(&source, size), 0);
	}
	assert_int_equal(byte_source_need(&source, size, &bytes), -ENODATA);
	assert_int_equal(byte_source_waiting(&source), FILE_SIZE - offset);
	byte_source_fini(&source);
}

static void
a_whole_window_can_be_asked_for_anywhere(void **state)
{
	int *fd = *state;
	struct byte_source source;

	assert_int_equal(byte_source_init(&source, *fd, 0, UINT64_MAX), 0);
	assert_bytes(&source, 0, 10);
	assert_int_equal(byte_source_skip(&source, 7), 0);
	assert_bytes(&source, 7, BYTE_SOURCE_WINDOW);
	byte_source_fini(&source);
}

static void
more_than_a_window_can_be_passed_over(void **state)
{
	int *fd = *state;
	struct byte_source source;

	assert_int_equal(byte_source_init(&source, *fd, 0, UINT64_MAX), 0);
	assert_bytes(&source, 0, 10);
	assert_int_equal(byte_source_skip(&source, 2 * BYTE_SOURCE_WINDOW + 1), 0);
	assert_bytes(&source, 2 * BYTE_SOURCE_WINDOW + 1, 10);
	assert_int_equal(byte_source_skip(&source, FILE_SIZE), -ENODATA);
	byte_source_fini(&source);
}

static void
nothing_is_read_behind_the_end_that_was_given(void **state)
{
	int *fd = *state;
	struct byte_source source;
	const uint8_t *bytes;

	assert_int_equal(lseek(*fd, 100, SEEK_SET), 100);
	assert_int_equal(byte_source_init(&source, *fd, 100, 150), 0);
	assert_bytes(&source, 100, 50);
	assert_int_equal(byte_source_need(&source, 51, &bytes), -ENODATA);
	assert_int_equal(lseek(*fd, 0, SEEK_CUR), 150);
	byte_source_fini(&source);
}

static void
bytes_of_a_pipe_are_waited_for(void **state)
{
	struct byte_source source;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "\0\1\2", 3), 3);
	assert_int_equal(byte_source_init(&source, ends[0], 0, UINT64_MAX), 0);
	assert_bytes(&source, 0, 2);
	assert_int_equal(write(ends[1], "\3\4", 2), 2);
	assert_bytes(&source, 0, 5);
	byte_source_fini(&source);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_bytes_come_in_order_whatever_is_asked_for_at_once),
		TEST(a_whole_window_can_be_asked_for_anywhere),
		TEST(more_than_a_window_can_be_passed_over),
		TEST(nothing_is_read_behind_the_end_that_was_given),
		cmocka_unit_test(bytes_of_a_pipe_are_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
