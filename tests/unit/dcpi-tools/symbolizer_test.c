/*
 * The ELF file that is symbolized is this program itself: its functions' places are known from their addresses.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/common/symbolizer.h"
#include "tests/unit/dcpi-tools/self.h"

#define MANY_IMAGES 100 /* more than have their DWARF open at once */

static char self[PATH_MAX];
static char directory[] = "/tmp/symbolizerXXXXXX";
static struct image self_image;

int function_to_find(int value);
int another_function(int value);

__attribute__((noinline)) int
function_to_find(int value)
{
	return value * 3 + getpid();
}

__attribute__((noinline)) int
another_function(int value)
{
	return value * 5 + getppid();
}

static inline __attribute__((always_inline)) int
is_inlined(int value)
{
	__asm__ volatile("nop");
	return value + 1;
}

static inline __attribute__((always_inline)) int
is_inlined_too(int value)
{
	return is_inlined(value * 7);
}

int has_inlined(int value);

__attribute__((noinline)) int
has_inlined(int value)
{
	return is_inlined_too(value) * 9 + getpid();
}

/* What the procedure at `offset` of `image` is called. */
static char *
title_at(const struct image *image, uint64_t offset, struct procedure *procedure)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct selection_image selected = {.number = 7, .image = image};
	char *title;

	assert_non_null(symbolizer);
	assert_int_equal(symbolizer_find(symbolizer, &selected, offset, procedure), 0);
	title = procedure_title(procedure, image, true);
	assert_non_null(title);
	symbolizer_free(symbolizer);
	return title;
}

static void
assert_title(const struct image *image, uint64_t offset, enum procedure_kind kind, const char *expected)
{
	struct procedure procedure;
	char *title = title_at(image, offset, &procedure);

	assert_string_equal(title, expected);
	assert_int_equal(procedure.kind, kind);
	free(title);
}

/* The first offset in the function that is of two inlined ones; 0: there is none. */
static uint64_t
find_inlined_twice(struct symbolizer *symbolizer, const struct selection_image *selected)
{
	const uint64_t start = self_offset(has_inlined);
	const char *const *names;
	size_t count;

	for (uint64_t offset = start; offset < start + 64; offset++) {
		assert_int_equal(symbolizer_find_inlined(symbolizer, selected, offset, &names, &count), 0);
		if (count == 2)
			return offset;
	}
	return 0;
}

/* One file under many numbers stands for many files. */
static void
what_was_inlined_is_found_in_more_images_than_are_open(void **state)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct selection_image selected = {.number = 1, .image = &self_image};
	const char *const *names[2];
	uint64_t offset;
	size_t count;

	(void)state;
	assert_non_null(symbolizer);
	offset = find_inlined_twice(symbolizer, &selected);
	if (!offset) { /* compiled without -g */
		symbolizer_free(symbolizer);
		skip();
	}
	for (uint32_t number = 1; number <= MANY_IMAGES; number++) {
		selected.number = number;
		assert_int_equal(symbolizer_find_inlined(symbolizer, &selected, offset, &names[number > 1], &count), 0);
		assert_int_equal(count, 2);
	}
	for (int i = 0; i < 2; i++) {
		assert_string_equal(names[i][0], "is_inlined");
		assert_string_equal(names[i][1], "is_inlined_too");
	}
	selected.number = 1; /* its lines were closed */
	assert_int_equal(symbolizer_find_inlined(symbolizer, &selected, self_offset(function_to_find), names, &count),
	                 0);
	assert_int_equal(count, 0);
	symbolizer_free(symbolizer);
}

static void
a_function_is_found_by_an_offset_inside(void **state)
{
	struct procedure procedure;
	char *title;

	(void)state;
	assert_title(&self_image, self_offset(function_to_find), PROCEDURE_NAMED, "function_to_find");
	assert_title(&self_image, self_offset(another_function) + 4, PROCEDURE_NAMED, "another_function");
	title = title_at(&self_image, self_offset(function_to_find) + 4, &procedure);
	assert_int_equal(procedure.offset, self_offset(function_to_find));
	free(title);
}

