/*
 * captured.h - what was taken of an image while its file was there: names, layout and pieces of its text
 *
 * A profile may outlive its binaries. `symbols` has the names of an image; `text` has its layout - which offsets are
 * which ELF addresses, where code is - and blocks of its bytes as a running program has them, in parcels of some blocks
 * each. What a parcel holds is never written again: parcels of an image have no block in common. All is
 * compressed when it is encoded and not looked into when it is stored: values may come from a process that read a
 * hostile file, and whoever reads them distrusts them.
 * Thread rule: values are plain data; functions on a profile are its thread's.
 */
#ifndef DCPI_PROFILE_CAPTURED_H
#define DCPI_PROFILE_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/profile.h"

#define CAPTURED_BLOCK_SIZE   4096u /* bytes; block N begins at offset N * CAPTURED_BLOCK_SIZE of the image */
#define CAPTURED_PARCEL_MAX   64    /* blocks in one */
#define CAPTURED_SEGMENTS_MAX 128
#define CAPTURED_SECTIONS_MAX 4096
#define CAPTURED_BLOCK_NONE   UINT32_MAX  /* no block has this number */
#define CAPTURED_VALUE_MAX    (16u << 20) /* bytes of one encoded value */

/* A stretch of offsets and the ELF addresses that it is loaded at. */
struct captured_segment {
	uint64_t offset, address, size;
	bool executable;
};

/* What holds code, or constants; by ELF address, ascending and disjoint. */
struct captured_section {
	uint64_t address, size;
	bool is_code;
};

struct captured_layout {
	uint16_t machine; /* ELF's e_machine */
	struct captured_segment *segments;
	size_t segment_count;
	struct captured_section *sections;
	size_t section_count;
};

struct captured_block {
	uint32_t number;
	const uint8_t *bytes; /* CAPTURED_BLOCK_SIZE; zeros where the image has nothing */
};

/* What is there of an image's text, ascending by number. */
struct captured_text {
	struct captured_block *blocks;
	size_t count;
	uint8_t *bytes; /* what the blocks point into */
};

/* ---- values ---- */

/* Names for `symbols`, ascending by offset. 0; -EINVAL; -EFBIG; -ENOMEM. */
int captured_symbols_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer);

/* 0; -E2BIG past the maxima above; -ENOMEM. */
int captured_layout_encode(const struct captured_layout *layout, struct byte_writer *writer);

/* One piece of memory for free(), segments and sections in it. 0, -ENOMEM, -DCPI_EDAMAGED. */
int captured_layout_decode(const void *data, size_t size, struct captured_layout **layout);

/* A parcel of 1 to CAPTURED_PARCEL_MAX blocks, ascending. 0; -EINVAL; -ENOMEM. */
int captured_parcel_encode(const struct captured_block *blocks, size_t count, struct byte_writer *writer);

/* The numbers of its blocks, without its text; how many, or -DCPI_EDAMAGED. */
int captured_parcel_blocks(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX]);

/* And the text, into `bytes`. As above, or -ENOMEM. */
int captured_parcel_decode(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX],
                           uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE]);

/* ---- a profile's, by the database's numbers ---- */

/* An encoded value; of a parcel, under the number of its first block. */
struct captured_value {
	uint32_t block;
	const void *data; /* NULL: none */
	size_t size;
};

/* Whose file it was taken from. */
enum captured_owner {
	CAPTURED_ANYBODYS, /* not known, or it does not matter */
	CAPTURED_ROOTS,    /* nobody but root could have put it where it was (process/file_owner.h) */
	CAPTURED_OTHERS,
};

struct captured {
	enum captured_owner owner;
	struct captured_value symbols; /* take the place of those that are there */
	struct captured_value layout;  /* likewise */
	const struct captured_value *parcels;
	size_t parcel_count;
};

/*
 * Store it in one transaction. What is from root's file takes the place of all that is there from others' files.
 * 0; -ENOENT when there is no such image; -EEXIST when it is from another's file, and what is there from root's;
 * -EDQUOT when all that was captured would take more than `limit` bytes (0: no limit); -EINVAL for a reader, or a value
 * past CAPTURED_VALUE_MAX; what writing says. Then nothing was stored.
 */
int profile_put_captured(struct profile *profile, uint32_t image, const struct captured *captured, uint64_t limit);

/* The database's number of what has the identity of `image`. 0, -ENOENT, or an error. */
int profile_find_image(struct profile *profile, const struct image *image, uint32_t *number);

/*
 * A writer's: image `session` of its batches was written as a file, and its build-id is known now: `image` is the whole
 * of it. From now on it is the image of that build-id; what was counted before is, too, unless there was one already:
 * then both are there, with one build-id. 0 or an error: nothing has changed.
 */
int profile_identify_image(struct profile *profile, uint32_t session, const struct image *image);

/* For free(); -ENOENT when none was captured. */
int profile_get_layout(struct profile *profile, uint32_t image, struct captured_layout **layout);

/* 0, also when there is none; -ENOMEM, -DCPI_EDAMAGED. captured_text_fini() it in any case. */
int profile_get_text(struct profile *profile, uint32_t image, struct captured_text *text);
void captured_text_fini(struct captured_text *text);

/* The numbers of the blocks that are there, ascending, for free(); and whether there are names and a layout. */
struct captured_extent {
	uint32_t *blocks;
	size_t count;
	bool has_symbols, has_layout;
	bool is_roots; /* all of it is from root's file */
};
int profile_get_extent(struct profile *profile, uint32_t image, struct captured_extent *extent);

/* Bytes of the file that all captured names and text take. */
int profile_captured_bytes(struct profile *profile, uint64_t *bytes);

#endif
