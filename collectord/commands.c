/* The requests of clients, one function a command, and what clients wait for: see control.h and daemon_internal.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "collectord/daemon_internal.h"
#include "collectord/labels_file.h"
#include "collectord/machine.h"
#include "collectord/status.h"

#define SAVE_INTERVAL_NS SECOND_NS

struct command_call {
	uint64_t client; /* to be answered, now or later */
	const struct control_request *request;
	const struct peer_process *process; /* to be labelled */
};

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

/* ---- label ---- */

static void
labels_path(const struct daemon *daemon, char path[PATH_MAX + 8])
{
	snprintf(path, PATH_MAX + 8, "%s.labels", daemon->socket);
}

void
daemon_save_labels(struct daemon *daemon)
{
	const struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t changes = sampler_label_changes(sampler);
	struct labelled_processes labelled = {0};
	char path[PATH_MAX + 8];
	int err;

	if (changes == daemon->labels_saved)
		return;
	labels_path(daemon, path);
	err = sampler_labelled(sampler, &labelled);
	if (!err) {
		err = labels_file_write(path, &labelled);
		labelled_processes_fini(&labelled);
	}
	if (err && err != daemon->labels_error) /* each flush tries again: log only a new error */
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING,
		          "%s: cannot keep which processes have labels: %s; a dcpid that is started anew will not know",
		          path, error_text(err));
	daemon->labels_error = err;
	daemon->labels_saved_ns = machine_clock_ns(CLOCK_MONOTONIC);
	if (!err)
		daemon->labels_saved = changes;
}

void
daemon_restore_labels(struct daemon *daemon)
{
	struct labelled_processes labelled = {0};
	char path[PATH_MAX + 8];
	int err;

	labels_path(daemon, path);
	err = labels_file_read(path, &labelled);
	if (err == -ENOENT)
		return;
	if (!err) {
		err = sampler_label_again(collection_sampler(daemon->collection), &labelled);
		labelled_processes_fini(&labelled);
	}
	if (err)
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING, "%s: cannot label again what runs on: %s", path,
		          error_text(err));
}

static int
compare_labels(const void *left, const void *right)
{
	const struct labelled_process *a = left, *b = right;

	return strcmp(a->label, b->label);
}

/* For the status: each label of a live process, and how many processes have it. */
static json_t *
labels_json(const struct daemon *daemon)
{
	struct labelled_processes labelled = {0};
	json_t *labels = json_array();
	size_t next;

	if (sampler_labelled(collection_sampler(daemon->collection), &labelled))
		return labels;
	if (labelled.count)
		qsort(labelled.list, labelled.count, sizeof(*labelled.list), compare_labels);
	for (size_t i = 0; i < labelled.count; i = next) {
		for (next = i + 1;
		     next < labelled.count && compare_labels(&labelled.list[i], &labelled.list[next]) == 0;)
			next++;
		json_array_append_new(labels, json_pack("{s:s,s:I}", "label", labelled.list[i].label, "processes",
		                                        (json_int_t)(next - i)));
	}
	labelled_processes_fini(&labelled);
	return labels;
}

static int
start_label(struct daemon *daemon, const struct control_request *request, const struct peer_process *process)
{
	const enum label_start start = request->pid ? LABEL_AT_ONCE : LABEL_AT_EXEC;

	return sampler_label(collection_sampler(daemon->collection), process->pid, request->label, start,
	                     process->time_ns);
}

static void
command_label(struct daemon *daemon, const struct command_call *call)
{
	char why[128];
	int err = start_label(daemon, call->request, call->process);

	if (err == -EBUSY) { /* a drain starts the labels that wait */
		(void)collection_drain(daemon->collection);
		err = start_label(daemon, call->request, call->process);
	}
	if (err) {
		snprintf(why, sizeof(why), "the process cannot be labelled: %s",
		         err == -EBUSY ? "too many are waiting for it" : error_text(err));
		reply_error(daemon, call->client, why);
		return;
	}
	daemon_watch_idle(daemon); /* before the labelled process runs: it may be over in some milliseconds */
	if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->labels_saved_ns >= SAVE_INTERVAL_NS)
		daemon_save_labels(daemon); /* else the next flush does: there may be very many */
	reply(daemon, call->client, json_pack("{s:b,s:I}", "ok", 1, "pid", (json_int_t)call->process->pid));
}

