/*
 * perf_file_builder.h - files as perf writes them, in either byte order, laid out by hand for tests
 *
 * Two events, "one" (id 11) and "two" (ids 21, 22); their samples have IP | TID | TIME | ID | CPU | PERIOD.
 */
#ifndef DCPI_TESTS_PERF_FILE_BUILDER_H
#define DCPI_TESTS_PERF_FILE_BUILDER_H

#include "tests/unit/test.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_SAMPLE                                                                                                    \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define FILE_ATTR_SIZE   64
#define FILE_HEADER_SIZE 104

struct file_builder {
	bool is_big; /* most significant byte first */
	size_t size, record;
	uint8_t bytes[8192];
};

static inline void
put_number(struct file_builder *file, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		file->bytes[file->size++] = (uint8_t)(value >> 8 * (file->is_big ? size - 1 - i : i));
}

static inline void
put_bytes(struct file_builder *file, const void *bytes, size_t size)
{
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static inline void
put_text(struct file_builder *file, const char *text)
{
	static const uint8_t padding[8];

	put_bytes(file, text, strlen(text) + 1);
	put_bytes(file, padding, -file->size % 8);
}

static inline void
begin_record(struct file_builder *file, uint32_t type, uint16_t misc)
{
	file->record = file->size;
	put_number(file, type, 4);
	put_number(file, misc, 2);
	put_number(file, 0, 2);
}

static inline void
end_record(struct file_builder *file)
{
	size_t end = file->size;

	file->size = file->record + 6;
	put_number(file, end - file->record, 2);
	file->size = end;
}

static inline void
put_sample(struct file_builder *file, uint64_t id, uint64_t address, uint64_t time)
{
	begin_record(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_number(file, address, 8);
	put_number(file, 42, 4); /* process, thread */
	put_number(file, 43, 4);
	put_number(file, time, 8);
	put_number(file, id, 8);
	put_number(file, 3, 4); /* cpu, reserved */
	put_number(file, 0, 4);
	put_number(file, 1000, 8); /* period */
	end_record(file);
}

/* TID, TIME, ID, CPU: what the other records end with. */
static inline void
put_trailer(struct file_builder *file, uint64_t id, uint64_t time)
{
	put_number(file, 42, 4);
	put_number(file, 43, 4);
	put_number(file, time, 8);
	put_number(file, id, 8);
	put_number(file, 3, 4);
	put_number(file, 0, 4);
}

static inline void
put_mapping(struct file_builder *file, uint64_t start, const char *path)
{
	begin_record(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put_number(file, 42, 4);
	put_number(file, 43, 4);
	put_number(file, start, 8);
	put_number(file, 0x2000, 8); /* length */
	put_number(file, 0x1000, 8); /* offset in the file */
	put_number(file, 8, 4);      /* device */
	put_number(file, 1, 4);
	put_number(file, 777, 8); /* inode, its generation */
	put_number(file, 5, 8);
	put_number(file, PROT_READ | PROT_EXEC, 4);
	put_number(file, MAP_PRIVATE, 4);
	put_text(file, path);
	put_trailer(file, 11, 900);
	end_record(file);
}

/* The kernel's flags are single bits: the first is the lowest of its number, or the highest. */
static inline void
put_attr(struct file_builder *file, uint64_t config)
{
	uint64_t sample_id_all = 18;

	put_number(file, PERF_TYPE_HARDWARE, 4);
	put_number(file, FILE_ATTR_SIZE, 4);
	put_number(file, config, 8);
	put_number(file, 1000, 8); /* period */
	put_number(file, FILE_SAMPLE, 8);
	put_number(file, PERF_FORMAT_ID, 8);
	put_number(file, (uint64_t)1 << (file->is_big ? 63 - sample_id_all : sample_id_all), 8);
	put_number(file, 0, 8); /* wakeups, breakpoints */
	put_number(file, 0, 8);
}

/* What `perf record -o -` begins with. */
static inline void
begin_pipe(struct file_builder *file, bool is_big)
{
	memset(file, 0, sizeof(*file));
	file->is_big = is_big;
	put_bytes(file, is_big ? "2ELIFREP" : "PERFILE2", 8);
	put_number(file, 16, 8);
	begin_record(file, 64, 0);
	put_attr(file, PERF_COUNT_HW_CPU_CYCLES);
	put_number(file, 11, 8);
	end_record(file);
	begin_record(file, 64, 0);
	put_attr(file, PERF_COUNT_HW_INSTRUCTIONS);
	put_number(file, 21, 8);
	put_number(file, 22, 8);
	end_record(file);
}

static inline void
put_name(struct file_builder *file, uint64_t id, const char *name)
{
	begin_record(file, 78, 0);
	put_number(file, 2, 8); /* a name */
	put_number(file, id, 8);
	put_text(file, name);
	end_record(file);
}

/* A file of `data`, which was built as records alone; the host's name behind it. */
static inline void
build_file(struct file_builder *file, const struct file_builder *data)
{
	size_t ids = FILE_HEADER_SIZE, attrs = ids + 3 * 8, begin = attrs + 2 * (FILE_ATTR_SIZE + 16);
	size_t features = begin + data->size;

	memset(file, 0, sizeof(*file));
	file->is_big = data->is_big;
	put_bytes(file, file->is_big ? "2ELIFREP" : "PERFILE2", 8);
	put_number(file, FILE_HEADER_SIZE, 8);
	put_number(file, FILE_ATTR_SIZE + 16, 8);
	put_number(file, attrs, 8);
	put_number(file, begin - attrs, 8);
	put_number(file, begin, 8);
	put_number(file, data->size, 8);
	put_number(file, 0, 8); /* event types */
	put_number(file, 0, 8);
	put_number(file, 1 << 3, 8); /* the host's name */
	for (int i = 0; i < 3; i++)
		put_number(file, 0, 8);
	put_number(file, 11, 8);
	put_number(file, 21, 8);
	put_number(file, 22, 8);
	put_attr(file, PERF_COUNT_HW_CPU_CYCLES);
	put_number(file, ids, 8);
	put_number(file, 8, 8);
	put_attr(file, PERF_COUNT_HW_INSTRUCTIONS);
	put_number(file, ids + 8, 8);
	put_number(file, 16, 8);
	put_bytes(file, data->bytes, data->size);
	put_number(file, features + 16, 8);
	put_number(file, 12, 8);
	put_number(file, 8, 4);
	put_bytes(file, "rose\0\0\0", 8);
}

/* A descriptor of a file with `size` bytes of it, at its beginning; the caller's to close. */
static inline int
file_open(const struct file_builder *file, size_t size)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file->bytes, size), (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

#endif
