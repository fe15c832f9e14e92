#include "profile/readers.h"

#include <inttypes.h>
#include <stdio.h>

struct slowest {
	uint64_t last; /* transaction of the newest write */
	uint64_t lag;  /* writes that the slowest reader has not seen */
	int pid;       /* 0: nobody reads */
};

/* LMDB's list has a line for each slot, "PID THREAD TRANSACTION" or "PID THREAD -", and is no part of its API. */
static int
take_line(const char *line, void *context)
{
	struct slowest *slowest = context;
	uint64_t transaction;
	int pid;

	if (sscanf(line, "%d %*x %" SCNu64, &pid, &transaction) != 2 || transaction > slowest->last)
		return 0;
	if (slowest->pid && slowest->last - transaction <= slowest->lag)
		return 0;
	slowest->pid = pid;
	slowest->lag = slowest->last - transaction;
	return 0;
}

static void
clear_dead(const struct store *store)
{
	int dead;

	if (mdb_reader_check(store->env, &dead) == 0 && dead > 0)
		log_write(store->log, LOG_LEVEL_INFO, "cleared the slots of %d readers that are gone", dead);
}

void
readers_look_after(struct store *store)
{
	struct slowest slowest = {0};
	MDB_envinfo info;

	clear_dead(store);
	if (mdb_env_info(store->env, &info) != 0)
		return;
	slowest.last = info.me_last_txnid;
	if (mdb_reader_list(store->env, take_line, &slowest) < 0 || slowest.lag < READER_LAG_MAX)
		slowest.pid = 0;
	if (slowest.pid && slowest.pid != store->slow_reader)
		log_write(store->log, LOG_LEVEL_WARNING,
		          "process %d reads the database and does not go on: the file grows until it does, or ends",
		          slowest.pid);
	store->slow_reader = slowest.pid;
}
