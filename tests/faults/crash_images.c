/*
 * crash_images LOG DIRECTORY SEED EVERY - is every disk that a crash could have left a sound database?
 *
 * Plays LOG (record_writes.c) onto a disk that takes unsynced writes when it likes: at any operation, what is on it is
 * everything synced, and of the rest any sectors of 512 bytes in any combination - a write is torn anywhere but inside
 * of a sector, which is what LMDB asks of a disk. A file that grew has its old size or any newer one. For one in EVERY
 * operations, and for each that ends a transaction, makes such disks in DIRECTORY: LMDB opens it, the check is clean,
 * and it holds what the last committed transaction held, or the one after it. Says what it did as tests/system/lib.sh
 * does.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/profile.h"
#include "profile/selection.h"
#include "tests/faults/disk_log.h"

#define SECTOR      512
#define DISK_MAX    (64u << 20)
#define COMMITS_MAX 4096
#define TRIES       6 /* disks for one moment */

struct disk {
	uint8_t *synced, *written; /* as it is, as the program sees it */
	uint8_t *dirty;            /* a byte a sector: differs from what is synced */
	size_t synced_size, size;
};

struct run {
	const char *directory;
	char path[512];
	struct disk disk;
	uint8_t *image;
	uint64_t held[COMMITS_MAX]; /* samples after each commit */
	size_t commit_count;        /* of the whole log */
	size_t committed;           /* up to here */
	uint64_t state;             /* of the generator */
	uint64_t images, wrong;
};

static void *
need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "crash_images: out of memory\n");
		exit(2);
	}
	return memory;
}

static uint64_t
next_random(struct run *run)
{
	run->state ^= run->state << 13;
	run->state ^= run->state >> 7;
	run->state ^= run->state << 17;
	return run->state;
}

static void
write_image(const struct run *run, const uint8_t *data, size_t size)
{
	int fd = open(run->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		fprintf(stderr, "crash_images: %s: %s\n", run->path, strerror(errno));
		exit(2);
	}
	close(fd);
}

static void
complain(void *context, const char *text)
{
	(void)context;
	printf("#   %s\n", text);
}

/* The samples that the database at hand holds, or a negative error; 0 for one without any transaction. */
static int64_t
samples_held(const struct run *run, bool as_writer)
{
	const struct profile_options options = {.write = as_writer};
	const struct selection_request request = {.epoch = "all"};
	struct selection *selection;
	struct profile *profile;
	char why[256];
	int64_t samples = 0;
	int err;

	err = profile_open(run->directory, &options, &profile);
	if (err)
		return err == -DCPI_ENODATABASE ? 0 : err;
	if (profile_check(profile, complain, NULL) != 0)
		samples = -DCPI_EDAMAGED;
	if (samples == 0 && selection_read(profile, &request, &selection, why, sizeof(why)) == 0) {
		for (size_t i = 0; i < selection->event_count; i++)
			samples += (int64_t)selection->events[i].totals.samples;
		selection_free(selection);
	}
	profile_close(profile);
	return samples;
}

static void
judge(struct run *run, size_t operation, const char *what)
{
	const uint64_t least = run->committed ? run->held[run->committed - 1] : 0;
	const uint64_t most = run->committed < run->commit_count ? run->held[run->committed] : least;
	const int64_t samples = samples_held(run, run->images % 4 == 3);

	run->images++;
	if (samples >= 0 && ((uint64_t)samples == least || (uint64_t)samples == most))
		return;
	if (run->wrong++ < 10)
		printf("#   operation %zu, %s: %s; %" PRId64 " samples, %" PRIu64 " committed, %" PRIu64 " under way\n",
		       operation, what, samples < 0 ? error_text((int)samples) : "opened", samples, least, most);
}

/* What is on the disk if the power goes now: each sector as synced or as written, by chance `chance` of 256. */
static void
crash(struct run *run, size_t operation, unsigned chance)
{
	const struct disk *disk = &run->disk;
	size_t size = disk->synced_size;

	memcpy(run->image, disk->synced, DISK_MAX);
	for (size_t i = 0; i < DISK_MAX / SECTOR; i++) {
		if (!disk->dirty[i] || (next_random(run) & 255) >= chance)
			continue;
		memcpy(run->image + i * SECTOR, disk->written + i * SECTOR, SECTOR);
		if (size < (i + 1) * SECTOR)
			size = (i + 1) * SECTOR;
	}
	if (size < disk->size && next_random(run) % 2)
		size = disk->size;
	if (size > disk->size)
		size = disk->size;
	write_image(run, run->image, size);
	judge(run, operation, "a crash");
}

static void
sync_disk(struct disk *disk)
{
	for (size_t i = 0; i < DISK_MAX / SECTOR; i++)
		if (disk->dirty[i])
			memcpy(disk->synced + i * SECTOR, disk->written + i * SECTOR, SECTOR);
	memset(disk->dirty, 0, DISK_MAX / SECTOR);
	disk->synced_size = disk->size;
}

