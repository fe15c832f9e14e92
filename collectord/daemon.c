#include "collectord/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "collectord/daemon_internal.h"
#include "collectord/machine.h"
#include "collectord/status.h"

#define DRAIN_INTERVAL_NS (5 * SECOND_NS)       /* rings also ask for a drain themselves */
#define POLL_INTERVAL_NS  UINT64_C(600000000)   /* after a ring became readable, and while processes begin */
#define LAST_COMMIT_NS    UINT64_C(10000000000) /* less than what service managers wait for a stop */

/* ---- the rings ---- */

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
 * One drain takes the records of all rings, and rings fill at about the same rate: a drain that is due within half a
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
	if (sampler_is_filling(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm,
		               SAMPLER_LAG_NS); /* if there is no memory for it, the timer drains */
	daemon_answer_waiters(daemon);          /* a drain flushes a full tally */
}

/* Poll the rings when it is time to see whether busy CPUs still are, and some time after one became readable. */
static void
schedule_poll(struct daemon *daemon)
{
	const uint64_t idle_ns = sampler_idle_due_ns(collection_sampler(daemon->collection));
	const uint64_t due_ns = idle_ns < daemon->poll_ns ? idle_ns : daemon->poll_ns;
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

void
daemon_watch_idle(struct daemon *daemon)
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
	daemon->poll_ns = sampler_has_process_records(sampler) ? now_ns + POLL_INTERVAL_NS : UINT64_MAX;
	if (sampler_drain_is_due(sampler, now_ns - daemon->drained_ns))
		drain_if_due(daemon);
}

static void
on_poll_alarm(void *context)
{
	struct daemon *daemon = context;

	poll_rings(daemon);
	schedule_poll(daemon);
}

/* A CPU works again, or its ring is filling: records that begin now are to be drained earlier than after a second. */
static void
on_ring(void *context)
{
	struct daemon *daemon = context;

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
	daemon_watch_idle(daemon);
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
	daemon_answer_waiters(daemon);
	daemon_save_labels(daemon);
	control_check_socket(daemon->control);
}

static void
on_flusher(void *context)
{
	struct daemon *daemon = context;

	if (collection_take_result(daemon->collection))
		notify_state(daemon);
	daemon_answer_waiters(daemon);
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

int
daemon_leave(struct daemon *daemon)
{
	int err;

	if (daemon->leaving)
		return daemon->result;
	daemon->leaving = true;
	damage_restart_set_exit(daemon->restart, error_exit_status(daemon->result));
	notify_stopping(daemon->notify, "writing the last samples");
	daemon_unwatch(daemon);
	collection_stop(daemon->collection);
	collection_abort_compaction(daemon->collection); /* the flusher is needed now */
	collection_finish_capture(daemon->collection);
	err = collection_commit(daemon->collection, LAST_COMMIT_NS);
	if (err) {
		snprintf(daemon->why, daemon->size, "the last samples could not be written: %s", error_text(err));
		daemon->result = err;
		damage_restart_set_exit(daemon->restart, error_exit_status(err));
	}
	daemon_save_labels(daemon);
	log_summary(daemon);
	daemon_answer_waiters(daemon);
	loop_leave(daemon->loop);
	return err;
}

void
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
	loop_leave(daemon->loop);
}

static void
on_leave(void *context)
{
	daemon_leave(context);
}

void
daemon_reload_on_signal(struct daemon *daemon)
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
	daemon_reload_on_signal(context);
}

/* ---- the start ---- */

void
daemon_unwatch(struct daemon *daemon)
{
	unwatch_rings(daemon);
	loop_watch_free(daemon->flusher);
	daemon->flusher = NULL;
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
	daemon->flusher = loop_watch_descriptor(
		daemon->loop, flusher_descriptor(collection_flusher(daemon->collection)), on_flusher, daemon);
	daemon->flush_timer = loop_watch_timer(daemon->loop, view.config->flush_interval_ns, on_flush_timer, daemon);
	if (daemon->poll_alarm)
		daemon_watch_idle(daemon); /* its first idle windows have an end */
	if (daemon->drain_alarm && sampler_is_filling(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS); /* processes are being read */
	return daemon->flusher && daemon->flush_timer ? 0 : -ENOMEM;
}

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
	struct loop *loop = daemon->loop;

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
	err = control_open(loop_base(daemon->loop), config->socket, daemon_command, daemon, log, &daemon->control,
	                   daemon->why, daemon->size);
	if (err)
		return err;
	err = collection_start(daemon->collection, daemon->options->label, daemon->why, daemon->size);
	if (err)
		return err;
	daemon_restore_labels(daemon);
	daemon->since_ns = machine_clock_ns(CLOCK_REALTIME);
	daemon->since_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	err = watch_always(daemon);
	if (!err)
		err = daemon_watch(daemon);
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
	daemon_unwatch(&daemon);
	unwatch_always(&daemon);
	control_close(daemon.control);
	collection_close(daemon.collection);
	loop_free(daemon.loop);
	return daemon.result;
}
