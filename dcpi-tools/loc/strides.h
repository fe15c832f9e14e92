/*
 * strides.h - what the database's records of loops say of an instruction: the strides of what it may refer to
 *
 * A reference is found by the file and line of the instruction, and by what it does: read or write, so many bytes.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_STRIDES_H
#define DCPI_TOOLS_LOC_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/loc/profile.h"
#include "locality/record_rows.h"

#define LOC_STRIDES_MAX 4 /* references that an instruction may be: of more, nothing is said */

struct loc_strides; /* of the loops of one build */

/*
 * Of the newest run that has one of the loops, those of its build. 0 with NULL there: none has. -ENOMEM, or an error of
 * the store.
 */
int loc_strides_read(struct profile *from, const struct locality_search *search, struct loc_strides **strides);
void loc_strides_free(struct loc_strides *strides); /* NULL is allowed */

struct loc_stride {
	enum stride_class class;
	int64_t bytes;    /* from one iteration to the next; of STRIDE_INDEX and STRIDE_IRREGULAR 0 */
	const char *name; /* of what is referred to, "" if it has none; the strides' */
};

/*
 * All references that an access at this line may be, each class, stride and name once. How many; 0: none, or more than
 * LOC_STRIDES_MAX. `path` may be another way to the file: its last part decides.
 */
size_t loc_strides_find(const struct loc_strides *strides, const char *path, uint32_t line, bool writes, uint32_t bytes,
                        struct loc_stride found[LOC_STRIDES_MAX]);

/* Whether a loop begins at this line: then accesses of the run-time library's countdown may have it, too. */
bool loc_strides_is_loop(const struct loc_strides *strides, const char *path, uint32_t line);

#endif