static void
write_disk(struct disk *disk, const struct disk_record *record, const uint8_t *data)
{
	if (record->offset > DISK_MAX || record->size > DISK_MAX - record->offset) {
		fprintf(stderr, "crash_images: the database is larger than %u bytes\n", DISK_MAX);
		exit(2);
	}
	memcpy(disk->written + record->offset, data, record->size);
	for (size_t i = record->offset / SECTOR; i * SECTOR < record->offset + record->size; i++)
		disk->dirty[i] = 1;
	if (disk->size < record->offset + record->size)
		disk->size = record->offset + record->size;
}

static void
apply(struct run *run, const struct disk_record *record, const uint8_t *data)
{
	struct disk *disk = &run->disk;

	switch (record->operation) {
	case DISK_WRITE:
		write_disk(disk, record, data);
		break;
	case DISK_WRITE_SYNCED: /* and nothing else */
		write_disk(disk, record, data);
		memcpy(disk->synced + record->offset, data, record->size);
		break;
	case DISK_SYNC:
		sync_disk(disk);
		break;
	case DISK_TRUNCATE:
		disk->size = record->offset;
		break;
	case DISK_COMMITTED:
		run->committed++;
		break;
	default:
		fprintf(stderr, "crash_images: the log is damaged\n");
		exit(2);
	}
}

static uint8_t *
load(const char *path, size_t *size)
{
	struct stat stat;
	uint8_t *data;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &stat) < 0) {
		fprintf(stderr, "crash_images: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	*size = (size_t)stat.st_size;
	data = need(malloc(*size + 1));
	if (read(fd, data, *size) != (ssize_t)*size)
		exit(2);
	close(fd);
	return data;
}

static void
disk_reset(struct run *run)
{
	memset(run->disk.synced, 0, DISK_MAX);
	memset(run->disk.written, 0, DISK_MAX);
	memset(run->disk.dirty, 0, DISK_MAX / SECTOR);
	run->disk.size = run->disk.synced_size = 0;
	run->committed = 0;
}

/* Once without a crash: what each commit left. Transactions that only read end well, too, and write nothing. */
static void
play_whole(struct run *run, const uint8_t *log, size_t size)
{
	struct disk_record record;

	for (size_t at = 0; at + sizeof(record) <= size;) {
		memcpy(&record, log + at, sizeof(record));
		apply(run, &record, log + at + sizeof(record));
		at += sizeof(record) + record.size;
		if (record.operation != DISK_COMMITTED || run->commit_count == COMMITS_MAX)
			continue;
		write_image(run, run->disk.written, run->disk.size);
		run->held[run->commit_count++] = (uint64_t)samples_held(run, false);
	}
	disk_reset(run);
}

static size_t
play_crashes(struct run *run, const uint8_t *log, size_t size, unsigned every)
{
	/* no sector, a few, half, most, all of those that may or may not be there */
	static const unsigned chances[TRIES] = {0, 8, 128, 128, 248, 256};
	struct disk_record record;
	size_t operation = 0;

	for (size_t at = 0; at + sizeof(record) <= size && run->committed < run->commit_count; operation++) {
		memcpy(&record, log + at, sizeof(record));
		apply(run, &record, log + at + sizeof(record));
		at += sizeof(record) + record.size;
		/* before the first commit there is no database to keep */
		if (run->committed == 0 || (record.operation == DISK_WRITE && next_random(run) % every))
			continue;
		for (size_t i = 0; i < TRIES; i++)
			crash(run, operation, chances[i]);
	}
	return operation;
}

int
main(int argc, char **argv)
{
	static struct run run;
	uint8_t *log;
	size_t size, operations;

	if (argc != 5) {
		fprintf(stderr, "usage: crash_images LOG DIRECTORY SEED EVERY\n");
		return 2;
	}
	run.directory = argv[2];
	snprintf(run.path, sizeof(run.path), "%s/data.mdb", run.directory);
	run.state = strtoull(argv[3], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	run.disk.synced = need(calloc(1, DISK_MAX));
	run.disk.written = need(calloc(1, DISK_MAX));
	run.disk.dirty = need(calloc(1, DISK_MAX / SECTOR));
	run.image = need(calloc(1, DISK_MAX));
	log = load(argv[1], &size);
	mkdir(run.directory, 0700);
	play_whole(&run, log, size);
	operations = play_crashes(&run, log, size, (unsigned)strtoul(argv[4], NULL, 10));
	printf("%s - each of the disks that a crash could have left is a sound database with all that was committed\n",
	       run.wrong || run.images < 100 ? "not ok" : "ok");
	printf("# FIGURE seed %s: %zu operations, %zu commits, %" PRIu64 " disks, %" PRIu64 " wrong\n", argv[3],
	       operations, run.commit_count, run.images, run.wrong);
	return 0;
}
