#include "collectord/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

struct loop_watch {
	struct event *event;
	loop_callback *callback;
	void *context;
};

struct event_base *
loop_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config) {
		event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
		base = event_base_new_with_config(config);
		event_config_free(config);
	}
	if (!base)
		errno = ENOMEM;
	return base;
}

void
loop_free(struct event_base *base)
{
	if (!base)
		return;
	event_base_loop(base, EVLOOP_NONBLOCK); /* libevent puts off the end of streams to a turn of its loop */
	event_base_free(base);
}

int
loop_run(struct event_base *base)
{
	return event_base_dispatch(base) < 0 ? -EIO : 0;
}

static void
on_event(evutil_socket_t fd, short what, void *context)
{
	const struct loop_watch *watch = context;

	(void)fd;
	(void)what;
	watch->callback(watch->context);
}

/* A watch that waits for nothing yet. */
static struct loop_watch *
watch_make(struct event_base *base, int fd, short what, loop_callback *callback, void *context)
{
	struct loop_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->callback = callback;
	watch->context = context;
	watch->event = event_new(base, fd, what, on_event, watch);
	if (!watch->event) {
		free(watch);
		errno = ENOMEM;
		return NULL;
	}
	return watch;
}

static struct loop_watch *
watch_new(struct event_base *base, int fd, short what, const struct timeval *interval, loop_callback *callback,
          void *context)
{
	struct loop_watch *watch = watch_make(base, fd, (short)(what | EV_PERSIST), callback, context);

	if (watch && event_add(watch->event, interval)) {
		loop_watch_free(watch);
		errno = ENOMEM;
		return NULL;
	}
	return watch;
}

static struct timeval
timeval_of(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_usec = (suseconds_t)(ns % 1000000000 / 1000),
	};
}

struct loop_watch *
loop_watch_descriptor(struct event_base *base, int fd, loop_callback *callback, void *context)
{
	return watch_new(base, fd, EV_READ, NULL, callback, context);
}

void
loop_watch_enable(struct loop_watch *descriptor, bool on)
{
	if (on == (event_pending(descriptor->event, EV_READ, NULL) != 0))
		return;
	if (on)
		(void)event_add(descriptor->event, NULL); /* without memory for it, timers will do */
	else
		(void)event_del(descriptor->event);
}

struct loop_watch *
loop_watch_signal(struct event_base *base, int number, loop_callback *callback, void *context)
{
	return watch_new(base, number, EV_SIGNAL, NULL, callback, context);
}

struct loop_watch *
loop_watch_timer(struct event_base *base, uint64_t interval_ns, loop_callback *callback, void *context)
{
	const struct timeval interval = timeval_of(interval_ns);

	return watch_new(base, -1, 0, &interval, callback, context);
}

struct loop_watch *
loop_watch_alarm(struct event_base *base, loop_callback *callback, void *context)
{
	return watch_make(base, -1, 0, callback, context);
}

int
loop_watch_rearm(struct loop_watch *alarm, uint64_t delay_ns)
{
	const struct timeval delay = timeval_of(delay_ns);

	return event_add(alarm->event, &delay) ? -ENOMEM : 0;
}

int
loop_watch_arm(struct loop_watch *alarm, uint64_t delay_ns)
{
	return event_pending(alarm->event, EV_TIMEOUT, NULL) ? 0 : loop_watch_rearm(alarm, delay_ns);
}

void
loop_watch_free(struct loop_watch *watch)
{
	if (!watch)
		return;
	if (watch->event)
		event_free(watch->event);
	free(watch);
}
