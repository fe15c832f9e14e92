#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define INITIAL_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO: the machine's own */

void
line_reader_init(struct line_reader *reader, int fd)
{
	reader->fd = fd;
	reader->start = reader->end = 0;
	reader->ended = reader->skipping = false;
}

/* Read more behind the unread bytes. A line that fills the buffer is discarded, and the rest of it is skipped. */
static int
line_reader_fill(struct line_reader *reader)
{
	ssize_t got;

	memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	if (reader->end == LINE_READER_SIZE - 1) {
		reader->end = 0;
		reader->skipping = true;
	}
	got = TEMP_FAILURE_RETRY(read(reader->fd, reader->buffer + reader->end, LINE_READER_SIZE - 1 - reader->end));
	if (got < 0)
		return -errno;
	reader->end += (size_t)got;
	reader->ended = got == 0;
	return 0;
}

int
line_reader_next(struct line_reader *reader, char **line)
{
	int err;

	for (;;) {
		size_t left = reader->end - reader->start;
		char *at = reader->buffer + reader->start;
		char *newline = memchr(at, '\n', left);

		if (newline) {
			const bool is_whole = !reader->skipping;

			*newline = '\0';
			reader->start += (size_t)(newline - at) + 1;
			reader->skipping = false;
			if (!is_whole)
				continue;
			*line = at;
			return 1;
		}
		if (reader->ended) {
			reader->start = reader->end;
			if (left == 0 || reader->skipping)
				return 0;
			at[left] = '\0';
			*line = at;
			return 1;
		}
		err = line_reader_fill(reader);
		if (err)
			return err;
	}
}

int
proc_text_read(const char *directory, const char *name, proc_text_visit *visit, void *context)
{
	struct line_reader *reader;
	char path[PATH_MAX], *line = NULL;
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	reader = malloc(sizeof(*reader));
	if (!reader) {
		close(fd);
		return -ENOMEM;
	}
	line_reader_init(reader, fd);
	do
		result = line_reader_next(reader, &line);
	while (result > 0 && (result = visit(context, line)) == 0);
	free(reader);
	close(fd);
	return result;
}

static bool
parse_number(const char **at, unsigned base, uint64_t *value)
{
	const char *start = *at;

	*value = 0;
	for (;; (*at)++) {
		unsigned char c = (unsigned char)**at;
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10u;
		else
			return *at != start;
		if (*value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
	}
}

bool
proc_text_hex(const char **at, uint64_t *value)
{
	return parse_number(at, 16, value);
}

bool
proc_text_decimal(const char **at, uint64_t *value)
{
	return parse_number(at, 10, value);
}

/* ---- /proc/PID/stat ---- */

#define FIELD_PARENT 4 /* proc(5) counts from 1 */
#define FIELD_START  22

/* The number in field `wanted`; the text begins behind field 2. */
static int
read_field(const char *text, int wanted, uint64_t *value)
{
	for (int field = 2; field < wanted; field++) {
		text = strchr(text, ' ');
		if (!text)
			return -EINVAL;
		text++;
	}
	return proc_text_decimal(&text, value) && *text == ' ' ? 0 : -EINVAL;
}

int
proc_stat_parse(const char *text, size_t length, struct proc_stat *stat)
{
	/* field 2, the name, is in parentheses and may contain some: the last one closes it */
	const char *end = memrchr(text, ')', length);
	char fields[1024]; /* from field 3 on, numbers: the start time comes long before the end */
	uint64_t parent;

	if (!end)
		return -EINVAL;
	length -= (size_t)(end + 1 - text);
	if (length >= sizeof(fields))
		length = sizeof(fields) - 1;
	memcpy(fields, end + 1, length);
	fields[length] = '\0';
	if (read_field(fields, FIELD_PARENT, &parent) || parent > UINT32_MAX ||
	    read_field(fields, FIELD_START, &stat->start_ticks))
		return -EINVAL;
	stat->parent = (uint32_t)parent;
	return 0;
}

int
proc_stat_read(const char *procfs, uint32_t pid, struct proc_stat *stat)
{
	char path[PATH_MAX], text[2048];
	ssize_t got;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/stat", procfs, pid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = TEMP_FAILURE_RETRY(read(fd, text, sizeof(text)));
	if (got < 0)
		err = -errno;
	close(fd);
	return err ? err : proc_stat_parse(text, (size_t)got, stat);
}

/* Time that the machine has slept. */
static int64_t
slept_ns(void)
{
	return (int64_t)(clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));
}

