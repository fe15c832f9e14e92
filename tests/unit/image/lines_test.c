/* Tests of image/lines.h; expected is what llvm-symbolizer says: addr2line of binutils 2.40 has the wrong file for
 * DWARF 5. */
#include "tests/unit/image/elf_fixture.h"

#include <errno.h>

#include "image/lines.h"

struct tried {
	struct image_lines *lines;
	size_t known, unknown, wrong;
};

/* "0x1139", "/tmp/x/one.c:3 (discriminator 1)" or "??:?", by turns. */
static void
compare_line(void *context, const char *line)
{
	static uint64_t address;
	struct tried *tried = context;
	struct source_place place;
	const char *colon;
	int err;

	if (sscanf(line, "0x%" SCNx64, &address) == 1)
		return;
	err = image_lines_find(tried->lines, address, &place);
	colon = strrchr(line, ':');
	if (!colon || strncmp(line, "??", 2) == 0 || colon[1] == '?' || colon[1] == '0') {
		tried->unknown++;
		tried->wrong += err != -ENOENT;
		return;
	}
	tried->known++;
	if (err || place.line != strtoul(colon + 1, NULL, 10) || strlen(place.path) != (size_t)(colon - line) ||
	    strncmp(place.path, line, (size_t)(colon - line)) != 0) {
		tried->wrong++;
		print_error("%#" PRIx64 ": %s:%u, expected %s", address, err ? "?" : place.path, err ? 0 : place.line,
		            line);
	}
}

/* Of every instruction of `path`, by the lines that `twin` has. */
static struct tried
compare_lines(const struct image *image, const char *twin)
{
	struct tried tried = {0};
	struct symbol_table *symbols;
	struct image_file *file;

	assert_int_equal(image_file_open(image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &tried.lines), 0);
	each_line(compare_line, &tried,
	          "objdump -d -j .text '%s' | sed -n 's/^ *\\([0-9a-f]*\\):\\t.*/0x\\1/p' | llvm-symbolizer --obj='%s' "
	          "--no-inlines --functions=none --output-style=GNU -a",
	          twin, twin);
	image_lines_free(tried.lines);
	symbol_table_free(symbols);
	image_file_close(file);
	return tried;
}

static void
write_sources(const struct folder *folder)
{
	write_file(folder, "twice.h",
	           "static inline int\ntwice(int x)\n{\n\tint y = x * x;\n\n\treturn y + y %% 7;\n}\n");
	write_file(folder, "one.c",
	           "#include \"twice.h\"\nint other(int);\nint\nmain(int count, char **texts)\n{\n\tint sum = 0;\n\n"
	           "\tfor (int i = 0; i < count; i++)\n\t\tsum += twice(texts[i][0]) + other(i);\n\treturn sum;\n}\n");
	write_file(folder, "two.c",
	           "#include \"twice.h\"\nint other(int);\nint\nother(int x)\n{\n\treturn twice(x + 1);\n}\n");
}

static void
need_tools(void)
{
	need_tool("gcc");
	need_tool("llvm-symbolizer");
}

static void
assert_all_right(struct tried tried)
{
	assert_int_equal(tried.wrong, 0);
	assert_true(tried.known > 20);
}

static void
lines_are_those_of_llvm_symbolizer(void **state)
{
	static const char *const options[] = {"-O2", "-O0", "-O2 -gdwarf-4", "-O2 -gdwarf-3", "-O2 -flto"};
	const struct folder *folder = *state;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		assert_true(run_in(folder, "gcc -g %s -o program $PWD/one.c $PWD/two.c", options[i]));
		image = image_of(path);
		assert_all_right(compare_lines(&image, path));
	}
}

/* clang writes no .debug_aranges. */
static void
lines_are_found_without_a_table_of_units(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	assert_true(run_in(folder, "gcc -g -O2 -o program $PWD/one.c $PWD/two.c && objcopy -R .debug_aranges program"));
	image = image_of(path);
	assert_all_right(compare_lines(&image, path));
}

static void
lines_of_a_stripped_image_are_in_its_debug_file(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_MAX], twin[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	path_in(folder, "twin", twin);
	assert_true(run_in(folder, "gcc -g -O2 -o twin $PWD/one.c $PWD/two.c && cp twin program && "
	                           "objcopy --only-keep-debug program link.debug && strip program && "
	                           "objcopy --add-gnu-debuglink=link.debug program"));
	image = image_of(path);
	assert_all_right(compare_lines(&image, twin));
}

static void
an_image_without_line_numbers_says_so(void **state)
{
	const struct folder *folder = *state;
	struct image_lines *lines;
	struct symbol_table *symbols;
	struct image_file *file;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "plain", path);
	assert_true(run_in(folder, "gcc -O2 -s -o plain one.c two.c"));
	image = image_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), -ENOENT);
	assert_null(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

static void
an_address_in_no_unit_has_no_line(void **state)
{
	static const uint64_t addresses[] = {0, 1, 0x10000000, UINT64_MAX};
	const struct folder *folder = *state;
	struct image_lines *lines;
	struct symbol_table *symbols;
	struct image_file *file;
	struct source_place place;
	char path[PATH_MAX];
	struct image image;

	need_tools();
	write_sources(folder);
	path_in(folder, "program", path);
	assert_true(run_in(folder, "gcc -g -O2 -o program one.c two.c"));
	image = image_of(path);
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &lines), 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		assert_int_equal(image_lines_find(lines, addresses[i], &place), -ENOENT);
	image_lines_free(lines);
	symbol_table_free(symbols);
	image_file_close(file);
}

