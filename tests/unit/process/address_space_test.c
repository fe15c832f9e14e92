#include "tests/unit/process/fake.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process/address_space.h"
#include "tests/unit/test.h"

/* Images a, b and memory, and one address space to play with. */
struct address_space_fixture {
	struct image_table *table;
	struct mapped_images *images;
	struct mapped_image *a, *b, *memory;
	struct mapping_budget budget;
	struct address_space *space;
};

static int
setup(void **state)
{
	struct address_space_fixture *ground = calloc(1, sizeof(*ground));
	struct image a = {.kind = IMAGE_USER, .path = "a", .build_id = {1}, .build_id_size = 20};
	struct image b = {.kind = IMAGE_USER, .path = "b", .build_id = {2}, .build_id_size = 20};
	struct image memory = {.kind = IMAGE_ANON, .path = "[anon]"};

	ground->table = image_table_new();
	ground->images = mapped_images_new(ground->table);
	ground->a = mapped_image_get(ground->images, &a);
	ground->b = mapped_image_get(ground->images, &b);
	ground->memory = mapped_image_get(ground->images, &memory);
	ground->budget.limit = 100000;
	*state = ground;
	return 0;
}

static int
teardown(void **state)
{
	struct address_space_fixture *ground = *state;

	address_space_release(ground->space);
	assert_int_equal(ground->budget.used, 0);
	mapped_image_release(ground->a);
	mapped_image_release(ground->b);
	mapped_image_release(ground->memory);
	mapped_images_free(ground->images);
	image_table_free(ground->table);
	free(ground);
	return 0;
}

static void
put(struct address_space_fixture *ground, uint64_t start, uint64_t end, uint64_t file_offset,
    struct mapped_image *image)
{
	assert_int_equal(address_space_insert(&ground->space, &ground->budget, start, end, file_offset, image), 0);
	assert_int_equal(ground->budget.used, address_space_size(ground->space));
}

/* "a 10-20+0, ..." of what is found when every address up to 100 is asked for. */
static void
assert_space(const struct address_space_fixture *ground, struct address_space *space, const char *expected)
{
	char text[512] = "";
	size_t used = 0;

	for (uint64_t address = 0; address < 100;) {
		const struct mapping *mapping = address_space_find(space, address);
		uint32_t number;

		if (!mapping) {
			address++;
			continue;
		}
		assert_int_equal(mapping->start, address);
		assert_int_equal(mapped_image_number(mapping->image, &number), 0);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llu-%llu+%llu", used ? ", " : "",
		                         image_table_get(ground->table, number)->path,
		                         (unsigned long long)mapping->start, (unsigned long long)mapping->end,
		                         (unsigned long long)mapping->file_offset);
		address = mapping->end;
	}
	assert_string_equal(text, expected);
}

static void
nothing_is_found_in_an_empty_space(void **state)
{
	assert_space(*state, NULL, "");
	assert_int_equal(address_space_size(NULL), 0);
	assert_false(address_space_is_file(NULL, 0, 1));
}

static void
mappings_are_found_from_their_first_to_their_last_address(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 30, 40, 0, ground->b);
	put(ground, 10, 20, 5, ground->a);
	assert_space(ground, ground->space, "a 10-20+5, b 30-40+0");
	assert_null(address_space_find(ground->space, 9));
	assert_non_null(address_space_find(ground->space, 10));
	assert_non_null(address_space_find(ground->space, 19));
	assert_null(address_space_find(ground->space, 20));
}

static void
a_new_mapping_splits_the_one_it_falls_into(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 40, 100, ground->a);
	put(ground, 20, 25, 7, ground->b);
	assert_space(ground, ground->space, "a 10-20+100, b 20-25+7, a 25-40+115");
}

static void
a_new_mapping_cuts_its_neighbours_and_removes_what_it_covers(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 20, 0, ground->a);
	put(ground, 22, 24, 0, ground->a);
	put(ground, 25, 28, 0, ground->a);
	put(ground, 30, 40, 50, ground->a);
	put(ground, 15, 35, 0, ground->b);
	assert_space(ground, ground->space, "a 10-15+0, b 15-35+0, a 35-40+55");
}

