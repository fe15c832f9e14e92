#include "tests/unit/test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/kernel_names.h"

struct kernel_names_fixture {
	char directory[64];
	struct profile *profile;
	struct image kernel;
};

static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 64 << 20};
	struct kernel_names_fixture *fixture = calloc(1, sizeof(*fixture));
	const struct image *images[] = {&fixture->kernel};
	struct epoch epoch = {.start_ns = 1000, .event_count = 1};
	struct slice slice = {.start_ns = 1000, .end_ns = 2000, .event_count = 1};
	struct profile_batch batch = {.image_count = 1, .images = images, .slice = &slice};

	fixture->kernel = (struct image){.kind = IMAGE_KERNEL, .path = "[kernel]"};
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/names_test.XXXXXX");
	if (!mkdtemp(fixture->directory) || profile_open(fixture->directory, &options, &fixture->profile))
		return -1;
	if (profile_begin_epoch(fixture->profile, &epoch))
		return -1;
	slice.epoch = epoch.id;
	*state = fixture;
	return profile_flush(fixture->profile, &batch);
}

static int
teardown(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	char command[128];

	profile_close(fixture->profile);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

static int
store(struct kernel_names_fixture *fixture)
{
	struct kernel_names_image image = {.number = 0, .image = &fixture->kernel};

	kernel_names_store(fixture->profile, "/proc", NULL, &image, 1);
	if (image.err == -EACCES)
		skip_because("the kernel hides its addresses (kptr_restrict)");
	return image.err;
}

/*
 * Every function's distance is its address in /proc/kallsyms, or that of the padding before it, less that of _stext,
 * here taken with awk.
 */
static void
distances_are_those_of_kallsyms(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	struct profile_symbol *symbols;
	char name[512];
	uint64_t address, stext;
	size_t count, found = 0;
	FILE *pipe;

	assert_int_equal(store(fixture), 0);
	assert_int_equal(profile_get_symbols(fixture->profile, 1, &symbols, &count), 0);
	assert_true(count > 1000);
	assert_int_equal(symbols[0].offset, 0);
	pipe = popen("awk '$3 == \"_stext\" { print $1 }' /proc/kallsyms; "
	             "awk 'NF == 3 && /schedule|vfs_/ { if ($3 ~ /^__pfx_/) begin[substr($3, 7)] = $1; "
	             "else if ($2 == \"T\") print $3 in begin ? begin[$3] : $1, $3 }' /proc/kallsyms",
	             "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%" SCNx64, &stext), 1);
	while (fscanf(pipe, "%" SCNx64 " %511s", &address, name) == 2) {
		for (size_t i = 0; i < count; i++)
			if (symbols[i].offset == address - stext && !strcmp(symbols[i].name, name))
				found++;
		if (found == 20)
			break;
	}
	pclose(pipe);
	assert_int_equal(found, 20);
	profile_free_symbols(symbols);
}

static void
names_are_ascending_and_no_address(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	struct profile_symbol *symbols;
	size_t count;

	assert_int_equal(store(fixture), 0);
	assert_int_equal(profile_get_symbols(fixture->profile, 1, &symbols, &count), 0);
	for (size_t i = 1; i < count; i++)
		assert_true(symbols[i - 1].offset <= symbols[i].offset);
	assert_true(symbols[count - 1].offset < UINT64_C(1) << 32);
	profile_free_symbols(symbols);
}

static void
a_module_that_is_not_loaded_has_no_names(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	const struct image module = {.kind = IMAGE_MODULE, .path = "[no_such_module]"};
	struct kernel_names_image image = {.number = 0, .image = &module};

	(void)store(fixture); /* skips when addresses are hidden */
	kernel_names_store(fixture->profile, "/proc", NULL, &image, 1);
	assert_int_equal(image.err, -ENOENT);
}

static void
write_file(const struct kernel_names_fixture *fixture, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", fixture->directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* "DISTANCE NAME" of each stored name of image `number` of the database. */
static void
assert_names(const struct kernel_names_fixture *fixture, uint32_t number, const char *expected)
{
	struct profile_symbol *symbols;
	char text[512] = "";
	size_t count;

	assert_int_equal(profile_get_symbols(fixture->profile, number, &symbols, &count), 0);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%" PRIx64 " %s\n", symbols[i].offset,
		         symbols[i].name);
	assert_string_equal(text, expected);
	profile_free_symbols(symbols);
}

