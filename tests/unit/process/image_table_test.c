#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "process/image_table.h"

static struct image_table *
table_of(void **state)
{
	return *state;
}

static int
setup(void **state)
{
	*state = image_table_new();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	image_table_free(*state);
	return 0;
}

static struct image
with_build_id(const char *path, uint8_t first)
{
	return (struct image){.kind = IMAGE_USER, .path = path, .build_id = {first, 2, 3}, .build_id_size = 20};
}

static struct image
with_inode(const char *path, uint64_t inode, uint64_t generation)
{
	return (struct image){.kind = IMAGE_USER,
	                      .path = path,
	                      .device_major = 8,
	                      .device_minor = 1,
	                      .inode = inode,
	                      .inode_generation = generation};
}

static uint32_t
intern(void **state, struct image image)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(image_table_intern(table_of(state), &image, &number), 0);
	return number;
}

static void
numbers_count_from_zero(void **state)
{
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, with_build_id("/bin/b", 2)), 1);
	assert_int_equal(intern(state, with_inode("/bin/c", 3, 0)), 2);
	assert_int_equal(image_table_count(table_of(state)), 3);
}

static void
the_build_id_decides_whatever_the_path(void **state)
{
	struct image copy = with_build_id("/container/bin/a", 1);

	copy.inode = 99;
	copy.deleted = true;
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, copy), 0);
	assert_string_equal(image_table_get(table_of(state), 0)->path, "/bin/a");
}

static void
same_path_with_a_new_build_is_a_new_image(void **state)
{
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, with_build_id("/bin/a", 2)), 1);
}

static void
a_shorter_build_id_is_another_build_id(void **state)
{
	struct image shorter = with_build_id("/bin/a", 1);

	shorter.build_id_size = 16;
	assert_int_equal(intern(state, with_build_id("/bin/a", 1)), 0);
	assert_int_equal(intern(state, shorter), 1);
}

static void
without_a_build_id_the_inode_decides(void **state)
{
	struct image other_device = with_inode("/bin/a", 5, 1);

	other_device.device_minor = 2;
	assert_int_equal(intern(state, with_inode("/bin/a", 5, 1)), 0);
	assert_int_equal(intern(state, with_inode("/bin/renamed", 5, 1)), 0);
	assert_int_equal(intern(state, with_inode("/bin/a", 5, 2)), 1); /* the inode's number was used again */
	assert_int_equal(intern(state, with_inode("/bin/a", 6, 1)), 2);
	assert_int_equal(intern(state, other_device), 3);
}

static void
what_is_no_file_is_known_by_kind_and_name(void **state)
{
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[anon]"}), 0);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[heap]"}), 1);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_ANON, .path = "[anon]"}), 0);
	assert_int_equal(intern(state, (struct image){.kind = IMAGE_MODULE, .path = "[anon]"}), 2);
}

static void
an_image_stays_where_it_is_while_others_come(void **state)
{
	char path[] = "/bin/first";
	const struct image *first;

	intern(state, with_inode(path, 1, 0));
	memset(path, 'x', sizeof(path) - 1);
	first = image_table_get(table_of(state), 0);
	for (uint64_t inode = 2; inode <= 10000; inode++)
		assert_int_equal(intern(state, with_inode("/bin/more", inode, 0)), inode - 1);
	assert_ptr_equal(image_table_get(table_of(state), 0), first);
	assert_string_equal(first->path, "/bin/first");
	assert_int_equal(first->inode, 1);
}

/* Nobody takes what it holds: the database cannot be written. */
static void
a_table_that_has_its_bytes_knows_what_it_has_and_takes_nothing_new(void **state)
{
	struct image_table *table = table_of(state);
	struct image image;
	uint32_t number, count;
	uint64_t inode = 1;
	int err;

	do {
		image = with_inode("/a/path/of/no/more/than/a/few/dozen/bytes", inode++, 0);
		err = image_table_intern(table, &image, &number);
	} while (!err && !image_table_is_full(table));
	assert_int_equal(err, -ENOSPC);
	assert_true(image_table_is_full(table));
	assert_true(image_table_bytes(table) <= IMAGE_TABLE_BYTES_MAX);
	assert_true(image_table_bytes(table) > IMAGE_TABLE_BYTES_MAX / 10 * 9);
	count = image_table_count(table);
	assert_int_equal(intern(state, with_inode("", 2, 0)), 1);
	image = with_inode("/b", inode, 0); /* shorter than what had no room */
	assert_int_equal(image_table_intern(table, &image, &number), -ENOSPC);
	assert_int_equal(image_table_count(table), count);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_count_from_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(the_build_id_decides_whatever_the_path, setup, teardown),
		cmocka_unit_test_setup_teardown(same_path_with_a_new_build_is_a_new_image, setup, teardown),
		cmocka_unit_test_setup_teardown(a_shorter_build_id_is_another_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_build_id_the_inode_decides, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_known_by_kind_and_name, setup, teardown),
		cmocka_unit_test_setup_teardown(an_image_stays_where_it_is_while_others_come, setup, teardown),
		cmocka_unit_test_setup_teardown(a_table_that_has_its_bytes_knows_what_it_has_and_takes_nothing_new,
	                                        setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
