/*
 * jitdump_file.h - jitdump files laid out by hand, as jitdump-specification.txt of Linux' perf says
 */
#ifndef DCPI_TESTS_JITDUMP_FILE_H
#define DCPI_TESTS_JITDUMP_FILE_H

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"

#define JITDUMP_MAGIC 0x4a695444

static inline void
put_u32(struct byte_writer *file, uint32_t value)
{
	write_bytes(file, &value, sizeof(value));
}

static inline void
put_u64(struct byte_writer *file, uint64_t value)
{
	write_bytes(file, &value, sizeof(value));
}

static inline void
put_header(struct byte_writer *file, uint32_t magic, uint32_t size)
{
	put_u32(file, magic);
	put_u32(file, 1);
	put_u32(file, size);
	put_u32(file, EM_X86_64);
	put_u32(file, 0);
	put_u32(file, 4711); /* process */
	put_u64(file, 1000); /* when */
	put_u64(file, 0);
	for (; size > 40; size--)
		write_u8(file, 0);
}

static inline void
put_prefix(struct byte_writer *file, uint32_t id, uint32_t size)
{
	put_u32(file, id);
	put_u32(file, size);
	put_u64(file, 2000);
}

static inline void
put_load(struct byte_writer *file, uint64_t address, const char *name, const void *text, size_t size)
{
	put_prefix(file, 0, (uint32_t)(16 + 40 + strlen(name) + 1 + size));
	put_u32(file, 4711);
	put_u32(file, 4712);
	put_u64(file, address);
	put_u64(file, address);
	put_u64(file, size);
	put_u64(file, 1); /* index */
	write_bytes(file, name, strlen(name) + 1);
	write_bytes(file, text, size);
}

static inline void
put_move(struct byte_writer *file, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(file, 1, 16 + 48);
	put_u32(file, 4711);
	put_u32(file, 4712);
	put_u64(file, to);
	put_u64(file, from);
	put_u64(file, to);
	put_u64(file, size);
	put_u64(file, 1);
}

/* A file in memory with these bytes, at its beginning. */
static inline int
file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

#endif
