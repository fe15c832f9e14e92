#include "collectord/daemon.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "collectord/collection.h"
#include "collectord/control.h"
#include "collectord/labels_file.h"
#include "collectord/loop.h"
#include "collectord/machine.h"
#include "collectord/status.h"

#define DRAIN_INTERVAL_NS  (5 * SECOND_NS)       /* rings also ask for a drain themselves */
#define POLL_INTERVAL_NS   UINT64_C(600000000)   /* after a ring became readable, and while processes begin */
#define LOOK_INTERVAL_NS   UINT64_C(75000000)    /* between two looks for new programs, while such begin */
#define LOOK_RUN_NS        UINT64_C(25000000)    /* in which a new program gets its first samples */
#define ALARM_EARLY_NS     UINT64_C(10000000)    /* at most: the loop has its clock from ticks and once a turn */
#define TABLES_INTERVAL_NS UINT64_C(100000000)   /* between two drains while unwind tables are expected */
#define LOOK_SPAN_NS       UINT64_C(2000000000)  /* for so long after the last one */
#define LAST_COMMIT_NS     UINT64_C(10000000000) /* less than what service managers wait for a stop */
#define SAVE_INTERVAL_NS   SECOND_NS

/* A client that wants all that was recorded when it asked to be in the database. */
struct flush_waiter {
	uint64_t client; /* 0: the place is free */
	uint64_t ticket; /* 0: not yet all handed to the flusher */
	uint64_t tries;  /* flushes that had ended when the client asked: their failures are not its own */
};

/* A request that waits until the database is compacted. */
struct deferred_request {
	uint64_t client;
	struct control_request request; /* never of a label: that waits for nothing */
};

struct daemon {
	const struct dcpid_options *options;
	struct damage_restart *restart;
	struct logging *logging;
	struct notify *notify;
	struct event_base *loop;
	struct collection *collection;
	struct control *control;
	char socket[PATH_MAX];
	char labels[PATH_MAX + 8]; /* the file of labels, beside the socket */

	uint64_t labels_saved;    /* sampler_label_changes() when the file of labels was written */
	uint64_t labels_saved_ns; /* CLOCK_MONOTONIC: when that was last tried */
	int labels_error;         /* why the last try failed; it is in the log */
	struct flush_waiter waiters[CONTROL_CLIENTS_MAX];
	uint64_t compacting; /* the client that asked for it; 0: none */
	struct deferred_request deferred[CONTROL_CLIENTS_MAX];
	size_t deferred_count;
	bool reload_deferred; /* SIGHUP came while the database was being compacted */

	struct loop_watch *terminate, *interrupt, *hangup;
	struct loop_watch *drain_timer, *drain_alarm, *poll_alarm, *flush_timer, *end_timer;
	struct loop_watch *machine;
	struct loop_watch *flusher;
	struct loop_watch **rings;
	size_t ring_count;

	uint64_t since_ns;           /* when collection began, CLOCK_REALTIME */
	uint64_t since_monotonic_ns; /* when collection began, CLOCK_MONOTONIC */
	uint64_t poll_ns;            /* CLOCK_MONOTONIC: poll the rings by then; UINT64_MAX: nothing is due */
	uint64_t look_ns;            /* CLOCK_MONOTONIC: look for new programs by then; UINT64_MAX: not before a poll */
	uint64_t look_until_ns;      /* CLOCK_MONOTONIC */
	uint64_t program_ns;         /* CLOCK_MONOTONIC: drain then, for the program that began last */
	uint64_t drained_ns;         /* when the rings were last drained, CLOCK_MONOTONIC */
	uint64_t watchdog_ns;        /* when the watchdog was last fed, CLOCK_MONOTONIC */

	bool leaving;
	int result; /* what daemon_run() returns */
	char *why;
	size_t size;
};

/* ---- replies ---- */

static void
reply_error(struct daemon *daemon, uint64_t client, const char *sentence)
{
	control_reply(daemon->control, client, control_failure(sentence));
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
	control_reply(daemon->control, client,
	              json_pack("{s:b,s:I,s:s}", "ok", 1, "epoch", (json_int_t)view.epoch->id, "note", note));
}

/* ---- labels of processes, for the dcpid that comes after this one ---- */

