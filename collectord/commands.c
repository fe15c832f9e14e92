/* What a client or SIGHUP may ask of the daemon: see control.h. */
#include "collectord/daemon_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "collectord/status.h"

static void
reply(struct daemon *daemon, uint64_t client, json_t *answer)
{
	control_reply(daemon->control, client, answer);
}

static void
reply_error(struct daemon *daemon, uint64_t client, const char *sentence)
{
	reply(daemon, client, control_failure(sentence));
}

static void
reply_epoch(struct daemon *daemon, uint64_t client, const char *note)
{
	struct collection_view view;

	collection_view(daemon->collection, &view);
	if (view.epoch->id == 0) {
		reply_error(daemon, client, "the disk of the database does not answer; the epoch begins when it does");
		return;
	}
	reply(daemon, client, json_pack("{s:b,s:I,s:s}", "ok", 1, "epoch", (json_int_t)view.epoch->id, "note", note));
}

static void
command_status(struct daemon *daemon, uint64_t client)
{
	struct machine_memory memory;
	struct status_process process = {
		.since_ns = daemon->since_ns,
		.elapsed_ns = machine_clock_ns(CLOCK_MONOTONIC) - daemon->since_monotonic_ns,
		.socket = daemon->socket,
	};
	struct collection_view view;
	json_t *status;

	machine_memory(&memory);
	process.resident_bytes = memory.resident_bytes;
	process.own_bytes = memory.own_bytes;
	(void)collection_drain(daemon->collection); /* what is wrong with it, the view says */
	collection_view(daemon->collection, &view);
	process.cpu_time_ns = view.cpu_time_ns;
	status = status_json(&view, &process);
	json_object_set_new(status, "labels", daemon_labels_json(daemon));
	reply(daemon, client, json_pack("{s:b,s:o}", "ok", 1, "status", status));
}

/* Give every client that still needs one a ticket, if there is one to be had. */
static void
take_tickets(struct daemon *daemon)
{
	uint64_t ticket;
	bool wanted = false;
	int err;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		wanted |= daemon->waiters[i].client && !daemon->waiters[i].ticket;
	if (!wanted || collection_is_busy(daemon->collection))
		return;
	err = collection_request_commit(daemon->collection, &ticket);
	if (err == -EAGAIN)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct waiter *waiter = &daemon->waiters[i];

		if (!waiter->client || waiter->ticket)
			continue;
		if (!err) {
			waiter->ticket = ticket;
			continue;
		}
		reply_error(daemon, waiter->client, error_text(err));
		waiter->client = 0;
	}
}

/* Why nobody, or not this one, gets what it waits for; 0: it does, or has to wait on. */
static int
failure_of(const struct daemon *daemon, const struct collection_view *view, const struct waiter *waiter)
{
	if (daemon->result)
		return daemon->result;
	return view->flush_tries > waiter->tries ? view->flush_error : 0;
}

static bool
has_waiters(const struct daemon *daemon)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (daemon->waiters[i].client)
			return true;
	return false;
}

static void
answer_those_due(struct daemon *daemon)
{
	const uint64_t committed = collection_committed(daemon->collection);
	struct collection_view view;
	char why[256];

	collection_view(daemon->collection, &view);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct waiter *waiter = &daemon->waiters[i];
		const int err = failure_of(daemon, &view, waiter);

		if (!waiter->client)
			continue;
		/* who leaves without an error has written everything */
		if ((waiter->ticket && committed >= waiter->ticket) || (daemon->leaving && !err)) {
			reply(daemon, waiter->client, control_success());
			waiter->client = 0;
		} else if (err) {
			snprintf(why, sizeof(why), "the database cannot be written to: %s; counts are kept%s",
			         error_text(err), daemon->leaving ? " no longer" : " and tried again");
			reply_error(daemon, waiter->client, why);
			waiter->client = 0;
		}
	}
}

/* Called at each drain: a view costs system calls and locks, so none is made when no client waits. */
void
daemon_answer_waiters(struct daemon *daemon)
{
	if (has_waiters(daemon)) {
		answer_those_due(daemon);
		if (!daemon->leaving)
			take_tickets(daemon);
	}
	daemon_settle_compaction(daemon); /* whoever read the bell, it may have rung for this */
}

static void
command_flush(struct daemon *daemon, uint64_t client)
{
	struct collection_view view;

	collection_hurry(daemon->collection);
	collection_view(daemon->collection, &view);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct waiter *waiter = &daemon->waiters[i];

		if (waiter->client)
			continue;
		*waiter = (struct waiter){.client = client, .tries = view.flush_tries};
		daemon_answer_waiters(daemon); /* takes the ticket */
		return;
	}
	reply_error(daemon, client, "too many programs wait for a flush; try again");
}

