#include "tests/unit/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process/address_space.h"

struct mapped_image_fixture {
	struct image_table *table;
	struct mapped_images *images;
};

static int
setup(void **state)
{
	struct mapped_image_fixture *ground = calloc(1, sizeof(*ground));

	ground->table = image_table_new();
	ground->images = mapped_images_new(ground->table);
	*state = ground;
	return 0;
}

static int
teardown(void **state)
{
	struct mapped_image_fixture *ground = *state;

	mapped_images_free(ground->images);
	image_table_free(ground->table);
	free(ground);
	return 0;
}

static const struct image file = {.kind = IMAGE_USER, .path = "/bin/a", .build_id = {1}, .build_id_size = 20};
static const struct image memory = {.kind = IMAGE_ANON, .path = "[anon]"};

/* The image as the table has it, under the number that it has or is given now. */
static const struct image *
interned(const struct mapped_image_fixture *ground, struct mapped_image *mapped)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(mapped_image_number(mapped, &number), 0);
	return image_table_get(ground->table, number);
}

static void
equal_images_are_one(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct image elsewhere = file;
	struct mapped_image *one, *other;

	elsewhere.path = "/container/a";
	one = mapped_image_get(ground->images, &file);
	other = mapped_image_get(ground->images, &elsewhere);
	assert_ptr_equal(one, other);
	mapped_image_release(one);
	assert_string_equal(interned(ground, other)->path, "/bin/a"); /* still held */
	mapped_image_release(other);
	one = mapped_image_get(ground->images, &memory);
	other = mapped_image_get(ground->images, &memory);
	assert_ptr_equal(one, other);
	mapped_image_release(one);
	mapped_image_release(other);
}

static void
a_number_is_given_when_it_is_asked_for(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *first = mapped_image_get(ground->images, &file);
	struct mapped_image *second = mapped_image_get(ground->images, &memory);
	uint32_t number = 99;

	assert_int_equal(image_table_count(ground->table), 0);
	assert_int_equal(mapped_image_number(second, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(mapped_image_number(first, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(mapped_image_number(second, &number), 0);
	assert_int_equal(number, 0);
	mapped_image_release(first);
	mapped_image_release(second);
}

static void
an_image_that_comes_back_has_the_number_it_had(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *image = mapped_image_get(ground->images, &memory);
	uint32_t number;

	assert_int_equal(mapped_image_number(image, &number), 0);
	mapped_image_release(image);
	image = mapped_image_get(ground->images, &file);
	assert_int_equal(mapped_image_number(image, &number), 0);
	assert_int_equal(number, 1);
	mapped_image_release(image);
	image = mapped_image_get(ground->images, &memory);
	assert_int_equal(mapped_image_number(image, &number), 0);
	assert_int_equal(number, 0);
	mapped_image_release(image);
}

static void
a_new_table_gives_each_image_a_new_number(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *first = mapped_image_get(ground->images, &file);
	struct mapped_image *second = mapped_image_get(ground->images, &memory);
	uint32_t number = 99;

	assert_int_equal(mapped_image_number(first, &number), 0);
	assert_int_equal(mapped_image_number(second, &number), 0);
	assert_int_equal(number, 1);
	image_table_free(ground->table);
	ground->table = image_table_new();
	mapped_images_reset_ids(ground->images, ground->table);
	assert_int_equal(mapped_image_number(second, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(mapped_image_number(first, &number), 0);
	assert_int_equal(number, 1);
	assert_string_equal(image_table_get(ground->table, 1)->path, "/bin/a");
	mapped_image_release(first);
	mapped_image_release(second);
}

/* To map a file costs nothing, and a path may be 4 KiB long. */
static void
all_together_have_a_limit(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *held[MAPPED_IMAGES_BYTES_MAX / PATH_MAX + 2];
	struct image image = file;
	char path[PATH_MAX];
	size_t count = 0;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	image.path = path;
	do {
		assert_true(count < sizeof(held) / sizeof(held[0]));
		memcpy(image.build_id, &count, sizeof(count));
		held[count] = mapped_image_get(ground->images, &image);
	} while (held[count++]);
	assert_true(count > MAPPED_IMAGES_BYTES_MAX / PATH_MAX / 10 * 8);
	/* as much as was let go has room again */
	mapped_image_release(held[0]);
	held[0] = mapped_image_get(ground->images, &image);
	assert_non_null(held[0]);
	for (size_t i = 0; i < count; i++)
		mapped_image_release(held[i]);
}

static void
a_file_that_changed_is_another_image_until_nobody_maps_it_and_after(void **state)
{
	const struct image written = {.kind = IMAGE_USER, .path = "/bin/b", .device_major = 8, .inode = 5};
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *mapped = mapped_image_get(ground->images, &written), *again;
	uint32_t first, second;

	assert_int_equal(mapped_image_number(mapped, &first), 0);
	assert_int_equal(mapped_images_change(ground->images, image_table_get(ground->table, first), 1), 0);
	assert_int_equal(mapped_image_number(mapped, &second), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(interned(ground, mapped)->content, 1);
	again = mapped_image_get(ground->images, &written);
	assert_ptr_equal(again, mapped);
	/* the second change is told of the image that the first one made */
	assert_int_equal(mapped_images_change(ground->images, image_table_get(ground->table, second), 2), 0);
	assert_int_equal(interned(ground, mapped)->content, 2);
	assert_int_equal(image_table_get(ground->table, first)->content, 0);
	mapped_image_release(mapped);
	mapped_image_release(again);
	mapped = mapped_image_get(ground->images, &written);
	assert_int_equal(interned(ground, mapped)->content, 2);
	mapped_image_release(mapped);
}

static void
what_only_its_name_identifies_does_not_change(void **state)
{
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *mapped = mapped_image_get(ground->images, &memory);

	assert_int_equal(mapped_images_change(ground->images, &memory, 1), 0);
	assert_int_equal(interned(ground, mapped)->content, 0);
	mapped_image_release(mapped);
}

static void
the_file_that_changed_first_is_forgotten_first(void **state)
{
	struct image written = {.kind = IMAGE_USER, .path = "/bin/b", .device_major = 8};
	struct mapped_image_fixture *ground = *state;
	struct mapped_image *mapped;

	for (uint32_t i = 1; i <= MAPPED_IMAGES_CHANGED_MAX; i++) {
		written.inode = i;
		assert_int_equal(mapped_images_change(ground->images, &written, 1), 0);
	}
	written.inode = 1; /* that it changed again makes it the last */
	assert_int_equal(mapped_images_change(ground->images, &written, 2), 0);
	written.inode = MAPPED_IMAGES_CHANGED_MAX + 1;
	assert_int_equal(mapped_images_change(ground->images, &written, 1), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		static const uint32_t known[] = {0, 2, 0, 1};

		written.inode = i;
		mapped = mapped_image_get(ground->images, &written);
		assert_int_equal(interned(ground, mapped)->content, known[i]);
		mapped_image_release(mapped);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_images_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_number_is_given_when_it_is_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(an_image_that_comes_back_has_the_number_it_had, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_table_gives_each_image_a_new_number, setup, teardown),
		cmocka_unit_test_setup_teardown(all_together_have_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_changed_is_another_image_until_nobody_maps_it_and_after,
	                                        setup, teardown),
		cmocka_unit_test_setup_teardown(what_only_its_name_identifies_does_not_change, setup, teardown),
		cmocka_unit_test_setup_teardown(the_file_that_changed_first_is_forgotten_first, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
