/*
 * salvage_fuzz - what is salvaged from a database with any bytes in any places
 *
 * The input is a list of edits of a sound database: page (one byte), offset in it (two bytes, big-endian; its highest
 * bit: the edit ends the file there), how many bytes (one byte), the bytes. What comes out must be sound. And what
 * passes for a file that LMDB may be given (lmdb_pages.h) is given to it, to the last value.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "profile/lmdb_pages.h"
#include "profile/profile.h"
#include "salvage/salvage.h"
#include "tests/remove_tree.h"

#define PAGE   4096
#define BLOCKS 600

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char parent[] = "/dev/shm/dcpi-fuzz-XXXXXX";
static char directory[64], target[64], path[80];
static uint8_t *sound;
static size_t sound_size;

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
clean_up(void)
{
	remove_tree(parent);
	free(sound);
}

static void
fill(struct profile *profile)
{
	static struct tally_entry entries[BLOCKS];
	static const struct image image = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	static const struct context context = {.comm = "x", .cgroup = "/", .label = ""};
	static struct profile_edge edges[BLOCKS];
	static const struct profile_symbol symbol = {.offset = 16, .name = "start"};
	const struct image *images[] = {&image};
	const struct context *contexts[] = {&context};
	struct epoch epoch = {.event_count = 1, .events[0] = {.name = "cpu-clock", .available = true, .period = 1}};
	struct slice slice = {.start_ns = 1, .end_ns = 2, .event_count = 1, .events[0].samples = BLOCKS};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = BLOCKS,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.edges = edges,
		.edge_count = BLOCKS,
		.slice = &slice,
	};

	for (size_t i = 0; i < BLOCKS; i++) {
		entries[i] = (struct tally_entry){.offset = i * PAGE, .count = 1};
		edges[i] = (struct profile_edge){.from = i * PAGE + 7, .to = i * PAGE, .count = 1 + i};
	}
	require(profile_begin_epoch(profile, &epoch) == 0);
	slice.epoch = epoch.id;
	require(profile_flush(profile, &batch) == 0);
	require(profile_put_symbols(profile, 0, &symbol, 1) == 0);
}

static void
make_once(void)
{
	const struct profile_options options = {.write = true};
	struct profile *profile;
	struct stat stat;
	int fd;

	if (sound)
		return;
	require(mkdtemp(parent) != NULL);
	snprintf(directory, sizeof(directory), "%s/db", parent);
	snprintf(target, sizeof(target), "%s/new", parent);
	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	require(profile_open(directory, &options, &profile) == 0);
	fill(profile);
	profile_close(profile);
	fd = open(path, O_RDONLY);
	require(fd >= 0 && fstat(fd, &stat) == 0);
	sound_size = (size_t)stat.st_size;
	sound = malloc(sound_size);
	require(sound && read(fd, sound, sound_size) == (ssize_t)sound_size);
	close(fd);
	atexit(clean_up);
}

static void
damage(const uint8_t *data, size_t size)
{
	struct byte_reader reader;
	int fd = open(path, O_WRONLY | O_TRUNC);

	require(fd >= 0 && write(fd, sound, sound_size) == (ssize_t)sound_size);
	reader_init(&reader, data, size);
	for (;;) {
		const off_t page = (off_t)(read_u8(&reader) % (sound_size / PAGE)) * PAGE;
		const uint16_t offset = read_u16_be(&reader);
		const uint8_t length = read_u8(&reader);
		const uint8_t *bytes = read_bytes(&reader, length);

		if (reader.failed)
			break;
		if (offset & 0x8000)
			require(ftruncate(fd, page + offset % PAGE) == 0);
		else
			require(pwrite(fd, bytes, length, page + offset % PAGE) == length);
	}
	close(fd);
}

static void
read_verified(void)
{
	const struct profile_options options = {.write = false};
	const int fd = open(path, O_RDONLY);
	char why[PAGES_WHY_SIZE];
	struct profile *profile;

	require(fd >= 0);
	if (pages_verify(fd, why, sizeof(why)) == 0 && profile_open(directory, &options, &profile) == 0) {
		(void)profile_check(profile, NULL, NULL);
		profile_close(profile);
	}
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct profile_options options = {.write = false};
	struct salvage_result result;
	struct profile *profile;

	make_once();
	damage(data, size);
	remove_tree(target);
	read_verified();
	if (profile_salvage(directory, target, NULL, &result))
		abort();
	require(profile_open(target, &options, &profile) == 0);
	require(profile_check(profile, NULL, NULL) == 0);
	profile_close(profile);
	return 0;
}
