/*
 * records.h - images and contexts as the database keeps them (private to profile/)
 *
 * An image's identity is its kind and its build-id; without one its kind, device, inode, generation and path. The path
 * belongs to it because a database outlives mounts: their device numbers and inodes are given out again. An image with
 * a build-id may name a file, too, and is found by that as well: so what was sampled of it before its build-id was
 * read, or when it could not be, is the same image. A context is its own identity. Both are found by a 64-bit hash of
 * the identity: the key of image_ids and context_ids is the hash and then the number, so any length fits below LMDB's
 * limit, and two identities of one hash are two entries that are told apart by what they stand for. Thread rule:
 * stateless.
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
	struct image image;   /* its path is the one below; is_roots: so is what is there of it by now */
	bool has_roots_names; /* what was captured of it is from root's file */
	char path[RECORD_PATH_SIZE];
};

struct context_record {
	struct context context; /* its strings are those below */
	char comm[COMM_SIZE];
	char cgroup[RECORD_PATH_SIZE];
	char label[RECORD_LABEL_SIZE];
};

/* Strings that are too long are cut. */
void image_encode(const struct image *image, bool has_roots_names, struct byte_writer *writer);
void context_encode(const struct context *context, struct byte_writer *writer);

/* 0 or -DCPI_EDAMAGED. */
int image_decode(const void *data, size_t size, struct image_record *record);
int context_decode(const void *data, size_t size, struct context_record *record);

/* What makes the image the one it is. */
void image_identity_encode(const struct image *image, struct byte_writer *writer);

/* By what else it is found: one with a build-id by its file, as if it had none. Nothing is written when there is no
 * such way. */
void image_file_encode(const struct image *image, struct byte_writer *writer);

uint64_t identity_hash(const void *data, size_t size);
void record_id_encode(uint64_t hash, uint32_t number, uint8_t key[RECORD_ID_SIZE]);
int record_id_decode(const void *data, size_t size, uint64_t *hash, uint32_t *number); /* 0 or -DCPI_EDAMAGED */

#endif
