/*
 * memory_rows.h - memory profiles (memory/memory_profile.h), by slice
 *
 * A memory profile is of one run, whose epoch has one slice: the rows are stored under that slice, so that they are
 * selected, moved and dropped with its samples. What is in a row, memory/ knows; here it is a byte string, compressed.
 * So are records of loops, which locality/ knows: they are kept under a part of their own. The key is big-endian:
 * slice, part, number. Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_MEMORY_ROWS_H
#define DCPI_PROFILE_MEMORY_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "memory/memory_profile.h"
#include "profile/profile.h"
#include "profile/store.h"

#define MEMORY_ROW_SIZE_MAX ((size_t)1 << 20) /* bytes, decompressed */

/* All rows of a profile, for struct profile_batch. A zeroed list is empty. */
struct memory_rows {
	struct profile_memory_row *rows;
	size_t count, room;
};

int memory_rows_make(const struct memory_profile *profile, struct memory_rows *rows); /* 0 or -ENOMEM */
void memory_rows_fini(struct memory_rows *rows);

/*
 * Append a row of a part, whose rows are numbered from 0 on: a memory_row_visit, for a struct memory_rows. 0; -EFBIG:
 * it is larger than MEMORY_ROW_SIZE_MAX; -ENOMEM.
 */
int memory_rows_add(void *rows, enum memory_part part, uint32_t number, const void *row, size_t size);

/* ---- reading ---- */

/* The epochs that have rows of a part, ascending, each once; the caller frees them. 0 or an error. */
int memory_rows_epochs(struct profile *from, enum memory_part part, uint32_t **epochs, size_t *count);

/*
 * Visit an epoch's rows of a part in the order of their numbers; a negative result ends the walk. 0, that result,
 * -ENOENT when there is none, -DCPI_EDAMAGED when one is missing, or an error of the store.
 */
int memory_rows_each(struct profile *from, enum memory_part part, uint32_t epoch, memory_row_visit *visit,
                     void *context);

/*
 * Read the memory profile of epoch *epoch; 0 there asks for the newest that has one, and is replaced by its id.
 * `profile` is initialized here, and is the caller's also on failure. 0; -ENOENT when there is none; -DCPI_EDAMAGED, or
 * an error of the store.
 */
int memory_rows_read(struct profile *from, uint32_t *epoch, struct memory_profile *profile);

/* ---- for profile/ and salvage/ ---- */

#define MEMORY_ROW_KEY_SIZE (4 + PROFILE_MEMORY_KEY_SIZE)

struct memory_row_key {
	uint32_t slice, part, number;
};

void memory_row_key_encode(const struct memory_row_key *key, uint8_t data[MEMORY_ROW_KEY_SIZE]);
int memory_row_key_decode(const void *data, size_t size, struct memory_row_key *key); /* 0 or -DCPI_EDAMAGED */

/* The bytes of a value, which the caller frees. 0, -ENOMEM, -DCPI_EDAMAGED. */
int memory_row_decode(const void *value, size_t size, void **row, size_t *row_size);

#endif
