#include "emulator/clock/guest_deadline.h"

#include <linux/futex.h>
#include <time.h>

#include "emulator/clock/guest_memory.h"
#include "emulator/clock/skew.h"

#define NS_PER_S  UINT64_C(1000000000)
#define LONGEST_S (UINT64_C(1) << 30)

/* futex(address, operation, value, timeout, ...) */
static void
place_of_futex(const struct clock_call *call, struct guest_deadline *deadline)
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

/* Where a time stands that the call waits for; address 0: nowhere. */
static void
find_place(enum guest_call kind, const struct clock_call *call, struct guest_deadline *deadline)
{
	switch (kind) {
	case CALL_FUTEX:
		place_of_futex(call, deadline);
		return;
	case CALL_NANOSLEEP:
		deadline->address = call->arguments[0];
		return;
	case CALL_CLOCK_NANOSLEEP:
		deadline->address = call->arguments[2];
		deadline->clock_id = (int)call->arguments[0];
		deadline->is_absolute = call->arguments[1] & TIMER_ABSTIME;
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
		return SKEW_NONE - 1;
	return now + guest_time_cycles(time, seconds * NS_PER_S + (uint64_t)span->tv_nsec);
}

static uint64_t
after_ms(const struct guest_time *time, uint64_t now, int32_t ms)
{
	return ms < 0 ? SKEW_NONE : now + guest_time_cycles(time, (uint64_t)ms * 1000000);
}

void
guest_deadline_find(const struct guest_time *time, enum guest_call kind, const struct clock_call *call, uint64_t now,
                    struct guest_deadline *deadline)
{
	struct timespec when;

	*deadline = (struct guest_deadline){.cycles = SKEW_NONE};
	if (kind == CALL_POLL)
		deadline->cycles = after_ms(time, now, (int32_t)call->arguments[2]);
	if (kind == CALL_EPOLL_WAIT)
		deadline->cycles = after_ms(time, now, (int32_t)call->arguments[3]);
	find_place(kind, call, deadline);
	if (!deadline->address)
		return;
	if (!guest_read(deadline->address, call->base, &when, sizeof(when)) || when.tv_nsec < 0) {
		deadline->address = 0;
		return;
	}
	if (kind == CALL_SELECT)
		when.tv_nsec *= 1000;
	if (!deadline->is_absolute)
		deadline->cycles = after(time, now, &when);
	else if (!guest_time_when(time, deadline->clock_id, &when, &deadline->cycles))
		deadline->address = 0;
	else if (deadline->cycles < now)
		deadline->cycles = now;
}
