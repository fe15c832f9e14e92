/*
 * captured.h - what was captured of an image while its file existed: names, layout, pieces of its text, unwind table
 *
 * A profile may outlive its binaries. `symbols` has the names of an image; `text` has its layout - the mapping of
 * offsets to ELF addresses, and where code is - and blocks of its bytes as a running program has them, in parcels of
 * some blocks each. A block is written once: parcels of an image have no block in common. `text` also has the image's
 * unwind table (unwind/table.h), by which dcpid finds callers while the image runs.
 * Values are compressed when they are encoded, and stored without a check: they may come from a process that read a
 * hostile file, so readers must not trust them.
 * Thread rule: encoding and decoding keep no state, so any thread; functions on a profile are its thread's.
 */
#ifndef DCPI_PROFILE_CAPTURED_H
#define DCPI_PROFILE_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/profile.h"

struct MDB_txn;
struct store;
struct store_walk;
struct unwind_table;

#define CAPTURED_BLOCK_SIZE   4096u /* bytes; block N begins at offset N * CAPTURED_BLOCK_SIZE of the image */
#define CAPTURED_PARCEL_MAX   64    /* blocks in one */
#define CAPTURED_SEGMENTS_MAX 128
#define CAPTURED_SECTIONS_MAX 4096
#define CAPTURED_BLOCK_NONE   UINT32_MAX /* no block has this number, nor the next */
#define CAPTURED_BLOCK_UNWIND (UINT32_MAX - 1)
#define CAPTURED_VALUE_MAX    (16u << 20) /* bytes of one encoded value */

#define CAPTURED_SYMBOLS_TEXT_MAX (64u << 20) /* bytes before compression; the names of a kernel are 5 MB */
#define CAPTURED_UNWIND_MAX       (16u << 20) /* bytes of an unwind table; that of gcc's cc1 has 1.2 MB */

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
	uint32_t number;      /* first, for array_compare_u32() */
	const uint8_t *bytes; /* CAPTURED_BLOCK_SIZE; zeros where the image has nothing */
};

/* The captured text of an image, ascending by number. */
struct captured_text {
	struct captured_block *blocks;
	size_t count;
	uint8_t *bytes; /* what the blocks point into */
};

/* ---- values ---- */

/*
 * The names of an image: a format byte and, compressed, for each name the varint distance from the offset before, in
 * FORMAT_2 the varint size, the name - empty for code without one - and a NUL. 0; -EINVAL for offsets that descend;
 * -EFBIG past CAPTURED_SYMBOLS_TEXT_MAX; -ENOMEM.
 */
int captured_symbols_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer);

/* *symbols is one piece of memory, names and all, for free(). 0, -ENOMEM or -DCPI_EDAMAGED. */
int captured_symbols_decode(const void *data, size_t size, struct profile_symbol **symbols, size_t *count);

/* 0; -E2BIG past the maxima above; -ENOMEM. */
int captured_layout_encode(const struct captured_layout *layout, struct byte_writer *writer);

/* One piece of memory for free(), segments and sections in it. 0, -ENOMEM, -DCPI_EDAMAGED. */
int captured_layout_decode(const void *data, size_t size, struct captured_layout **layout);

/* The bytes of an unwind table, compressed. 0; -EFBIG past CAPTURED_UNWIND_MAX; -ENOMEM. */
int captured_unwind_encode(const void *bytes, size_t size, struct byte_writer *writer);

/* For unwind_table_free(); it is checked, as unwind_table_load() says. 0, -ENOMEM, -DCPI_EDAMAGED. */
int captured_unwind_decode(const void *data, size_t size, struct unwind_table **table);

/* A parcel of 1 to CAPTURED_PARCEL_MAX blocks, ascending. 0; -EINVAL; -ENOMEM. */
int captured_parcel_encode(const struct captured_block *blocks, size_t count, struct byte_writer *writer);

/* The numbers of its blocks, without its text; how many, or -DCPI_EDAMAGED. */
int captured_parcel_blocks(const void *data, size_t size, uint32_t blocks[CAPTURED_PARCEL_MAX]);