static void
mappings_that_only_touch_stay_whole(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 20, 0, ground->a);
	put(ground, 30, 40, 0, ground->a);
	put(ground, 20, 30, 0, ground->b);
	assert_space(ground, ground->space, "a 10-20+0, b 20-30+0, a 30-40+0");
}

static void
the_same_mapping_again_changes_nothing(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 20, 3, ground->a);
	put(ground, 10, 20, 3, ground->a);
	assert_int_equal(address_space_size(ground->space), 1);
	put(ground, 10, 20, 4, ground->a);
	assert_space(ground, ground->space, "a 10-20+4");
}

static void
what_is_removed_is_gone(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 40, 0, ground->a);
	assert_int_equal(address_space_remove(&ground->space, &ground->budget, 20, 30), 0);
	assert_space(ground, ground->space, "a 10-20+0, a 30-40+20");
	assert_int_equal(address_space_remove(&ground->space, &ground->budget, 0, 100), 0);
	assert_space(ground, ground->space, "");
	assert_int_equal(address_space_remove(&ground->space, &ground->budget, 0, 100), 0);
}

static void
a_shared_space_is_copied_by_the_first_change(void **state)
{
	struct address_space_fixture *ground = *state;
	struct address_space *child;

	put(ground, 10, 20, 0, ground->a);
	child = address_space_share(ground->space);
	assert_int_equal(ground->budget.used, 1);
	assert_int_equal(address_space_insert(&child, &ground->budget, 30, 40, 0, ground->b), 0);
	assert_ptr_not_equal(child, ground->space);
	assert_space(ground, ground->space, "a 10-20+0");
	assert_space(ground, child, "a 10-20+0, b 30-40+0");
	assert_int_equal(ground->budget.used, 3);
	address_space_release(child);
}

static void
a_spent_budget_changes_nothing(void **state)
{
	struct address_space_fixture *ground = *state;
	struct address_space *child;

	put(ground, 10, 20, 0, ground->a);
	ground->budget.limit = 2;
	assert_int_equal(address_space_insert(&ground->space, &ground->budget, 12, 14, 0, ground->b), -ENOSPC);
	assert_space(ground, ground->space, "a 10-20+0");
	child = address_space_share(ground->space);
	ground->budget.limit = 1;
	assert_int_equal(address_space_insert(&child, &ground->budget, 30, 40, 0, ground->b), -ENOSPC);
	assert_ptr_equal(child, ground->space);
	address_space_release(child);
}

/* A program that makes code at ever new addresses: nobody tells what it gave back. */
static void
too_many_mappings_forget_old_memory_before_files(void **state)
{
	struct address_space_fixture *ground = *state;
	size_t most = 0;

	put(ground, 1, 2, 0, ground->a);
	for (uint64_t i = 1; i <= 10 * ADDRESS_SPACE_MAPPINGS_MAX; i++) {
		put(ground, i * 16, i * 16 + 8, 0, ground->memory);
		if (address_space_size(ground->space) > most)
			most = address_space_size(ground->space);
	}
	assert_true(most <= ADDRESS_SPACE_MAPPINGS_MAX);
	assert_non_null(address_space_find(ground->space, 1)); /* the program itself */
	assert_null(address_space_find(ground->space, 16));
	for (uint64_t i = 10 * ADDRESS_SPACE_MAPPINGS_MAX; i > 10 * ADDRESS_SPACE_MAPPINGS_MAX - 4000; i--)
		assert_non_null(address_space_find(ground->space, i * 16));
}

static void
too_many_pieces_of_files_are_forgotten_too(void **state)
{
	struct address_space_fixture *ground = *state;

	for (uint64_t i = 1; i <= 3 * ADDRESS_SPACE_MAPPINGS_MAX; i++) {
		put(ground, i * 16, i * 16 + 8, i, ground->b);
		assert_true(address_space_size(ground->space) <= ADDRESS_SPACE_MAPPINGS_MAX);
	}
	assert_non_null(address_space_find(ground->space, 48 * ADDRESS_SPACE_MAPPINGS_MAX));
}