/* What llvm-symbolizer says of one address: the innermost first, a line with the name, a line with its place. */
struct listed_frames {
	struct image_lines *lines;
	uint64_t address;
	char texts[2 * (INLINED_MAX + 1)][256];
	size_t count;
	size_t plain, inlined, deepest, wrong;
};

static bool
is_frame(const struct inlined_call *call, const char *name, const char *place)
{
	const size_t length = strlen(call->call.path ? call->call.path : "");

	return strcmp(call->name, name) == 0 && strncmp(place, call->call.path, length) == 0 && place[length] == ':' &&
	       strtoul(place + length + 1, NULL, 10) == call->call.line;
}

/* A frame's place is where it calls the next inner one. */
static void
compare_frames(struct listed_frames *listed)
{
	const size_t expected = listed->count / 2 > 0 ? listed->count / 2 - 1 : 0;
	struct inlined_call calls[INLINED_MAX];
	size_t count;
	bool same;

	if (listed->count == 0)
		return;
	assert_int_equal(image_lines_inlined(listed->lines, listed->address, calls, &count), 0);
	same = count == expected;
	for (size_t i = 0; same && i < count; i++)
		same = is_frame(&calls[i], listed->texts[2 * i], listed->texts[2 * i + 3]);
	listed->plain += count == 0;
	listed->inlined += count > 0;
	listed->deepest = count > listed->deepest ? count : listed->deepest;
	listed->wrong += !same;
	if (!same)
		print_error("%#" PRIx64 ": %zu, expected %zu from %s on\n", listed->address, count, expected,
		            listed->texts[0]);
	listed->count = 0;
}

static void
take_frame(void *context, const char *line)
{
	struct listed_frames *listed = context;

	if (strncmp(line, "0x", 2) == 0) {
		compare_frames(listed);
		listed->address = strtoull(line, NULL, 16);
		return;
	}
	assert_true(listed->count < sizeof(listed->texts) / sizeof(listed->texts[0]));
	snprintf(listed->texts[listed->count++], sizeof(listed->texts[0]), "%.*s", (int)strcspn(line, "\n"), line);
}

static struct listed_frames
list_frames(const char *path)
{
	static struct listed_frames listed;
	const struct image image = image_of(path);
	struct symbol_table *symbols;
	struct image_file *file;

	memset(&listed, 0, sizeof(listed));
	assert_int_equal(image_file_open(&image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &symbols), 0);
	assert_int_equal(image_lines_new(file, &listed.lines), 0);
	each_line(take_frame, &listed,
	          "objdump -d -j .text '%s' | sed -n 's/^ *\\([0-9a-f]*\\):\\t.*/0x\\1/p' | llvm-symbolizer --obj='%s' "
	          "--inlines --no-demangle --functions=linkage --output-style=GNU -a | grep .",
	          path, path);
	compare_frames(&listed);
	image_lines_free(listed.lines);
	symbol_table_free(symbols);
	image_file_close(file);
	return listed;
}

#define ALWAYS "__attribute__((always_inline)) inline "

static void
inlined_subroutines_are_those_of_llvm_symbolizer(void **state)
{
	static const char *const commands[] = {
		"gcc -g -O2 -o program $PWD/deep.cc $PWD/other.cc -lstdc++",
		"gcc -g -O2 -gdwarf-4 -o program $PWD/deep.cc $PWD/other.cc -lstdc++",
		"gcc -g -O0 -o program $PWD/deep.cc $PWD/other.cc -lstdc++",
		"gcc -g1 -O2 -o program $PWD/deep.cc $PWD/other.cc -lstdc++ && objcopy -R .debug_aranges program",
		"clang -g -O2 -o program $PWD/deep.cc $PWD/other.cc -lstdc++",
	};
	const struct folder *folder = *state;
	struct listed_frames listed;
	char path[PATH_MAX];

	need_tools();
	need_tool("clang");
	write_file(
		folder, "deep.cc",
		"int other(int);\nnamespace outer {\nnamespace {\nstatic " ALWAYS
		"int\nleaf(int x)\n{\n\treturn x * x %% 7;\n}\n}\n"
		"struct counter {\n\tint sum;\n\t" ALWAYS "void add(int x) { sum += leaf(x); }\n};\n"
		"template <int N> static " ALWAYS "int\nrepeat(int x)\n{\n\tcounter c = {0};\n"
		"\tfor (int i = 0; i < x + N; i++)\n\t\tif (i %% 3)\n\t\t\tc.add(other(i));\n\treturn c.sum;\n}\n}\n"
		"int\nmain(int count, char **)\n{\n\treturn outer::repeat<2>(count) + outer::repeat<3>(count);\n}\n");
	write_file(folder, "other.cc",
	           "static " ALWAYS "int\nhalf(int x)\n{\n\treturn x / 2;\n}\n"
	           "int\nother(int x)\n{\n\treturn half(x) + half(x * 5);\n}\n");
	path_in(folder, "program", path);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		assert_true(run_in(folder, "%s", commands[i]));
		listed = list_frames(path);
		assert_int_equal(listed.wrong, 0);
		assert_true(listed.plain > 10);
		assert_true(listed.inlined > 20);
		assert_int_equal(listed.deepest, 3);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_llvm_symbolizer),
		cmocka_unit_test(lines_are_found_without_a_table_of_units),
		cmocka_unit_test(lines_of_a_stripped_image_are_in_its_debug_file),
		cmocka_unit_test(an_image_without_line_numbers_says_so),
		cmocka_unit_test(an_address_in_no_unit_has_no_line),
		cmocka_unit_test(inlined_subroutines_are_those_of_llvm_symbolizer),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
