/* The kernel of another machine, as perf tells of it: mappings of no process. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "process/attribution.h"
#include "process/kernel_map.h"

struct kernel_map_fixture {
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
};

static int
setup(void **state)
{
	static const struct attribution_options options = {.procfs = "", .sysfs = "", .cgroupfs = "", .offline = true};
	struct kernel_map_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	fixture->attribution = attribution_new(&options, fixture->images, fixture->contexts);
	assert_non_null(fixture->attribution);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct kernel_map_fixture *fixture = *state;

	attribution_free(fixture->attribution);
	image_table_free(fixture->images);
	context_table_free(fixture->contexts);
	free(fixture);
	return 0;
}

static void
place(struct kernel_map_fixture *fixture, const char *path, uint64_t start, uint64_t length, uint64_t file_offset)
{
	struct record record = {.type = RECORD_MMAP, .mode = CPU_MODE_KERNEL, .pid = UINT32_MAX};

	record.mmap = (struct record_mmap){.start = start, .length = length, .file_offset = file_offset, .path = path};
	assert_int_equal(attribution_apply(fixture->attribution, &record), 0);
}

static int
look(struct kernel_map_fixture *fixture, uint64_t address, struct sample_key *key)
{
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_KERNEL, .pid = 42, .tid = 42};

	record.sample.address = address;
	return attribution_sample(fixture->attribution, &record, key);
}

static void
assert_place(struct kernel_map_fixture *fixture, uint64_t address, enum image_kind kind, const char *path,
             uint64_t offset)
{
	const struct image *image;
	struct sample_key key;

	assert_int_equal(look(fixture, address, &key), 0);
	image = image_table_get(fixture->images, key.image);
	assert_int_equal(image->kind, kind);
	assert_string_equal(image->path, path);
	assert_int_equal(key.offset, offset);
}

static void
assert_unknown(struct kernel_map_fixture *fixture, uint64_t address)
{
	struct sample_key key;

	assert_int_equal(look(fixture, address, &key), 1 + UNKNOWN_KERNEL_ADDRESS);
}

/* As linux 4.14 on x86-64 is told: the address of _text is where text begins. */
static void
kernel_offsets_count_from_the_symbol_that_is_named(void **state)
{
	place(*state, "[kernel.kallsyms]_text", 0xffffffff81000000, 0x1f000000, 0xffffffff81000000);
	assert_place(*state, 0xffffffff81001234, IMAGE_KERNEL, "[kernel]", 0x1234);
	assert_unknown(*state, 0xffffffff80ffffff);
	assert_unknown(*state, 0xffffffffa0000000);
}

/* Linux 3.4: the mapping begins at 0, and _stext lies within it. */
static void
a_mapping_that_begins_before_the_text_is_cut(void **state)
{
	place(*state, "[kernel.kallsyms]_stext", 0, 0xffffffff9fffffff, 0xffffffff81000190);
	assert_place(*state, 0xffffffff81000200, IMAGE_KERNEL, "[kernel]", 0x70);
	assert_unknown(*state, 0xffffffff81000180);
}

/* There _stext, from which dcpid counts, is 64 KiB behind _text. */
static void
on_arm64_the_head_is_no_text(void **state)
{
	place(*state, "[kernel.kallsyms]_text", 0xffffc0828c800000, 0xd00000, 0xffffc0828c800000);
	assert_place(*state, 0xffffc0828c810010, IMAGE_KERNEL, "[kernel]", 0x10);
}

static void
modules_are_called_as_the_kernel_calls_them(void **state)
{
	place(*state, "/lib/modules/5.15.140/kernel/net/bluetooth/bt-mtk.ko.gz", 0xffffffffc03b6000, 0x4000, 0);
	place(*state, "[sb_edac]", 0xffffffffa000a000, 0x5000, 0);
	assert_place(*state, 0xffffffffc03b6010, IMAGE_MODULE, "[bt_mtk]", 0x10);
	assert_place(*state, 0xffffffffa000a020, IMAGE_MODULE, "[sb_edac]", 0x20);
	assert_unknown(*state, 0xffffffffc03ba000);
}

static void
what_is_neither_is_passed_by(void **state)
{
	static const char *const others[] = {"/boot/vmlinuz", "", "[", "[]", "/lib/.ko", "guest.ko"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		place(*state, others[i], 0xffffffffc0000000, 0x1000, 0);
	place(*state, "[longer_than_any_name_that_a_module_of_the_kernel_may_have_by_far_and_more]", 0xffffffffc0000000,
	      0x1000, 0);
	assert_unknown(*state, 0xffffffffc0000000);
}

static void
a_mapping_past_the_end_of_memory_is_none(void **state)
{
	place(*state, "[ext4]", UINT64_MAX - 10, 100, 0);
	place(*state, "[ext4]", 0xffffffffc0000000, 0, 0);
	assert_unknown(*state, UINT64_MAX - 5);
}

static void
names_of_the_build_id_table_are_names_of_images(void **state)
{
	char name[KERNEL_MAP_NAME_SIZE];

	(void)state;
	assert_int_equal(kernel_map_name("[kernel.kallsyms]", name), IMAGE_KERNEL);
	assert_string_equal(name, "[kernel]");
	assert_int_equal(kernel_map_name("/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz", name), IMAGE_MODULE);
	assert_string_equal(name, "[ext4]");
	assert_int_equal(kernel_map_name("/usr/lib/libz.so", name), IMAGE_UNKNOWN);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(kernel_offsets_count_from_the_symbol_that_is_named),
		TEST(a_mapping_that_begins_before_the_text_is_cut),
		TEST(on_arm64_the_head_is_no_text),
		TEST(modules_are_called_as_the_kernel_calls_them),
		TEST(what_is_neither_is_passed_by),
		TEST(a_mapping_past_the_end_of_memory_is_none),
		cmocka_unit_test(names_of_the_build_id_table_are_names_of_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