/* ---- status ---- */

static void
command_status(struct daemon *daemon, const struct command_call *call)
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
	(void)collection_drain(daemon->collection); /* an error shows in the view */
	collection_view(daemon->collection, &view);
	process.cpu_time_ns = view.cpu_time_ns;
	status = status_json(&view, &process);
	json_object_set_new(status, "labels", labels_json(daemon));
	reply(daemon, call->client, json_pack("{s:b,s:o}", "ok", 1, "status", status));
}

/* ---- compact ---- */

static void
command_compact(struct daemon *daemon, const struct command_call *call)
{
	if (collection_compact(daemon->collection))
		reply_error(daemon, call->client, "the database is being compacted already");
	else
		daemon->compacting = call->client; /* finish_compaction() replies */
}

static void
run_deferred(struct daemon *daemon)
{
	const size_t count = daemon->deferred_count;
	struct deferred_request deferred[CONTROL_CLIENTS_MAX];

	memcpy(deferred, daemon->deferred, count * sizeof(*deferred));
	daemon->deferred_count = 0;
	for (size_t i = 0; i < count; i++)
		daemon_command(daemon, deferred[i].client, &deferred[i].request, NULL);
	if (daemon->reload_deferred && !daemon->leaving) {
		daemon->reload_deferred = false;
		daemon_reload_on_signal(daemon);
	}
}

/* If a compaction has ended: answer its client, and run the requests that had to wait. */
static void
finish_compaction(struct daemon *daemon)
{
	const struct log *log = &daemon->logging->log;
	char before[32], after[32], why[256];
	struct compaction compaction;
	int err;

	if (!collection_compacted(daemon->collection, &compaction, &err))
		return;
	if (err) {
		compaction_explain(&compaction, err, why, sizeof(why));
		log_write(log, LOG_LEVEL_WARNING, "the database cannot be compacted: %s", why);
		reply_error(daemon, daemon->compacting, why);
	} else {
		log_write(log, LOG_LEVEL_NOTICE, "the database was compacted: %s -> %s",
		          compaction_size(compaction.before_bytes, before, sizeof(before)),
		          compaction_size(compaction.after_bytes, after, sizeof(after)));
		reply(daemon, daemon->compacting,
		      json_pack("{s:b,s:I,s:I}", "ok", 1, "before_bytes", (json_int_t)compaction.before_bytes,
		                "after_bytes", (json_int_t)compaction.after_bytes));
	}
	daemon->compacting = 0;
	run_deferred(daemon);
}

/* ---- flush ---- */

/* Hand what was recorded to the flusher, if clients wait for it and the flusher is free; they get its ticket. */
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
		struct flush_waiter *waiter = &daemon->waiters[i];

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

static bool
has_waiters(const struct daemon *daemon)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (daemon->waiters[i].client)
			return true;
	return false;
}

static void
answer_due_waiters(struct daemon *daemon)
{
	const uint64_t committed = collection_committed(daemon->collection);
	struct collection_view view;
	char why[256];

	collection_view(daemon->collection, &view);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct flush_waiter *waiter = &daemon->waiters[i];
		int err = daemon->result;

		if (!waiter->client)
			continue;
		if (!err && view.flush_tries > waiter->tries)
			err = view.flush_error;
		/* a daemon that leaves without an error has written everything */
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
		answer_due_waiters(daemon);
		if (!daemon->leaving)
			take_tickets(daemon);
	}
	finish_compaction(daemon); /* flushes and compactions end with the same descriptor of the flusher */
}

/* Keep the client until its flush is done. `ticket` is 0 when it has none yet. */
static void
add_waiter(struct daemon *daemon, uint64_t client, uint64_t ticket)
{
	struct collection_view view;

	collection_view(daemon->collection, &view);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct flush_waiter *waiter = &daemon->waiters[i];

		if (waiter->client)
			continue;
		*waiter = (struct flush_waiter){.client = client, .ticket = ticket, .tries = view.flush_tries};
		return;
	}
	reply_error(daemon, client, "too many programs wait for a flush; try again");
}

