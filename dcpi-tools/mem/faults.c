#include "dcpi-tools/mem/faults.h"

#include <stdbool.h>
#include <stdlib.h>

/* Units of so many bytes of the objects' addresses. */
struct unit_order {
	const struct memory_object *objects;
	uint64_t bytes;
};

static uint64_t
unit_of(const struct unit_order *order, const struct memory_access *access)
{
	return (order->objects[access->object].address + access->offset) / order->bytes;
}

/* By object, unit, and time. */
static int
compare_units(const void *a, const void *b, void *context)
{
	const struct memory_access *one = a, *other = b;
	uint64_t unit, other_unit;

	if (one->object != other->object)
		return one->object < other->object ? -1 : 1;
	unit = unit_of(context, one);
	other_unit = unit_of(context, other);
	if (unit != other_unit)
		return unit < other_unit ? -1 : 1;
	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static int
compare_by_time(const void *a, const void *b)
{
	const struct memory_access *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

/* The first fault of each page of an object may be that the page was not there yet: it is no sample of its use. */
static void
leave_out_first_faults(struct memory_profile *profile, uint64_t page_bytes)
{
	struct unit_order pages = {profile->objects, page_bytes};
	struct memory_access *accesses = profile->accesses;
	uint32_t object_before = MEMORY_NOTHING;
	uint64_t page_before = 0;
	size_t kept = 0;

	qsort_r(accesses, profile->access_count, sizeof(*accesses), compare_units, &pages);
	for (size_t i = 0; i < profile->access_count; i++) {
		const uint64_t page = unit_of(&pages, &accesses[i]);
		const bool is_fault = accesses[i].level == MEMORY_DRAM;
		const bool is_first = accesses[i].object != object_before || page != page_before;

		if (is_fault) {
			object_before = accesses[i].object;
			page_before = page;
		}
		if (!is_fault || !is_first)
			accesses[kept++] = accesses[i];
	}
	profile->access_count = kept;
}

/* The accesses of one line: if a thread writes there often, others wait for it. */
static void
mark_line(struct memory_access *accesses, size_t count)
{
	uint32_t thread = MEMORY_NOTHING;
	bool is_hot = false, is_shared = false;

	for (size_t i = 0; i < count; i++) {
		if (accesses[i].level == MEMORY_WATCHED)
			continue;
		is_hot |= accesses[i].level == MEMORY_CACHE && accesses[i].cycles;
		is_shared |= thread != MEMORY_NOTHING && accesses[i].thread != thread;
		thread = accesses[i].thread;
	}
	for (size_t i = 0; i < count && is_hot && is_shared; i++) {
		if (accesses[i].level == MEMORY_WATCHED)
			continue;
		accesses[i].flags |= MEMORY_TRANSFER;
		accesses[i].cost = 1;
	}
}

/* Lines that several threads use, and that watchpoints have seen to be written often, go from core to core. */
static void
mark_hot_lines(struct memory_profile *profile, uint64_t line_bytes)
{
	struct unit_order lines = {profile->objects, line_bytes};
	struct memory_access *accesses = profile->accesses;

	qsort_r(accesses, profile->access_count, sizeof(*accesses), compare_units, &lines);
	for (size_t i = 0, next; i < profile->access_count; i = next) {
		for (next = i + 1; next < profile->access_count && accesses[next].object == accesses[i].object &&
		                   unit_of(&lines, &accesses[next]) == unit_of(&lines, &accesses[i]);
		     next++)
			;
		mark_line(accesses + i, next - i);
	}
	qsort(accesses, profile->access_count, sizeof(*accesses), compare_by_time);
}

void
faults_finish(struct memory_profile *profile, uint64_t page_bytes, uint64_t line_bytes)
{
	if (!profile->access_count)
		return;
	leave_out_first_faults(profile, page_bytes);
	mark_hot_lines(profile, line_bytes);
	for (size_t i = 0; i < profile->access_count; i++) {
		if (profile->accesses[i].level != MEMORY_WATCHED)
			profile->totals.busy_cycles += profile->accesses[i].weight;
	}
}
