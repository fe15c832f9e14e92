#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/import/build_ids.h"

static struct perf_data_build_id
build_id_of(enum cpu_mode mode, char *path, uint8_t first)
{
	struct perf_data_build_id named = {.pid = UINT32_MAX, .mode = mode, .build_id_size = 20, .path = path};

	named.build_id[0] = first;
	return named;
}

static uint8_t
first_byte(const struct build_ids *ids, struct image image)
{
	build_ids_complete(ids, &image);
	return image.build_id_size ? image.build_id[0] : 0;
}

static void
images_get_the_build_ids_of_their_names(void **state)
{
	char program[] = "/bin/x", kernel[] = "[kernel.kallsyms]", gone[] = "/tmp/y (deleted)", zero[] = "/bin/zero";
	char module[] = "/lib/modules/6.1/kernel/net/some-net.ko", guest[] = "[guest.kernel.kallsyms]";
	const struct perf_data_build_id list[] = {
		build_id_of(CPU_MODE_USER, program, 1),  build_id_of(CPU_MODE_KERNEL, kernel, 2),
		build_id_of(CPU_MODE_KERNEL, module, 3), build_id_of(CPU_MODE_USER, gone, 4),
		build_id_of(CPU_MODE_USER, zero, 0),     build_id_of(CPU_MODE_GUEST_KERNEL, guest, 5),
	};
	struct build_ids *ids = build_ids_new();

	(void)state;
	assert_non_null(ids);
	assert_int_equal(build_ids_update(ids, list, 2), 0);
	assert_int_equal(build_ids_update(ids, list, sizeof(list) / sizeof(list[0])), 0); /* more came */
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_USER, .path = "/bin/x"}), 1);
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_KERNEL, .path = "[kernel]"}), 2);
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_MODULE, .path = "[some_net]"}), 3);
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_USER, .path = "/tmp/y", .deleted = true}), 4);
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_USER, .path = "/tmp/y"}), 0);
	assert_int_equal(first_byte(ids, (struct image){.kind = IMAGE_USER, .path = "/bin/zero"}), 0);
	build_ids_free(ids);
}

static void
an_image_that_has_one_keeps_it(void **state)
{
	char path[] = "/bin/x";
	const struct perf_data_build_id named = build_id_of(CPU_MODE_USER, path, 1);
	struct build_ids *ids = build_ids_new();

	(void)state;
	assert_int_equal(build_ids_update(ids, &named, 1), 0);
	assert_int_equal(
		first_byte(ids, (struct image){.kind = IMAGE_USER, .path = path, .build_id = {9}, .build_id_size = 20}),
		9);
	build_ids_free(ids);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_get_the_build_ids_of_their_names),
		cmocka_unit_test(an_image_that_has_one_keeps_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
