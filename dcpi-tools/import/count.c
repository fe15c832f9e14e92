/* importing_count(): see importing.h. */
#include <linux/perf_event.h>

#include "dcpi-tools/import/importing.h"

#define RUN_MAX    ((uint64_t)64 << 10) /* bytes; nothing runs so far without a branch that is taken */
#define KERNEL_BIT (UINT64_C(1) << 63)

#define BRANCH_WRONG_PATH 1  /* PERF_BR_SPEC_WRONG_PATH (linux 6.1): executed, and given up */
#define BRANCH_SPEC_SHIFT 24 /* of the flags, behind in_tx, abort, cycles and type */

/* Where a branch came from or went to, in the process of `record`. False: nobody knows. */
static bool
find_place(struct importing *importing, const struct record *record, uint64_t address, struct sample_key *key)
{
	struct record there = *record;

	there.sample.address = address;
	there.mode = address & KERNEL_BIT ? CPU_MODE_KERNEL : CPU_MODE_USER;
	return attribution_sample(importing->attribution, &there, key) == 0;
}

static int
add_transfer(struct importing *importing, uint16_t event, const struct sample_key *from, const struct sample_key *to)
{
	struct sample_key key = *from;
	int err;

	key.event = event;
	err = tally_add(importing->pending.tally, &key, 1);
	if (err)
		return err;
	importing->pending.slice.events[event].samples++;
	return pending_add_edge(&importing->pending, event, from->image, from->offset, to->offset);
}

/* What ran from where the branch before went to, up to this one. */
static int
add_run(struct importing *importing, const struct sample_key *start, const struct sample_key *end)
{
	if (start->image != end->image || end->offset < start->offset || end->offset - start->offset > RUN_MAX)
		return 0;
	return add_transfer(importing, importing->events.runs, start, end);
}

static bool
was_given_up(const struct perf_branch_entry *branch)
{
	uint64_t flags;

	memcpy(&flags, (const uint8_t *)branch + 2 * sizeof(uint64_t), sizeof(flags));
	return (flags >> BRANCH_SPEC_SHIFT & 3) == BRANCH_WRONG_PATH;
}

/* They come the latest first; what is executed lies between where one went to and where the next came from. */
static int
count_branches(struct importing *importing, const struct record *record)
{
	struct sample_key next_from = {0}, from = {0}, to = {0};
	bool has_next = false;
	int err = 0;

	for (uint32_t i = 0; !err && i < record->sample.branch_count; i++) {
		struct perf_branch_entry branch;
		bool knows_from, knows_to;

		memcpy(&branch, record->sample.branches + i * sizeof(branch), sizeof(branch));
		if (was_given_up(&branch))
			continue;
		knows_from = branch.from && find_place(importing, record, branch.from, &from);
		knows_to = branch.to && find_place(importing, record, branch.to, &to);
		if (knows_to && has_next)
			err = add_run(importing, &to, &next_from);
		if (!err && knows_from && knows_to && from.image == to.image)
			err = add_transfer(importing, importing->events.stacks, &from, &to);
		has_next = knows_from;
		next_from = from;
	}
	return err;
}

int
importing_count(struct importing *importing, const struct record *record, const struct import_slot *slot)
{
	struct pending *pending = &importing->pending;
	struct slice_event *samples = &pending->slice.events[slot->samples];
	struct slice_event *sum = slot->sum == IMPORT_NO_EVENT ? NULL : &pending->slice.events[slot->sum];
	struct sample_key key;
	int cause, err = 0;

	samples->samples++;
	if (sum)
		sum->samples += record->sample.period;
	cause = attribution_sample(importing->attribution, record, &key);
	if (cause) {
		samples->unknown[cause - 1]++;
		if (sum)
			sum->unknown[cause - 1] += record->sample.period;
	} else {
		key.event = slot->samples;
		if (sum && record->sample.period)
			err = tally_add_with_sum(pending->tally, &key, 1, slot->sum, record->sample.period);
		else
			err = tally_add(pending->tally, &key, 1);
	}
	if (!err && record->sample.branch_count > 0 && importing->events.stacks != IMPORT_NO_EVENT)
		err = count_branches(importing, record);
	return err;
}