static void
command_epoch(struct daemon *daemon, uint64_t client, const char *label)
{
	char why[512];

	if (collection_begin_epoch(daemon->collection, label, why, sizeof(why))) {
		reply_error(daemon, client, why);
	} else {
		healing_keep_label(daemon->healing, label);
		reply_epoch(daemon, client, "");
	}
	daemon_answer_waiters(daemon);
}

/* What a running daemon holds on to stays as it is. */
static void
keep_places(const struct daemon *daemon, const struct config *now, struct config *config, char *note, size_t size)
{
	const bool other_database = strcmp(now->database, config->database) != 0;
	const bool other_socket = strcmp(daemon->socket, config->socket) != 0;

	*note = '\0';
	if (other_database || other_socket)
		snprintf(note, size, "%s%s%s cannot change while dcpid runs: restart it",
		         other_database ? "the database" : "", other_database && other_socket ? " and " : "",
		         other_socket ? "the socket" : "");
	memcpy(config->database, now->database, sizeof(config->database));
	memcpy(config->socket, now->socket, sizeof(config->socket));
}

static int
take_over(struct daemon *daemon, char *note, size_t note_size, char *why, size_t size)
{
	struct collection_view view;
	struct config config;
	int err, watch_err;

	err = options_read_config(daemon->options, &config, why, size);
	if (err)
		return err;
	collection_view(daemon->collection, &view);
	keep_places(daemon, view.config, &config, note, note_size);
	if (*note)
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING, "%s", note);
	daemon_unwatch(daemon); /* the descriptors may go away */
	err = collection_reconfigure(daemon->collection, &config, why, size);
	if (err == -ECANCELED)
		return err;
	watch_err = daemon_watch(daemon);
	if (watch_err) {
		snprintf(why, size, "cannot set up the event loop: %s", error_text(watch_err));
		return -ECANCELED;
	}
	daemon->labels_kept = UINT64_MAX; /* another sampler counts from its own beginning */
	if (!err)
		__atomic_store_n(&daemon->logging->log.limit, config.log_limit, __ATOMIC_RELAXED);
	return err;
}

int
daemon_reload(struct daemon *daemon, char *note, size_t note_size, char *why, size_t size)
{
	int err;

	*note = '\0';
	notify_reloading(daemon->notify);
	err = take_over(daemon, note, note_size, why, size);
	if (err == -ECANCELED) {
		/* the old collection is gone and the new one did not come to be: better restarted than deaf */
		daemon_give_up(daemon, err, why);
		return err;
	}
	notify_ready(daemon->notify, err ? why : "collecting");
	if (!err)
		log_write(&daemon->logging->log, LOG_LEVEL_INFO, "%s: taken over", options_source(daemon->options));
	return err;
}

static void
command_reload(struct daemon *daemon, uint64_t client)
{
	char note[256], why[1024];
	int err = daemon_reload(daemon, note, sizeof(note), why, sizeof(why));

	if (err) {
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR, "%s", why);
		reply_error(daemon, client, why);
	} else {
		reply_epoch(daemon, client, note);
	}
	if (err != -ECANCELED)
		daemon_answer_waiters(daemon);
}

static void
command_quit(struct daemon *daemon, uint64_t client)
{
	if (daemon_leave(daemon))
		reply_error(daemon, client, daemon->why);
	else
		reply(daemon, client, control_success());
}

void
daemon_command(void *context, uint64_t client, const struct request *request, const struct peer_process *process)
{
	struct daemon *daemon = context;

	if (daemon->leaving) {
		reply_error(daemon, client, "dcpid is about to leave");
		return;
	}
	log_write(&daemon->logging->log, LOG_LEVEL_DEBUG, "asked for %s", command_name(request->command));
	if (daemon_defer(daemon, client, request))
		return;
	switch (request->command) {
	case COMMAND_STATUS:
		command_status(daemon, client);
		return;
	case COMMAND_FLUSH:
		command_flush(daemon, client);
		return;
	case COMMAND_EPOCH:
		command_epoch(daemon, client, request->label);
		return;
	case COMMAND_RELOAD:
		command_reload(daemon, client);
		return;
	case COMMAND_QUIT:
		command_quit(daemon, client);
		return;
	case COMMAND_COMPACT:
		daemon_compact(daemon, client);
		return;
	case COMMAND_LABEL:
		daemon_label(daemon, client, request, process);
		return;
	}
}
