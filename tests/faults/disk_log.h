/*
 * disk_log.h - what a program did to its database's file, in order
 *
 * Written by record_writes.so, read by crash_images. Records follow each other: a header, and the bytes of a write.
 */
#ifndef DCPI_TESTS_DISK_LOG_H
#define DCPI_TESTS_DISK_LOG_H

#include <stdint.h>

enum disk_operation {
	DISK_WRITE,        /* `size` bytes at `offset`; lost by a crash until a sync */
	DISK_WRITE_SYNCED, /* `size` bytes at `offset`, on the disk when it returns */
	DISK_SYNC,         /* everything written before is on the disk when it returns */
	DISK_TRUNCATE,     /* to `offset` bytes */
	DISK_COMMITTED,    /* a transaction has ended well; from here on it may be acknowledged */
};

struct disk_record {
	uint64_t operation;
	uint64_t offset, size;
};

#endif
