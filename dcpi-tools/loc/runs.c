#include "dcpi-tools/loc/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "locality/record_read.h"
#include "locality/record_rows.h"
#include "process/proc.h"
#include "profile/catalog.h"

#define SECOND   UINT64_C(1000000000)
#define TICK_NS  UINT64_C(10000000)
#define SLACK_NS (2 * SECOND) /* clocks are set */

/* ---- whether a process lives ---- */

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* A process of that number is there, which had begun when the record did: so it is no later one. */
static bool
has_process(uint32_t pid, uint64_t began_ns)
{
	const uint64_t booted = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME);
	struct proc_stat process;
	const int err = proc_stat_read("/proc", pid, &process);

	if (err)
		return err != -ENOENT && err != -ESRCH;
	return booted + process.start_ticks * TICK_NS <= began_ns + SLACK_NS;
}

/*
 * Nobody gets a lease to read a file that a process has mapped to write: so it is known of processes in other pid
 * namespaces, too, and of one that executes another program now. overlayfs hands mappings on to the file below, where
 * its leases do not look.
 */
static bool
is_written(int fd, uint32_t pid, uint64_t began_ns)
{
	struct statfs system;

	if (fstatfs(fd, &system) == 0 && system.f_type != OVERLAYFS_SUPER_MAGIC) {
		if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
			(void)fcntl(fd, F_SETLEASE, F_UNLCK);
			return false;
		}
		if (errno == EAGAIN)
			return true;
	}
	return has_process(pid, began_ns);
}

/* ---- the directory ---- */

struct runs_reading {
	struct loc_runs *runs;
	uint64_t bytes;
	uint32_t files;
	int status;
};

/* What the file says of itself. 0, or as locality_header_read(). */
static int
describe(struct loc_file *described, const struct run_file *file)
{
	struct locality_header header;
	struct stat status;
	int err = file->fd < 0 ? -EPROTO : locality_header_read(file->fd, &header);

	*described = (struct loc_file){.pid = (uint32_t)file->pid, .number = (uint32_t)file->number};
	if (err && err != -EAGAIN)
		return err;
	if (fstat(file->fd, &status))
		return -errno;
	described->written_ns = (uint64_t)status.st_mtim.tv_sec * SECOND + (uint64_t)status.st_mtim.tv_nsec;
	if (err) {
		described->lives = is_written(file->fd, described->pid, described->written_ns);
		return err;
	}
	described->began_ns = header.began_ns;
	described->first_pid = header.first_pid;
	described->first_ns = header.first_ns;
	described->lives = is_written(file->fd, header.pid, header.began_ns);
	snprintf(described->label, sizeof(described->label), "%s", text_basename(header.program));
	if (!described->label[0])
		snprintf(described->label, sizeof(described->label), "dcpiloc");
	return 0;
}

static void
count_file(struct runs_reading *reading, int fd)
{
	struct stat status;

	reading->files++;
	if (fd >= 0 && fstat(fd, &status) == 0)
		reading->bytes += (uint64_t)status.st_blocks * 512;
}

