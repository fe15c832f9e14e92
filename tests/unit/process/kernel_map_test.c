/* Kernel samples, on kernels made of a few files. */
#include "tests/unit/process/story.h"

#include <elf.h>

#include "process/kernel_map.h"

#define KERNEL_1 "ffffffff81000000 T _stext\nffffffff81001000 T schedule\nffffffff82000000 T _etext\n"
#define KERNEL_2 "ffffffffa9200000 T _stext\nffffffffa9201000 T schedule\nffffffffaa200000 T _etext\n"
#define HIDDEN   "0000000000000000 T _stext\n0000000000000000 T schedule\n0000000000000000 T _etext\n"
#define MODULE_1 "ext4 1048576 1 jbd2, Live 0xffffffffc0201000 (E)\n"
#define MODULE_2 "ext4 1048576 1 jbd2, Live 0xffffffffc0755000 (E)\n"

static void
scan(struct story *story, const char *kallsyms, const char *modules)
{
	fake_text(&story->fake, "kallsyms", kallsyms);
	fake_text(&story->fake, "modules", modules);
	assert_int_equal(story_scan(story), 0);
}

static void
assert_kernel(struct story *story, uint64_t at, uint64_t address, const char *path, uint64_t offset)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_KERNEL, 0, address, &key), 0);
	assert_string_equal(image_table_get(story->images, key.image)->path, path);
	assert_int_equal(key.offset, offset);
}

static void
assert_kernel_unknown(struct story *story, uint64_t at, uint64_t address, enum unknown_cause cause)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_KERNEL, 0, address, &key), 1 + (int)cause);
}

static void
put_notes(struct story *story, const char *name, uint8_t first)
{
	struct {
		Elf64_Nhdr header;
		char owner[4];
		uint8_t build_id[20];
	} note = {.header = {4, 20, NT_GNU_BUILD_ID}, .owner = "GNU", .build_id = {first}};

	fake_bytes(&story->fake, name, &note, sizeof(note));
}

static void
a_function_has_one_offset_wherever_the_kernel_was_loaded(void **state)
{
	scan(*state, KERNEL_1, MODULE_1);
	assert_kernel(*state, 1, 0xffffffff81001010, "[kernel]", 0x1010);
	assert_kernel(*state, 1, 0xffffffffc0201020, "[ext4]", 0x20);
}

static void
the_same_at_another_base(void **state)
{
	scan(*state, KERNEL_2, MODULE_2);
	assert_kernel(*state, 1, 0xffffffffa9201010, "[kernel]", 0x1010);
	assert_kernel(*state, 1, 0xffffffffc0755020, "[ext4]", 0x20);
}

static void
the_kernel_ends_where_its_text_ends(void **state)
{
	scan(*state, KERNEL_1, "");
	assert_kernel(*state, 1, 0xffffffff81000000, "[kernel]", 0);
	assert_kernel(*state, 1, 0xffffffff81ffffff, "[kernel]", 0xffffff);
	assert_kernel_unknown(*state, 1, 0xffffffff80ffffff, UNKNOWN_KERNEL_ADDRESS);
	assert_kernel_unknown(*state, 1, 0xffffffff82000000, UNKNOWN_KERNEL_ADDRESS);
}

static void
hidden_addresses_are_the_cause(void **state)
{
	scan(*state, HIDDEN, "ext4 1048576 1 jbd2, Live 0x0000000000000000 (E)\n");
	assert_kernel_unknown(*state, 1, 0xffffffff81001010, UNKNOWN_KERNEL_HIDDEN);
	assert_kernel_unknown(*state, 1, 0xffffffffc0201010, UNKNOWN_KERNEL_HIDDEN);
}

static void
a_kernel_that_lists_nothing_counts_as_hidden(void **state)
{
	struct story *story = *state;

	assert_int_equal(story_scan(story), 0);
	assert_kernel_unknown(story, 1, 0xffffffff81001010, UNKNOWN_KERNEL_HIDDEN);
}

static void
a_module_ends_where_the_next_begins(void **state)
{
	scan(*state, KERNEL_1,
	     "second 4096 0 - Live 0xffffffffc0300000\n"
	     "first 1048576 0 - Live 0xffffffffc0280000\n");
	assert_kernel(*state, 1, 0xffffffffc02fffff, "[first]", 0x7ffff);
	assert_kernel(*state, 1, 0xffffffffc0300fff, "[second]", 0xfff);
}

