/* Which image a sample is of: files, made code, what the kernel maps. */
#include "tests/unit/process/story.h"

static void
a_library_at_the_place_of_another_replaces_it(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "server");
	story_map(story, 0, 42, "/lib/one.so", 1, 0x700000, 0x3000, 0); /* dlopen */
	assert_sample(story, 1, 42, 0x702000, "/lib/one.so", 0x2000);
	story_map(story, 2, 42, "/lib/two.so", 2, 0x700000, 0x1000, 0x5000); /* dlclose, dlopen of a smaller one */
	assert_sample(story, 3, 42, 0x700123, "/lib/two.so", 0x5123);
	assert_sample(story, 3, 42, 0x702000, "/lib/one.so", 0x2000); /* nobody has told that it is gone */
	story_map(story, 4, 42, "/lib/three.so", 3, 0x6ff000, 0x10000, 0);
	assert_sample(story, 5, 42, 0x700123, "/lib/three.so", 0x1123);
	assert_sample(story, 5, 42, 0x702000, "/lib/three.so", 0x3000);
}

static void
a_replaced_file_is_another_image(void **state)
{
	struct story *story = *state;
	struct sample_key before, after;

	story_exec(story, 0, 1, "app");
	story_map(story, 0, 1, "/bin/app (deleted)", 1, 0x400000, 0x1000, 0);
	story_exec(story, 1, 2, "app");
	story_map(story, 1, 2, "/bin/app", 2, 0x400000, 0x1000, 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 1, 0x400000, &before), 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 2, 0x400000, &after), 0);
	assert_int_not_equal(before.image, after.image);
	assert_string_equal(image_table_get(story->images, before.image)->path, "/bin/app");
	assert_string_equal(image_table_get(story->images, after.image)->path, "/bin/app");
	assert_true(image_table_get(story->images, before.image)->deleted);
	assert_false(image_table_get(story->images, after.image)->deleted);
}

/* The same path, the same name, two mount namespaces. */
static void
containers_with_different_files_at_one_path_are_told_apart(void **state)
{
	struct story *story = *state;
	struct sample_key one, other, again;

	for (uint32_t pid = 1; pid <= 3; pid++)
		story_exec(story, 0, pid, "app");
	story_map(story, 0, 1, "/usr/bin/app", 1, 0x400000, 0x1000, 0);
	story_map(story, 0, 2, "/usr/bin/app", 2, 0x400000, 0x1000, 0);
	story_map(story, 0, 3, "/usr/bin/app", 1, 0x400000, 0x1000, 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 1, 0x400000, &one), 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 2, 0x400000, &other), 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 3, 0x400000, &again), 0);
	assert_int_not_equal(one.image, other.image);
	assert_int_equal(one.image, again.image);
}

static void
a_file_without_a_build_id_is_known_by_its_inode(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	story_exec(story, 0, 1, "app");
	story_map(story, 0, 1, "/bin/app", 0, 0x400000, 0x1000, 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 1, 0x400000, &key), 0);
	assert_int_equal(image_table_get(story->images, key.image)->inode, 77);
	assert_int_equal(image_table_get(story->images, key.image)->build_id_size, 0);
}

static void
made_code_counts_from_the_start_of_its_memory(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "java");
	story_map_memory(story, 0, 1, "//anon", 0x7f0000100000, 0x10000);
	story_map_memory(story, 0, 1, "/memfd:doublemapper (deleted)", 0x7f0000200000, 0x10000);
	story_map_memory(story, 0, 1, "[heap]", 0x1000000, 0x1000);
	assert_sample(story, 1, 1, 0x7f0000100040, "[anon]", 0x40);
	assert_sample(story, 1, 1, 0x7f0000200080, "memfd:doublemapper", 0x80);
	assert_sample(story, 1, 1, 0x1000010, "[heap]", 0x10);
	story_map_memory(story, 2, 1, "//anon", 0x7f0000104000, 0x1000); /* splits the first */
	assert_sample(story, 3, 1, 0x7f0000105000, "[anon]", 0x5000);
	assert_sample(story, 3, 1, 0x7f0000104010, "[anon]", 0x10);
}