static void
pieces_that_continue_each_other_are_one_file(void **state)
{
	struct address_space_fixture *ground = *state;

	put(ground, 10, 20, 100, ground->a);
	put(ground, 20, 30, 110, ground->a);
	put(ground, 30, 40, 5, ground->a); /* does not continue it */
	put(ground, 50, 60, 0, ground->memory);
	assert_true(address_space_is_file(ground->space, 10, 30));
	assert_true(address_space_is_file(ground->space, 12, 28));
	assert_false(address_space_is_file(ground->space, 9, 20));
	assert_false(address_space_is_file(ground->space, 12, 31));
	assert_false(address_space_is_file(ground->space, 35, 45));
	assert_false(address_space_is_file(ground->space, 50, 60));
	assert_false(address_space_is_file(ground->space, 70, 80));
}

/* Random insertions into a small space, against a plain array with one entry an address. */
static void
it_agrees_with_an_array_of_addresses(void **state)
{
	enum { SIZE = 100 };
	struct address_space_fixture *ground = *state;
	struct mapped_image *plain[SIZE] = {0}, *images[3] = {ground->a, ground->b, ground->memory};
	uint64_t offsets[SIZE] = {0}, seed = 12345;

	for (unsigned round = 0; round < 20000; round++) {
		uint64_t start, end;
		unsigned what;

		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		start = (seed >> 33) % (SIZE - 1);
		end = start + 1 + (seed >> 43) % 12;
		what = (unsigned)(seed >> 60) % 4;
		if (end > SIZE)
			end = SIZE;
		if (what == 3)
			assert_int_equal(address_space_remove(&ground->space, &ground->budget, start, end), 0);
		else
			put(ground, start, end, start * 1000, images[what]);
		for (uint64_t i = start; i < end; i++) {
			plain[i] = what == 3 ? NULL : images[what];
			offsets[i] = start * 1000 + (i - start);
		}
		for (uint64_t i = 0; i < SIZE; i++) {
			const struct mapping *mapping = address_space_find(ground->space, i);

			assert_ptr_equal(mapping ? mapping->image : NULL, plain[i]);
			if (mapping)
				assert_int_equal(i - mapping->start + mapping->file_offset, offsets[i]);
		}
	}
}

#define SPACE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

struct mapped_image_fixture {
	struct image_table *table;
	struct mapped_images *images;
};

static int
image_setup(void **state)
{
	struct mapped_image_fixture *ground = calloc(1, sizeof(*ground));

	ground->table = image_table_new();
	ground->images = mapped_images_new(ground->table);
	*state = ground;
	return 0;
}

static int
image_teardown(void **state)
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
		SPACE_TEST(nothing_is_found_in_an_empty_space),
		SPACE_TEST(mappings_are_found_from_their_first_to_their_last_address),
		SPACE_TEST(a_new_mapping_splits_the_one_it_falls_into),
		SPACE_TEST(a_new_mapping_cuts_its_neighbours_and_removes_what_it_covers),
		SPACE_TEST(mappings_that_only_touch_stay_whole),
		SPACE_TEST(the_same_mapping_again_changes_nothing),
		SPACE_TEST(what_is_removed_is_gone),
		SPACE_TEST(a_shared_space_is_copied_by_the_first_change),
		SPACE_TEST(a_spent_budget_changes_nothing),
		SPACE_TEST(too_many_mappings_forget_old_memory_before_files),
		SPACE_TEST(too_many_pieces_of_files_are_forgotten_too),
		SPACE_TEST(pieces_that_continue_each_other_are_one_file),
		SPACE_TEST(it_agrees_with_an_array_of_addresses),
		cmocka_unit_test_setup_teardown(equal_images_are_one, image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(a_number_is_given_when_it_is_asked_for, image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(an_image_that_comes_back_has_the_number_it_had, image_setup,
	                                        image_teardown),
		cmocka_unit_test_setup_teardown(a_new_table_gives_each_image_a_new_number, image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(all_together_have_a_limit, image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(a_file_that_changed_is_another_image_until_nobody_maps_it_and_after,
	                                        image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(what_only_its_name_identifies_does_not_change, image_setup,
	                                        image_teardown),
		cmocka_unit_test_setup_teardown(the_file_that_changed_first_is_forgotten_first, image_setup,
	                                        image_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
