/*
 * stretch_x86_64.h - what is executed at once: instructions up to one that decides where control goes
 *
 * Where a stretch ends, a breakpoint is planted into the copy of that page.
 */
#ifndef DCPI_TOOLS_X_REPLICA_STRETCH_X86_64_H
#define DCPI_TOOLS_X_REPLICA_STRETCH_X86_64_H

#include <ucontext.h>

#include "dcpi-tools/x/replica/replica.h"

struct x_stretch {
	struct replica_shared *shared;
	uint32_t begin;      /* in shared->places: what is being executed */
	uint64_t planted_at; /* 0: nowhere */
	uint8_t planted_over;
};

/*
 * In the handler of a signal: what the registers, when it returns, are to begin with. 0, or with which end the burst is
 * over; then they are those of what would have come next.
 */
enum replica_end stretch_begin(struct x_stretch *stretch, ucontext_t *user);     /* of a burst */
enum replica_end stretch_next(struct x_stretch *stretch, ucontext_t *user);      /* at a breakpoint */
enum replica_end stretch_break_off(struct x_stretch *stretch, ucontext_t *user); /* at a fault */

#endif
