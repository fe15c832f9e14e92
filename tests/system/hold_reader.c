/*
 * hold_reader.c - reads the database in DIR, stops itself in the middle of its transaction, reads on when continued
 *
 * Prints "stopping" and, when it was continued, "gone" if it was told that what it read has gone, "same" if it then
 * read the same as before, else "different". What has gone is read again before it asks, as by a tool that was stopped
 * there.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/guard.h"
#include "profile/profile_internal.h"

/* Over every byte of every table. */
static int
add_all(struct store *store, MDB_txn *txn, uint64_t *sum)
{
	struct store_walk walk;
	int result = 0;

	*sum = 1;
	for (enum store_table table = TABLE_META; table < TABLE_COUNT && result == 0; table++) {
		store_walk_begin(store, txn, table, &walk);
		while ((result = store_walk_next(&walk)) > 0)
			for (size_t i = 0; i < walk.value.mv_size; i++)
				*sum = *sum * 31 + ((const uint8_t *)walk.value.mv_data)[i];
		store_walk_end(&walk);
	}
	return result;
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = false};
	struct guard guard = {
		.subject = "DIR", .claim = "the database is damaged", .advice = "", .status = STATUS_DAMAGED};
	uint64_t before, after = 0;
	struct profile *profile;
	struct store *store;
	MDB_txn *txn;
	int err;

	if (argc != 2 || profile_open(argv[1], &options, &profile))
		return 1;
	store = &profile->store;
	guard_enter(&guard);
	if (store_begin(store, false, &txn) || add_all(store, txn, &before))
		return 1;
	puts("stopping");
	fflush(stdout);
	raise(SIGSTOP);
	err = add_all(store, txn, &after);
	err = store_leave(store, txn, err);
	if (err && err != -DCPI_EVERSION)
		return 1;
	puts(err ? "gone" : before == after ? "same" : "different");
	guard_leave(&guard);
	profile_close(profile);
	return 0;
}
