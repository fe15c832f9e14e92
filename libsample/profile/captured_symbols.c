#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/handle.h"
#include "profile/symbol_blob.h"

static int
put_blob(const struct store *store, MDB_txn *txn, uint32_t image, const struct byte_writer *blob)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_SYMBOLS, image, &value);

	if (err == -ENOENT)
		return store_put(store, txn, TABLE_SYMBOLS, image, blob);
	return err ? err : -EEXIST;
}

int
profile_put_symbols(struct profile *profile, uint32_t session_image, const struct profile_symbol *symbols, size_t count)
{
	uint32_t image = numbers_get(&profile->images, session_image);
	struct byte_writer blob = BYTE_WRITER_INIT;
	MDB_txn *txn;
	int err;

	if (!profile->store.write || image == 0)
		return -EINVAL;
	/* Before the transaction: compressing takes longer than writing. */
	err = symbol_blob_encode(symbols, count, &blob);
	if (!err)
		err = store_begin(&profile->store, true, &txn);
	if (!err)
		err = store_end(&profile->store, txn, put_blob(&profile->store, txn, image, &blob));
	writer_fini(&blob);
	return err;
}

bool
profile_has_symbols(struct profile *profile, uint32_t session_image)
{
	uint32_t image = numbers_get(&profile->images, session_image);
	MDB_val value;
	MDB_txn *txn;
	int err;

	if (image == 0 || store_begin(&profile->store, false, &txn))
		return false;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	return !store_leave(&profile->store, txn, err);
}

int
profile_get_symbols(struct profile *profile, uint32_t image, struct profile_symbol **symbols, size_t *count)
{
	MDB_val value;
	MDB_txn *txn;
	int err, gone;

	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	if (!err)
		err = symbol_blob_decode(value.mv_data, value.mv_size, symbols, count);
	gone = store_leave(&profile->store, txn, 0);
	if (gone && !err)
		profile_free_symbols(*symbols);
	return gone ? gone : err;
}

void
profile_free_symbols(struct profile_symbol *symbols)
{
	free(symbols);
}
