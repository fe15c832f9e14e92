/*
 * image_table.h - the images that this session has seen, each once
 *
 * An image is a file with code in it, or something that stands for one. Two mappings are the same image when their
 * identities are equal: the kind, and the build-id where there is one, else the file's device, inode and generation,
 * else - for what is no file - the name. Same path, new build: a new image. Numbers count from 0 in the order of first
 * sight; they are the session's, not the database's.
 * A table takes IMAGE_TABLE_BYTES_MAX, and then no image more: its owner begins a new one long before, unless nobody
 * writes down what it holds.
 * Thread rule: one thread; a `const struct image *` stays valid and unchanged until image_table_free(), and may be
 * handed to another thread.
 */
#ifndef DCPI_PROCESS_IMAGE_TABLE_H
#define DCPI_PROCESS_IMAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

/* Stored in the database: never renumber. The comment says what an offset is. */
enum image_kind {
	IMAGE_UNKNOWN = 0,
	IMAGE_USER = 1,   /* a mapped file: bytes from the start of the file */
	IMAGE_KERNEL = 2, /* bytes from _stext */
	IMAGE_MODULE = 3, /* bytes from the start of the module's text */
	IMAGE_VDSO = 4,   /* bytes from the start of the vdso */
	IMAGE_JIT = 5,    /* code the kernel made at run time (BPF, trampolines): bytes from the symbol's start */
	IMAGE_ANON = 6,   /* memory without a file (a user's JIT, memfd): bytes from the start of the mapping */
};
#define IMAGE_KINDS 7

struct image {
	enum image_kind kind;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: none */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation; /* inode 0: not known */
	uint32_t content; /* counts what the file held, when it was written to in place: the session's, never stored */
	bool deleted;     /* the path was gone when the file was mapped */
	bool is_roots;    /* nobody but root could have put it at its path (file_owner.h); no part of the identity */
	const char *path; /* as the process saw it; "[kernel]", "[ext4]" (a module), "[vdso]", "[anon]" for what is
	                      no file */
};

/* Text of the kernel itself or of a module. */
static inline bool
image_is_of_kernel(const struct image *image)
{
	return image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE;
}

#define IMAGE_TABLE_BYTES_MAX ((size_t)4 << 20) /* as of image_table_bytes() */

struct image_table;

struct image_table *image_table_new(void);        /* NULL and errno (ENOMEM) */
void image_table_free(struct image_table *table); /* NULL is allowed */

/* The number of the image with this identity, new or not; copies *image and its path. 0, -ENOMEM, or -ENOSPC. */
int image_table_intern(struct image_table *table, const struct image *image, uint32_t *number);

/* Image `number`, which must be below image_table_count(). */
const struct image *image_table_get(const struct image_table *table, uint32_t number);
uint32_t image_table_count(const struct image_table *table);
size_t image_table_bytes(const struct image_table *table); /* of memory, the hash tables left out */
bool image_table_is_full(const struct image_table *table); /* it has said -ENOSPC */

#endif