/* Write which processes have labels to a file for the next dcpid, if that changed since the last call. */
static void
save_labels(struct daemon *daemon)
{
	const struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t changes = sampler_label_changes(sampler);
	struct labelled_processes labelled = {0};
	int err;

	if (changes == daemon->labels_saved)
		return;
	err = sampler_labelled(sampler, &labelled);
	if (!err) {
		err = labels_file_write(daemon->labels, &labelled);
		labelled_processes_fini(&labelled);
	}
	if (err && err != daemon->labels_error) /* each flush tries again: log only a new error */
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING,
		          "%s: cannot keep which processes have labels: %s; a dcpid that is started anew will not know",
		          daemon->labels, error_text(err));
	daemon->labels_error = err;
	daemon->labels_saved_ns = machine_clock_ns(CLOCK_MONOTONIC);
	if (!err)
		daemon->labels_saved = changes;
}

/* Label again the processes that the dcpid before this one had labelled. */
static void
restore_labels(struct daemon *daemon)
{
	struct labelled_processes labelled = {0};
	int err;

	err = labels_file_read(daemon->labels, &labelled);
	if (err == -ENOENT)
		return;
	if (!err) {
		err = sampler_label_again(collection_sampler(daemon->collection), &labelled);
		labelled_processes_fini(&labelled);
	}
	if (err)
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING, "%s: cannot label again what runs on: %s",
		          daemon->labels, error_text(err));
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

/* ---- the rings ---- */

/* Answer the clients whose flush is done or has failed, and finish a compaction that has ended. */
static void answer_waiters(struct daemon *daemon);

/* Feed the watchdog no more often than it needs, and only after a drain that succeeded. */
static void
feed_watchdog(struct daemon *daemon)
{
	uint64_t interval_ns = notify_watchdog_ns(daemon->notify);
	uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (interval_ns == 0 || now_ns - daemon->watchdog_ns < interval_ns / 4 ||
	    !collection_is_healthy(daemon->collection))
		return;
	if (notify_watchdog(daemon->notify) == 0)
		daemon->watchdog_ns = now_ns;
}

/*
 * One drain takes the records of all rings, and rings fill at about equal rates: a drain that is due within half a
 * lag of the last one, because another ring or the timer asks for it, would find nothing new.
 */
static void
drain_if_due(struct daemon *daemon)
{
	if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->drained_ns >= SAMPLER_LAG_NS / 2) {
		if (collection_drain(daemon->collection) == 0)
			feed_watchdog(daemon);
		daemon->drained_ns = machine_clock_ns(CLOCK_MONOTONIC);
	}
	if (daemon->program_ns > daemon->drained_ns + ALARM_EARLY_NS) /* it began when the alarm was armed already */
		loop_watch_arm(daemon->drain_alarm, daemon->program_ns - daemon->drained_ns);
	if (sampler_is_filling(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm,
		               SAMPLER_LAG_NS); /* if there is no memory for it, the timer drains */
	if (sampler_expects_tables(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, TABLES_INTERVAL_NS);
	answer_waiters(daemon); /* a drain flushes a full tally */
}

/* When to poll the rings: when busy CPUs may be idle by then, and some time after a ring became readable. */
static uint64_t
poll_due_ns(const struct daemon *daemon)
{
	const uint64_t idle_ns = sampler_idle_due_ns(collection_sampler(daemon->collection));

	return idle_ns < daemon->poll_ns ? idle_ns : daemon->poll_ns;
}

static void
schedule_poll(struct daemon *daemon)
{
	const uint64_t poll_ns = poll_due_ns(daemon);
	const uint64_t due_ns = poll_ns < daemon->look_ns ? poll_ns : daemon->look_ns;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (due_ns != UINT64_MAX) /* if there is no memory for it, the other timers poll */
		loop_watch_rearm(daemon->poll_alarm, due_ns > now_ns ? due_ns - now_ns : 0);
}

/* The ring of an idle CPU becomes readable when the CPU works again: watch those before anything else is done. */
static void
watch_idle(struct daemon *daemon)
{
	struct sampler *sampler = collection_sampler(daemon->collection);

	sampler_watch_idle(sampler);
	for (size_t i = 0; i < daemon->ring_count; i++)
		if (daemon->rings[i])
			loop_watch_enable(daemon->rings[i], sampler_needs_wakeup(sampler, i));
}

/* Watch CPUs that are idle now, and again when that is due. */
static void
watch_idle_until_due(struct daemon *daemon)
{
	watch_idle(daemon);
	schedule_poll(daemon);
}

/*
 * Done often, so whether the machine has changed, which takes longer to find out, is left to the timer. While processes
 * begin, it is repeated earlier than busy CPUs need it: a program may soon have ended, and its file be gone.
 */
static void
poll_rings(struct daemon *daemon)
{
	struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	watch_idle(daemon);
	sampler_dither(sampler);
	daemon->poll_ns = sampler_has_process_records(sampler) || sampler_is_paced(sampler) ? now_ns + POLL_INTERVAL_NS
	                                                                                    : UINT64_MAX;
	if (sampler_drain_is_due(sampler, now_ns - daemon->drained_ns))
		drain_if_due(daemon);
}

/*
 * After a program began that never ran before, look often for another one: its build-id and names are only read after
 * a drain, and it may have ended, and its file be gone, before the next one. What ran before costs no drain, and a
 * machine where only that begins is not woken for it.
 */
static void
look_for_programs(struct daemon *daemon)
{
	struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (sampler_has_new_file(sampler)) {
		daemon->look_until_ns = now_ns + LOOK_SPAN_NS;
		daemon->program_ns = now_ns + SAMPLER_LAG_NS + LOOK_RUN_NS;
		/* if there is no memory for it, the other timers drain */
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS + LOOK_RUN_NS);
	}
	daemon->look_ns = now_ns < daemon->look_until_ns ? now_ns + LOOK_INTERVAL_NS : UINT64_MAX;
}

