#include "profile/incoming.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/epoch.h"

#define LOCK_MODE  0600     /* a user who can open the file can lock it and keep imports out */
#define RETRY_NS   20000000 /* between two tries to take the lock */
#define OPEN_FLAGS (O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define OPEN_TRIES 10

static int
open_lock(const struct profile *profile)
{
	int lock = openat(profile->directory, IMPORTS_LOCK, O_RDWR | O_CREAT | OPEN_FLAGS, LOCK_MODE);
	int err;

	if (lock < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	err = directory_give_to_owner(profile->directory, lock); /* whose dcpid must see the lock */
	if (!err)
		return lock;
	close(lock);
	return err;
}

static int
take_lock(int lock, int (*wait)(void *context), void *context)
{
	const struct timespec moment = {.tv_nsec = RETRY_NS};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int err = 0;

	while (!err && fcntl(lock, F_OFD_SETLK, &whole) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		nanosleep(&moment, NULL);
		err = wait ? wait(context) : 0;
	}
	return err;
}

bool
incoming_is_locked(const struct profile *profile, int lock)
{
	return directory_has(lock, profile->directory, IMPORTS_LOCK);
}

int
incoming_lock(const struct profile *profile, int (*wait)(void *context), void *context)
{
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		const int lock = open_lock(profile);
		int err;

		if (lock < 0)
			return lock;
		err = take_lock(lock, wait, context);
		if (!err && incoming_is_locked(profile, lock))
			return lock;
		close(lock);
		if (err)
			return err;
	}
	return -EAGAIN; /* another process keeps removing the file */
}

/* True also when it cannot be found out: then nothing is removed. */
static bool
import_is_running(const struct profile *profile)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int lock = openat(profile->directory, IMPORTS_LOCK, O_RDONLY | OPEN_FLAGS);
	bool is_running;

	if (lock < 0)
		return errno != ENOENT;
	is_running = fcntl(lock, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
	close(lock);
	return is_running;
}

/* The first incoming epoch: 1 with *id, 0 when there is none, or an error. */
static int
find_first(const struct store *store, MDB_txn *txn, uint32_t *id)
{
	struct store_walk walk;
	int result;

	store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	while ((result = store_walk_next(&walk)) > 0)
		if (epoch_value_is_incoming(walk.value.mv_data, walk.value.mv_size) &&
		    store_key_number(&walk.key, id) == 0)
			break;
	store_walk_end(&walk);
	return result;
}

int
incoming_exist(const struct store *store, MDB_txn *txn)
{
	uint32_t id = 0;

	return find_first(store, txn, &id);
}

/* Remove at most `max` blocks of an epoch, a slice counting as one, and after its last slice the epoch. */
static int
remove_from_epoch(struct profile *profile, MDB_txn *txn, uint32_t id, size_t max)
{
	uint64_t taken[EVENTS_MAX];
	struct slice_list list;
	size_t left = max;
	int err;

	err = slice_list_read(&profile->store, txn, &list);
	for (size_t i = 0; !err && left > 0 && i < list.count; i++) {
		int64_t count;

		if (list.slices[i].epoch != id)
			continue;
		count = slice_take_blocks(profile, txn, list.slices[i].id, 0, left, taken);
		if (count < 0) {
			err = (int)count;
			break;
		}
		left -= (size_t)count;
		/* until the slice is removed its totals are too large: profile_check() ignores those of incoming slices
		 */
		if (left > 0) {
			left--;
			err = store_remove(&profile->store, txn, TABLE_SLICES, list.slices[i].id);
		}
	}
	slice_list_fini(&list);
	return err || left == 0 ? err : store_remove(&profile->store, txn, TABLE_EPOCHS, id);
}

int
incoming_remove_some(struct profile *profile, bool is_ours, size_t max)
{
	int result, err;
	MDB_txn *txn;
	uint32_t id = 0;

	/* look without a write first: mostly there is none */
	result = store_begin(&profile->store, false, &txn);
	if (!result)
		result = store_leave(&profile->store, txn, find_first(&profile->store, txn, &id));
	if (result <= 0 || (!is_ours && import_is_running(profile)))
		return result < 0 ? result : 0;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	result = find_first(&profile->store, txn, &id);
	/* An import that takes the lock from now on writes its first epoch after this transaction. */
	if (result > 0 && !is_ours && import_is_running(profile))
		result = 0;
	if (result > 0) {
		err = remove_from_epoch(profile, txn, id, max);
		result = err ? err : 1;
	}
	if (result <= 0) {
		mdb_txn_abort(txn);
		return result;
	}
	err = store_end(&profile->store, txn, 0);
	if (!err)
		profile->gc.done = false;
	return err ? err : 1;
}
