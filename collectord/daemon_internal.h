/*
 * daemon_internal.h - what the daemon's files share
 */
#ifndef DCPI_COLLECTORD_DAEMON_INTERNAL_H
#define DCPI_COLLECTORD_DAEMON_INTERNAL_H

#include <stdbool.h>

#include "collectord/collection.h"
#include "collectord/control.h"
#include "collectord/daemon.h"
#include "collectord/healing.h"
#include "collectord/loop.h"

/* A client that wants all that was recorded when it asked to be in the database. */
struct waiter {
	uint64_t client; /* 0: the place is free */
	uint64_t ticket; /* 0: not yet all handed to the flusher */
	uint64_t tries;  /* flushes that had ended when it came: their failures are not its own */
};

/* A request that waits until the database is compacted. */
struct deferred {
	uint64_t client;
	struct request request; /* never of a label: that waits for nothing */
};

struct daemon {
	const struct options *options;
	struct healing *healing;
	struct logging *logging;
	struct notify *notify;
	struct loop *loop;
	struct collection *collection;
	struct control *control;
	char socket[PATH_MAX];
	uint64_t labels_kept;    /* sampler_label_changes() when the file of labels was written */
	uint64_t labels_kept_ns; /* CLOCK_MONOTONIC: when that was tried */
	int labels_error;        /* why it could not be, the last time; the log has said so */
	struct waiter waiters[CONTROL_CLIENTS_MAX];
	uint64_t compacting; /* the client that asked for it; 0: nobody did */
	struct deferred deferred[CONTROL_CLIENTS_MAX];
	size_t deferred_count;
	bool reload_deferred; /* of SIGHUP */

	struct loop_watch *terminate, *interrupt, *hangup;
	struct loop_watch *drain_timer, *drain_alarm, *look_alarm, *flush_timer, *end_timer;
	struct loop_watch *machine;
	struct loop_watch *bell;
	struct loop_watch **rings;
	size_t ring_count;

	uint64_t since_ns;           /* when collection began, CLOCK_REALTIME */
	uint64_t since_monotonic_ns; /* the same, CLOCK_MONOTONIC */
	uint64_t look_ns;            /* CLOCK_MONOTONIC: the rings are looked at by then; UINT64_MAX: nothing is due */
	uint64_t drained_ns;         /* the rings, CLOCK_MONOTONIC */
	uint64_t fed_ns;             /* the watchdog, CLOCK_MONOTONIC */

	bool leaving;
	int result; /* what daemon_run() returns */
	char *why;
	size_t size;
};

/* ---- daemon.c ---- */

/* (Re)make what depends on the collection: ring descriptors, the flusher's bell, the flush timer. 0 or -errno. */
int daemon_watch(struct daemon *daemon);
void daemon_unwatch(struct daemon *daemon);

/* The same for what stays as it is while the daemon runs: signals, and the timers for draining and for its end. */
int daemon_watch_always(struct daemon *daemon);
void daemon_unwatch_always(struct daemon *daemon);

/* Sample idle CPUs rarely and others at the full rate, as sampler_watch_idle(); and again when that is due. */
void daemon_watch_idle(struct daemon *daemon);

/* "collecting epoch 3: ..." to the service manager */
void daemon_tell_status(struct daemon *daemon);

/* SIGHUP: a reload, of which only the log hears. */
void daemon_hang_up(struct daemon *daemon);

/* ---- daemon_run.c ---- */

/* Write what is recorded and leave the loop. 0, or why counts were lost. */
int daemon_leave(struct daemon *daemon);

/* Leave the loop without writing any more: nothing could be. */
void daemon_give_up(struct daemon *daemon, int err, const char *why);

/* ---- commands.c ---- */

control_handler daemon_command;

/* Answer the clients whose flush is done, or has failed. */
void daemon_answer_waiters(struct daemon *daemon);

/* Read the configuration again and take it over; `note` says what could not be. 0, or an error with a sentence. */
int daemon_reload(struct daemon *daemon, char *note, size_t note_size, char *why, size_t size);

/* ---- labelling.c ---- */

/* Label a process tree, and answer `client`. */
void daemon_label(struct daemon *daemon, uint64_t client, const struct request *request,
                  const struct peer_process *process);

/* For the status: each label that lives, and how many processes have it. */
json_t *daemon_labels_json(const struct daemon *daemon);

/* Keep who has a label for the next dcpid; to be called now and then. */
void daemon_keep_labels(struct daemon *daemon);

/* Label again what the one before this had labelled. */
void daemon_take_labels(struct daemon *daemon);

/* ---- compacting.c ---- */

/* Compact the database and answer `client` when that is done. */
void daemon_compact(struct daemon *daemon, uint64_t client);

/* Must this request wait until a compaction is over? Then it will be carried out. */
bool daemon_defer(struct daemon *daemon, uint64_t client, const struct request *request);

/* Take notice of a compaction that has ended: answer, and do what had to wait. */
void daemon_settle_compaction(struct daemon *daemon);

#endif
