#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/ids.h"

static void
an_image_comes_back_as_it_was_written(void **state)
{
	const struct image image = {
		.kind = IMAGE_MODULE,
		.build_id = {1, 2, 3},
		.build_id_size = 3,
		.device_major = 8,
		.device_minor = UINT32_MAX,
		.inode = UINT64_MAX,
		.inode_generation = 77,
		.deleted = true,
		.path = "/lib/modules/ext4.ko",
	};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct image_record back;

	(void)state;
	image_record_encode(&image, false, &writer);
	assert_int_equal(image_record_decode(writer.data, writer.size, &back), 0);
	assert_int_equal(back.image.kind, IMAGE_MODULE);
	assert_int_equal(back.image.build_id_size, 3);
	assert_memory_equal(back.image.build_id, "\1\2\3", 3);
	assert_int_equal(back.image.device_major, 8);
	assert_int_equal(back.image.device_minor, UINT32_MAX);
	assert_true(back.image.inode == UINT64_MAX);
	assert_int_equal(back.image.inode_generation, 77);
	assert_true(back.image.deleted);
	assert_string_equal(back.image.path, "/lib/modules/ext4.ko");
	assert_false(back.image.is_roots || back.has_roots_names);
	writer_fini(&writer);
}

/* Values of before have no flags, and are written as before where there is none to set. */
static void
whose_an_images_file_and_names_are_comes_back(void **state)
{
	struct image image = {.kind = IMAGE_USER, .path = "x"};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct image_record back;

	(void)state;
	for (unsigned flags = 0; flags < 4; flags++) {
		image.is_roots = flags & 1;
		writer_reset(&writer);
		image_record_encode(&image, flags & 2, &writer);
		assert_int_equal(((const uint8_t *)writer.data)[0], flags ? 2 : 1);
		assert_int_equal(image_record_decode(writer.data, writer.size, &back), 0);
		assert_int_equal(back.image.is_roots, flags & 1);
		assert_int_equal(back.has_roots_names, flags >> 1);
	}
	writer_fini(&writer);
}

static void
a_context_comes_back_as_it_was_written(void **state)
{
	const struct context context = {.comm = "make", .cgroup = "/user.slice", .label = "nightly"};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct context_record back;

	(void)state;
	context_record_encode(&context, &writer);
	assert_int_equal(context_record_decode(writer.data, writer.size, &back), 0);
	assert_string_equal(back.context.comm, "make");
	assert_string_equal(back.context.cgroup, "/user.slice");
	assert_string_equal(back.context.label, "nightly");
	writer_fini(&writer);
}

static void
names_that_are_too_long_are_cut(void **state)
{
	char *path = malloc(70000);
	const struct image image = {.kind = IMAGE_USER, .path = path};
	const struct context context = {.comm = "0123456789abcdefgh", .cgroup = path, .label = path};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct image_record *image_back = malloc(sizeof(*image_back));
	struct context_record *context_back = malloc(sizeof(*context_back));

	(void)state;
	memset(path, 'x', 70000);
	path[69999] = '\0';
	image_record_encode(&image, false, &writer);
	assert_int_equal(image_record_decode(writer.data, writer.size, image_back), 0);
	assert_int_equal(strlen(image_back->image.path), RECORD_PATH_SIZE - 1);
	writer_reset(&writer);
	context_record_encode(&context, &writer);
	assert_int_equal(context_record_decode(writer.data, writer.size, context_back), 0);
	assert_string_equal(context_back->context.comm, "0123456789abcde");
	assert_int_equal(strlen(context_back->context.cgroup), RECORD_PATH_SIZE - 1);
	assert_int_equal(strlen(context_back->context.label), RECORD_LABEL_SIZE - 1);
	writer_fini(&writer);
	free(path);
	free(image_back);
	free(context_back);
}

static void
a_kind_or_build_id_that_cannot_be_is_refused(void **state)
{
	/* format, kind, build-id size, device, device, inode, generation, deleted, path */
	static const uint8_t good[] = {1, 1, 0, 0, 0, 0, 0, 0, 1, 'x'};
	static const uint8_t kind[] = {1, IMAGE_KINDS, 0, 0, 0, 0, 0, 0, 1, 'x'};
	static const uint8_t build_id[] = {1, 1, 21, 0, 0, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0,
	                                   0, 0, 0,  0, 0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0};
	static const uint8_t deleted[] = {1, 1, 0, 0, 0, 0, 0, 2, 1, 'x'};
	static const uint8_t more[] = {1, 1, 0, 0, 0, 0, 0, 0, 1, 'x', 0};
	struct image_record record;

	(void)state;
	assert_int_equal(image_record_decode(good, sizeof(good), &record), 0);
	assert_int_equal(image_record_decode(kind, sizeof(kind), &record), -DCPI_EDAMAGED);
	assert_int_equal(image_record_decode(build_id, sizeof(build_id), &record), -DCPI_EDAMAGED);
	assert_int_equal(image_record_decode(deleted, sizeof(deleted), &record), -DCPI_EDAMAGED);
	assert_int_equal(image_record_decode(more, sizeof(more), &record), -DCPI_EDAMAGED);
}

/* Known answers of FNV-1a, 64 bits, from its authors' test vectors. */
static void
the_hash_is_fnv_1a(void **state)
{
	(void)state;
	assert_true(record_identity_hash("", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(record_identity_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(record_identity_hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void
an_identity_key_is_hash_then_number(void **state)
{
	static const uint8_t expected[RECORD_ID_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0};
	uint8_t key[RECORD_ID_SIZE];
	uint64_t hash;
	uint32_t number;

	(void)state;
	record_id_encode(UINT64_C(0x0102030405060708), 256, key);
	assert_memory_equal(key, expected, sizeof(expected));
	assert_int_equal(record_id_decode(key, sizeof(key), &hash, &number), 0);
	assert_true(hash == UINT64_C(0x0102030405060708));
	assert_int_equal(number, 256);
	assert_int_equal(record_id_decode(key, sizeof(key) - 1, &hash, &number), -DCPI_EDAMAGED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_comes_back_as_it_was_written),
		cmocka_unit_test(whose_an_images_file_and_names_are_comes_back),
		cmocka_unit_test(a_context_comes_back_as_it_was_written),
		cmocka_unit_test(names_that_are_too_long_are_cut),
		cmocka_unit_test(a_kind_or_build_id_that_cannot_be_is_refused),
		cmocka_unit_test(the_hash_is_fnv_1a),
		cmocka_unit_test(an_identity_key_is_hash_then_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
