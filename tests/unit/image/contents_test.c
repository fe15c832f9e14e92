#include "tests/unit/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "image/contents.h"

/* The image is this program, which the dynamic linker has made ready: what is in memory must be what is read. */

extern const char __ehdr_start[]; /* by the linker: where ELF address 0 of a PIE is */

static const uint8_t constant[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static const void *const pointers[] = {constant, constant + 8};
static uint32_t variable = 7;

struct program_contents {
	struct image_file *file;
	struct image_contents *contents;
};

static uint64_t
address_of(const void *object)
{
	return (uintptr_t)object - (uintptr_t)__ehdr_start;
}

static int
program_open(void **state)
{
	static struct program_contents program;
	struct image image = {.kind = IMAGE_USER};
	static char path[PATH_MAX];
	struct stat status;

	if (!realpath("/proc/self/exe", path) || stat(path, &status))
		return -1;
	image.path = path;
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	if (image_file_open(&image, &program.file) || image_contents_new(program.file, &program.contents))
		return -1;
	*state = &program;
	return 0;
}

static int
program_close(void **state)
{
	struct program_contents *program = *state;

	image_contents_free(program->contents);
	image_file_close(program->file);
	return 0;
}

static void
constants_are_those_in_memory(void **state)
{
	const struct program_contents *program = *state;
	size_t size;
	const uint8_t *bytes = image_contents_constants(program->contents, address_of(constant), &size);

	assert_non_null(bytes);
	assert_true(size >= sizeof(constant));
	assert_memory_equal(bytes, constant, sizeof(constant));
}

static void
addresses_that_the_dynamic_linker_writes_are_as_linked(void **state)
{
	const struct program_contents *program = *state;
	size_t size;
	const uint8_t *bytes = image_contents_constants(program->contents, address_of(pointers), &size);
	uint64_t linked[2];

	assert_non_null(bytes);
	assert_true(size >= sizeof(linked));
	memcpy(linked, bytes, sizeof(linked));
	assert_int_equal(linked[0], address_of(pointers[0]));
	assert_int_equal(linked[1], address_of(pointers[1]));
}

static void
what_may_be_written_is_no_constant(void **state)
{
	const struct program_contents *program = *state;
	size_t size;

	variable++;
	assert_null(image_contents_constants(program->contents, address_of(&variable), &size));
}

static void
code_is_that_in_memory(void **state)
{
	const struct program_contents *program = *state;
	size_t size;
	const void *function = (const void *)(uintptr_t)program_open;
	const uint8_t *bytes = image_contents_code(program->contents, address_of(function), &size);

	assert_non_null(bytes);
	assert_true(size >= 16);
	assert_memory_equal(bytes, function, 16);
}

static void
constants_are_no_code(void **state)
{
	const struct program_contents *program = *state;
	size_t size;

	assert_null(image_contents_code(program->contents, address_of(constant), &size));
}

static void
nothing_lies_outside_of_the_image(void **state)
{
	const struct program_contents *program = *state;
	size_t size;

	assert_null(image_contents_constants(program->contents, 0, &size));
	assert_null(image_contents_constants(program->contents, UINT64_MAX, &size));
	assert_null(image_contents_code(program->contents, UINT64_C(1) << 40, &size));
}

static void
an_address_and_its_offset_are_not_confused(void **state)
{
	const struct program_contents *program = *state;
	uint64_t offset, address;

	assert_int_equal(image_file_offset(program->file, address_of(constant), &offset), 0);
	assert_int_equal(image_file_address(program->file, offset, &address), 0);
	assert_int_equal(address, address_of(constant));
	assert_int_not_equal(image_file_offset(program->file, UINT64_C(1) << 40, &offset), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_are_those_in_memory),
		cmocka_unit_test(addresses_that_the_dynamic_linker_writes_are_as_linked),
		cmocka_unit_test(what_may_be_written_is_no_constant),
		cmocka_unit_test(code_is_that_in_memory),
		cmocka_unit_test(constants_are_no_code),
		cmocka_unit_test(nothing_lies_outside_of_the_image),
		cmocka_unit_test(an_address_and_its_offset_are_not_confused),
	};

	return cmocka_run_group_tests(tests, program_open, program_close);
}
