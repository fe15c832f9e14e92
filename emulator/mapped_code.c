#include "emulator/mapped_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "process/mapped_file.h"
#include "process/proc.h"

/* A file as it was when its code was first translated. */
struct mapped_code_file {
	uint32_t device_major, device_minor;
	uint64_t inode;
	const uint8_t *content; /* mapped */
	size_t size;
};

struct mapped_code_range {
	uint64_t start, end; /* addresses, ascending */
	uint64_t offset;
	uint32_t file; /* index + 1; 0: not looked up yet, or no file */
	bool is_looked_up;
	struct record_mmap mmap; /* its path is ours */
};

struct mapped_code {
	mapped_code_visit *visit;
	void *context;
	atomic_bool is_stale;
	struct mapped_code_range *ranges;
	size_t count, capacity;
	size_t latest; /* range of the last search: the next block is often in it, too */
	struct mapped_code_file *files;
	size_t file_count, file_capacity;
};

struct mapped_code *
mapped_code_new(mapped_code_visit *visit, void *context)
{
	struct mapped_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->visit = visit;
	code->context = context;
	atomic_store(&code->is_stale, true);
	return code;
}

void
mapped_code_forget(struct mapped_code *code)
{
	atomic_store(&code->is_stale, true);
}

static void
drop_ranges(struct mapped_code *code)
{
	for (size_t i = 0; i < code->count; i++)
		free((char *)code->ranges[i].mmap.path);
	code->count = code->latest = 0;
}

void
mapped_code_free(struct mapped_code *code)
{
	if (!code)
		return;
	drop_ranges(code);
	for (size_t i = 0; i < code->file_count; i++)
		if (code->files[i].content)
			munmap((void *)(uintptr_t)code->files[i].content, code->files[i].size);
	free(code->files);
	free(code->ranges);
	free(code);
}

static int
add_range(struct mapped_code *code, const struct record_mmap *mmap)
{
	struct mapped_code_range *grown;
	char *path;

	if (mmap->inode == 0 || mmap->path[0] != '/')
		return 0;
	grown = array_grow(code->ranges, &code->capacity, code->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	code->ranges = grown;
	path = strdup(mmap->path);
	if (!path)
		return -ENOMEM;
	grown[code->count] = (struct mapped_code_range){
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.offset = mmap->file_offset,
		.mmap = *mmap,
	};
	grown[code->count++].mmap.path = path;
	return 0;
}

static void
read_ranges(struct mapped_code *code)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct record_mmap mmap;
	size_t capacity = 0;
	char *line = NULL;
	ssize_t length;
	int err = 0;

	drop_ranges(code);
	if (!maps)
		return;
	atomic_store(&code->is_stale, false);
	while (!err && (length = getline(&line, &capacity, maps)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (proc_maps_parse(line, &mmap))
			err = add_range(code, &mmap);
	}
	free(line);
	fclose(maps);
}

static struct mapped_code_range *
find_range(struct mapped_code *code, uint64_t address, size_t size)
{
	size_t low = 0, high = code->count, middle = code->latest;

	for (; low < high; middle = low + (high - low) / 2) {
		struct mapped_code_range *range = &code->ranges[middle];

		if (address < range->start) {
			high = middle;
		} else if (address >= range->end) {
			low = middle + 1;
		} else {
			code->latest = middle;
			return size <= range->end - address ? range : NULL;
		}
	}
	return NULL;
}

static uint32_t
find_file(const struct mapped_code *code, const struct record_mmap *mmap)
{
	for (size_t i = 0; i < code->file_count; i++) {
		const struct mapped_code_file *file = &code->files[i];

		if (file->inode == mmap->inode && file->device_major == mmap->device_major &&
		    file->device_minor == mmap->device_minor)
			return (uint32_t)i + 1;
	}
	return 0;
}

/* Map the file's content, if its path still leads to it. */
static void
map_content(const struct record_mmap *mmap, struct mapped_code_file *file)
{
	int fd = open(mmap->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	void *content;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == mmap->inode && status.st_size > 0) {
		content = mmap64(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (content != MAP_FAILED) {
			file->content = content;
			file->size = (size_t)status.st_size;
		}
	}
	close(fd);
}

static uint32_t
add_file(struct mapped_code *code, const struct mapped_code_range *range)
{
	struct mapped_code_file *grown;
	struct record_mmap mmap = range->mmap;
	int procfs;

	grown = array_grow(code->files, &code->file_capacity, code->file_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	code->files = grown;
	grown[code->file_count] = (struct mapped_code_file){
		.device_major = mmap.device_major,
		.device_minor = mmap.device_minor,
		.inode = mmap.inode,
	};
	map_content(&mmap, &grown[code->file_count]);
	procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (procfs >= 0) { /* what identifies the file: its build-id, or what /proc says of it */
		mapped_file_complete(procfs, (uint32_t)getpid(), &mmap);
		close(procfs);
	}
	if (code->visit(code->context, &mmap))
		return 0;
	return (uint32_t)++code->file_count;
}

/* A file that cannot be read is taken as unchanged. */
static bool
is_as_in_file(const struct mapped_code_file *file, const void *address, size_t size, uint64_t offset)
{
	if (!file->content)
		return true;
	return offset <= file->size && size <= file->size - offset &&
	       memcmp(file->content + offset, address, size) == 0;
}

uint32_t
mapped_code_find(struct mapped_code *code, const void *address, size_t size, uint64_t *offset)
{
	const uint64_t at = (uint64_t)(uintptr_t)address;
	struct mapped_code_range *range;

	if (atomic_load(&code->is_stale))
		read_ranges(code);
	range = find_range(code, at, size);
	if (!range)
		return 0;
	if (!range->is_looked_up) {
		range->file = find_file(code, &range->mmap);
		if (!range->file)
			range->file = add_file(code, range);
		range->is_looked_up = true;
	}
	*offset = at - range->start + range->offset;
	if (!range->file || !is_as_in_file(&code->files[range->file - 1], address, size, *offset))
		return 0;
	return range->file;
}
