#include "emulator/clock/guest_timers.h"

#include <string.h>

void
guest_timers_init(struct guest_timers *timers)
{
	memset(timers, 0, sizeof(*timers));
	pthread_mutex_init(&timers->lock, NULL);
}

/* NULL: there is none. */
static struct guest_timer *
find_timer(struct guest_timers *timers, enum guest_timer_kind kind, int id)
{
	for (unsigned i = 0; i < GUEST_TIMERS_MAX; i++)
		if (timers->timers[i].kind == kind && (kind == TIMER_FREE || timers->timers[i].id == id))
			return &timers->timers[i];
	return NULL;
}

void
guest_timers_set(struct guest_timers *timers, const struct guest_timer *timer)
{
	struct guest_timer *entry;

	pthread_mutex_lock(&timers->lock);
	entry = find_timer(timers, timer->kind, timer->id);
	if (!entry)
		entry = find_timer(timers, TIMER_FREE, 0);
	if (entry)
		*entry = *timer;
	pthread_mutex_unlock(&timers->lock);
}

void
guest_timers_clear(struct guest_timers *timers, enum guest_timer_kind kind, int id)
{
	struct guest_timer *entry;

	pthread_mutex_lock(&timers->lock);
	entry = find_timer(timers, kind, id);
	if (entry)
		entry->kind = TIMER_FREE;
	pthread_mutex_unlock(&timers->lock);
}

/* The timer expires, and is set again if it has an interval. Returns when, in cycles. */
static uint64_t
expire(struct guest_timer *timer, const struct guest_time *time)
{
	const uint64_t expired = timer->expires;

	if (timer->interval_ns == 0) {
		timer->kind = TIMER_FREE;
		return expired;
	}
	timer->expires += guest_time_cycles(time, timer->interval_ns);
	timer->host_ns += timer->interval_ns;
	return expired;
}

uint64_t
guest_timers_signal(struct guest_timers *timers, const struct guest_time *time, uint64_t host_ns)
{
	struct guest_timer *first = NULL;
	uint64_t expired = TIMER_NONE;

	pthread_mutex_lock(&timers->lock);
	for (unsigned i = 0; i < GUEST_TIMERS_MAX; i++) {
		struct guest_timer *timer = &timers->timers[i];

		if ((timer->kind == TIMER_INTERVAL || timer->kind == TIMER_POSIX) && timer->host_ns <= host_ns &&
		    (!first || timer->expires < first->expires))
			first = timer;
	}
	if (first)
		expired = expire(first, time);
	pthread_mutex_unlock(&timers->lock);
	return expired;
}

uint64_t
guest_timers_read(struct guest_timers *timers, const struct guest_time *time, int fd, uint64_t host_ns)
{
	uint64_t expired = TIMER_NONE;
	struct guest_timer *timer;

	pthread_mutex_lock(&timers->lock);
	timer = find_timer(timers, TIMER_DESCRIPTOR, fd);
	while (timer && timer->kind == TIMER_DESCRIPTOR && timer->host_ns <= host_ns)
		expired = expire(timer, time);
	pthread_mutex_unlock(&timers->lock);
	return expired;
}