static int64_t
tick_ns(void)
{
	return 1000000000 / sysconf(_SC_CLK_TCK);
}

int64_t
proc_stat_monotonic_ns(uint64_t ticks)
{
	if (ticks > (uint64_t)(INT64_MAX / tick_ns()))
		return INT64_MAX;
	return (int64_t)ticks * tick_ns() - slept_ns();
}

uint64_t
proc_stat_ticks(uint64_t monotonic_ns)
{
	return (monotonic_ns + (uint64_t)slept_ns()) / (uint64_t)tick_ns();
}

bool
proc_text_is_nested(const char *procfs)
{
	char path[PATH_MAX], target[64];
	ssize_t length;

	if (snprintf(path, sizeof(path), "%s/self/ns/pid", procfs) >= (int)sizeof(path))
		return false;
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return strcmp(target, INITIAL_PID_NAMESPACE) != 0;
}

/* ---- what processes have mapped ---- */

/* linux/fs.h from 6.11 on */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags; /* in */
	uint64_t query_addr;  /* in */
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size; /* in: room, out: bytes with the NUL, 0: no name */
	uint32_t build_id_size; /* in: room, 0: not asked for, for then the kernel may have to read the file */
	uint64_t vma_name_addr; /* in */
	uint64_t build_id_addr; /* in */
};
#define QUERY_PROCMAP             _IOWR('f', 17, struct procmap_query)
#define QUERY_VMA_EXECUTABLE      0x04
#define QUERY_COVERING_OR_NEXT    0x10
#define MAPPINGS_OF_A_PROCESS_MAX 1000000     /* far above vm.max_map_count's default */
#define TOO_LONG                  "//toolong" /* the kernel's name in records for a path that is longer than PATH_MAX */

_Static_assert(sizeof(struct procmap_query) == 104, "the kernel's layout");

static bool
parse_protection(const char *at, uint32_t *protection)
{
	if (strnlen(at, 5) < 5 || at[4] != ' ')
		return false;
	*protection = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
	return true;
}