/* As linux 6.1 lists them on arm64: modules with the labels of its ELF ABI, in one pass with the kernel's own. */
static void
mapping_symbols_name_no_function(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	const struct image lz4 = {.kind = IMAGE_MODULE, .path = "[lz4]"},
			   zstd = {.kind = IMAGE_MODULE, .path = "[zstd]"};
	const struct image *modules[] = {&lz4, &zstd};
	struct slice slice = {.epoch = 1, .start_ns = 2000, .end_ns = 3000, .event_count = 1};
	struct profile_batch batch = {.first_image = 1, .image_count = 2, .images = modules, .slice = &slice};
	struct kernel_names_image images[] = {
		{.number = 1, .image = &lz4}, {.number = 0, .image = &fixture->kernel}, {.number = 2, .image = &zstd}};

	write_file(fixture, "modules", "zstd 8192 1 - Live 0xffffda3d143a0000\nlz4 4096 2 - Live 0xffffda3d14398000\n");
	write_file(fixture, "kallsyms",
	           "ffffda3d22800000 T _text\nffffda3d22810000 T _stext\nffffda3d22810040 t do_undefinstr\n"
	           "ffffda3d22810080 d a_table\nffffda3d23500000 D _etext\nffffda3d23600000 T init_only\n"
	           "ffffda3d143a0000 t $x\t[zstd]\nffffda3d143a0000 t compress\t[zstd]\n"
	           "ffffda3d143a0030 t $x.12\t[zstd]\nffffda3d143a0100 t $d\t[zstd]\n"
	           "ffffda3d143a0ffc T decompress\t[zstd]\nffffda3d143a2000 t beyond_its_end\t[zstd]\n"
	           "ffffda3d14398010 t pack\t[lz4]\nffffda3d14398000 t $x\t[lz4]\n");
	assert_int_equal(profile_flush(fixture->profile, &batch), 0);
	kernel_names_store(fixture->profile, fixture->directory, NULL, images, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(images[i].err, 0);
	assert_names(fixture, 1, "0 _stext\n40 do_undefinstr\ncf0000 _etext\n");
	assert_names(fixture, 2, "10 pack\n");
	assert_names(fixture, 3, "0 compress\nffc decompress\n");
}

static int
keep(void *context, const struct kallsyms_symbol *symbol)
{
	return kallsyms_copy_add(context, symbol);
}

/* The kernel is listed in order, with two names at one address; the module is not. */
static const char some_symbols[] = "ffffffff81000000 T _stext\nffffffff81000010 t b\nffffffff81000010 T a\n"
				   "ffffffff81000020 D data\nffffffff81000020 T c\nffffffff81000100 T _etext\n"
				   "ffffffffc0000040 t second\t[m]\nffffffffc0000000 t first\t[m]\n";

static void
store_kernel_and_module(struct kernel_names_fixture *fixture, const char *modules, struct kernel_names_image images[2])
{
	static const struct image module = {.kind = IMAGE_MODULE, .path = "[m]"};
	static const struct image *new[] = {&module};
	struct slice slice = {.epoch = 1, .start_ns = 2000, .end_ns = 3000, .event_count = 1};
	struct profile_batch batch = {.first_image = 1, .image_count = 1, .images = new, .slice = &slice};
	struct kallsyms_copy *copy = kallsyms_copy_new();

	write_file(fixture, "kallsyms", some_symbols);
	write_file(fixture, "modules", modules);
	assert_non_null(copy);
	assert_int_equal(kallsyms_read(fixture->directory, keep, copy), 0);
	write_file(fixture, "kallsyms", "nobody reads this any more");
	assert_int_equal(profile_flush(fixture->profile, &batch), 0);
	images[0] = (struct kernel_names_image){.number = 0, .image = &fixture->kernel};
	images[1] = (struct kernel_names_image){.number = 1, .image = &module};
	kernel_names_store(fixture->profile, fixture->directory, copy, images, 2);
	kallsyms_copy_free(copy);
}

static void
a_copy_of_the_list_does_as_well(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	struct kernel_names_image images[2];

	store_kernel_and_module(fixture, "m 4096 0 - Live 0xffffffffc0000000\n", images);
	assert_int_equal(images[0].err, 0);
	assert_int_equal(images[1].err, 0);
	assert_names(fixture, 1, "0 _stext\n10 a\n10 b\n20 c\n100 _etext\n");
	assert_names(fixture, 2, "0 first\n40 second\n");
}

/* The kernel's text is as long as its end says, a module's reaches to its last function at least. */
static void
names_tell_how_long_text_is(void **state)
{
	static const struct image module = {.kind = IMAGE_MODULE, .path = "[m]"},
				  other = {.kind = IMAGE_MODULE, .path = "[other]"};
	struct kernel_names_fixture *fixture = *state;
	struct kernel_names_image images[2];

	assert_int_equal(kernel_names_text_size(fixture->profile, &fixture->kernel), 0);
	store_kernel_and_module(fixture, "m 4096 0 - Live 0xffffffffc0000000\n", images);
	assert_int_equal(kernel_names_text_size(fixture->profile, &fixture->kernel), 0x100);
	assert_int_equal(kernel_names_text_size(fixture->profile, &module), 0x41);
	assert_int_equal(kernel_names_text_size(fixture->profile, &other), 0);
}

/* As older versions stored them. */
static void
names_without_an_end_tell_no_length(void **state)
{
	const struct profile_symbol symbols[] = {{.offset = 0, .name = "_stext"}, {.offset = 16, .name = "a"}};
	struct kernel_names_fixture *fixture = *state;

	assert_int_equal(profile_put_symbols(fixture->profile, 0, symbols, 2), 0);
	assert_int_equal(kernel_names_text_size(fixture->profile, &fixture->kernel), 0);
}

/* As x86 lists them; the second has an alias, the third's name does not match, the last lies far behind. */
static void
padding_belongs_to_the_function_behind_it(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	struct kernel_names_image image = {.number = 0, .image = &fixture->kernel};

	write_file(fixture, "modules", "");
	write_file(fixture, "kallsyms",
	           "ffffffff81000000 T _stext\n"
	           "ffffffff81000010 T __pfx_one\nffffffff81000020 T one\n"
	           "ffffffff81000030 T __pfx_two\nffffffff81000040 T two\nffffffff81000040 T alias\n"
	           "ffffffff81000050 T __pfx_three\nffffffff81000060 T four\n"
	           "ffffffff81000070 T __pfx_five\nffffffff810000b1 T five\nffffffff81000100 T _etext\n");
	kernel_names_store(fixture->profile, fixture->directory, NULL, &image, 1);
	assert_int_equal(image.err, 0);
	assert_names(fixture, 1,
	             "0 _stext\n10 one\n30 __pfx_two\n40 alias\n40 two\n50 __pfx_three\n60 four\n"
	             "70 __pfx_five\nb1 five\n100 _etext\n");
}

/* Another module took its place after the copy was made: the old names are not its. */
static void
a_module_that_moved_since_the_copy_gets_no_names_of_it(void **state)
{
	struct kernel_names_fixture *fixture = *state;
	struct kernel_names_image images[2];

	store_kernel_and_module(fixture, "m 4096 0 - Live 0xffffffffc0100000\n", images);
	assert_int_equal(images[0].err, 0);
	assert_int_equal(images[1].err, -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(distances_are_those_of_kallsyms, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_ascending_and_no_address, setup, teardown),
		cmocka_unit_test_setup_teardown(a_module_that_is_not_loaded_has_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(mapping_symbols_name_no_function, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_of_the_list_does_as_well, setup, teardown),
		cmocka_unit_test_setup_teardown(names_tell_how_long_text_is, setup, teardown),
		cmocka_unit_test_setup_teardown(names_without_an_end_tell_no_length, setup, teardown),
		cmocka_unit_test_setup_teardown(padding_belongs_to_the_function_behind_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_module_that_moved_since_the_copy_gets_no_names_of_it, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