static void
on_poll_alarm(void *context)
{
	struct daemon *daemon = context;

	look_for_programs(daemon);
	if (machine_clock_ns(CLOCK_MONOTONIC) >= poll_due_ns(daemon))
		poll_rings(daemon);
	schedule_poll(daemon);
}

/* A CPU works again, or its ring is filling: records that begin now are to be drained earlier than after a second. */
static void
on_ring(void *context)
{
	struct daemon *daemon = context;

	look_for_programs(daemon);
	poll_rings(daemon);
	daemon->poll_ns = machine_clock_ns(CLOCK_MONOTONIC) + POLL_INTERVAL_NS;
	schedule_poll(daemon);
}

static void
unwatch_rings(struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->ring_count; i++)
		loop_watch_free(daemon->rings[i]);
	free(daemon->rings);
	daemon->rings = NULL;
	daemon->ring_count = 0;
}

static int
watch_rings(struct daemon *daemon)
{
	const struct sampler *sampler = collection_sampler(daemon->collection);
	const size_t count = sampler_descriptor_count(sampler);

	unwatch_rings(daemon);
	daemon->rings = calloc(count + 1, sizeof(struct loop_watch *));
	if (!daemon->rings)
		return -ENOMEM;
	daemon->ring_count = count;
	for (size_t i = 0; i < count; i++) {
		int fd = sampler_descriptor(sampler, i);

		if (fd < 0)
			continue;
		daemon->rings[i] = loop_watch_descriptor(daemon->loop, fd, on_ring, daemon);
		if (!daemon->rings[i])
			return -errno;
	}
	return 0;
}

static void
on_drain_alarm(void *context)
{
	drain_if_due(context);
}

/*
 * Also called when machine_watch's descriptor is readable: until the events of a CPU that came online are open, the
 * kernel records nothing of the processes that begin there.
 */
static void
on_drain_timer(void *context)
{
	struct daemon *daemon = context;

	if (collection_poll_machine(daemon->collection)) {
		unwatch_rings(daemon);
		collection_follow_cpus(daemon->collection);
		if (watch_rings(daemon))
			log_write(&daemon->logging->log, LOG_LEVEL_ERROR,
			          "no memory to watch the rings: they are drained every "
			          "5 seconds only");
	}
	watch_idle_until_due(daemon);
	drain_if_due(daemon);
}

/* ---- the flusher ---- */

static void
notify_state(struct daemon *daemon)
{
	struct collection_view view;
	char status[STATUS_SENTENCE_SIZE];

	collection_view(daemon->collection, &view);
	if (!status_health(&view, 0, status, sizeof(status)))
		snprintf(status, sizeof(status),
		         "epoch %" PRIu32 ": %" PRIu64 " samples, %.2f %% unknown, %" PRIu64 " lost", view.epoch->id,
		         view.samples, view.samples ? 100.0 * (double)view.unknown / (double)view.samples : 0,
		         view.lost);
	notify_status(daemon->notify, status);
}

