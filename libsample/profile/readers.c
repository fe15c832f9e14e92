#include "profile/readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct slowest {
	uint64_t last;        /* transaction of the newest write */
	uint64_t transaction; /* that the slowest reader sees */
	int pid;              /* 0: nobody reads */
};

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* LMDB's list has a line for each slot, "PID THREAD TRANSACTION" or "PID THREAD -", and is no part of its API. */
static int
take_line(const char *line, void *context)
{
	struct slowest *slowest = context;
	uint64_t transaction;
	int pid;

	if (sscanf(line, "%d %*x %" SCNu64, &pid, &transaction) != 2 || transaction > slowest->last)
		return 0;
	if (slowest->pid && transaction >= slowest->transaction)
		return 0;
	slowest->pid = pid;
	slowest->transaction = transaction;
	return 0;
}

static void
clear_dead(const struct store *store)
{
	int dead;

	if (mdb_reader_check(store->env, &dead) == 0 && dead > 0)
		log_write(store->log, LOG_LEVEL_INFO, "cleared the slots of readers that are gone: %d", dead);
}

void
readers_look_after(struct store *store)
{
	struct slow_reader *slow = &store->slow;
	struct slowest slowest = {0};
	MDB_envinfo info;

	clear_dead(store);
	if (mdb_env_info(store->env, &info) != 0)
		return;
	slowest.last = info.me_last_txnid;
	if (mdb_reader_list(store->env, take_line, &slowest) < 0)
		slowest.pid = 0;
	if (slowest.pid != slow->pid || slowest.transaction != slow->transaction)
		*slow = (struct slow_reader){
			.pid = slowest.pid,
			.transaction = slowest.transaction,
			.since_ns = clock_ns(),
		};
	slow->lag = slowest.last - slow->transaction;
	if (!slow->pid || slow->is_told || slow->lag < READER_LAG_MAX)
		return;
	log_write(store->log, LOG_LEVEL_WARNING,
	          "process %d reads the database and does not go on: the file grows until it does, or ends", slow->pid);
	slow->is_told = true;
}

const struct slow_reader *
readers_slow(const struct store *store)
{
	return store->slow.pid && store->slow.is_told ? &store->slow : NULL;
}

const struct slow_reader *
readers_lagging(const struct store *store)
{
	return store->slow.pid && store->slow.lag > 0 ? &store->slow : NULL;
}
