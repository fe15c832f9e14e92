#include "emulator/clock/guest_deadline.h"

#include <linux/futex.h>
#include <time.h>

#include "base/clock.h"
#include "emulator/clock/guest_state.h"
#include "emulator/clock/quantum.h"

#define VALUE_OFFSET   16     /* in a struct itimerspec, or itimerval, after the interval */
#define CLOCK_BY_VALUE (-999) /* of a timer, made by an earlier call: the two clocks are known by their ranges */
#define LONGEST_S      (UINT64_C(1) << 30)

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

static void
write_host_time(struct guest_deadlines *deadlines, const struct guest_time *time, uint64_t now, double stretch,
                struct guest_deadline *deadline)
{
	struct timespec host;

	if (!find_host_time(time, now, stretch, deadline, &host) ||
	    !guest_memory_write(deadline->address, deadline->base, &host, sizeof(host)))
		return;
	deadline->is_written = true;
	deadline->next = deadlines->written;
	deadlines->written = deadline;
}

void
guest_deadline_begin(struct guest_deadlines *deadlines, const struct guest_time *time, enum syscall_kind kind,
                     const struct clock_call *call, uint64_t now, double stretch, struct guest_deadline *deadline)
{
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
	    needs_host_time(kind, stretch, deadline))
		write_host_time(deadlines, time, now, stretch, deadline);
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