static void
code_outside_of_every_function_has_no_symbol(void **state)
{
	(void)state;
	assert_title(&self_image, 0, PROCEDURE_NO_SYMBOL, "[no symbol: symbolizer_test]"); /* the ELF header */
}

static void
a_stripped_function_is_its_image_and_where_it_begins(void **state)
{
	struct image image = self_image;
	char path[64], command[PATH_MAX + 128], expected[64];
	uint64_t offset = self_offset(function_to_find);

	(void)state;
	snprintf(path, sizeof(path), "%s/libfoo.so", directory);
	snprintf(command, sizeof(command), "strip -s -o %s '%s'", path, self);
	if (system(command) != 0)
		skip_because("strip(1) does not work here");
	image.path = path;
	snprintf(expected, sizeof(expected), "libfoo.so+0x%llx", (unsigned long long)offset);
	assert_title(&image, offset, PROCEDURE_UNNAMED, expected);
	assert_title(&image, offset + 4, PROCEDURE_UNNAMED, expected);
	unlink(path);
}

static void
a_file_of_another_build_is_not_used(void **state)
{
	struct image image = self_image;

	(void)state;
	image.build_id[0] ^= 1;
	assert_title(&image, self_offset(function_to_find), PROCEDURE_OTHER_BUILD, "[another build: symbolizer_test]");
}

static void
a_file_that_is_gone_is_named(void **state)
{
	struct image image = self_image;

	(void)state;
	image.path = "/nowhere/libgone.so";
	image.build_id[0] ^= 1; /* so that no debug file has it */
	assert_title(&image, 0x1000, PROCEDURE_NO_FILE, "[file not found: libgone.so]");
}

static void
a_file_that_is_no_elf_file_is_named(void **state)
{
	struct image image = self_image;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/text", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("#!/bin/sh\n", file);
	fclose(file);
	image.path = path;
	image.build_id[0] ^= 1;
	assert_title(&image, 0, PROCEDURE_NOT_ELF, "[not an ELF file: text]");
	unlink(path);
}

static void
a_file_that_may_not_be_read_is_named(void **state)
{
	struct image image = self_image;
	uid_t user = geteuid();
	char path[64];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/secret", directory);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	assert_true(fd >= 0);
	close(fd);
	image.path = path;
	image.build_id[0] ^= 1;
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_title(&image, 0, PROCEDURE_NOT_READABLE, "[file not readable: secret]");
	assert_int_equal(seteuid(user), 0);
	unlink(path);
}

static void
memory_without_a_file_is_anon(void **state)
{
	struct image image = {.kind = IMAGE_ANON, .path = "[anon]"};

	(void)state;
	assert_title(&image, 0x1234, PROCEDURE_ANON, "[anon]");
}

static void
mangled_names_are_made_readable_or_not(void **state)
{
	struct procedure procedure = {.kind = PROCEDURE_NAMED, .name = "_ZN3foo3barEi"};
	char *title;

	(void)state;
	title = procedure_title(&procedure, &self_image, true);
	assert_string_equal(title, "foo::bar");
	free(title);
	title = procedure_title(&procedure, &self_image, false);
	assert_string_equal(title, "_ZN3foo3barEi");
	free(title);
}

static int
prepare(void **state)
{
	(void)state;
	return mkdtemp(directory) && chmod(directory, 0755) == 0 ? self_find(&self_image, self) : -1;
}

static int
remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_by_an_offset_inside),
		cmocka_unit_test(what_was_inlined_is_found_in_more_images_than_are_open),
		cmocka_unit_test(code_outside_of_every_function_has_no_symbol),
		cmocka_unit_test(a_stripped_function_is_its_image_and_where_it_begins),
		cmocka_unit_test(a_file_of_another_build_is_not_used),
		cmocka_unit_test(a_file_that_is_gone_is_named),
		cmocka_unit_test(a_file_that_is_no_elf_file_is_named),
		cmocka_unit_test(a_file_that_may_not_be_read_is_named),
		cmocka_unit_test(memory_without_a_file_is_anon),
		cmocka_unit_test(mangled_names_are_made_readable_or_not),
	};

	return cmocka_run_group_tests(tests, prepare, remove_directory);
}
