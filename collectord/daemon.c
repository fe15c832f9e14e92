#include "collectord/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/daemon_internal.h"
#include "collectord/machine.h"
#include "collectord/trouble.h"

#define DRAIN_INTERVAL_NS UINT64_C(5000000000)  /* rings also ask for it themselves, a quarter full */
#define LAST_COMMIT_NS    UINT64_C(10000000000) /* less than what service managers wait for a stop */
#define COMPACTION_NS     UINT64_C(15000000000)
#define SECOND_NS         UINT64_C(1000000000)

/* The watchdog is fed by samples that could be taken, and not more often than it needs. */
static void
feed_watchdog(struct daemon *daemon)
{
	uint64_t interval_ns = notify_watchdog_ns(daemon->notify);
	uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (interval_ns == 0 || now_ns - daemon->fed_ns < interval_ns / 4 || !collection_is_healthy(daemon->collection))
		return;
	if (notify_watchdog(daemon->notify) == 0)
		daemon->fed_ns = now_ns;
}

static int watch_rings(struct daemon *daemon);
static void unwatch_rings(struct daemon *daemon);

/* The rings of a CPU that goes are closed, those of one that comes opened. */
static void
follow_machine(struct daemon *daemon)
{
	if (!collection_look(daemon->collection))
		return;
	unwatch_rings(daemon);
	collection_follow_cpus(daemon->collection);
	if (watch_rings(daemon))
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR,
		          "no memory to watch the rings: they are drained every "
		          "5 seconds only");
}

static void
drain(struct daemon *daemon)
{
	if (collection_drain(daemon->collection) == 0)
		feed_watchdog(daemon);
	daemon->drained_ns = machine_clock_ns(CLOCK_MONOTONIC);
}

static void
drain_again_if_pressed(struct daemon *daemon)
{
	if (sampler_is_pressed(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS); /* without memory for it, the timer will do */
}

static void
on_drain(void *context)
{
	struct daemon *daemon = context;

	follow_machine(daemon);
	drain(daemon);
	drain_again_if_pressed(daemon);
	daemon_answer_waiters(daemon); /* a full tally may have been flushed on the way */
}

/* Rings fill alike, and one drain is for all of them: to the next ring that calls there is nothing new to take. */
static void
on_ring(void *context)
{
	struct daemon *daemon = context;

	if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->drained_ns < SAMPLER_LAG_NS / 2)
		drain_again_if_pressed(daemon);
	else
		on_drain(daemon);
}

static void
on_flush_timer(void *context)
{
	struct daemon *daemon = context;

	on_drain(daemon);                         /* what is flushed is as young as can be */
	if (collection_flush(daemon->collection)) /* while it is busy, the bell or the next time will do */
		daemon_tell_status(daemon);
	collection_keep_pace(daemon->collection);
	daemon_answer_waiters(daemon);
}

static void
on_bell(void *context)
{
	struct daemon *daemon = context;

	if (collection_settle(daemon->collection))
		daemon_tell_status(daemon);
	daemon_answer_waiters(daemon);
}

static void
on_leave(void *context)
{
	daemon_leave(context);
}

void
daemon_hang_up(struct daemon *daemon)
{
	char note[256], why[1024];

	if (collection_is_compacting(daemon->collection))
		daemon->reload_deferred = true;
	else if (daemon_reload(daemon, note, sizeof(note), why, sizeof(why)))
		log_write(&daemon->logging->log, LOG_LEVEL_ERROR, "%s", why);
}

static void
on_hangup(void *context)
{
	daemon_hang_up(context);
}