/* A file of a program that ended before it had written anything is removed: nothing is in it. */
static int
see_file(void *context, const struct run_file *file)
{
	struct runs_reading *reading = context;
	struct loc_runs *runs = reading->runs;
	struct loc_file described, *added;
	char name[64], path[PATH_MAX];
	int err = describe(&described, file);

	count_file(reading, file->fd);
	snprintf(name, sizeof(name), LOCALITY_PREFIX "%d.%d", file->pid, file->number);
	if (err == -EAGAIN) {
		if (!described.lives)
			(void)unlinkat(runs->fd, name, 0);
		return 0;
	}
	if (err) {
		snprintf(path, sizeof(path), "%s/%s", runs->directory, name);
		reading->status = STATUS_FAILURE;
		if (err == -EPROTO)
			message_print(path, "it is no record of this version of dcpi, or damaged: remove it");
		else
			reading->status = message_cannot(path, "read it", err, NULL);
		return 0;
	}
	described.name = strdup(name);
	added = described.name ? ARRAY_APPEND(runs->files, runs->count, runs->room) : NULL;
	if (!added) {
		free(described.name);
		return -ENOMEM;
	}
	*added = described;
	return 0;
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
compare_files(const void *a, const void *b)
{
	const struct loc_file *one = a, *other = b;
	const int orders[] = {
		compare_numbers(one->first_ns, other->first_ns), compare_numbers(one->first_pid, other->first_pid),
		compare_numbers(one->began_ns, other->began_ns), compare_numbers(one->pid, other->pid),
		compare_numbers(one->number, other->number),
	};

	for (size_t i = 0; i < ARRAY_COUNT(orders); i++) {
		if (orders[i])
			return orders[i];
	}
	return 0;
}

int
loc_runs_init(struct loc_runs *runs, const char *directory)
{
	struct runs_reading reading = {.runs = runs, .status = STATUS_OK};
	int err = 0;

	*runs = (struct loc_runs){.directory = directory};
	runs->fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (runs->fd < 0 && errno == ENOENT)
		return STATUS_OK;
	if (runs->fd < 0 || TEMP_FAILURE_RETRY(flock(runs->fd, LOCK_EX)))
		err = -errno;
	if (!err)
		err = run_directory_each_file(directory, LOCALITY_PREFIX, see_file, &reading);
	if (err)
		return message_cannot(directory, "read the records there", err, NULL);
	runs->is_full = reading.files >= LOCALITY_FILES_MAX || reading.bytes >= LOCALITY_BYTES_MAX;
	if (runs->count > 1)
		qsort(runs->files, runs->count, sizeof(*runs->files), compare_files);
	return reading.status;
}

void
loc_runs_fini(struct loc_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		free(runs->files[i].name);
	free(runs->files);
	if (runs->fd >= 0)
		close(runs->fd);
}

size_t
loc_run_end(const struct loc_runs *runs, size_t at)
{
	size_t end = at;

	while (end < runs->count && runs->files[end].first_ns == runs->files[at].first_ns &&
	       runs->files[end].first_pid == runs->files[at].first_pid)
		end++;
	return end;
}

/* ---- what was kept, but not removed: a dcpiloc was killed between the two ---- */

struct run_search {
	struct loc_file *files;
	size_t count;
};

static int
mark_kept(void *context, struct locality_record *record)
{
	const struct run_search *search = context;
	const struct locality_header *header = locality_record_header(record);

	for (size_t i = 0; i < search->count; i++) {
		struct loc_file *file = &search->files[i];

		file->is_kept |= file->pid == header->pid && file->number == header->number &&
		                 file->began_ns == header->began_ns;
	}
	locality_record_free(record);
	return 0;
}

/* Epochs that began when one of the runs did, and are called like it, may have it. */
static int
find_kept(struct loc_runs *runs, struct profile *profile)
{
	struct epoch_summary *epochs;
	size_t count;
	int err = catalog_read_epochs(profile, &epochs, &count);

	if (err)
		return err;
	for (size_t at = 0; at < runs->count && !err; at = loc_run_end(runs, at)) {
		struct run_search search = {&runs->files[at], loc_run_end(runs, at) - at};

		for (size_t i = 0; i < count && !err; i++) {
			if (epochs[i].start_ns != search.files->began_ns ||
			    strcmp(epochs[i].label, search.files->label) != 0)
				continue;
			err = locality_rows_read(profile, epochs[i].id, mark_kept, &search);
			err = err == -ENOENT || err == -EPROTO ? 0 : err;
		}
	}
	free(epochs);
	return err;
}

static int
look_into(struct loc_runs *runs, const char *directory)
{
	const struct profile_options options = {.write = false};
	struct profile *profile;
	int err = profile_open(directory, &options, &profile);

	if (err)
		return err;
	err = find_kept(runs, profile);
	profile_close(profile);
	return err;
}

/* ---- keeping ---- */

static int
refuse_damaged(const struct loc_runs *runs, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", runs->directory, name);
	message_print(path, "the record is damaged, and its run stays out of the database: remove it");
	return -EPROTO;
}

/* 0, -EPROTO with a message: a record is damaged; others. */
static int
add_records(const struct loc_runs *runs, size_t at, size_t end, struct memory_rows *rows)
{
	size_t stored = 0;
	uint32_t number = 0;
	int err = 0;

	for (; at < end && !err; at++) {
		int fd;

		if (runs->files[at].is_kept)
			continue;
		fd = openat(runs->fd, runs->files[at].name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		err = fd < 0 ? -errno : locality_rows_add(rows, fd, number++, &stored);
		if (fd >= 0)
			close(fd);
		if (err == -EPROTO)
			err = refuse_damaged(runs, runs->files[at].name);
	}
	return err;
}

/* Those that are not in the database yet become an epoch. 0, or as add_records(). */
static int
write_run(const struct loc_runs *runs, size_t at, size_t end, const char *database)
{
	struct memory_rows rows = {.count = 0};
	struct counted_epoch description = {
		.label = runs->files[at].label, .start_ns = runs->files[at].began_ns, .memory = &rows};
	struct counted counted = {0};
	uint32_t epoch;
	int err = add_records(runs, at, end, &rows);

	description.end_ns = description.start_ns + 1;
	for (size_t i = at; i < end; i++) {
		if (runs->files[i].written_ns > description.end_ns)
			description.end_ns = runs->files[i].written_ns;
	}
	if (!err && rows.count)
		err = counted_init(&counted);
	if (!err && rows.count)
		err = counted_write(&counted, database, &description, &epoch);
	counted_fini(&counted);
	memory_rows_fini(&rows);
	return err;
}

/* The first last: as long as a file of the run is here, find_kept() knows the epoch by the first. */
static void
remove_run(struct loc_runs *runs, size_t at, size_t end)
{
	for (size_t i = end; i-- > at;) {
		if (unlinkat(runs->fd, runs->files[i].name, 0) && errno != ENOENT)
			(void)message_cannot(runs->files[i].name, "remove the record, which the database has now",
			                     -errno, NULL);
		free(runs->files[i].name);
	}
	memmove(&runs->files[at], &runs->files[end], (runs->count - end) * sizeof(*runs->files));
	runs->count -= end - at;
}

static bool
run_lives(const struct loc_runs *runs, size_t at, size_t end)
{
	for (; at < end; at++) {
		if (runs->files[at].lives)
			return true;
	}
	return false;
}

static bool
has_ended_run(const struct loc_runs *runs)
{
	for (size_t at = 0; at < runs->count; at = loc_run_end(runs, at)) {
		if (!run_lives(runs, at, loc_run_end(runs, at)))
			return true;
	}
	return false;
}

/* Others' records do not get into our database: who can write there could fill it. */
static bool
is_ours(int directory)
{
	struct stat status;

	return fstat(directory, &status) == 0 && status.st_uid == geteuid();
}

int
loc_runs_keep(struct loc_runs *runs, const char *database)
{
	int err, status = STATUS_OK;
	size_t at = 0;

	if (!has_ended_run(runs) || !is_ours(runs->fd))
		return STATUS_OK;
	err = counted_can_write(database);
	if (!err)
		err = look_into(runs, database);
	while (at < runs->count && !err) {
		const size_t end = loc_run_end(runs, at);

		if (run_lives(runs, at, end)) {
			at = end;
			continue;
		}
		err = write_run(runs, at, end, database);
		if (err == -EPROTO) {
			err = 0;
			status = STATUS_FAILURE;
			at = end;
		} else if (!err) {
			remove_run(runs, at, end);
		}
	}
	return err ? database_cannot_write(database, err) : status;
}