static void
on_flush_timer(void *context)
{
	struct daemon *daemon = context;

	on_drain_timer(daemon); /* so that the flush has the latest samples */
	if (collection_flush_is_due(daemon->collection)) {
		collection_adjust_rates(daemon->collection); /* while the flusher has nothing to do yet */
		/* when it is busy, on_flusher() or the next timer tries again */
		(void)collection_flush(daemon->collection);
	}
	notify_state(daemon);
	answer_waiters(daemon);
	save_labels(daemon);
	control_check_socket(daemon->control);
}

static void
on_flusher(void *context)
{
	struct daemon *daemon = context;

	if (collection_take_result(daemon->collection))
		notify_state(daemon);
	answer_waiters(daemon);
}

/* ---- watches of what a collection has ---- */

static void
unwatch_collection(struct daemon *daemon)
{
	unwatch_rings(daemon);
	loop_watch_free(daemon->flusher);
	daemon->flusher = NULL;
	loop_watch_free(daemon->flush_timer);
	daemon->flush_timer = NULL;
}

/* (Re)make the watches that depend on the collection: rings, the flusher, the flush timer. 0 or -errno. */
static int
watch_collection(struct daemon *daemon)
{
	struct collection_view view;
	int err;

	unwatch_collection(daemon);
	err = watch_rings(daemon);
	if (err)
		return err;
	collection_view(daemon->collection, &view);
	daemon->flusher = loop_watch_descriptor(
		daemon->loop, flusher_descriptor(collection_flusher(daemon->collection)), on_flusher, daemon);
	daemon->flush_timer = loop_watch_timer(daemon->loop, view.config->flush_interval_ns, on_flush_timer, daemon);
	if (daemon->poll_alarm)
		watch_idle_until_due(daemon); /* its first idle windows have an end */
	if (daemon->drain_alarm && sampler_is_filling(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS); /* processes are being read */
	return daemon->flusher && daemon->flush_timer ? 0 : -ENOMEM;
}

/* ---- the end ---- */

static void
log_summary(struct daemon *daemon)
{
	const uint64_t elapsed_ns = machine_clock_ns(CLOCK_MONOTONIC) - daemon->since_monotonic_ns;
	struct collection_view view;

	collection_view(daemon->collection, &view);
	log_write(&daemon->logging->log, LOG_LEVEL_NOTICE,
	          "%" PRIu64 " samples in %.1f s (%" PRIu64 " unknown, %" PRIu64 " lost) in %s", view.samples,
	          (double)elapsed_ns / 1e9, view.unknown, view.lost, view.config->database);
}

/* Write what is recorded and leave the loop. 0, or why counts were lost. */
static int
daemon_leave(struct daemon *daemon)
{
	int err;

	if (daemon->leaving)
		return daemon->result;
	daemon->leaving = true;
	damage_restart_set_exit(daemon->restart, error_exit_status(daemon->result));
	notify_stopping(daemon->notify, "writing the last samples");
	unwatch_collection(daemon);
	collection_stop(daemon->collection);
	collection_abort_compaction(daemon->collection); /* the flusher is needed now */
	collection_finish_capture(daemon->collection);
	err = collection_commit(daemon->collection, LAST_COMMIT_NS);
	if (err) {
		snprintf(daemon->why, daemon->size, "the last samples could not be written: %s", error_text(err));
		daemon->result = err;
		damage_restart_set_exit(daemon->restart, error_exit_status(err));
	}
	save_labels(daemon);
	log_summary(daemon);
	answer_waiters(daemon);
	event_base_loopbreak(daemon->loop);
	return err;
}

/* Leave the loop without a last commit: there is no collection to commit. */
static void
daemon_abort(struct daemon *daemon, int err, const char *why)
{
	if (daemon->leaving)
		return;
	daemon->leaving = true;
	damage_restart_set_exit(daemon->restart, error_exit_status(err));
	daemon->result = err;
	snprintf(daemon->why, daemon->size, "%s", why);
	notify_stopping(daemon->notify, why);
	log_summary(daemon);
	event_base_loopbreak(daemon->loop);
}

static void
on_leave(void *context)
{
	daemon_leave(context);
}

/* ---- commands ---- */

struct command_call {
	uint64_t client; /* to be answered, now or later */
	const struct control_request *request;
	const struct peer_process *process; /* to be labelled */
};

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
	watch_idle_until_due(daemon); /* before the labelled process runs: it may be over in some milliseconds */
	if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->labels_saved_ns >= SAVE_INTERVAL_NS)
		save_labels(daemon); /* else the next flush does: there may be very many */
	control_reply(daemon->control, call->client,
	              json_pack("{s:b,s:I}", "ok", 1, "pid", (json_int_t)call->process->pid));
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
	control_reply(daemon->control, call->client, json_pack("{s:b,s:o}", "ok", 1, "status", status));
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

