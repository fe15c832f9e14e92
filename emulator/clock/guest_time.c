#include "emulator/clock/guest_time.h"

#include <linux/futex.h>
#include <string.h>

#include "base/clock.h"
#include "emulator/clock/guest_state.h"
#include "emulator/clock/quantum.h"

#define NS_PER_S       ((int64_t)SECOND_NS)
#define VALUE_OFFSET   16     /* in a struct itimerspec, or itimerval, after the interval */
#define CLOCK_BY_VALUE (-999) /* of a timer, made by an earlier call: the two clocks are known by their ranges */
#define LONGEST_S      (UINT64_C(1) << 30)

/* ---- clocks ---- */

void
guest_time_init(struct guest_time *time, double clock_mhz, uint64_t seed)
{
	*time = (struct guest_time){
		.clock_khz = (uint64_t)(clock_mhz * 1000 + 0.5),
		.real_ns = seed ? GUEST_TIME_REAL_S * NS_PER_S : (int64_t)clock_ns(CLOCK_REALTIME),
		.monotonic_ns = seed ? GUEST_TIME_MONOTONIC_S * NS_PER_S : (int64_t)monotonic_ns(),
	};
	if (time->clock_khz == 0)
		time->clock_khz = 1;
}

uint64_t
guest_time_ns(const struct guest_time *time, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000U / time->clock_khz);
}

uint64_t
guest_time_cycles(const struct guest_time *time, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * time->clock_khz / 1000000U);
}

/* What clock `id` showed at cycle 0; false: it does not show virtual time. */
static bool
find_base(const struct guest_time *time, int id, int64_t *base_ns)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		*base_ns = time->real_ns;
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*base_ns = time->monotonic_ns;
		return true;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		*base_ns = 0;
		return true;
	default:
		return false;
	}
}

bool
guest_time_read(const struct guest_time *time, int id, uint64_t cycles, struct timespec *shown)
{
	int64_t ns;

	if (!find_base(time, id, &ns))
		return false;
	ns += (int64_t)guest_time_ns(time, cycles);
	if (id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE)
		ns -= ns % GUEST_TIME_COARSE_NS;
	*shown = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
	return true;
}

bool
guest_time_when(const struct guest_time *time, int id, const struct timespec *shown, uint64_t *cycles)
{
	int64_t base_ns, ns;

	if (!find_base(time, id, &base_ns))
		return false;
	if (shown->tv_sec < 0 || shown->tv_sec > INT64_MAX / NS_PER_S / 4)
		ns = shown->tv_sec < 0 ? 0 : INT64_MAX / 4;
	else
		ns = (int64_t)shown->tv_sec * NS_PER_S + shown->tv_nsec;
	*cycles = ns > base_ns ? guest_time_cycles(time, (uint64_t)(ns - base_ns)) : 0;
	return true;
}

/* ---- deadlines ---- */

void
guest_deadlines_init(struct guest_deadlines *deadlines)
{
	pthread_mutex_init(&deadlines->lock, NULL);
	deadlines->written = NULL;
}

/* futex(address, operation, value, timeout, ...) */
static void
find_futex_address(const struct clock_call *call, struct guest_deadline *deadline)
{
	const uint32_t operation = (uint32_t)call->arguments[1];

	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		break;
	case FUTEX_LOCK_PI:
		deadline->is_absolute = true;
		deadline->clock_id = CLOCK_REALTIME;
		break;
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI2:
		deadline->is_absolute = true;
		deadline->clock_id = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		break;
	default:
		return;
	}
	deadline->address = call->arguments[3];
}

/* Find the address of the time that the call waits for; 0: it has none in memory. */
static void
find_address(enum syscall_kind kind, const struct clock_call *call, struct guest_deadline *deadline)
{
	switch (kind) {
	case CALL_FUTEX:
		find_futex_address(call, deadline);
		return;
	case CALL_NANOSLEEP:
		deadline->address = call->arguments[0];
		return;
	case CALL_CLOCK_NANOSLEEP:
		deadline->address = call->arguments[2];
		deadline->clock_id = (int)call->arguments[0];
		deadline->is_absolute = call->arguments[1] & TIMER_ABSTIME;
		return;
	case CALL_SETITIMER:
		deadline->address = call->arguments[1] + VALUE_OFFSET;
		return;
	case CALL_TIMER_SET:
	case CALL_TIMERFD_SET:
		deadline->address = call->arguments[2] + VALUE_OFFSET;
		deadline->is_absolute = call->arguments[1] & TIMER_ABSTIME;
		deadline->clock_id = CLOCK_BY_VALUE;
		return;
	case CALL_PPOLL:
	case CALL_SIGNAL_TIMED_WAIT:
		deadline->address = call->arguments[2];
		return;
	case CALL_SELECT:
	case CALL_PSELECT:
		deadline->address = call->arguments[4];
		return;
	default:
		return;
	}
}

static uint64_t
after(const struct guest_time *time, uint64_t now, const struct timespec *span)
{
	const uint64_t seconds = (uint64_t)span->tv_sec;

	if (span->tv_sec < 0)
		return now;
	if (seconds > LONGEST_S)
		return QUANTUM_NONE - 1;
	return now + guest_time_cycles(time, seconds * SECOND_NS + (uint64_t)span->tv_nsec);
}

