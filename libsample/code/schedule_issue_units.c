#include "code/schedule_issue.h"

/* Let what took `unit` in this cycle take another one that it can have. */
static bool
move_away(struct issue *issue, unsigned unit, unsigned cycle, uint32_t chosen)
{
	if (issue->used[unit] != cycle + 1)
		return false;
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!((issue->could[unit] & ~chosen) >> u & 1))
			continue;
		if (issue->times.busy[u] > cycle)
			continue;
		issue->times.busy[u] = issue->times.busy[unit];
		issue->used[u] = issue->used[unit];
		if (issue->sources)
			issue->sources->user[u] = issue->sources->user[unit];
		issue->could[u] = issue->could[unit];
		issue->times.busy[unit] = issue->used[unit] = 0;
		return true;
	}
	return false;
}

/* One of `wanted` that is free, as *unit; or what is in the way, and the unit that is. */
static enum verdict
choose_unit(struct issue *issue, uint32_t wanted, unsigned cycle, uint32_t chosen, unsigned *unit)
{
	enum verdict verdict = BUSY;

	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!(wanted >> u & 1))
			continue;
		*unit = u;
		if (issue->times.busy[u] <= cycle)
			return ISSUES;
		if (issue->used[u] == cycle + 1 && issue->times.busy[u] == cycle + 1)
			verdict = TOGETHER;
	}
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (wanted >> u & 1 && move_away(issue, u, cycle, chosen)) {
			*unit = u;
			return ISSUES;
		}
	}
	return verdict;
}

/* A unit for each use, in `units`: the same one twice only when there is no other. */
static enum verdict
choose_units(struct issue *issue, const struct work *work, unsigned cycle, unsigned *units, unsigned *unit)
{
	uint32_t chosen = 0;

	for (unsigned i = 0; i < work->use_count; i++) {
		uint32_t wanted = work->uses[i].units;
		enum verdict verdict = choose_unit(issue, wanted & ~chosen, cycle, chosen, unit);

		if (verdict != ISSUES && wanted & chosen) {
			*unit = (unsigned)__builtin_ctz(wanted & chosen);
			verdict = ISSUES;
		}
		if (verdict != ISSUES)
			return verdict;
		units[i] = *unit;
		chosen |= UINT32_C(1) << *unit;
	}
	return ISSUES;
}

enum verdict
issue_try_cycle(struct issue *issue, const struct instruction *instruction, const struct work *work, unsigned cycle,
                unsigned *units, unsigned *unit)
{
	if (cycle == issue->cycle && issue->taken &&
	    (issue->taken >= issue->pipeline->issue_width || issue->never_with >> instruction->class & 1))
		return TOGETHER;
	return choose_units(issue, work, cycle, units, unit);
}

static unsigned
begun_cycles(double cycles)
{
	const unsigned whole = (unsigned)cycles;

	return whole + (whole < cycles);
}

void
issue_occupy(struct issue *issue, const struct work *work, const unsigned *units, unsigned cycle, struct source self)
{
	for (unsigned i = 0; i < work->use_count; i++) {
		unsigned unit = units[i];

		if (issue->times.busy[unit] < cycle)
			issue->times.busy[unit] = cycle;
		issue->times.busy[unit] += begun_cycles(work->uses[i].cycles);
		issue->used[unit] = cycle + 1;
		issue->could[unit] = work->uses[i].units;
		if (issue->sources)
			issue->sources->user[unit] = self;
	}
}