/* The kernel writes a newline in a path as \012, and nothing else. */
static void
unescape_newlines(char *path)
{
	char *to = path;

	while (*path) {
		if (strncmp(path, "\\012", 4) == 0) {
			*to++ = '\n';
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = '\0';
}

bool
proc_maps_parse(char *line, struct record_mmap *mmap)
{
	const char *at = line;
	uint64_t end, major, minor;

	memset(mmap, 0, sizeof(*mmap));
	if (!proc_text_hex(&at, &mmap->start) || *at++ != '-' || !proc_text_hex(&at, &end) || *at++ != ' ')
		return false;
	if (end <= mmap->start || !parse_protection(at, &mmap->protection))
		return false;
	at += 5;
	if (!proc_text_hex(&at, &mmap->file_offset) || *at++ != ' ' || !proc_text_hex(&at, &major) || *at++ != ':' ||
	    !proc_text_hex(&at, &minor) || *at++ != ' ' || !proc_text_decimal(&at, &mmap->inode))
		return false;
	if (major > UINT32_MAX || minor > UINT32_MAX || (*at != ' ' && *at != '\0'))
		return false;
	mmap->length = end - mmap->start;
	mmap->device_major = (uint32_t)major;
	mmap->device_minor = (uint32_t)minor;
	mmap->is_data = !(mmap->protection & PROT_EXEC);
	at += strspn(at, " ");
	unescape_newlines(line + (at - line));
	mmap->path = at;
	return true;
}

static void
read_root(struct proc_maps *maps, uint32_t pid)
{
	char name[32];
	ssize_t length;

	snprintf(name, sizeof(name), "%" PRIu32 "/root", pid);
	length = readlinkat(maps->procfs, name, maps->root, sizeof(maps->root) - 1);
	if (length == 1)
		length = 0; /* "/" */
	maps->root[length > 0 ? length : 0] = '\0';
}

static int
visit_one(struct proc_maps *maps, uint32_t pid, struct record_mmap *mmap, proc_maps_visit *visit, void *context)
{
	const size_t length = strlen(maps->root);

	if (length > 0 && strncmp(mmap->path, maps->root, length) == 0 && mmap->path[length] == '/')
		mmap->path += length;
	if (mmap->inode != 0 && (file_generations_know(maps->files, mmap) || !maps->may_open ||
	                         maps->may_open(maps->may_open_context, mmap)))
		file_generations_complete(maps->files, maps->procfs, pid, mmap);
	return visit(context, mmap);
}

static int
read_text(struct proc_maps *maps, int fd, uint32_t pid, proc_maps_visit *visit, void *context)
{
	struct record_mmap mmap;
	char *line = NULL;
	int result;

	line_reader_init(maps->lines, fd);
	while ((result = line_reader_next(maps->lines, &line)) > 0) {
		if (!proc_maps_parse(line, &mmap) || mmap.is_data)
			continue;
		result = visit_one(maps, pid, &mmap, visit, context);
		if (result)
			return result;
	}
	return result;
}

static int
query(int fd, struct procmap_query *query)
{
	return TEMP_FAILURE_RETRY(ioctl(fd, QUERY_PROCMAP, query)) < 0 ? -errno : 0;
}

/* *mmap is zero. */
static int
query_next(int fd, uint64_t address, char path[PATH_MAX], struct record_mmap *mmap)
{
	struct procmap_query answer = {
		.size = sizeof(answer),
		.query_flags = QUERY_VMA_EXECUTABLE | QUERY_COVERING_OR_NEXT,
		.query_addr = address,
		.vma_name_size = PATH_MAX,
		.vma_name_addr = (uint64_t)(uintptr_t)path,
	};
	int result;

	path[0] = '\0';
	result = query(fd, &answer);
	if (result == -ENAMETOOLONG) {
		snprintf(path, PATH_MAX, "%s", TOO_LONG);
		answer.vma_name_addr = 0;
		answer.vma_name_size = 0;
		result = query(fd, &answer);
	}
	if (result)
		return result;
	mmap->start = answer.vma_start;
	mmap->length = answer.vma_end - answer.vma_start;
	mmap->file_offset = answer.vma_offset;
	mmap->protection = PROT_EXEC;
	mmap->path = path;
	mmap->device_major = answer.dev_major;
	mmap->device_minor = answer.dev_minor;
	mmap->inode = answer.inode;
	return 0;
}

/* -ENOTTY: this kernel, or this file, cannot be asked. */
static int
read_queries(struct proc_maps *maps, int fd, uint32_t pid, proc_maps_visit *visit, void *context)
{
	char path[PATH_MAX];
	uint64_t address = 0;
	int result = 0;

	for (unsigned i = 0; i < MAPPINGS_OF_A_PROCESS_MAX; i++) {
		struct record_mmap mmap = {0};

		result = query_next(fd, address, path, &mmap);
		if (result == -ENOENT || (result == -ESRCH && i == 0)) /* no more; a kernel thread */
			return 0;
		if (result)
			return result;
		address = mmap.start + mmap.length;
		result = visit_one(maps, pid, &mmap, visit, context);
		if (result || address == 0)
			return result;
	}
	return 0;
}

int
proc_maps_read(struct proc_maps *maps, uint32_t pid, proc_maps_visit *visit, void *context)
{
	int fd, result = -ENOTTY;
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu32 "/maps", pid);
	fd = openat(maps->procfs, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	read_root(maps, pid);
	if (!maps->no_query)
		result = read_queries(maps, fd, pid, visit, context);
	if (result == -ENOTTY) {
		maps->no_query = true;
		result = read_text(maps, fd, pid, visit, context);
	}
	close(fd);
	return result;
}

/* ---- all processes ---- */

struct proc_scan_pass {
	const struct proc_scan_visitor *visitor;
	const char *path; /* of /proc */
	struct proc_maps maps;
	uint32_t pid;
	bool any; /* it has a mapping */
};

/* "" when the process is gone. */
static void
read_comm(int procfs, uint32_t pid, char *comm, size_t size)
{
	char name[32], *work;
	ssize_t got;
	int fd;

	comm[0] = '\0';
	snprintf(name, sizeof(name), "%" PRIu32 "/comm", pid);
	fd = openat(procfs, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = TEMP_FAILURE_RETRY(read(fd, comm, size - 1));
	close(fd);
	comm[got > 0 ? got : 0] = '\0';
	got = (ssize_t)strlen(comm);
	if (got > 0 && comm[got - 1] == '\n')
		comm[got - 1] = '\0';
	/* /proc shows a worker with its work ("kworker/0:1-events"), records show only its name ("kworker/0:1") */
	work = strncmp(comm, "kworker/", 8) == 0 ? strchr(comm, ':') : NULL;
	work = work ? strpbrk(work, "+-") : NULL;
	if (work)
		*work = '\0';
}

static int
visit_mapping(void *context, const struct record_mmap *mmap)
{
	struct proc_scan_pass *scan = context;

	scan->any = true;
	return scan->visitor->mapping(scan->visitor->context, scan->pid, mmap);
}

static bool
parse_pid(const char *name, uint32_t *pid)
{
	uint64_t value;

	if (!proc_text_decimal(&name, &value) || *name != '\0' || value == 0 || value >= UINT32_MAX)
		return false;
	*pid = (uint32_t)value;
	return true;
}

ssize_t
proc_list_threads(pid_t pid, pid_t **threads, size_t *room)
{
	const struct dirent *entry;
	size_t count = 0;
	ssize_t result = 0;
	char name[32];
	DIR *directory;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	directory = opendir(name);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (result >= 0 && (entry = readdir(directory))) {
		uint32_t tid;
		pid_t *place;

		if (!parse_pid(entry->d_name, &tid))
			continue;
		place = ARRAY_APPEND(*threads, count, *room);
		if (place)
			*place = (pid_t)tid;
		result = place ? (ssize_t)count : -ENOMEM;
	}
	closedir(directory);
	return result;
}

/* The maps file of a main thread that has ended is empty, while other threads of its process still use the mappings. */
static int
scan_threads(struct proc_scan_pass *scan, uint32_t pid)
{
	struct dirent *entry;
	DIR *directory;
	uint32_t tid;
	char name[32];
	int fd, result = 0;

	snprintf(name, sizeof(name), "%" PRIu32 "/task", pid);
	fd = openat(scan->maps.procfs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	while (!scan->any && result != -ENOMEM && (entry = readdir(directory)))
		if (parse_pid(entry->d_name, &tid) && tid != pid)
			result = proc_maps_read(&scan->maps, tid, visit_mapping, scan);
	closedir(directory);
	return result;
}

static int
scan_process(struct proc_scan_pass *scan, uint32_t pid)
{
	const struct proc_scan_visitor *visitor = scan->visitor;
	char comm[64]; /* that of a kernel worker is longer than COMM_SIZE */
	struct proc_scan_process process = {.pid = pid, .comm = comm};
	int result;

	result = visitor->begin(visitor->context, pid);
	if (result)
		return result == PROC_SCAN_PASS ? 0 : result;
	read_comm(scan->maps.procfs, pid, comm, sizeof(comm));
	(void)proc_stat_read(scan->path, pid, &process.birth);
	result = visitor->process(visitor->context, &process);
	if (result)
		return result == PROC_SCAN_PASS ? 0 : result;
	scan->pid = pid;
	scan->any = false;
	result = proc_maps_read(&scan->maps, pid, visit_mapping, scan);
	if (!scan->any && (result == 0 || result == -ESRCH))
		result = scan_threads(scan, pid);
	/* Only -ENOMEM ends the scan: any other error concerns this process alone. */
	return result == -ENOMEM ? result : visitor->end(visitor->context, pid, result);
}

static int
scan_all(struct proc_scan_pass *scan, DIR *directory)
{
	struct dirent *entry;
	uint32_t pid;
	int result = 0;

	for (;;) {
		errno = 0;
		entry = readdir(directory);
		if (!entry)
			return -errno;
		if (!parse_pid(entry->d_name, &pid))
			continue;
		result = scan_process(scan, pid);
		if (result)
			return result;
	}
}

int
proc_scan(const char *procfs, uint32_t pid, const struct proc_scan_visitor *visitor)
{
	struct proc_scan_pass scan = {
		.visitor = visitor,
		.path = procfs,
		.maps = {.may_open = visitor->may_open, .may_open_context = visitor->context},
	};
	DIR *directory = opendir(procfs);
	int result = -ENOMEM;

	if (!directory)
		return -errno;
	scan.maps.procfs = dirfd(directory);
	scan.maps.files = file_generations_new();
	scan.maps.lines = malloc(sizeof(*scan.maps.lines));
	if (scan.maps.files && scan.maps.lines)
		result = pid ? scan_process(&scan, pid) : scan_all(&scan, directory);
	free(scan.maps.lines);
	file_generations_free(scan.maps.files);
	closedir(directory);
	return result;
}
