/*
 * records.h - images and contexts as the database keeps them (for profile/ and salvage/)
 *
 * An image's identity is its kind and its build-id; without one its kind, device, inode, generation and path. The path
 * belongs to it because a database outlives mounts: device numbers and inodes are reused. An image with a build-id may
 * name a file, too, and is found by that as well: samples from before its build-id was read, or while it could not be
 * read, count for one image. The identity of a context is its value. Both are found by a 64-bit hash of the identity:
 * the key of image_ids and context_ids is the hash and then the number, so that an identity of any length fits below
 * LMDB's limit; two identities of one hash are two entries, and are compared by the values that they lead to. Thread
 * rule: stateless.
 */
#ifndef DCPI_PROFILE_RECORDS_H
#define DCPI_PROFILE_RECORDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "process/context_table.h"
#include "process/image_table.h"

#define RECORD_PATH_SIZE  (PATH_MAX + 16) /* with its NUL; room for what the kernel appends, as " (deleted)" */
#define RECORD_LABEL_SIZE 256
#define RECORD_ID_SIZE    12 /* key of image_ids and context_ids */

struct image_record {
	struct image
		image; /* its path is the one below; is_roots: the file at that path was root's when it was seen last */
	bool has_roots_names; /* what was captured of it comes from root's file */
	char path[RECORD_PATH_SIZE];
};

struct context_record {
	struct context context; /* its strings are those below */
	char comm[COMM_SIZE];
	char cgroup[RECORD_PATH_SIZE];
	char label[RECORD_LABEL_SIZE];
};

/* Strings that are too long are cut. */
void image_record_encode(const struct image *image, bool has_roots_names, struct byte_writer *writer);
void context_record_encode(const struct context *context, struct byte_writer *writer);

/* 0 or -DCPI_EDAMAGED. */
int image_record_decode(const void *data, size_t size, struct image_record *record);
int context_record_decode(const void *data, size_t size, struct context_record *record);

/* The identity of the image. */
void image_record_identity(const struct image *image, struct byte_writer *writer);

/* The second identity of an image with a build-id: that of its file, as if it had none. Nothing is written when it has
 * no second identity. */
void image_record_file_identity(const struct image *image, struct byte_writer *writer);

uint64_t record_identity_hash(const void *data, size_t size);
void record_id_encode(uint64_t hash, uint32_t number, uint8_t key[RECORD_ID_SIZE]);
int record_id_decode(const void *data, size_t size, uint64_t *hash, uint32_t *number); /* 0 or -DCPI_EDAMAGED */

#endif
