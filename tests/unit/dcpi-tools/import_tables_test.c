/* Unwind tables of a recording's images: dcpi-tools/import/import_tables.h. */
#include "tests/unit/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/import/build_ids.h"
#include "dcpi-tools/import/import_tables.h"
#include "image/elf_file.h"
#include "unwind/table.h"

struct import_tables_fixture {
	struct image_table *images;
	struct build_ids *build_ids;
	struct import_tables *tables;
	char program[PATH_MAX], tool[PATH_MAX]; /* two files that have code */
};

static void
begin(struct import_tables_fixture *fixture, size_t memory_limit)
{
	const struct import_tables_options options = {.build_ids = fixture->build_ids, .memory_limit = memory_limit};

	import_tables_free(fixture->tables);
	fixture->tables = import_tables_new(&options);
	assert_non_null(fixture->tables);
	import_tables_begin(fixture->tables, fixture->images);
}

static int
setup(void **state)
{
	static struct import_tables_fixture fixture;

	fixture = (struct import_tables_fixture){.images = image_table_new(), .build_ids = build_ids_new()};
	assert_non_null(fixture.images);
	assert_non_null(fixture.build_ids);
	assert_true(readlink("/proc/self/exe", fixture.program, sizeof(fixture.program) - 1) > 0);
	assert_non_null(realpath("/bin/sh", fixture.tool));
	begin(&fixture, SIZE_MAX);
	*state = &fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct import_tables_fixture *fixture = *state;

	import_tables_free(fixture->tables);
	build_ids_free(fixture->build_ids);
	image_table_free(fixture->images);
	return 0;
}

static uint32_t
add_image(struct import_tables_fixture *fixture, enum image_kind kind, const char *path, const uint8_t *build_id,
          int size)
{
	struct image image = {.kind = kind, .path = path, .build_id_size = (uint8_t)size};
	uint32_t number;

	assert_in_range(size, 0, BUILD_ID_SIZE_MAX);
	if (size > 0)
		memcpy(image.build_id, build_id, (size_t)size);
	assert_int_equal(image_table_intern(fixture->images, &image, &number), 0);
	return number;
}

/* The image of a file of this machine; `change` makes its build-id that of another one. */
static uint32_t
add_file(struct import_tables_fixture *fixture, const char *path, uint8_t change)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	struct elf_file file;
	int size;

	assert_int_equal(elf_file_open(&file, path), 0);
	size = elf_file_build_id(&file, build_id);
	elf_file_close(&file);
	build_id[0] ^= change;
	return add_image(fixture, IMAGE_USER, path, build_id, size);
}

static void
assert_table(struct import_tables_fixture *fixture, uint32_t number)
{
	const struct unwind_table *table = NULL;

	assert_int_equal(import_tables_find(fixture->tables, number, &table), UNWIND_CODE_TABLE);
	assert_non_null(table);
	assert_true(table->row_count > 100);
}

static void
the_file_with_the_recorded_build_id_gives_a_table(void **state)
{
	struct import_tables_fixture *fixture = *state;
	const uint32_t same = add_file(fixture, fixture->program, 0), other = add_file(fixture, fixture->program, 1);
	const struct unwind_table *table;

	assert_table(fixture, same);
	assert_int_equal(import_tables_find(fixture->tables, other, &table), UNWIND_CODE_WITHOUT_TABLE);
	assert_int_equal(import_tables_find(fixture->tables, other, &table), UNWIND_CODE_WITHOUT_TABLE);
	assert_int_equal(import_tables_error(fixture->tables), 0);
}

/* In a file, perf lists build-ids at the end, by path. */
static void
the_build_id_may_be_in_the_recordings_list(void **state)
{
	struct import_tables_fixture *fixture = *state;
	struct perf_data_build_id named = {.pid = UINT32_MAX, .mode = CPU_MODE_USER, .path = fixture->program};
	const struct unwind_table *table;
	struct elf_file file;
	uint32_t number;

	number = add_image(fixture, IMAGE_USER, fixture->program, named.build_id, 0);
	assert_int_equal(import_tables_find(fixture->tables, number, &table), UNWIND_CODE_WITHOUT_TABLE);
	assert_int_equal(elf_file_open(&file, fixture->program), 0);
	named.build_id_size = (uint8_t)elf_file_build_id(&file, named.build_id);
	elf_file_close(&file);
	assert_int_equal(build_ids_update(fixture->build_ids, &named, 1), 0);
	begin(fixture, SIZE_MAX);
	assert_table(fixture, number);
}

static void
tables_beyond_the_limit_are_made_again(void **state)
{
	struct import_tables_fixture *fixture = *state;
	const uint32_t program = add_file(fixture, fixture->program, 0), tool = add_file(fixture, fixture->tool, 0);

	begin(fixture, 1);
	for (int i = 0; i < 3; i++) {
		assert_table(fixture, program);
		assert_table(fixture, tool);
	}
}

static void
run_time_code_keeps_frame_pointers_and_the_kernel_has_no_table(void **state)
{
	struct import_tables_fixture *fixture = *state;
	const uint32_t anonymous = add_image(fixture, IMAGE_ANON, "[anon]", NULL, 0);
	const uint32_t kernel = add_image(fixture, IMAGE_KERNEL, "[kernel]", NULL, 0);
	const uint32_t missing = add_image(fixture, IMAGE_USER, "/nonexistent/program", NULL, 0);
	const struct unwind_table *table;

	assert_int_equal(import_tables_find(fixture->tables, anonymous, &table), UNWIND_CODE_FRAME_POINTER);
	assert_int_equal(import_tables_find(fixture->tables, kernel, &table), UNWIND_CODE_WITHOUT_TABLE);
	assert_int_equal(import_tables_find(fixture->tables, missing, &table), UNWIND_CODE_WITHOUT_TABLE);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_file_with_the_recorded_build_id_gives_a_table),
		TEST(the_build_id_may_be_in_the_recordings_list),
		TEST(tables_beyond_the_limit_are_made_again),
		TEST(run_time_code_keeps_frame_pointers_and_the_kernel_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
