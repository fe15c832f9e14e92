/* Compacting the database for a client, and what has to wait for it: see daemon_internal.h. */
#include "collectord/daemon_internal.h"

#include <errno.h>
#include <string.h>

void
daemon_compact(struct daemon *daemon, uint64_t client)
{
	if (collection_compact(daemon->collection)) {
		control_reply(daemon->control, client, control_failure("the database is being compacted already"));
		return;
	}
	daemon->compacting = client;
}

/* What begins an epoch would hold the event loop up until the flusher is free. */
bool
daemon_defer(struct daemon *daemon, uint64_t client, const struct request *request)
{
	if (!collection_is_compacting(daemon->collection) || daemon->deferred_count == CONTROL_CLIENTS_MAX ||
	    (request->command != COMMAND_EPOCH && request->command != COMMAND_RELOAD))
		return false;
	daemon->deferred[daemon->deferred_count++] = (struct deferred){.client = client, .request = *request};
	return true;
}

static void
answer(struct daemon *daemon, const struct compaction *compaction, int err)
{
	const struct log *log = &daemon->logging->log;
	char before[32], after[32], why[256];

	if (err) {
		compaction_explain(compaction, err, why, sizeof(why));
		log_write(log, LOG_LEVEL_WARNING, "the database cannot be compacted: %s", why);
		control_reply(daemon->control, daemon->compacting, control_failure(why));
	} else {
		log_write(log, LOG_LEVEL_NOTICE, "the database was compacted: %s -> %s",
		          compaction_size(compaction->before_bytes, before, sizeof(before)),
		          compaction_size(compaction->after_bytes, after, sizeof(after)));
		control_reply(daemon->control, daemon->compacting,
		              json_pack("{s:b,s:I,s:I}", "ok", 1, "before_bytes", (json_int_t)compaction->before_bytes,
		                        "after_bytes", (json_int_t)compaction->after_bytes));
	}
	daemon->compacting = 0;
}

static void
do_deferred(struct daemon *daemon)
{
	const size_t count = daemon->deferred_count;
	struct deferred deferred[CONTROL_CLIENTS_MAX];

	memcpy(deferred, daemon->deferred, count * sizeof(*deferred));
	daemon->deferred_count = 0;
	for (size_t i = 0; i < count; i++)
		daemon_command(daemon, deferred[i].client, &deferred[i].request, NULL);
	if (daemon->reload_deferred && !daemon->leaving) {
		daemon->reload_deferred = false;
		daemon_hang_up(daemon);
	}
}

void
daemon_settle_compaction(struct daemon *daemon)
{
	struct compaction compaction;
	int err;

	if (!collection_compacted(daemon->collection, &compaction, &err))
		return;
	answer(daemon, &compaction, err);
	do_deferred(daemon);
}
