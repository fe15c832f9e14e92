/*
 * hash.h - uthash as this room uses it
 *
 * Running out of memory is told, not fatal: after HASH_ADD..., hash_added(element) says whether it went in.
 */
#ifndef DCPI_PROCESS_HASH_H
#define DCPI_PROCESS_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

#endif