void
daemon_tell_status(struct daemon *daemon)
{
	struct collection_view view;
	char status[TROUBLE_SIZE];

	collection_view(daemon->collection, &view);
	if (!trouble_describe(&view, 0, status, sizeof(status)))
		snprintf(status, sizeof(status),
		         "epoch %" PRIu32 ": %" PRIu64 " samples, %.2f %% unknown, %" PRIu64 " lost", view.epoch->id,
		         view.samples, view.samples ? 100.0 * (double)view.unknown / (double)view.samples : 0,
		         view.lost);
	notify_status(daemon->notify, status);
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
	for (size_t i = 0; i < count; i++) {
		int fd = sampler_descriptor(sampler, i);

		if (fd < 0)
			continue;
		daemon->rings[daemon->ring_count] = loop_watch_descriptor(daemon->loop, fd, on_ring, daemon);
		if (!daemon->rings[daemon->ring_count])
			return -errno;
		daemon->ring_count++;
	}
	return 0;
}

void
daemon_unwatch(struct daemon *daemon)
{
	unwatch_rings(daemon);
	loop_watch_free(daemon->bell);
	daemon->bell = NULL;
	loop_watch_free(daemon->flush_timer);
	daemon->flush_timer = NULL;
}

int
daemon_watch(struct daemon *daemon)
{
	struct collection_view view;
	int err;

	daemon_unwatch(daemon);
	err = watch_rings(daemon);
	if (err)
		return err;
	collection_view(daemon->collection, &view);
	daemon->bell = loop_watch_descriptor(daemon->loop, flusher_descriptor(collection_flusher(daemon->collection)),
	                                     on_bell, daemon);
	daemon->flush_timer = loop_watch_timer(daemon->loop, view.config->flush_interval_ns, on_flush_timer, daemon);
	return daemon->bell && daemon->flush_timer ? 0 : -ENOMEM;
}

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
	notify_stopping(daemon->notify, "writing the last samples");
	daemon_unwatch(daemon);
	collection_stop(daemon->collection);
	/* a compaction under way is waited for: then what was sampled goes to the new file */
	err = collection_commit(daemon->collection,
	                        LAST_COMMIT_NS + (collection_is_compacting(daemon->collection) ? COMPACTION_NS : 0));
	if (err) {
		snprintf(daemon->why, daemon->size, "the last samples could not be written: %s", error_text(err));
		daemon->result = err;
	}
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
	daemon->result = err;
	snprintf(daemon->why, daemon->size, "%s", why);
	notify_stopping(daemon->notify, why);
	log_summary(daemon);
	loop_leave(daemon->loop);
}

static int
watch_always(struct daemon *daemon)
{
	struct loop *loop = daemon->loop;

	daemon->terminate = loop_watch_signal(loop, SIGTERM, on_leave, daemon);
	daemon->interrupt = loop_watch_signal(loop, SIGINT, on_leave, daemon);
	daemon->hangup = loop_watch_signal(loop, SIGHUP, on_hangup, daemon);
	daemon->drain_timer = loop_watch_timer(loop, DRAIN_INTERVAL_NS, on_drain, daemon);
	daemon->drain_alarm = loop_watch_alarm(loop, on_drain, daemon);
	if (daemon->options->seconds) {
		daemon->end_timer = loop_watch_timer(loop, daemon->options->seconds * SECOND_NS, on_leave, daemon);
		if (!daemon->end_timer)
			return -ENOMEM;
	}
	return daemon->terminate && daemon->interrupt && daemon->hangup && daemon->drain_timer && daemon->drain_alarm
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
	loop_watch_free(daemon->end_timer);
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
	daemon->since_ns = machine_clock_ns(CLOCK_REALTIME);
	daemon->since_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	err = watch_always(daemon);
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
daemon_run(const struct options *options, const struct config *config, struct logging *logging, struct notify *notify,
           char *why, size_t size)
{
	struct daemon daemon = {
		.options = options,
		.logging = logging,
		.notify = notify,
		.loop = loop_new(),
		.why = why,
		.size = size,
	};
	sigset_t before;

	if (!daemon.loop) {
		snprintf(why, size, "cannot make an event loop: %s", error_text(errno));
		return -ENOMEM;
	}
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
	unwatch_always(&daemon);
	control_close(daemon.control);
	collection_close(daemon.collection);
	loop_free(daemon.loop);
	return daemon.result;
}
