/*
 * identity.h - each image and each context once in the database (private to profile/)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_IDENTITY_H
#define DCPI_PROFILE_IDENTITY_H

#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/store.h"

/* The number of what has this identity; stored when it is new. 0 or an error. */
int identity_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number);
int identity_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number);

#endif