static void
command_flush(struct daemon *daemon, const struct command_call *call)
{
	collection_retry_now(daemon->collection);
	add_waiter(daemon, call->client, 0);
	daemon_answer_waiters(daemon); /* takes the ticket */
}

/* A tool is about to read: it gets what it would have seen had there been a flush in each flush interval. */
static void
command_refresh(struct daemon *daemon, const struct command_call *call)
{
	uint64_t ticket;
	int err = collection_request_refresh(daemon->collection, &ticket);

	if (err)
		reply_error(daemon, call->client, error_text(err));
	else if (collection_committed(daemon->collection) >= ticket)
		reply(daemon, call->client, control_success());
	else
		add_waiter(daemon, call->client, ticket);
}

/* ---- epoch, reload, quit ---- */

static void
command_epoch(struct daemon *daemon, const struct command_call *call)
{
	char why[512];

	if (collection_begin_epoch(daemon->collection, call->request->label, why, sizeof(why))) {
		reply_error(daemon, call->client, why);
	} else {
		damage_restart_set_label(daemon->restart, call->request->label);
		reply_epoch(daemon, call->client, "");
	}
	daemon_answer_waiters(daemon);
}

/* A running daemon cannot change its database and socket: keep them in `config`, and say so in `note`. */
static void
keep_paths(const struct daemon *daemon, const struct config *now, struct config *config, char *note, size_t size)
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

	err = dcpid_options_read_config(daemon->options, &config, why, size);
	if (err)
		return err;
	collection_view(daemon->collection, &view);
	keep_paths(daemon, view.config, &config, note, note_size);
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
	daemon->labels_saved = UINT64_MAX; /* another sampler counts from its own beginning */
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
		/* the old collection is closed and the new one could not be opened: leave, to be started again */
		daemon_abort(daemon, err, why);
		return err;
	}
	notify_ready(daemon->notify, err ? why : "collecting");
	if (!err)
		log_write(&daemon->logging->log, LOG_LEVEL_INFO, "%s: taken over",
		          dcpid_options_source(daemon->options));
	return err;
}

static void
command_reload(struct daemon *daemon, const struct command_call *call)
{
	char note[256], why[1024];
	int err = daemon_reload(daemon, note, sizeof(note), why, sizeof(why));

	if (err) {
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR, "%s", why);
		reply_error(daemon, call->client, why);
	} else {
		reply_epoch(daemon, call->client, note);
	}
	if (err != -ECANCELED)
		daemon_answer_waiters(daemon);
}

static void
command_quit(struct daemon *daemon, const struct command_call *call)
{
	if (daemon_leave(daemon))
		reply_error(daemon, call->client, daemon->why);
	else
		reply(daemon, call->client, control_success());
}

/* ---- the table ---- */

/* A command that begins an epoch waits for the flusher; during a compaction that would stop the event loop. */
static const struct {
	void (*handler)(struct daemon *daemon, const struct command_call *call);
	bool begins_epoch;
} commands[COMMANDS] = {
	[COMMAND_STATUS] = {command_status, false}, [COMMAND_FLUSH] = {command_flush, false},
	[COMMAND_EPOCH] = {command_epoch, true},    [COMMAND_RELOAD] = {command_reload, true},
	[COMMAND_QUIT] = {command_quit, false},     [COMMAND_COMPACT] = {command_compact, false},
	[COMMAND_LABEL] = {command_label, false},   [COMMAND_REFRESH] = {command_refresh, false},
};

void
daemon_command(void *context, uint64_t client, const struct control_request *request,
               const struct peer_process *process)
{
	const struct command_call call = {client, request, process};
	struct daemon *daemon = context;

	if (daemon->leaving) {
		reply_error(daemon, client, "dcpid is about to leave");
		return;
	}
	log_write(&daemon->logging->log, LOG_LEVEL_DEBUG, "asked for %s", command_entry(request->command)->name);
	if (commands[request->command].begins_epoch && collection_is_compacting(daemon->collection) &&
	    daemon->deferred_count < CONTROL_CLIENTS_MAX)
		daemon->deferred[daemon->deferred_count++] = (struct deferred_request){client, *request};
	else
		commands[request->command].handler(daemon, &call);
}
