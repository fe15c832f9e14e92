/*
 * record_rows.h - records of loops (locality/record.h) in the profile database: those of a run's processes, as an epoch
 *
 * They are rows of the table `memory` (profile/memory_rows.h), of a part of their own. A row is a piece of a record's
 * file: varints of the record's number in the epoch and of the piece's place in the file, then the piece, the first
 * bytes of its words of 8 bytes before all second bytes, and so on, for then it compresses better. What the program did
 * not fill is in no row. Pieces are as the file has them, in the byte order of all machines that this runs on.
 *
 * Thread rule: the profile's.
 */
#ifndef DCPI_LOCALITY_RECORD_ROWS_H
#define DCPI_LOCALITY_RECORD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locality/record_read.h"
#include "profile/memory_rows.h"

#define LOCALITY_ROWS_BYTES_MAX ((size_t)8 << 20) /* of a run, as it is stored: what comes later has no room */

/*
 * Append the rows of the record at `fd`, the next one of the run; its process has ended. `stored`: bytes of the run's
 * rows up to here. 0, -ENOMEM, or as locality_record_read().
 */
int locality_rows_add(struct memory_rows *rows, int fd, uint32_t record, size_t *stored);

/* Takes over the record. 0, or a negative error, which ends the reading. */
typedef int locality_rows_take(void *context, struct locality_record *record);

/*
 * Read the records of an epoch, in their order. 0; -ENOENT: it has none; -EPROTO: one is of another version of dcpi, or
 * damaged; of memory_rows_each(), or what `take` ended with.
 */
int locality_rows_read(struct profile *from, uint32_t epoch, locality_rows_take *take, void *context);

/*
 * The newest epoch that has one of these loops, *epoch; without reading what programs did. 0; -ENOENT: there is none;
 * as memory_rows_each().
 */
struct locality_search {
	const uint8_t *build_id;
	size_t size; /* 1 to LOCALITY_BUILD_ID_MAX */
	/* Whether a loop of this build, in its function's file, is searched for. */
	bool (*is_wanted)(const void *context, const char *file, uint32_t line);
	const void *context;
};
int locality_rows_find(struct profile *from, const struct locality_search *search, uint32_t *epoch);

#endif
