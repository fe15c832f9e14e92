/*
 * meta.h - what a database says of itself (private to profile/)
 *
 * Keys are names, values numbers or strings: "schema" (its number), "created" (ns since 1970), "host". How "schema" is
 * kept must never change: every version has to be able to read it.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_META_H
#define DCPI_PROFILE_META_H

#include "profile/store.h"

int meta_create(const struct store *store, MDB_txn *txn);

/*
 * 0; -DCPI_ENEWER; -DCPI_EDAMAGED when there is no schema, or none that can be read. A writer gives a database of an
 * older schema the present one.
 */
int meta_check(const struct store *store, MDB_txn *txn);

/* Decode the value of `key`; 0 or -DCPI_EDAMAGED, also for a key that means nothing. */
int meta_decode(const void *key, size_t key_size, const void *data, size_t size);

#endif
