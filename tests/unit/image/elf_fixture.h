/*
 * elf_fixture.h - real ELF files for the tests of this room, made by the compiler in a folder that goes away
 *
 * What is expected comes from binutils (nm, readelf, objdump), which share no code with what is tested.
 */
#ifndef DCPI_TESTS_UNIT_IMAGE_ELF_FIXTURE_H
#define DCPI_TESTS_UNIT_IMAGE_ELF_FIXTURE_H

#include "tests/unit/test.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "image/elf_file.h"
#include "image/image_file.h"
#include "image/symbols.h"

#define FOLDER_TEMPLATE "/tmp/dcpi-image-test.XXXXXX"

struct folder {
	char path[sizeof(FOLDER_TEMPLATE)];
};

static inline int
folder_setup(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	memcpy(folder->path, FOLDER_TEMPLATE, sizeof(FOLDER_TEMPLATE));
	*state = folder;
	return mkdtemp(folder->path) ? 0 : -1;
}

static inline int
folder_teardown(void **state)
{
	struct folder *folder = *state;
	char command[64];
	int status;

	snprintf(command, sizeof(command), "rm -rf %s", folder->path);
	status = system(command);
	free(folder);
	return status;
}

/* Run a shell command in the folder; its output is thrown away. True when it succeeds. */
__attribute__((format(printf, 2, 3))) static inline bool
run_in(const struct folder *folder, const char *format, ...)
{
	char command[4096], line[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	snprintf(command, sizeof(command), "cd %s && { %s; } >/dev/null 2>&1", folder->path, line);
	return system(command) == 0;
}

static inline bool
have_tool(const char *tool)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	return system(command) == 0;
}

#define need_tool(tool)                                                                                                \
	do {                                                                                                           \
		if (!have_tool(tool))                                                                                  \
			skip_because("there is no " tool " here");                                                     \
	} while (0)

__attribute__((format(printf, 3, 4))) static inline void
write_file(const struct folder *folder, const char *name, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	assert_int_equal(fclose(file), 0);
}

static inline const char *
path_in(const struct folder *folder, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
	return path;
}

/* The output of a command, line by line, to `visit`. */
typedef void visit_line(void *context, const char *line);

static inline void
each_line(visit_line *visit, void *context, const char *format, ...)
{
	char command[2 * PATH_MAX];
	char *line = NULL;
	size_t capacity = 0;
	va_list arguments;
	FILE *pipe;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (getline(&line, &capacity, pipe) > 0)
		visit(context, line);
	free(line);
	assert_int_equal(pclose(pipe), 0);
}

/* The loaded segments, as readelf prints them. */
struct elf_layout {
	struct {
		uint64_t offset, address, size;
		bool executable;
	} loads[16];
	size_t count;
};

static inline void
layout_line(void *context, const char *line)
{
	struct elf_layout *layout = context;
	uint64_t offset, address, size;
	char flags[4] = "";

	if (sscanf(line, " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64 " %*x %3c", &offset, &address, &size, flags) != 4)
		return;
	assert_true(layout->count < sizeof(layout->loads) / sizeof(layout->loads[0]));
	layout->loads[layout->count].offset = offset;
	layout->loads[layout->count].address = address;
	layout->loads[layout->count].size = size;
	layout->loads[layout->count].executable = strchr(flags, 'E') != NULL;
	layout->count++;
}

static inline struct elf_layout
layout_of(const char *path)
{
	struct elf_layout layout = {.count = 0};

	each_line(layout_line, &layout, "readelf -lW '%s' 2>/dev/null", path);
	assert_true(layout.count > 0);
	return layout;
}

/* The file offset of an address; UINT64_MAX when it is not in an executable segment. */
static inline uint64_t
code_offset(const struct elf_layout *layout, uint64_t address)
{
	for (size_t i = 0; i < layout->count; i++)
		if (layout->loads[i].executable && address >= layout->loads[i].address &&
		    address - layout->loads[i].address < layout->loads[i].size)
			return layout->loads[i].offset + (address - layout->loads[i].address);
	return UINT64_MAX;
}

static inline void
build_id_line(void *context, const char *line)
{
	struct image *image = context;
	const char *at = strstr(line, "Build ID: ");
	unsigned byte;

	if (!at)
		return;
	for (at += strlen("Build ID: "); sscanf(at, "%2x", &byte) == 1; at += 2)
		image->build_id[image->build_id_size++] = (uint8_t)byte;
}

struct nm_address {
	const char *name;
	uint64_t address;
};

static inline void
find_nm_address(void *context, const char *line)
{
	struct nm_address *found = context;
	uint64_t address;
	char name[256];

	if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 && strcmp(name, found->name) == 0)
		found->address = address;
}

/* The address of a symbol, as nm(1) lists it; the test fails where there is none. */
static inline uint64_t
nm_address_of(const char *path, const char *name)
{
	struct nm_address found = {.name = name};

	each_line(find_nm_address, &found, "nm '%s'", path);
	assert_true(found.address != 0);
	return found.address;
}

/* The image that a process which maps `path` would have: with its build-id, or else with its inode. */
static inline struct image
image_of(const char *path)
{
	struct image image = {.kind = IMAGE_USER, .path = path};
	struct stat status;

	each_line(build_id_line, &image, "readelf -nW '%s' 2>/dev/null", path);
	assert_int_equal(stat(path, &status), 0);
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	return image;
}

/* The symbols of `image`, whose separate debug files are looked for below the folder's `debug`. */
static inline struct symbol_table *
symbols_of(const struct folder *folder, const struct image *image)
{
	struct symbol_table *table;
	struct image_file *file;
	char root[PATH_MAX];

	assert_int_equal(image_file_open_below(path_in(folder, "debug", root), image, &file), 0);
	assert_int_equal(symbol_table_from_file(file, &table), 0);
	image_file_close(file);
	return table;
}

#endif
