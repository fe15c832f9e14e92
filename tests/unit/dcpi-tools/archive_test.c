/* A database as an archive, and back. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/tar/archive.h"

#define SIZE 600000 /* more than a piece */

static char why[200];

static int
memory_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* SIZE bytes that no compression shortens, and that are the same each time. */
static int
content_file(void)
{
	uint8_t *bytes = malloc(SIZE);
	uint32_t value = 1;
	int fd = memory_file();

	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++) {
		value = value * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(value >> 24);
	}
	assert_int_equal(write(fd, bytes, SIZE), SIZE);
	free(bytes);
	return fd;
}

/* The archive, from its beginning. */
static int
pack(int content, const char *name)
{
	const struct archive_content what = {.name = name, .fd = content, .size = SIZE, .time_s = 1795275000};
	int fd = memory_file();
	FILE *stream = fdopen(dup(fd), "w");

	assert_non_null(stream);
	assert_int_equal(lseek(content, 0, SEEK_SET), 0);
	assert_int_equal(archive_pack(&what, stream), 0);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void
assert_same(int one, int other)
{
	uint8_t a[4096], b[4096];
	ssize_t got;

	assert_int_equal(lseek(one, 0, SEEK_SET), 0);
	assert_int_equal(lseek(other, 0, SEEK_SET), 0);
	do {
		got = read(one, a, sizeof(a));
		assert_true(got >= 0);
		assert_int_equal(read(other, b, sizeof(b)), got);
		assert_memory_equal(a, b, got);
	} while (got > 0);
}

static void
what_is_packed_is_unpacked(void **state)
{
	int content = content_file(), archive = pack(content, "web1"), to = memory_file();
	uint64_t bytes;

	(void)state;
	assert_int_equal(archive_unpack(archive, to, SIZE, &bytes, why, sizeof(why)), 0);
	assert_int_equal(bytes, SIZE);
	assert_same(content, to);
	close(to);
	close(archive);
	close(content);
}

static void
the_same_content_gives_the_same_bytes(void **state)
{
	int content = content_file(), one = pack(content, "web1"), other = pack(content, "web1");

	(void)state;
	assert_same(one, other);
	close(other);
	close(one);
	close(content);
}

static void
more_than_the_limit_is_refused(void **state)
{
	int content = content_file(), archive = pack(content, "web1"), to = memory_file();
	uint64_t bytes;

	(void)state;
	assert_int_equal(archive_unpack(archive, to, SIZE - 1, &bytes, why, sizeof(why)), -EFBIG);
	assert_int_equal(bytes, 0);
	close(to);
	close(archive);
	close(content);
}

static void
an_archive_that_is_cut_anywhere_is_refused(void **state)
{
	int content = content_file(), archive = pack(content, "web1"), to = memory_file();
	off_t size = lseek(archive, 0, SEEK_END);
	uint64_t bytes;

	(void)state;
	for (off_t cut = size - 1; cut > 0; cut -= 50021) {
		assert_int_equal(ftruncate(archive, cut), 0);
		assert_int_equal(lseek(archive, 0, SEEK_SET), 0);
		assert_int_equal(archive_unpack(archive, to, SIZE, &bytes, why, sizeof(why)), -DCPI_EDAMAGED);
		assert_true(strlen(why) > 0);
	}
	close(to);
	close(archive);
	close(content);
}

static void
a_full_disk_is_told(void **state)
{
	int content = content_file(), archive = pack(content, "web1");
	FILE *full = fopen("/dev/full", "we");
	uint64_t bytes;

	(void)state;
	assert_non_null(full);
	assert_int_equal(archive_unpack(archive, fileno(full), SIZE, &bytes, why, sizeof(why)), -ENOSPC);
	fclose(full);
	close(archive);
	close(content);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_is_unpacked),
		cmocka_unit_test(the_same_content_gives_the_same_bytes),
		cmocka_unit_test(more_than_the_limit_is_refused),
		cmocka_unit_test(an_archive_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