static void
build_ids_come_from_the_notes_in_sysfs(void **state)
{
	struct story *story = *state;
	const struct image *image;
	struct sample_key key;

	put_notes(story, "kernel/notes", 0xaa);
	put_notes(story, "module/ext4/notes/.note.gnu.build-id", 0xbb);
	scan(story, KERNEL_1, MODULE_1);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffff81001010, &key), 0);
	image = image_table_get(story->images, key.image);
	assert_int_equal(image->kind, IMAGE_KERNEL);
	assert_int_equal(image->build_id_size, 20);
	assert_int_equal(image->build_id[0], 0xaa);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffffc0201010, &key), 0);
	image = image_table_get(story->images, key.image);
	assert_int_equal(image->kind, IMAGE_MODULE);
	assert_int_equal(image->build_id[0], 0xbb);
}

static void
a_module_loaded_later_is_found_with_its_first_sample(void **state)
{
	struct story *story = *state;

	scan(story, KERNEL_1, "");
	fake_text(&story->fake, "modules", MODULE_1);
	assert_kernel(story, 5000, 0xffffffffc0201020, "[ext4]", 0x20);
}

static void
modules_are_read_again_ten_times_a_second_at_most(void **state)
{
	struct story *story = *state;

	scan(story, KERNEL_1, "");
	assert_kernel_unknown(story, 5000, 0xffffffffc0201020, UNKNOWN_KERNEL_ADDRESS);
	fake_text(&story->fake, "modules", MODULE_1);
	assert_kernel_unknown(story, 5099, 0xffffffffc0201020, UNKNOWN_KERNEL_ADDRESS);
	assert_kernel(story, 5100, 0xffffffffc0201020, "[ext4]", 0x20);
}

/* Kernels reuse the place at once: on arm64, linux 6.1 puts the next module exactly where the last one was. */
static void
a_module_at_the_place_of_one_that_went_is_found_within_a_second(void **state)
{
	struct story *story = *state;

	scan(story, KERNEL_1, MODULE_1);
	assert_kernel(story, 5000, 0xffffffffc0201020, "[ext4]", 0x20);
	fake_text(&story->fake, "modules", "xfs 1048576 1 - Live 0xffffffffc0201000\n");
	assert_kernel(story, 5999, 0xffffffffc0201020, "[ext4]", 0x20);
	assert_kernel(story, 6000, 0xffffffffc0201020, "[xfs]", 0x20);
}

/* Samples of one module do not put off the finding of another. */
static void
a_module_loaded_while_another_works_is_found_with_its_first_sample(void **state)
{
	struct story *story = *state;

	scan(story, KERNEL_1, MODULE_1);
	assert_kernel(story, 5000, 0xffffffffc0201020, "[ext4]", 0x20);
	fake_text(&story->fake, "modules", MODULE_1 "xfs 4096 1 - Live 0xffffffffc0601000\n");
	assert_kernel(story, 5001, 0xffffffffc0601010, "[xfs]", 0x10);
}

static struct record
ksymbol(uint64_t address, uint32_t length, const char *name, bool is_unregister)
{
	struct record record = {.type = RECORD_KSYMBOL};

	record.ksymbol.address = address;
	record.ksymbol.length = length;
	record.ksymbol.is_unregister = is_unregister;
	record.ksymbol.name = name;
	return record;
}

static void
a_bpf_program_comes_and_goes(void **state)
{
	struct story *story = *state;
	struct record load = ksymbol(0xffffffffc0001000, 0x100, "bpf_prog_6deef7357e7b4530_sd", false);
	struct record unload = ksymbol(0xffffffffc0001000, 0x100, "bpf_prog_6deef7357e7b4530_sd", true);
	struct sample_key key;

	scan(story, KERNEL_1, "");
	story_apply(story, &load);
	assert_kernel(story, 1, 0xffffffffc0001008, "[bpf_prog_6deef7357e7b4530_sd]", 8);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffffc0001008, &key), 0);
	assert_int_equal(image_table_get(story->images, key.image)->kind, IMAGE_JIT);
	assert_kernel_unknown(story, 1, 0xffffffffc0001100, UNKNOWN_KERNEL_ADDRESS);
	story_apply(story, &unload);
	assert_kernel_unknown(story, 2, 0xffffffffc0001008, UNKNOWN_KERNEL_ADDRESS);
}

static void
bpf_programs_that_were_there_end_where_the_next_begins(void **state)
{
	scan(*state,
	     KERNEL_1 "ffffffffc0002000 t bpf_prog_2_b\t[bpf]\n"
	              "ffffffffc0001000 t bpf_prog_1_a\t[bpf]\n"
	              "ffffffffc0003000 t ftrace_trampoline\t[__builtin__ftrace]\n",
	     "");
	assert_kernel(*state, 1, 0xffffffffc0001fff, "[bpf_prog_1_a]", 0xfff);
	assert_kernel(*state, 1, 0xffffffffc0002000, "[bpf_prog_2_b]", 0);
	assert_kernel(*state, 1, 0xffffffffc0003001, "[ftrace_trampoline]", 1);
}