/* The numbers of its blocks, and the text into `bytes`. How many blocks, -DCPI_EDAMAGED, or -ENOMEM. */
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
	CAPTURED_ANYBODYS, /* not known, or without effect */
	CAPTURED_ROOTS,    /* only root could have put the file at its path (process/mapped_file.h) */
	CAPTURED_OTHERS,
};

struct captured {
	enum captured_owner owner;
	struct captured_value symbols; /* take the place of those that are there */
	struct captured_value layout;  /* likewise */
	struct captured_value unwind;  /* likewise; what is stored of the image without it stays */
	const struct captured_value *parcels;
	size_t parcel_count;
};

/*
 * Store it in one transaction. Values from root's file replace all values from other users' files; an unwind table
 * alone replaces only the one before.
 * 0; -ENOENT when there is no such image; -EEXIST when the new values are from another user's file and the stored ones
 * from root's; -EDQUOT when all captured values would take more than `limit` bytes (0: no limit); -EINVAL for a reader,
 * or a value past CAPTURED_VALUE_MAX; an error of writing. After an error nothing was stored.
 */
int profile_put_captured(struct profile *profile, uint32_t image, const struct captured *captured, uint64_t limit);

/* The database's number of the image that has the identity of `image`. 0, -ENOENT, or an error. */
int profile_find_image(struct profile *profile, const struct image *image, uint32_t *number);

/*
 * For a writer: image `session` of its batches was flushed without a build-id, which is known now; `image` has it. From
 * now on the number stands for the image of that build-id, to which the earlier counts belong, too, unless the database
 * already had such an image: then there are two with this build-id. 0; or an error, and nothing has changed.
 */
int profile_identify_image(struct profile *profile, uint32_t session, const struct image *image);

/* For free(); -ENOENT when none was captured. */
int profile_get_layout(struct profile *profile, uint32_t image, struct captured_layout **layout);

/* For unwind_table_free(); -ENOENT when none was captured; -ENOMEM, -DCPI_EDAMAGED, an error. */
int profile_get_unwind(struct profile *profile, uint32_t image, struct unwind_table **table);

/* 0, also when there is none; -ENOMEM, -DCPI_EDAMAGED. captured_text_fini() it in any case. */
int profile_get_text(struct profile *profile, uint32_t image, struct captured_text *text);
void captured_text_fini(struct captured_text *text);

/* The numbers of the captured blocks, ascending, for free(); and whether there are names and a layout. */
struct captured_extent {
	uint32_t *blocks;
	size_t count;
	bool has_symbols, has_layout;
	bool is_roots; /* all of it comes from root's file */
};
int profile_get_extent(struct profile *profile, uint32_t image, struct captured_extent *extent);

/* Bytes of the file that all captured names and text take. */
int profile_captured_bytes(struct profile *profile, uint64_t *bytes);

/* ---- the table `text` (for profile/ and salvage/) ---- */

/*
 * Its key is the image's number and, both big-endian, the number of a parcel's first block; CAPTURED_BLOCK_NONE for the
 * layout, which therefore comes last; before it CAPTURED_BLOCK_UNWIND for the unwind table.
 */

#define CAPTURED_KEY_SIZE 8

/* 0 or -DCPI_EDAMAGED. */
int captured_key_decode(const void *data, size_t size, uint32_t *image, uint32_t *block);

/*
 * Does all of the value decode - a table as unwind_table_load() checks it -, and is a parcel stored under its first
 * block? 0, -DCPI_EDAMAGED, -ENOMEM.
 */
int captured_value_check(uint32_t block, const void *data, size_t size);

/* The image's values one by one: 1 with walk->key and ->value, *block set; 0 at the end; or an error. */
void captured_walk_begin(const struct store *store, struct MDB_txn *txn, uint32_t image, struct store_walk *walk);
int captured_walk_next(struct store_walk *walk, uint32_t image, uint32_t *block);

int captured_table_put(const struct store *store, struct MDB_txn *txn, uint32_t image, uint32_t block, const void *data,
                       size_t size, unsigned flags); /* of mdb_put() */

/* Remove all symbols and text of an image; 0 also when there are none. */
int captured_remove(const struct store *store, struct MDB_txn *txn, uint32_t image);

#endif