static void
a_program_in_a_memfd_is_a_program(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "runc");
	story_map(story, 0, 1, "/memfd:runc_cloned:/proc/self/exe (deleted)", 9, 0x400000, 0x1000, 0x3000);
	assert_sample(story, 1, 1, 0x400001, "/memfd:runc_cloned:/proc/self/exe", 0x3001);
}

static void
the_vdso_is_one_image_for_all(void **state)
{
	struct story *story = *state;
	struct sample_key one, other;

	story_exec(story, 0, 1, "a");
	story_exec(story, 0, 2, "b");
	story_map_memory(story, 0, 1, "[vdso]", 0x7ffc00001000, 0x2000);
	story_map_memory(story, 0, 2, "[vdso]", 0x7ffd00003000, 0x2000);
	assert_int_equal(story_sample(story, 1, CPU_MODE_USER, 1, 0x7ffc00001a00, &one), 0);
	assert_int_equal(story_sample(story, 1, CPU_MODE_USER, 2, 0x7ffd00003a00, &other), 0);
	assert_int_equal(one.image, other.image);
	assert_int_equal(one.offset, 0xa00);
	assert_int_equal(other.offset, 0xa00);
	assert_int_equal(image_table_get(story->images, one.image)->kind, IMAGE_VDSO);
}

static void
the_vdso_of_32_bit_programs_is_another(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "a");
	story_map_memory(story, 0, 1, "[vdso]", 0xf7fc0000, 0x2000);
	assert_sample(story, 1, 1, 0xf7fc0010, "[vdso32]", 0x10);
}

static void
the_vsyscall_page_needs_no_mapping(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "old");
	assert_sample(story, 1, 1, 0xffffffffff600400, "[vsyscall]", 0x400);
	assert_unknown(story, 1, 1, 0xffffffffff601000, UNKNOWN_ADDRESS);
}

#define MIB (UINT64_C(1) << 20)

static void
text_moved_to_huge_pages_is_still_the_files(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "big");
	story_map(story, 0, 1, "/bin/big", 1, 3 * MIB, 8 * MIB, 0x1000);
	story_map_memory(story, 1, 1, "//anon", 4 * MIB, 6 * MIB);
	assert_sample(story, 2, 1, 5 * MIB, "/bin/big", 2 * MIB + 0x1000);
	assert_sample(story, 2, 1, 10 * MIB, "/bin/big", 7 * MIB + 0x1000);
}

static void
memory_over_text_that_is_not_whole_huge_pages_is_memory(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "big");
	story_map(story, 0, 1, "/bin/big", 1, 3 * MIB, 8 * MIB, 0x1000);
	story_map_memory(story, 1, 1, "//anon", 4 * MIB, 0x1000); /* a patched page */
	assert_sample(story, 2, 1, 4 * MIB + 8, "[anon]", 8);
	story_map_memory(story, 3, 1, "//anon", 10 * MIB, 2 * MIB); /* sticks out */
	assert_sample(story, 4, 1, 10 * MIB, "[anon]", 0);
}

static void
data_mappings_are_not_looked_at(void **state)
{
	struct story *story = *state;
	struct record record = {.type = RECORD_MMAP, .pid = 1, .tid = 1};

	record.mmap.start = 0x400000;
	record.mmap.length = 0x1000;
	record.mmap.path = "/usr/share/data";
	record.mmap.is_data = true;
	story_exec(story, 0, 1, "app");
	story_map(story, 0, 1, "/bin/app", 1, 0x400000, 0x1000, 0);
	story_apply(story, &record);
	assert_sample(story, 1, 1, 0x400000, "/bin/app", 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_library_at_the_place_of_another_replaces_it),
		STORY_TEST(a_replaced_file_is_another_image),
		STORY_TEST(containers_with_different_files_at_one_path_are_told_apart),
		STORY_TEST(a_file_without_a_build_id_is_known_by_its_inode),
		STORY_TEST(made_code_counts_from_the_start_of_its_memory),
		STORY_TEST(a_program_in_a_memfd_is_a_program),
		STORY_TEST(the_vdso_is_one_image_for_all),
		STORY_TEST(the_vdso_of_32_bit_programs_is_another),
		STORY_TEST(the_vsyscall_page_needs_no_mapping),
		STORY_TEST(text_moved_to_huge_pages_is_still_the_files),
		STORY_TEST(memory_over_text_that_is_not_whole_huge_pages_is_memory),
		STORY_TEST(data_mappings_are_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
