#include "collectord/held_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/address_space.h"

#define WORD_SIZE sizeof(uint64_t)

/* Copy `size` bytes to *at, which goes on. NULL stays NULL. */
static const uint8_t *
copy(uint8_t **at, const uint8_t *data, size_t size)
{
	uint8_t *copied = *at;

	if (!data)
		return NULL;
	memcpy(copied, data, size);
	*at += size;
	return copied;
}

struct held_stack *
held_stacks_add(struct held_stacks *held, const struct record *record, const struct attribution_moment *moment,
                uint64_t now_ns)
{
	const size_t chain = record->sample.call_chain_count * WORD_SIZE;
	const size_t registers = record->sample.register_count * WORD_SIZE;
	const size_t size = sizeof(struct held_stack) + chain + registers + record->sample.stack_size;
	const size_t maps = moment->space ? address_space_size(moment->space) * sizeof(struct mapping) : 0;
	struct held_stack *stack, **grown;
	uint8_t *at;

	if (held->bytes + size + maps > HELD_STACKS_BYTES_MAX)
		return NULL;
	grown = array_grow(held->stacks, &held->capacity, held->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	held->stacks = grown;
	stack = malloc(size);
	if (!stack)
		return NULL;
	*stack = (struct held_stack){
		.record = *record,
		.moment = *moment,
		.until_ns = now_ns + HELD_STACKS_NS,
		.bytes = size + maps,
	};
	at = stack->data;
	stack->record.sample.branches = NULL;
	stack->record.sample.branch_count = 0;
	stack->record.sample.call_chain = copy(&at, record->sample.call_chain, chain);
	stack->record.sample.registers = copy(&at, record->sample.registers, registers);
	stack->record.sample.stack = copy(&at, record->sample.stack, record->sample.stack_size);
	held->stacks[held->count++] = stack;
	held->bytes += stack->bytes;
	return stack;
}

void
held_stacks_release(struct held_stacks *held)
{
	for (size_t i = 0; i < held->count; i++)
		held->stacks[i]->until_ns = 0;
}

void
held_stacks_pack(struct held_stacks *held)
{
	size_t kept = 0;

	for (size_t i = 0; i < held->count; i++)
		if (held->stacks[i])
			held->stacks[kept++] = held->stacks[i];
	held->count = kept;
}

void
held_stack_free(struct held_stacks *held, struct held_stack *stack)
{
	held->bytes -= stack->bytes;
	address_space_release(stack->moment.space);
	free(stack);
}

void
held_stacks_fini(struct held_stacks *held)
{
	for (size_t i = 0; i < held->count; i++)
		held_stack_free(held, held->stacks[i]);
	free(held->stacks);
	*held = (struct held_stacks){0};
}