/* A module's size includes what is not text, and may reach over run-time code between two modules. */
static void
a_bpf_program_is_not_hidden_by_a_module(void **state)
{
	struct story *story = *state;
	struct record load = ksymbol(0xffffffffc0280000, 0x100, "bpf_prog_x", false);

	scan(story, KERNEL_1, MODULE_1);
	story_apply(story, &load);
	assert_kernel(story, 1, 0xffffffffc0280000, "[bpf_prog_x]", 0);
	assert_kernel(story, 1, 0xffffffffc0280100, "[ext4]", 0x7f100);
}

/* What the database would say: of the kernel 8 MiB, of ext4 4 KiB, of others nothing. */
static uint64_t
known_size(void *context, const struct image *image)
{
	(void)context;
	if (image->kind == IMAGE_KERNEL)
		return image->build_id[0] == 0xaa ? 0x800000 : 0;
	return image->build_id[0] == 0xbb ? 0x1000 : 0;
}

/* As scan(), by somebody who knows the kernel that has the build-id 0xaa. */
static void
scan_known(struct story *story, uint8_t build_id, const char *kallsyms, const char *modules)
{
	const struct kernel_known known = {.text_size = known_size};
	struct attribution_options options = {.exit_grace_ns = 1000 * MS, .clock_ns = story_clock, .kernel = &known};

	options.procfs = options.sysfs = options.cgroupfs = story->fake.path;
	attribution_free(story->attribution);
	story->options = options;
	story->attribution = attribution_new(&options, story->images, story->contexts);
	assert_non_null(story->attribution);
	put_notes(story, "kernel/notes", build_id);
	put_notes(story, "module/ext4/notes/.note.gnu.build-id", 0xbb);
	scan(story, kallsyms, modules);
}

static void
a_known_kernel_is_as_long_as_is_known(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xaa, KERNEL_2, "");
	assert_null(attribution_take_symbols(story->attribution)); /* nobody has read them */
	assert_kernel(story, 1, 0xffffffffa9200000, "[kernel]", 0);
	assert_kernel(story, 1, 0xffffffffa99fffff, "[kernel]", 0x7fffff);
	assert_kernel_unknown(story, 1, 0xffffffffa9a00000, UNKNOWN_KERNEL_ADDRESS);
}

static void
another_kernel_is_as_long_as_is_listed(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xab, KERNEL_1, "");
	assert_kernel(story, 1, 0xffffffff81ffffff, "[kernel]", 0xffffff);
	assert_kernel_unknown(story, 1, 0xffffffff82000000, UNKNOWN_KERNEL_ADDRESS);
}

static void
hidden_addresses_of_a_known_kernel_are_the_cause(void **state)
{
	scan_known(*state, 0xaa, HIDDEN, "");
	assert_kernel_unknown(*state, 1, 0xffffffff81001010, UNKNOWN_KERNEL_HIDDEN);
}

/* The list is read for the first sample that lies nowhere, and only then. */
static void
what_a_known_kernel_made_before_is_found_with_its_first_sample(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xaa, KERNEL_1, "");
	assert_kernel(story, 1, 0xffffffff81001010, "[kernel]", 0x1010);
	fake_text(&story->fake, "kallsyms", KERNEL_1 "ffffffffc0001000 t bpf_prog_1_a\t[bpf]\n");
	assert_kernel(story, 2, 0xffffffffc0001fff, "[bpf_prog_1_a]", 0xfff);
	fake_text(&story->fake, "kallsyms", KERNEL_1 "ffffffffc0101000 t bpf_prog_2_b\t[bpf]\n");
	assert_kernel_unknown(story, 3, 0xffffffffc0101000, UNKNOWN_KERNEL_ADDRESS);
}

/* A module's size counts more than its text: behind what is known of it may be anything, until symbols were listed. */
static void
behind_what_is_known_of_a_module_the_list_decides(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xaa, KERNEL_1, MODULE_1);
	assert_kernel(story, 1, 0xffffffffc0201fff, "[ext4]", 0xfff);
	fake_text(&story->fake, "kallsyms", KERNEL_1 "ffffffffc0280000 t bpf_prog_x\t[bpf]\n");
	assert_kernel(story, 2, 0xffffffffc0280004, "[bpf_prog_x]", 4);
	assert_kernel(story, 2, 0xffffffffc0202000, "[ext4]", 0x1000);
}

