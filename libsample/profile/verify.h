/*
 * verify.h - may LMDB be given a file that somebody else made?
 *
 * LMDB believes its file. What a stranger wrote could make it read, and a writer write, outside of pages. So its
 * structure is looked at first, with bounds and without LMDB: both meta pages, and of the newest version each tree with
 * all pages, nodes and values, and the list of free pages. Each page may have one use, and whatever LMDB 0.9 would not
 * write is refused. What the values say is no matter here: decoders of the tables distrust them.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_VERIFY_H
#define DCPI_PROFILE_VERIFY_H

#include <stddef.h>

#define VERIFY_WHY_SIZE 96

/*
 * Read `fd`, a regular file that nobody writes. 0; -DCPI_EDAMAGED with what is wrong in `why`; -EFBIG past 2^28 pages;
 * -ENOMEM, -errno.
 */
int profile_verify_file(int fd, char *why, size_t size);

#endif
