/* How the daemon begins and ends. */
#include "collectord/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "collectord/daemon_internal.h"
#include "collectord/healing.h"
#include "collectord/machine.h"

#define LAST_COMMIT_NS UINT64_C(10000000000) /* less than what service managers wait for a stop */

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

int
daemon_leave(struct daemon *daemon)
{
	int err;

	if (daemon->leaving)
		return daemon->result;
	daemon->leaving = true;
	healing_end(daemon->healing, error_exit_status(daemon->result));
	notify_stopping(daemon->notify, "writing the last samples");
	daemon_unwatch(daemon);
	collection_stop(daemon->collection);
	collection_break_compaction(daemon->collection); /* the flusher is wanted now */
	collection_finish_capture(daemon->collection);
	err = collection_commit(daemon->collection, LAST_COMMIT_NS);
	if (err) {
		snprintf(daemon->why, daemon->size, "the last samples could not be written: %s", error_text(err));
		daemon->result = err;
		healing_end(daemon->healing, error_exit_status(err));
	}
	daemon_keep_labels(daemon);
	log_summary(daemon);
	daemon_answer_waiters(daemon);
	loop_leave(daemon->loop);
	return err;
}

void
daemon_give_up(struct daemon *daemon, int err, const char *why)
{
	if (daemon->leaving)
		return;
	daemon->leaving = true;
	healing_end(daemon->healing, error_exit_status(err));
	daemon->result = err;
	snprintf(daemon->why, daemon->size, "%s", why);
	notify_stopping(daemon->notify, why);
	log_summary(daemon);
	loop_leave(daemon->loop);
}

static int
open_all(struct daemon *daemon, const struct config *config)
{
	const struct log *log = &daemon->logging->log;
	int err = 0;

	/* Before anything is made. Who has the database, profile_open() says better, and then goes first. */
	if (profile_owner(config->database) <= 0)
		err = control_check_free(config->socket, daemon->why, daemon->size);
	if (err)
		return err;
	err = collection_open(config, log, &daemon->collection, daemon->why, daemon->size);
	/* the socket may lie in the database's directory, and without one no epoch is to begin */
	if (!err)
		err = control_open(loop_base(daemon->loop), config->socket, daemon_command, daemon, log,
		                   &daemon->control, daemon->why, daemon->size);
	if (!err)
		err = collection_start(daemon->collection, daemon->options->label, daemon->why, daemon->size);
	if (err)
		return err;
	daemon_take_labels(daemon);
	daemon->since_ns = machine_clock_ns(CLOCK_REALTIME);
	daemon->since_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	err = daemon_watch_always(daemon);
	if (!err)
		err = daemon_watch(daemon);
	if (err)
		snprintf(daemon->why, daemon->size, "cannot set up the event loop: %s", error_text(err));
	return err;
}

/* What the loop will see to waits until it runs: a SIGHUP must not end a daemon that is about to start. */
static void
hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, before);
}

int
daemon_run(const struct options *options, const struct config *config, struct healing *healing, struct logging *logging,
           struct notify *notify, char *why, size_t size)
{
	struct daemon daemon = {
		.options = options,
		.healing = healing,
		.logging = logging,
		.notify = notify,
		.loop = loop_new(),
		.look_ns = UINT64_MAX,
		.why = why,
		.size = size,
	};
	sigset_t before;

	if (!daemon.loop) {
		snprintf(why, size, "cannot make an event loop: %s", error_text(errno));
		return -ENOMEM;
	}
	healing_keep_label(healing, options->label);
	snprintf(daemon.socket, sizeof(daemon.socket), "%s", config->socket);
	hold_signals(&before);
	daemon.result = open_all(&daemon, config);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!daemon.result) {
		notify_ready(notify, "collecting");
		if (loop_run(daemon.loop) && !daemon.result) {
			snprintf(why, size, "the event loop failed");
			daemon.result = -EIO;
		}
	}
	daemon_unwatch(&daemon);
	daemon_unwatch_always(&daemon);
	control_close(daemon.control);
	collection_close(daemon.collection);
	loop_free(daemon.loop);
	return daemon.result;
}