/* So it is when the first sample lies in the module, and for one that is not known. */
static void
a_module_is_as_long_as_ever_when_symbols_were_listed(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xaa, KERNEL_1, MODULE_1 "xfs 4096 1 - Live 0xffffffffc0601000\n");
	assert_kernel(story, 1, 0xffffffffc0601010, "[xfs]", 0x10);
	assert_kernel(story, 1, 0xffffffffc0300fff, "[ext4]", 0xfffff);
}

static void
a_module_loaded_into_a_known_kernel_is_found(void **state)
{
	struct story *story = *state;

	scan_known(story, 0xaa, KERNEL_1, MODULE_1);
	assert_kernel(story, 5000, 0xffffffffc0201020, "[ext4]", 0x20);
	fake_text(&story->fake, "modules", MODULE_1 "xfs 4096 1 - Live 0xffffffffc0601000\n");
	assert_kernel(story, 6000, 0xffffffffc0601010, "[xfs]", 0x10);
	assert_kernel(story, 6001, 0xffffffffc0201020, "[ext4]", 0x20);
}

/* A list tells no sizes. */
static void
what_records_told_is_not_made_longer_by_the_list(void **state)
{
	struct story *story = *state;
	struct record load = ksymbol(0xffffffffc0001000, 0x100, "bpf_prog_x", false);

	scan_known(story, 0xaa, KERNEL_1, "");
	story_apply(story, &load);
	fake_text(&story->fake, "kallsyms",
	          KERNEL_1 "ffffffffc0000000 t bpf_prog_w\t[bpf]\nffffffffc0001000 t bpf_prog_x\t[bpf]\n");
	assert_kernel(story, 1, 0xffffffffc0000fff, "[bpf_prog_w]", 0xfff);
	assert_kernel(story, 1, 0xffffffffc00010ff, "[bpf_prog_x]", 0xff);
	assert_kernel_unknown(story, 1, 0xffffffffc0001100, UNKNOWN_KERNEL_ADDRESS);
}

static void
the_idle_task_is_called_swapper(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	scan(story, KERNEL_1, "");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "swapper");
}

static void
in_a_pid_namespace_the_kernel_work_of_others_is_nobodys(void **state)
{
	struct story *story = *state;
	struct sample_key key;
	char path[PATH_MAX];

	fake_directory(&story->fake, "self/ns");
	assert_int_equal(symlink("pid:[4026532300]", fake_path(&story->fake, "self/ns/pid", path)), 0);
	scan(story, KERNEL_1, "");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "");
}

static void
kernel_work_of_a_process_has_its_name_and_of_one_never_seen_none(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	scan(story, KERNEL_1, "");
	story_exec(story, 0, 5, "gzip");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 5, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "gzip");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 6, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, UINT32_MAX, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_function_has_one_offset_wherever_the_kernel_was_loaded),
		STORY_TEST(the_same_at_another_base),
		STORY_TEST(the_kernel_ends_where_its_text_ends),
		STORY_TEST(hidden_addresses_are_the_cause),
		STORY_TEST(a_kernel_that_lists_nothing_counts_as_hidden),
		STORY_TEST(a_module_ends_where_the_next_begins),
		STORY_TEST(build_ids_come_from_the_notes_in_sysfs),
		STORY_TEST(a_module_loaded_later_is_found_with_its_first_sample),
		STORY_TEST(modules_are_read_again_ten_times_a_second_at_most),
		STORY_TEST(a_module_at_the_place_of_one_that_went_is_found_within_a_second),
		STORY_TEST(a_module_loaded_while_another_works_is_found_with_its_first_sample),
		STORY_TEST(a_bpf_program_comes_and_goes),
		STORY_TEST(bpf_programs_that_were_there_end_where_the_next_begins),
		STORY_TEST(a_bpf_program_is_not_hidden_by_a_module),
		STORY_TEST(a_known_kernel_is_as_long_as_is_known),
		STORY_TEST(another_kernel_is_as_long_as_is_listed),
		STORY_TEST(hidden_addresses_of_a_known_kernel_are_the_cause),
		STORY_TEST(what_a_known_kernel_made_before_is_found_with_its_first_sample),
		STORY_TEST(behind_what_is_known_of_a_module_the_list_decides),
		STORY_TEST(a_module_is_as_long_as_ever_when_symbols_were_listed),
		STORY_TEST(a_module_loaded_into_a_known_kernel_is_found),
		STORY_TEST(what_records_told_is_not_made_longer_by_the_list),
		STORY_TEST(the_idle_task_is_called_swapper),
		STORY_TEST(in_a_pid_namespace_the_kernel_work_of_others_is_nobodys),
		STORY_TEST(kernel_work_of_a_process_has_its_name_and_of_one_never_seen_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
