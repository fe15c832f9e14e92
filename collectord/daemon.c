/* What the daemon does as things happen. */
#include "collectord/daemon_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collectord/machine.h"
#include "collectord/trouble.h"

#define DRAIN_INTERVAL_NS UINT64_C(5000000000) /* rings also ask for it themselves */
#define SECOND_NS         UINT64_C(1000000000)
#define LOOK_INTERVAL_NS  UINT64_C(600000000) /* after a ring has called, and while processes begin */

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

/*
 * Rings fill alike, and one drain is for all of them: to the next ring that calls there is nothing new to take, nor to
 * the other timer when both are due.
 */
static void
drain_if_due(struct daemon *daemon)
{
	if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->drained_ns >= SAMPLER_LAG_NS / 2)
		drain(daemon);
	if (sampler_is_pressed(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS); /* without memory for it, the timer will do */
	daemon_answer_waiters(daemon);                               /* a full tally may have been flushed on the way */
}

/* Rings are looked at again when it is time to see whether busy CPUs still are, and some time after one has called. */
static void
look_again(struct daemon *daemon)
{
	const uint64_t idle_ns = sampler_idle_due_ns(collection_sampler(daemon->collection));
	const uint64_t due_ns = idle_ns < daemon->look_ns ? idle_ns : daemon->look_ns;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (due_ns != UINT64_MAX) /* without memory for it, the other timers will do */
		loop_watch_rearm(daemon->look_alarm, due_ns > now_ns ? due_ns - now_ns : 0);
}

/* Idle CPUs call when they work again: they are listened to before anything else is done. */
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
	look_again(daemon);
}

/*
 * This is done often. Whether the machine has changed takes longer to find out: the timer does it. As long as processes
 * begin, it is done again earlier than busy CPUs need it: a program may soon have ended, and its file be gone.
 */
static void
look_at_rings(struct daemon *daemon)
{
	struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	watch_idle(daemon);
	sampler_dither(sampler);
	daemon->look_ns = sampler_tells_of_processes(sampler) ? now_ns + LOOK_INTERVAL_NS : UINT64_MAX;
	if (sampler_is_due(sampler, now_ns - daemon->drained_ns))
		drain_if_due(daemon);
}

static void
on_look_alarm(void *context)
{
	struct daemon *daemon = context;

	look_at_rings(daemon);
	look_again(daemon);
}

/* A CPU works again, or its ring is filling: what begins now is to be drained earlier than after a second. */
static void
on_ring(void *context)
{
	struct daemon *daemon = context;

	look_at_rings(daemon);
	daemon->look_ns = machine_clock_ns(CLOCK_MONOTONIC) + LOOK_INTERVAL_NS;
	look_again(daemon);
}

static void
on_drain_alarm(void *context)
{
	drain_if_due(context);
}

static void
on_drain_timer(void *context)
{
	struct daemon *daemon = context;

	follow_machine(daemon);
	daemon_watch_idle(daemon);
	drain_if_due(daemon);
}

/* Until its events are open, nobody records what begins on a CPU that came. */
static void
on_machine(void *context)
{
	on_drain_timer(context);
}

static void
on_flush_timer(void *context)
{
	struct daemon *daemon = context;

	on_drain_timer(daemon);                   /* what is flushed is as young as can be */
	collection_keep_pace(daemon->collection); /* while the flusher has nothing to do yet */
	if (collection_flush(daemon->collection)) /* while it is busy, the bell or the next time will do */
		daemon_tell_status(daemon);
	daemon_answer_waiters(daemon);
	daemon_keep_labels(daemon);
	control_look(daemon->control);
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
	if (daemon->look_alarm)
		daemon_watch_idle(daemon); /* its first windows are to end */
	if (daemon->drain_alarm && sampler_is_pressed(collection_sampler(daemon->collection)))
		loop_watch_arm(daemon->drain_alarm, SAMPLER_LAG_NS); /* processes are being read */
	return daemon->bell && daemon->flush_timer ? 0 : -ENOMEM;
}

/* What began before a fault ends when it was to. */
static int
watch_end(struct daemon *daemon)
{
	const struct options *options = daemon->options;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t end_ns = options->end_ns ? options->end_ns : now_ns + options->seconds * SECOND_NS;

	healing_keep_end(daemon->healing, end_ns);
	daemon->end_timer = loop_watch_timer(daemon->loop, end_ns > now_ns ? end_ns - now_ns : 1, on_leave, daemon);
	return daemon->end_timer ? 0 : -ENOMEM;
}

int
daemon_watch_always(struct daemon *daemon)
{
	struct loop *loop = daemon->loop;

	daemon->terminate = loop_watch_signal(loop, SIGTERM, on_leave, daemon);
	daemon->interrupt = loop_watch_signal(loop, SIGINT, on_leave, daemon);
	daemon->hangup = loop_watch_signal(loop, SIGHUP, on_hangup, daemon);
	daemon->drain_timer =
		loop_watch_timer(loop, notify_feeding_ns(daemon->notify, DRAIN_INTERVAL_NS), on_drain_timer, daemon);
	daemon->drain_alarm = loop_watch_alarm(loop, on_drain_alarm, daemon);
	daemon->look_alarm = loop_watch_alarm(loop, on_look_alarm, daemon);
	if (collection_descriptor(daemon->collection) >= 0)
		daemon->machine = loop_watch_descriptor(loop, collection_descriptor(daemon->collection), on_machine,
		                                        daemon); /* without it, the timer looks */
	if (daemon->options->seconds && watch_end(daemon))
		return -ENOMEM;
	return daemon->terminate && daemon->interrupt && daemon->hangup && daemon->drain_timer && daemon->drain_alarm &&
	                       daemon->look_alarm
	               ? 0
	               : -ENOMEM;
}

void
daemon_unwatch_always(struct daemon *daemon)
{
	loop_watch_free(daemon->terminate);
	loop_watch_free(daemon->interrupt);
	loop_watch_free(daemon->hangup);
	loop_watch_free(daemon->drain_timer);
	loop_watch_free(daemon->drain_alarm);
	loop_watch_free(daemon->look_alarm);
	loop_watch_free(daemon->machine);
	loop_watch_free(daemon->end_timer);
}
