/* Tests of image/soname.h, and of the source that lines.h knows; libraries are linked here, expected is what the linker
 * and the compiler were told. */
#include "tests/unit/image/elf_fixture.h"

#include <errno.h>

#include "base/error.h"
#include "image/lines.h"
#include "image/soname.h"

static struct image
image_at(const struct folder *folder, const char *name, char path[PATH_MAX])
{
	struct stat status;

	snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
	assert_int_equal(stat(path, &status), 0);
	return (struct image){
		.kind = IMAGE_USER,
		.path = path,
		.inode = status.st_ino,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
	};
}

static int
soname_of(const struct folder *folder, const char *name, char **soname)
{
	char path[PATH_MAX];
	const struct image image = image_at(folder, name, path);
	struct image_file *file;
	int err;

	assert_int_equal(image_file_open(&image, &file), 0);
	err = image_soname(file, soname);
	image_file_close(file);
	return err;
}

static void
a_library_says_what_to_look_for(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	assert_true(run_in(folder, "echo 'int f(void) { return 1; }' >lib.c && gcc -shared -fPIC -Wl,--build-id=none "
	                           "-Wl,-soname,libseven.so.7 -o library lib.c"));
	assert_int_equal(soname_of(folder, "library", &soname), 0);
	assert_string_equal(soname, "libseven.so.7");
	free(soname);
}

static void
a_program_says_nothing(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	assert_true(run_in(folder, "echo 'int main(void) { return 0; }' >main.c && gcc -Wl,--build-id=none -o program "
	                           "main.c && gcc -static -Wl,--build-id=none -o static main.c"));
	assert_int_equal(soname_of(folder, "program", &soname), -ENOENT);
	assert_null(soname);
	assert_int_equal(soname_of(folder, "static", &soname), -ENOENT);
}

/* Where the names should be, there are none: the table ends before the soname's place. */
static void
a_soname_outside_of_the_names_is_damage(void **state)
{
	const struct folder *folder = *state;
	char *soname;

	need_tool("gcc");
	need_tool("python3");
	assert_true(run_in(folder, "gcc -shared -fPIC -Wl,--build-id=none -Wl,-soname,libx.so -o broken lib.c"));
	assert_true(run_in(folder, "python3 -c '\n"
	                           "import struct\n"
	                           "data = bytearray(open(\"broken\", \"rb\").read())\n"
	                           "shoff, = struct.unpack_from(\"<Q\", data, 40)\n"
	                           "count, = struct.unpack_from(\"<H\", data, 60)\n"
	                           "for i in range(count):\n"
	                           "    kind, = struct.unpack_from(\"<I\", data, shoff + 64 * i + 4)\n"
	                           "    if kind != 6: continue\n"
	                           "    at, size = struct.unpack_from(\"<QQ\", data, shoff + 64 * i + 24)\n"
	                           "    for k in range(at, at + size, 16):\n"
	                           "        if data[k] == 14: struct.pack_into(\"<Q\", data, k + 8, 1 << 40)\n"
	                           "open(\"broken\", \"wb\").write(data)'"));
	assert_int_equal(soname_of(folder, "broken", &soname), -DCPI_EDAMAGED);
	assert_null(soname);
}

static void
the_first_unit_says_what_it_was_compiled_from(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], expected[PATH_MAX], *source;
	struct symbol_table *symbols;
	struct image_lines *lines;
	struct image_file *file;
	struct image image;

	need_tool("gcc");
	assert_true(run_in(folder, "gcc -g -shared -fPIC -Wl,--build-id=none -o lined lib.c"));
	image = image_at(folder, "lined", path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), 0);
	assert_int_equal(image_lines_source(lines, &source), 0);
	snprintf(expected, sizeof(expected), "%s/lib.c", folder->path);
	assert_string_equal(source, expected);
	free(source);
	image_lines_free(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_says_what_to_look_for),
		cmocka_unit_test(a_program_says_nothing),
		cmocka_unit_test(a_soname_outside_of_the_names_is_damage),
		cmocka_unit_test(the_first_unit_says_what_it_was_compiled_from),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