static uint64_t
after_ms(const struct guest_time *time, uint64_t now, int32_t ms)
{
	return ms < 0 ? QUANTUM_NONE : now + guest_time_cycles(time, (uint64_t)ms * 1000000);
}

/* The time that the guest wrote. In memory may be the host's, written for another thread: then that one's original. */
static bool
read_original(const struct guest_deadlines *deadlines, struct guest_deadline *deadline)
{
	for (const struct guest_deadline *other = deadlines->written; other; other = other->next)
		if (other->address == deadline->address) {
			deadline->original = other->original;
			return true;
		}
	return guest_memory_read(deadline->address, deadline->base, &deadline->original, sizeof(deadline->original));
}

static bool
find_cycles(const struct guest_time *time, enum syscall_kind kind, uint64_t now, struct guest_deadline *deadline)
{
	struct timespec when = deadline->original;

	if (when.tv_nsec < 0)
		return false;
	if (syscall_sets_timer(kind) && when.tv_sec == 0 && when.tv_nsec == 0)
		return false; /* the timer is disarmed */
	if (kind == CALL_SELECT || kind == CALL_SETITIMER)
		when.tv_nsec *= 1000;
	if (deadline->clock_id == CLOCK_BY_VALUE)
		deadline->clock_id = when.tv_sec < GUEST_TIME_REAL_S / 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	if (!deadline->is_absolute)
		deadline->cycles = after(time, now, &when);
	else if (!guest_time_when(time, deadline->clock_id, &when, &deadline->cycles))
		return false;
	if (deadline->cycles < now)
		deadline->cycles = now;
	return true;
}

/* The deadline as a time of the host, `stretch` times as far away, but at most DEADLINE_EXTRA_NS later. */
static bool
find_host_time(const struct guest_time *time, uint64_t now, double stretch, const struct guest_deadline *deadline,
               struct timespec *host)
{
	const uint64_t span_ns = guest_time_ns(time, deadline->cycles - now);
	const double extra_ns = (stretch - 1) * (double)span_ns;
	uint64_t ns = span_ns + (extra_ns < DEADLINE_EXTRA_NS ? (uint64_t)extra_ns : DEADLINE_EXTRA_NS);
	struct timespec host_now = {0};

	if (deadline->is_absolute && clock_gettime(deadline->clock_id, &host_now) < 0)
		return false;
	ns += (uint64_t)host_now.tv_nsec;
	host->tv_sec = host_now.tv_sec + (time_t)(ns / SECOND_NS);
	host->tv_nsec = (long)(ns % SECOND_NS);
	return true;
}

/* A relative time of select() and the like stays: the kernel writes back how much of it is left. */
static bool
needs_host_time(enum syscall_kind kind, double stretch, const struct guest_deadline *deadline)
{
	return (kind == CALL_FUTEX && (deadline->is_absolute || stretch > 1)) ||
	       ((kind == CALL_CLOCK_NANOSLEEP || syscall_sets_timer(kind)) && deadline->is_absolute);
}

void
guest_deadline_begin(struct guest_deadlines *deadlines, const struct guest_time *time, enum syscall_kind kind,
                     const struct clock_call *call, uint64_t now, double stretch, struct guest_deadline *deadline)
{
	struct timespec host;

	*deadline = (struct guest_deadline){.cycles = QUANTUM_NONE, .base = call->base};
	if (kind == CALL_POLL)
		deadline->cycles = after_ms(time, now, (int32_t)call->arguments[2]);
	if (kind == CALL_ALARM && call->arguments[0])
		deadline->cycles = now + guest_time_cycles(time, (call->arguments[0] & UINT32_MAX) * SECOND_NS);
	if (kind == CALL_EPOLL_WAIT)
		deadline->cycles = after_ms(time, now, (int32_t)call->arguments[3]);
	find_address(kind, call, deadline);
	if (!deadline->address)
		return;
	pthread_mutex_lock(&deadlines->lock);
	if (read_original(deadlines, deadline) && find_cycles(time, kind, now, deadline) &&
	    needs_host_time(kind, stretch, deadline) && find_host_time(time, now, stretch, deadline, &host) &&
	    guest_memory_write(deadline->address, deadline->base, &host, sizeof(host))) {
		deadline->is_written = true;
		deadline->next = deadlines->written;
		deadlines->written = deadline;
	}
	pthread_mutex_unlock(&deadlines->lock);
}

void
guest_deadline_end(struct guest_deadlines *deadlines, struct guest_deadline *deadline)
{
	struct guest_deadline **link;
	bool is_shared = false;

	if (!deadline->is_written)
		return;
	pthread_mutex_lock(&deadlines->lock);
	for (link = &deadlines->written; *link && *link != deadline;)
		link = &(*link)->next;
	if (*link)
		*link = deadline->next;
	for (const struct guest_deadline *other = deadlines->written; other; other = other->next)
		is_shared |= other->address == deadline->address;
	if (!is_shared)
		guest_memory_write(deadline->address, deadline->base, &deadline->original, sizeof(deadline->original));
	pthread_mutex_unlock(&deadlines->lock);
	deadline->is_written = false;
}

/* ---- timers ---- */

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
