/*
 * daemon_internal.h - what daemon.c (the event loop) and commands.c (requests of clients) share
 */
#ifndef DCPI_COLLECTORD_DAEMON_INTERNAL_H
#define DCPI_COLLECTORD_DAEMON_INTERNAL_H

#include <stdbool.h>

#include "collectord/collection.h"
#include "collectord/control.h"
#include "collectord/daemon.h"
#include "collectord/loop.h"

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
	struct loop *loop;
	struct collection *collection;
	struct control *control;
	char socket[PATH_MAX];

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
	uint64_t drained_ns;         /* when the rings were last drained, CLOCK_MONOTONIC */
	uint64_t watchdog_ns;        /* when the watchdog was last fed, CLOCK_MONOTONIC */

	bool leaving;
	int result; /* what daemon_run() returns */
	char *why;
	size_t size;
};

/* ---- daemon.c ---- */

/* (Re)make the watches that depend on the collection: rings, the flusher, the flush timer. 0 or -errno. */
int daemon_watch(struct daemon *daemon);
void daemon_unwatch(struct daemon *daemon);

/* Call sampler_watch_idle(), and again when that is due. */
void daemon_watch_idle(struct daemon *daemon);

/* Reload as for SIGHUP, after a compaction that is under way; errors go to the log. */
void daemon_reload_on_signal(struct daemon *daemon);

/* Write what is recorded and leave the loop. 0, or why counts were lost. */
int daemon_leave(struct daemon *daemon);

/* Leave the loop without a last commit: there is no collection to commit. */
void daemon_abort(struct daemon *daemon, int err, const char *why);

/* ---- commands.c ---- */

control_handler daemon_command;

/* Answer the clients whose flush is done or has failed, and finish a compaction that has ended. */
void daemon_answer_waiters(struct daemon *daemon);

/* Read the configuration again and take it over; `note` says what could not be. 0, or an error with a sentence. */
int daemon_reload(struct daemon *daemon, char *note, size_t note_size, char *why, size_t size);

/* Write which processes have labels to a file for the next dcpid, if that changed since the last call. */
void daemon_save_labels(struct daemon *daemon);

/* Label again the processes that the dcpid before this one had labelled. */
void daemon_restore_labels(struct daemon *daemon);

#endif