static control_handler run_command;
static loop_callback on_hangup;

static void
run_deferred(struct daemon *daemon)
{
	const size_t count = daemon->deferred_count;
	struct deferred_request deferred[CONTROL_CLIENTS_MAX];

	memcpy(deferred, daemon->deferred, count * sizeof(*deferred));
	daemon->deferred_count = 0;
	for (size_t i = 0; i < count; i++)
		run_command(daemon, deferred[i].client, &deferred[i].request, NULL);
	if (daemon->reload_deferred && !daemon->leaving) {
		daemon->reload_deferred = false;
		on_hangup(daemon);
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
		control_reply(daemon->control, daemon->compacting,
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
			control_reply(daemon->control, waiter->client, control_success());
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
static void
answer_waiters(struct daemon *daemon)
{
	if (has_waiters(daemon)) {
		answer_due_waiters(daemon);
		if (!daemon->leaving)
			take_tickets(daemon);
	}
	finish_compaction(daemon); /* the flusher has one descriptor for the ends of flushes and compactions */
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
	answer_waiters(daemon); /* takes the ticket */
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
		control_reply(daemon->control, call->client, control_success());
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
	answer_waiters(daemon);
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
	unwatch_collection(daemon); /* the descriptors may go away */
	err = collection_reconfigure(daemon->collection, &config, why, size);
	if (err == -ECANCELED)
		return err;
	watch_err = watch_collection(daemon);
	if (watch_err) {
		snprintf(why, size, "cannot set up the event loop: %s", error_text(watch_err));
		return -ECANCELED;
	}
	daemon->labels_saved = UINT64_MAX; /* another sampler counts from its own beginning */
	if (!err)
		__atomic_store_n(&daemon->logging->log.limit, config.log_limit, __ATOMIC_RELAXED);
	return err;
}

/* Read the configuration again and take it over; `note` says what could not be. 0, or an error with a sentence. */
static int
reload(struct daemon *daemon, char *note, size_t note_size, char *why, size_t size)
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
	int err = reload(daemon, note, sizeof(note), why, sizeof(why));

	if (err) {
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR, "%s", why);
		reply_error(daemon, call->client, why);
	} else {
		reply_epoch(daemon, call->client, note);
	}
	if (err != -ECANCELED)
		answer_waiters(daemon);
}

static void
command_quit(struct daemon *daemon, const struct command_call *call)
{
	if (daemon_leave(daemon))
		reply_error(daemon, call->client, daemon->why);
	else
		control_reply(daemon->control, call->client, control_success());
}

/* After a compaction that is under way; errors go to the log. */
static void
on_hangup(void *context)
{
	struct daemon *daemon = context;
	char note[256], why[1024];

	if (collection_is_compacting(daemon->collection))
		daemon->reload_deferred = true;
	else if (reload(daemon, note, sizeof(note), why, sizeof(why)))
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR, "%s", why);
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

static void
run_command(void *context, uint64_t client, const struct control_request *request, const struct peer_process *process)
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

/* ---- the start ---- */

/* A daemon that was started again after a fault ends when the first one would have. */
static int
watch_end(struct daemon *daemon)
{
	const struct dcpid_options *options = daemon->options;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t end_ns = options->end_ns ? options->end_ns : now_ns + options->seconds * SECOND_NS;

	damage_restart_set_end(daemon->restart, end_ns);
	daemon->end_timer = loop_watch_timer(daemon->loop, end_ns > now_ns ? end_ns - now_ns : 1, on_leave, daemon);
	return daemon->end_timer ? 0 : -ENOMEM;
}

static int
watch_always(struct daemon *daemon)
{
	struct event_base *loop = daemon->loop;

	daemon->terminate = loop_watch_signal(loop, SIGTERM, on_leave, daemon);
	daemon->interrupt = loop_watch_signal(loop, SIGINT, on_leave, daemon);
	daemon->hangup = loop_watch_signal(loop, SIGHUP, on_hangup, daemon);
	daemon->drain_timer =
		loop_watch_timer(loop, notify_feeding_ns(daemon->notify, DRAIN_INTERVAL_NS), on_drain_timer, daemon);
	daemon->drain_alarm = loop_watch_alarm(loop, on_drain_alarm, daemon);
	daemon->poll_alarm = loop_watch_alarm(loop, on_poll_alarm, daemon);
	if (collection_descriptor(daemon->collection) >= 0)
		daemon->machine = loop_watch_descriptor(loop, collection_descriptor(daemon->collection), on_drain_timer,
		                                        daemon); /* without it, the timer polls */
	if (daemon->options->seconds && watch_end(daemon))
		return -ENOMEM;
	return daemon->terminate && daemon->interrupt && daemon->hangup && daemon->drain_timer && daemon->drain_alarm &&
	                       daemon->poll_alarm
	               ? 0
	               : -ENOMEM;
}

static void
unwatch_always(struct daemon *daemon)
{
	loop_watch_free(daemon->terminate);
	loop_watch_free(daemon->interrupt);
	loop_watch_free(daemon->hangup);
	loop_watch_free(daemon->drain_timer);
	loop_watch_free(daemon->drain_alarm);
	loop_watch_free(daemon->poll_alarm);
	loop_watch_free(daemon->machine);
	loop_watch_free(daemon->end_timer);
}

static int
open_all(struct daemon *daemon, const struct config *config)
{
	const struct log *log = &daemon->logging->log;
	int err;

	/* Before anything is made. That another dcpid has the database, profile_open() reports better. */
	if (profile_owner(config->database) <= 0) {
		err = control_check_free(config->socket, daemon->why, daemon->size);
		if (err)
			return err;
	}
	err = collection_open(config, log, &daemon->collection, daemon->why, daemon->size);
	if (err)
		return err;
	/* the socket may lie in the database's directory; without a socket no epoch is to begin */
	err = control_open(daemon->loop, config->socket, run_command, daemon, log, &daemon->control, daemon->why,
	                   daemon->size);
	if (err)
		return err;
	err = collection_start(daemon->collection, daemon->options->label, daemon->why, daemon->size);
	if (err)
		return err;
	restore_labels(daemon);
	daemon->since_ns = machine_clock_ns(CLOCK_REALTIME);
	daemon->since_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	err = watch_always(daemon);
	if (!err)
		err = watch_collection(daemon);
	if (err)
		snprintf(daemon->why, daemon->size, "cannot set up the event loop: %s", error_text(err));
	return err;
}

int
daemon_run(const struct dcpid_options *options, const struct config *config, struct damage_restart *restart,
           struct logging *logging, struct notify *notify, char *why, size_t size)
{
	struct daemon daemon = {
		.options = options,
		.restart = restart,
		.logging = logging,
		.notify = notify,
		.loop = loop_new(),
		.poll_ns = UINT64_MAX,
		.look_ns = UINT64_MAX,
		.why = why,
		.size = size,
	};
	sigset_t held, before;

	if (!daemon.loop) {
		snprintf(why, size, "cannot make an event loop: %s", error_text(errno));
		return -ENOMEM;
	}
	damage_restart_set_label(restart, options->label);
	snprintf(daemon.socket, sizeof(daemon.socket), "%s", config->socket);
	snprintf(daemon.labels, sizeof(daemon.labels), "%s.labels", config->socket);
	/* signals wait until the loop handles them: a SIGHUP must not end a daemon that is about to start */
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, &before);
	daemon.result = open_all(&daemon, config);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!daemon.result) {
		notify_ready(notify, "collecting");
		if (loop_run(daemon.loop) && !daemon.result) {
			snprintf(why, size, "the event loop failed");
			daemon.result = -EIO;
		}
	}
	unwatch_collection(&daemon);
	unwatch_always(&daemon);
	control_close(daemon.control);
	collection_close(daemon.collection);
	loop_free(daemon.loop);
	return daemon.result;
}
