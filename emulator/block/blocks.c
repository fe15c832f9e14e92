#include "emulator/block/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emulator/block/block_parts.h"
#include "emulator/guest_code.h"

/* The number 0 is that everything is ready. */
static int
begin_states(struct blocks *blocks)
{
	const struct carried ready = {{0}};
	uint32_t number;

	return carried_number(&blocks->states, &ready, &number);
}

struct blocks *
blocks_new(const struct pipeline *pipeline, uint16_t machine, enum block_callbacks callbacks)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int err;

	if (!blocks)
		return NULL;
	blocks->pipeline = *pipeline;
	blocks->callbacks = callbacks;
	block_trace_begin(blocks->origins);
	pthread_mutex_init(&blocks->lock, NULL);
	err = architecture_of_machine(machine, &blocks->architecture);
	if (!err) {
		blocks->decoder = decoder_new(blocks->architecture);
		err = blocks->decoder ? begin_states(blocks) : -errno;
	}
	if (!err)
		return blocks;
	blocks_free(blocks);
	errno = -err;
	return NULL;
}

void
blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	decoder_free(blocks->decoder);
	carried_states_fini(&blocks->states);
	free(blocks->nodes);
	arena_fini(&blocks->arena);
	pthread_mutex_destroy(&blocks->lock);
	free(blocks);
}

void
blocks_before_fork(struct blocks *blocks)
{
	pthread_mutex_lock(&blocks->lock);
}

void
blocks_after_fork(struct blocks *blocks)
{
	pthread_mutex_unlock(&blocks->lock);
}

static uint64_t
hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t hash = size, word = 0;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = id_hash_mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, bytes, size);
	return id_hash_mix(hash ^ word);
}

/* Room for nodes of this number. */
static int
reserve_node(struct blocks *blocks, uint32_t number)
{
	size_t count = blocks->node_count;
	struct block_node **grown;

	if (number < count)
		return 0;
	grown = array_grow(blocks->nodes, &count, (size_t)number + 1, sizeof(struct block_node *));
	if (!grown)
		return -ENOMEM;
	memset(grown + blocks->node_count, 0, (count - blocks->node_count) * sizeof(struct block_node *));
	blocks->nodes = grown;
	blocks->node_count = count;
	return 0;
}

static struct block_node *
find_node(const struct blocks *blocks, const struct block_node *like)
{
	struct block_node *node = blocks->nodes[like->block.number];

	while (node && (node->hash != like->hash || node->block.address != like->block.address ||
	                node->block.size != like->block.size || node->block.count != like->block.count))
		node = node->same;
	return node;
}

/* What more variants are made of: in order any block may have some, out of order who may follow itself. */
static int
keep_bytes(struct blocks *blocks, struct block_node *node, const uint8_t *bytes)
{
	const struct block *block = &node->block;
	uint8_t *kept;

	if (!block->is_in_order && !block->repeats && block->target != block->address)
		return 0;
	kept = arena_take(&blocks->arena, block->size, 1);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, bytes, block->size);
	node->bytes = kept;
	return 0;
}

static struct block_node *
make_node(struct blocks *blocks, const struct block_node *like, const uint8_t *bytes, const uint8_t *sizes)
{
	struct block_node *node = arena_take(&blocks->arena, sizeof(*node), _Alignof(struct block_node));
	struct block *block;
	unsigned last;

	if (!node)
		return NULL;
	*node = *like;
	block = &node->block;
	if (block_decode(blocks, node, bytes, sizes))
		return NULL;
	last = block->instructions[block->count - 1].offset;
	block->repeats =
		blocks->architecture == ARCHITECTURE_X86_64 && guest_code_repeats(bytes + last, block->size - last);
	block->is_in_order = blocks->pipeline.kind == PIPELINE_KIND_IN_ORDER;
	if (block_trace(blocks, node))
		return NULL;
	block_group(blocks, node);
	if (block_variant_first(blocks, node) || keep_bytes(blocks, node, bytes))
		return NULL;
	node->same = blocks->nodes[block->number];
	blocks->nodes[block->number] = node;
	return node;
}

const struct block *
blocks_add(struct blocks *blocks, uint64_t address, const uint8_t *bytes, const uint8_t *sizes, size_t count,
           uint32_t number, uint32_t first)
{
	struct block_node like = {.block = {.address = address, .number = number, .first = first}};
	struct block_node *node = NULL;
	size_t size = 0;

	if (!count || count > BLOCK_INSTRUCTIONS_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++)
		size += sizes[i];
	like.block.count = (uint16_t)count;
	like.block.size = (uint16_t)size;
	like.block.fall = address + size;
	like.hash = hash_bytes(bytes, size);
	pthread_mutex_lock(&blocks->lock);
	if (!reserve_node(blocks, number)) {
		node = find_node(blocks, &like);
		if (!node)
			node = make_node(blocks, &like, bytes, sizes);
	}
	pthread_mutex_unlock(&blocks->lock);
	return node ? &node->block : NULL;
}

const struct variant *
blocks_first_variant(const struct blocks *blocks, const struct block *block)
{
	(void)blocks;
	return ((const struct block_node *)block)->first;
}

/* Whether it goes on with the string that the block before ended in. */
static bool
goes_on(const struct block *before, const struct block *block)
{
	return before == block ||
	       (block->repeats && block->count == 1 && before->repeats && before->fall == block->fall);
}

const struct variant *
blocks_find_variant(struct blocks *blocks, const struct variant *before, const struct block *block)
{
	struct block_node *node = (struct block_node *)(uintptr_t)block;
	const uint32_t state = block->is_in_order ? before->state : goes_on(before->block, block);
	struct variant *variant = block_variant_known(node, state);

	if (!variant) {
		pthread_mutex_lock(&blocks->lock);
		variant = block_variant_add(blocks, node, state);
		pthread_mutex_unlock(&blocks->lock);
	}
	return variant ? variant : node->first;
}

size_t
blocks_variant_count(const struct blocks *blocks)
{
	return blocks->variant_count;
}
