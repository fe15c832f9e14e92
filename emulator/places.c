#include "emulator/places.h"

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
#include "process/proc_maps.h"

/* A file as it was when it was first met. */
struct place_file {
	uint32_t device_major, device_minor;
	uint64_t inode;
	const uint8_t *content; /* mapped */
	size_t size;
};

struct place {
	uint64_t start, end; /* addresses, ascending */
	uint64_t offset;
	uint32_t file; /* 0: not looked at, or no file; index + 1 */
	bool is_looked_at;
	struct record_mmap mmap; /* its path is ours */
};

struct places {
	places_visit *visit;
	void *context;
	atomic_bool is_stale;
	struct place *places;
	size_t count, capacity;
	size_t latest; /* that was asked for: the next block often lies there, too */
	struct place_file *files;
	size_t file_count, file_capacity;
};

struct places *
places_new(places_visit *visit, void *context)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->visit = visit;
	places->context = context;
	atomic_store(&places->is_stale, true);
	return places;
}

void
places_forget(struct places *places)
{
	atomic_store(&places->is_stale, true);
}

static void
drop_places(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free((char *)places->places[i].mmap.path);
	places->count = places->latest = 0;
}

void
places_free(struct places *places)
{
	if (!places)
		return;
	drop_places(places);
	for (size_t i = 0; i < places->file_count; i++)
		if (places->files[i].content)
			munmap((void *)(uintptr_t)places->files[i].content, places->files[i].size);
	free(places->files);
	free(places->places);
	free(places);
}

static int
add_place(struct places *places, const struct record_mmap *mmap)
{
	struct place *grown;
	char *path;

	if (mmap->inode == 0 || mmap->path[0] != '/')
		return 0;
	grown = array_grow(places->places, &places->capacity, places->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	places->places = grown;
	path = strdup(mmap->path);
	if (!path)
		return -ENOMEM;
	grown[places->count] = (struct place){
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.offset = mmap->file_offset,
		.mmap = *mmap,
	};
	grown[places->count++].mmap.path = path;
	return 0;
}

static void
read_places(struct places *places)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct record_mmap mmap;
	size_t capacity = 0;
	char *line = NULL;
	ssize_t length;
	int err = 0;

	drop_places(places);
	if (!maps)
		return;
	atomic_store(&places->is_stale, false);
	while (!err && (length = getline(&line, &capacity, maps)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (proc_maps_parse(line, &mmap))
			err = add_place(places, &mmap);
	}
	free(line);
	fclose(maps);
}

static struct place *
find_place(struct places *places, uint64_t address, size_t size)
{
	size_t low = 0, high = places->count, middle = places->latest;

	for (; low < high; middle = low + (high - low) / 2) {
		struct place *place = &places->places[middle];

		if (address < place->start) {
			high = middle;
		} else if (address >= place->end) {
			low = middle + 1;
		} else {
			places->latest = middle;
			return size <= place->end - address ? place : NULL;
		}
	}
	return NULL;
}

static uint32_t
find_file(const struct places *places, const struct record_mmap *mmap)
{
	for (size_t i = 0; i < places->file_count; i++) {
		const struct place_file *file = &places->files[i];

		if (file->inode == mmap->inode && file->device_major == mmap->device_major &&
		    file->device_minor == mmap->device_minor)
			return (uint32_t)i + 1;
	}
	return 0;
}

/* The file's content, by its name if that still leads to it. */
static void
map_content(const struct record_mmap *mmap, struct place_file *file)
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

/* What identifies it: its build-id, or what the map says. */
static void
complete(struct record_mmap *mmap)
{
	int procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (procfs < 0)
		return;
	mapped_file_complete(procfs, (uint32_t)getpid(), mmap);
	close(procfs);
}

static uint32_t
add_file(struct places *places, const struct place *place)
{
	struct place_file *grown;
	struct record_mmap mmap = place->mmap;

	grown = array_grow(places->files, &places->file_capacity, places->file_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	places->files = grown;
	grown[places->file_count] = (struct place_file){
		.device_major = mmap.device_major,
		.device_minor = mmap.device_minor,
		.inode = mmap.inode,
	};
	map_content(&mmap, &grown[places->file_count]);
	complete(&mmap);
	if (places->visit(places->context, &mmap))
		return 0;
	return (uint32_t)++places->file_count;
}

/* Is what is there what the file says? One that cannot be read is believed. */
static bool
is_as_in_file(const struct place_file *file, const void *address, size_t size, uint64_t offset)
{
	if (!file->content)
		return true;
	return offset <= file->size && size <= file->size - offset &&
	       memcmp(file->content + offset, address, size) == 0;
}

uint32_t
places_find(struct places *places, const void *address, size_t size, uint64_t *offset)
{
	const uint64_t at = (uint64_t)(uintptr_t)address;
	struct place *place;

	if (atomic_load(&places->is_stale))
		read_places(places);
	place = find_place(places, at, size);
	if (!place)
		return 0;
	if (!place->is_looked_at) {
		place->file = find_file(places, &place->mmap);
		if (!place->file)
			place->file = add_file(places, place);
		place->is_looked_at = true;
	}
	*offset = at - place->start + place->offset;
	if (!place->file || !is_as_in_file(&places->files[place->file - 1], address, size, *offset))
		return 0;
	return place->file;
}
