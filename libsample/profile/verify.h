/*
 * verify.h - is a foreign file safe to be opened by LMDB?
 *
 * LMDB trusts its file: a crafted one could make it read, and a writer write, outside of pages. So the structure is
 * verified first, with bounds and without LMDB: both meta pages, and of the newest version each tree with all pages,
 * nodes and values, and the list of free pages. Each page must have exactly one use, and what LMDB 0.9 would not write
 * is refused. The content of values is not verified: the decoders of the tables do not trust it. Thread rule:
 * stateless.
 */
#ifndef DCPI_PROFILE_VERIFY_H
#define DCPI_PROFILE_VERIFY_H

#include <stddef.h>

#define VERIFY_WHY_SIZE 96

/*
 * Read `fd`, a regular file that no process writes. 0; -DCPI_EDAMAGED with what is wrong in `why`; -EFBIG past 2^28
 * pages; -ENOMEM, -errno.
 */
int profile_verify_file(int fd, char *why, size_t size);

#endif
