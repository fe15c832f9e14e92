/*
 * nm_fixture.h - a program to look for symbols in, and what nm knows of it
 */
#ifndef DCPI_TESTS_UNIT_IMAGE_NM_FIXTURE_H
#define DCPI_TESTS_UNIT_IMAGE_NM_FIXTURE_H

#include "tests/unit/image/elf_fixture.h"

/*
 * The functions that nm lists: each must be found at its place, with its size, under one of the names that nm has
 * for that place. `unnamed` allows for functions whose names were stripped, but not for their bounds to be lost.
 */
struct nm_listing {
	const struct symbol_table *table;
	struct elf_layout layout;
	bool unnamed;
	struct function {
		uint64_t offset, size;
		char *name;
	} * functions;
	size_t count, capacity;
};

static inline void
listing_line(void *context, const char *line)
{
	struct nm_listing *listing = context;
	struct function function = {0};
	char type, name[4096];

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %4095s", &function.offset, &function.size, &type, name) != 4 ||
	    !strchr("tTwWi", type) || function.size == 0)
		return;
	function.offset = code_offset(&listing->layout, function.offset);
	if (function.offset == UINT64_MAX)
		return;
	if (strchr(name + 1, '@'))
		*strchr(name + 1, '@') = '\0';
	function.name = strdup(name);
	if (listing->count == listing->capacity) {
		listing->capacity = listing->capacity ? listing->capacity * 2 : 64;
		listing->functions = reallocarray(listing->functions, listing->capacity, sizeof(*listing->functions));
	}
	listing->functions[listing->count++] = function;
}

static inline bool
is_name_of(const struct nm_listing *listing, uint64_t offset, const char *name)
{
	for (size_t i = 0; i < listing->count; i++)
		if (listing->functions[i].offset == offset && strcmp(listing->functions[i].name, name) == 0)
			return true;
	return false;
}

/* Returns how many of them have names. */
static inline size_t
check_listing(const struct nm_listing *listing)
{
	size_t named = 0;

	for (size_t i = 0; i < listing->count; i++) {
		const struct function *function = &listing->functions[i];
		const struct symbol *symbol = symbol_table_find(listing->table, function->offset);

		if (!symbol || symbol->offset != function->offset)
			fail_msg("%s at 0x%" PRIx64 " is not found", function->name, function->offset);
		if (!symbol->name && listing->unnamed) {
			assert_int_equal(symbol->size, function->size);
			continue;
		}
		assert_non_null(symbol->name);
		if (!is_name_of(listing, function->offset, symbol->name))
			fail_msg("0x%" PRIx64 " is %s, not %s", function->offset, symbol->name, function->name);
		named++;
	}
	return named;
}

/* Compare the symbols of `image` with what nm lists for `twin`, the same program before it was stripped. */
static inline size_t
compare_with_nm(const struct folder *folder, const struct image *image, const char *twin, bool unnamed)
{
	struct symbol_table *table = symbols_of(folder, image);
	struct nm_listing listing = {.table = table, .unnamed = unnamed, .layout = layout_of(twin)};
	size_t named;

	each_line(listing_line, &listing, "nm --defined-only -S '%s' 2>/dev/null", twin);
	assert_true(listing.count > 3);
	named = check_listing(&listing);
	for (size_t i = 0; i < listing.count; i++)
		free(listing.functions[i].name);
	free(listing.functions);
	symbol_table_free(table);
	return named;
}

#define PROGRAM                                                                                                        \
	"#include <stdio.h>\n"                                                                                         \
	"__attribute__((noinline)) static int inner(int x) { return x * 3 + getpid(); }\n"                             \
	"__attribute__((noinline)) int outer(int x) { return inner(x) + inner(x + 1); }\n"                             \
	"extern int alias(int) __attribute__((alias(\"outer\")));\n"                                                   \
	"asm(\".text\\nhand_written:\\n nop\\n nop\\n ret\\n.Llocal:\\n nop\\n.globl behind\\nbehind:\\n ret\\n\");\n" \
	"extern void hand_written(void);\n"                                                                            \
	"int main(int count, char **list) { hand_written(); puts(list[0]); return outer(count) + alias(count); }\n"

static inline struct image
build_program(const struct folder *folder, const char *flags, char path[PATH_MAX], char twin[PATH_MAX])
{
	write_file(folder, "program.c", "#include <unistd.h>\n%s", PROGRAM);
	assert_true(run_in(
		folder, "rm -rf debug .debug link.debug && gcc -g -O1 -Wl,--build-id %s -o program program.c", flags));
	assert_true(run_in(folder, "cp program twin"));
	path_in(folder, "twin", twin);
	return image_of(path_in(folder, "program", path));
}

#define need_binutils()                                                                                                \
	do {                                                                                                           \
		need_tool("gcc");                                                                                      \
		need_tool("nm");                                                                                       \
		need_tool("strip");                                                                                    \
		need_tool("objcopy");                                                                                  \
	} while (0)

/* Keeps the last line. */
static inline void
find_line(void *context, const char *line)
{
	snprintf(context, 256, "%s", line);
}

/* The file offset of a symbol that nm lists. */
static inline uint64_t
offset_of(const char *path, const char *name)
{
	struct elf_layout layout = layout_of(path);

	return code_offset(&layout, nm_address_of(path, name));
}

/* Without the C library's start files: every function has a frame description and a size. */
#define PLAIN_PROGRAM                                                                                                  \
	"int puts(const char *);\n"                                                                                    \
	"__attribute__((noinline)) static int one(int x) { return x * 3 + puts(\"\"); }\n"                             \
	"__attribute__((noinline)) int two(int x) { return one(x) + one(x + 1); }\n"                                   \
	"__attribute__((noinline)) int three(int x) { return two(x) + two(x + 1); }\n"                                 \
	"int main(int count, char **list) { return three(count) + puts(list[0]); }\n"

static inline struct image
build_stripped(const struct folder *folder, const char *flags, char path[PATH_MAX], char twin[PATH_MAX])
{
	write_file(folder, "plain.c", "%s", PLAIN_PROGRAM);
	assert_true(run_in(folder, "gcc -O1 -nostartfiles -e main %s -o twin plain.c", flags));
	assert_true(run_in(folder, "strip -o program twin"));
	path_in(folder, "twin", twin);
	return image_of(path_in(folder, "program", path));
}

#endif
