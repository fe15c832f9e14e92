#include "process/call_chain.h"

#include <linux/perf_event.h>
#include <string.h>

#define WORD_SIZE sizeof(uint64_t)

static enum cpu_mode
mode_of_mark(uint64_t mark)
{
	switch (mark) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return CPU_MODE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return CPU_MODE_USER;
	default:
		return CPU_MODE_UNKNOWN; /* guests, the hypervisor, and what later kernels add */
	}
}

void
call_chain_find(struct attribution *attribution, const struct record *sample, struct chain_frames *frames)
{
	struct record there = *sample;
	bool is_return = false;

	frames->count = frames->context = 0;
	frames->cause = 0;
	frames->is_truncated = false;
	for (uint32_t i = 0; i < sample->sample.call_chain_count; i++) {
		struct sample_key key;
		uint64_t address;
		int cause;

		memcpy(&address, sample->sample.call_chain + i * WORD_SIZE, WORD_SIZE);
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			there.mode = mode_of_mark(address);
			is_return = false;
			continue;
		}
		if (frames->count == CALL_CHAIN_MAX) {
			frames->is_truncated = true;
			frames->end = STACK_END_DEPTH;
			return;
		}
		there.sample.address = address - is_return;
		is_return = true;
		cause = attribution_sample(attribution, &there, &key);
		if (cause && frames->count == 0) {
			frames->cause = cause;
			return;
		}
		if (cause) {
			frames->is_truncated = true;
			frames->end = STACK_END_UNKNOWN;
			return;
		}
		if (frames->count == 0)
			frames->context = key.context;
		frames->nodes[frames->count++] = (struct stack_node){.offset = key.offset, .image = key.image};
	}
	if (frames->count == 0) /* nothing but marks */
		frames->cause = 1 + UNKNOWN_MODE;
	frames->is_truncated = frames->count == CALL_CHAIN_DEFAULT;
	frames->end = STACK_END_DEPTH;
}

int
chain_frames_intern(struct stack_table *stacks, struct chain_frames *frames, uint32_t *node)
{
	uint32_t caller = 0;
	int err = 0;

	if (frames->is_truncated)
		err = stack_table_intern(stacks, &(struct stack_node){.image = STACK_NO_IMAGE, .offset = frames->end},
		                         &caller);
	for (uint32_t i = frames->count; !err && i-- > 0;) {
		frames->nodes[i].caller = caller;
		err = stack_table_intern(stacks, &frames->nodes[i], &caller);
	}
	*node = caller;
	return err;
}
