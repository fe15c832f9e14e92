#include "emulator/block/block.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emulator/block/block_internal.h"
#include "emulator/guest_code.h"

#define VARIANTS_FIRST    4 /* slots of a block's first table */
#define CYCLES_MAX        UINT16_MAX
#define FAST_STRING_BYTES 32 /* a cycle: what out-of-order cores have moved or stored by microcode since 2013 */

/*
 * The variants of a block but the first, by the state that it is entered in: in order a number of pipeline_states, else
 * 1, the block was the one before. Open addressing; a slot without a variant is empty.
 */
struct variant_slot {
	uint32_t state;
	bool is_near;            /* the variant was made for another state */
	struct variant *variant; /* written atomically, after the others */
};

struct variant_table {
	unsigned size, count; /* size: a power of two */
	struct variant_slot slots[];
};

/* A block, and what it takes to make more variants of it. */
struct block_node {
	struct block block;
	struct block_node *next; /* shares this one's number: at another address, or of other bytes */
	uint64_t hash;           /* of its bytes */
	const uint8_t *bytes;    /* NULL: it has no variant but the first */
	unsigned variant_count;
	struct variant *first;       /* of state 0 */
	struct variant_table *table; /* written atomically; replaced by a larger one; NULL: none */
};

struct blocks {
	struct pipeline pipeline;
	pthread_mutex_t lock;
	struct block_code code; /* of the block that is made, or that a variant is made of */
	struct block_origin origins[REGISTER_COUNT];
	struct arena arena;
	struct block_node **nodes; /* by number, `node_count` */
	size_t node_count;
	size_t variant_count;
	struct pipeline_states states;
};

struct blocks *
blocks_new(const struct pipeline *pipeline, uint16_t machine, enum block_callbacks callbacks)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int err;

	if (!blocks)
		return NULL;
	blocks->pipeline = *pipeline;
	blocks->code.callbacks = callbacks;
	block_trace_begin(blocks->origins);
	pthread_mutex_init(&blocks->lock, NULL);
	err = architecture_of_machine(machine, &blocks->code.architecture);
	if (err)
		goto fail;
	blocks->code.decoder = decoder_new(blocks->code.architecture);
	err = blocks->code.decoder ? pipeline_states_init(&blocks->states) : -errno;
	if (err)
		goto fail;
	return blocks;
fail:
	blocks_free(blocks);
	errno = -err;
	return NULL;
}

void
blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	decoder_free(blocks->code.decoder);
	pipeline_states_fini(&blocks->states);
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

/* Decode the block's instructions, whose sizes and offsets are set, into blocks->code. */
static void
decode(struct blocks *blocks, const struct block *block, const uint8_t *bytes)
{
	struct block_code *code = &blocks->code;

	for (unsigned i = 0; i < block->count; i++)
		decoder_prefetch(blocks->code.decoder, bytes + block->instructions[i].offset,
		                 block->instructions[i].size, &code->encoded[i]);
	for (unsigned i = 0; i < block->count; i++) {
		const uint64_t address = block->address + block->instructions[i].offset;
		const uint8_t size = (uint8_t)code->encoded[i].length;
		const size_t decoded =
			decoder_decode_encoded(blocks->code.decoder, &code->encoded[i], address, &code->decoded[i]);

		/* an instruction that the decoder takes for shorter or longer than the emulator does is unknown */
		if (decoded != size || !size)
			code->decoded[i] = (struct instruction){
				.address = address, .size = size, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	}
}

/* Nothing behind it issues before it is done: atomics, barriers, and system instructions but those that access
 * registers. */
static bool
is_blocking(enum architecture architecture, const struct instruction *instruction, const uint8_t *bytes)
{
	if (instruction->class == CLASS_ATOMIC || instruction->class == CLASS_BARRIER)
		return true;
	if (instruction->class != CLASS_SYSTEM)
		return false;
	/* all but ecall and ebreak access control registers */
	if (architecture == ARCHITECTURE_RISCV64)
		return !(bytes[1] & 0x70);
	/* mrs and msr: 1101 0101 00.1 */
	return architecture != ARCHITECTURE_AARCH64 || bytes[3] != 0xd5 || !(bytes[2] & 0x10);
}

/* Registers that wait for its load: all that it writes, except an address register that it updates. */
static void
find_load_registers(const struct instruction *from, struct block_instruction *to)
{
	const unsigned data = from->read_count - from->address_reads;
	unsigned count = 0;

	to->load_registers[0] = to->load_registers[1] = REGISTER_NONE;
	for (unsigned i = 0; from->loads && i < from->write_count && count < 2; i++) {
		const bool is_moved = memchr(from->reads + data, from->writes[i], from->address_reads) &&
		                      (i > 0 || from->class == CLASS_RETURN);

		if (!is_moved)
			to->load_registers[count++] = from->writes[i];
	}
}

/* The decoder knows the accesses of ordinary operations only: of the other classes any instruction may access memory.
 */
static bool
may_access(const struct encoded_instruction *encoded, const struct instruction *instruction, bool is_x86)
{
	if (instruction->loads || instruction->stores)
		return true;
	if (is_x86 && encoded->x86.has_memory)
		return instruction->class != CLASS_NOP && instruction->class != CLASS_ADDRESS;
	return instruction->class == CLASS_ATOMIC || instruction->class == CLASS_STRING ||
	       instruction->class == CLASS_SYSTEM || instruction->class == CLASS_UNKNOWN;
}

static void
fill_instruction(enum architecture architecture, const struct instruction *from,
                 const struct encoded_instruction *encoded, struct block_instruction *to)
{
	to->class = from->class;
	to->read_count = from->clears ? 0 : from->read_count;
	to->address_count = from->clears ? 0 : from->address_reads;
	to->write_count = from->write_count;
	memcpy(to->reads, from->reads, sizeof(to->reads));
	memcpy(to->writes, from->writes, sizeof(to->writes));
	to->loads = from->loads && from->class != CLASS_PREFETCH;
	to->stores = from->stores;
	to->access_size = to->loads || to->stores ? from->access_size : 0;
	to->is_atomic = from->class == CLASS_ATOMIC;
	to->may_access = may_access(encoded, from, architecture == ARCHITECTURE_X86_64);
	to->is_blocking = is_blocking(architecture, from, encoded->bytes);
	find_load_registers(from, to);
	to->use = BLOCK_NOT_USED;
	to->leader = BLOCK_ALONE;
	to->next_member = BLOCK_NOT_USED;
}

/* The block's instructions, which have these sizes, and how it ends. 0 or -ENOMEM. */
static int
make_instructions(struct blocks *blocks, struct block *block, const uint8_t *bytes, const uint8_t *sizes)
{
	static const uint8_t ends[] = {
		[FLOW_NEXT] = BLOCK_FALLS,     [FLOW_BRANCH] = BLOCK_BRANCHES,
		[FLOW_JUMP] = BLOCK_JUMPS,     [FLOW_JUMP_INDIRECT] = BLOCK_JUMPS_INDIRECT,
		[FLOW_CALL] = BLOCK_CALLS,     [FLOW_CALL_INDIRECT] = BLOCK_CALLS_INDIRECT,
		[FLOW_RETURN] = BLOCK_RETURNS, [FLOW_STOP] = BLOCK_FALLS,
	};
	const struct block_code *code = &blocks->code;
	const struct instruction *last;
	unsigned at = 0;

	block->instructions = arena_take(&blocks->arena, block->count * sizeof(*block->instructions),
	                                 _Alignof(struct block_instruction));
	if (!block->instructions)
		return -ENOMEM;
	for (unsigned i = 0; i < block->count; i++) {
		block->instructions[i].offset = (uint16_t)at;
		block->instructions[i].size = sizes[i];
		at += sizes[i];
	}
	decode(blocks, block, bytes);
	for (uint16_t i = 0; i < block->count; i++) {
		fill_instruction(code->architecture, &code->decoded[i], &code->encoded[i], &block->instructions[i]);
		if (block->instructions[i].may_access)
			block->access_end = i + 1;
	}
	last = &code->decoded[block->count - 1];
	block->end = ends[last->flow];
	block->target = last->target;
	block->end_size = last->size;
	at = block->instructions[block->count - 1].offset;
	block->repeats = code->architecture == ARCHITECTURE_X86_64 && guest_code_repeats(bytes + at, block->size - at);
	return 0;
}

static uint16_t
whole_cycles(double cycles)
{
	return cycles < CYCLES_MAX ? (uint16_t)cycles : CYCLES_MAX;
}

static int
schedule_in_order(struct blocks *blocks, uint32_t state, struct variant *variant)
{
	const uint16_t count = variant->block->count;
	unsigned cycles[BLOCK_INSTRUCTIONS_MAX];
	struct schedule_times times;
	struct pipeline_state left;

	pipeline_state_to_times(&blocks->states.states[state], &times);
	variant->cycles = schedule_issue(&blocks->pipeline, blocks->code.decoded, count, &times, cycles);
	for (unsigned i = 0; i < count; i++)
		variant->issue_cycles[i] = whole_cycles(cycles[i]);
	variant->issue_cycles[count] = whole_cycles(variant->cycles);
	pipeline_state_from_times(&left, &times);
	return pipeline_states_number(&blocks->states, &left, &variant->state);
}

/* Behind itself: the instructions' shares of an iteration, and its cycles in the best case. 0 or -errno. */
static int
schedule_loop(const struct blocks *blocks, size_t count, double *shares, double *best)
{
	struct schedule schedule;
	int err = schedule_block(&blocks->pipeline, blocks->code.decoded, count, true, NULL, NULL, &schedule);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		shares[i] = schedule.lines[i].minimum_cycles;
	*best = schedule.best_cycles;
	schedule_fini(&schedule);
	return 0;
}

/* Each instruction retires when its share of the best case is over. */
static int
schedule_out_of_order(const struct blocks *blocks, bool is_loop, struct variant *variant)
{
	const struct pipeline *pipeline = &blocks->pipeline;
	const struct block *block = variant->block;
	const struct block_instruction *only = &block->instructions[0];
	const uint32_t least_lead = pipeline->issue_width ? pipeline->window / pipeline->issue_width : 0;
	double shares[BLOCK_INSTRUCTIONS_MAX], best, cycles, scale, retired = 0;

	if (is_loop) {
		int err = schedule_loop(blocks, block->count, shares, &best);

		if (err)
			return err;
	} else {
		best = schedule_shares(pipeline, blocks->code.decoded, block->count, shares);
	}
	cycles = best;
	/* an element behind the first of a string that is moved or stored */
	if (is_loop && block->repeats && block->count == 1 && only->stores) {
		const double moved = (double)only->access_size / FAST_STRING_BYTES;

		cycles = moved < best ? moved : best;
	}
	scale = best > 0 ? cycles / best : 0;
	for (size_t i = 0; i < block->count; i++) {
		retired += shares[i] * scale;
		variant->issue_cycles[i] = whole_cycles(retired < cycles ? retired : cycles);
	}
	variant->cycles = (uint32_t)cycles;
	variant->fraction = (uint32_t)((cycles - variant->cycles) * 0x1p32);
	variant->issue_cycles[block->count] = whole_cycles(cycles);
	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): blocks_add() makes no empty block */
	variant->lead = pipeline->window * variant->cycles / block->count;
	if (variant->lead < least_lead)
		variant->lead = least_lead;
	return 0;
}

/* A variant of `block`, which must be the one that was decoded last, behind `state`. NULL: no memory. */
static struct variant *
make_variant(struct blocks *blocks, const struct block *block, uint32_t state)
{
	struct variant *variant = arena_take(&blocks->arena, sizeof(*variant) + (block->count + 1u) * sizeof(uint16_t),
	                                     _Alignof(struct variant));
	int err;

	if (!variant)
		return NULL;
	variant->block = block;
	variant->issue_cycles = (uint16_t *)(void *)(variant + 1);
	err = block->is_in_order ? schedule_in_order(blocks, state, variant)
	                         : schedule_out_of_order(blocks, state != 0, variant);
	return err ? NULL : variant;
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
		node = node->next;
	return node;
}

/* A node with the address, number and sizes of `like`. NULL: no memory. */
static struct block_node *
make_node(struct blocks *blocks, const struct block_node *like, const uint8_t *bytes, const uint8_t *sizes)
{
	struct block_node *node = arena_take(&blocks->arena, sizeof(*node), _Alignof(struct block_node));
	struct block *block;

	if (!node)
		return NULL;
	*node = *like;
	block = &node->block;
	block->is_in_order = blocks->pipeline.kind == PIPELINE_KIND_IN_ORDER;
	if (make_instructions(blocks, block, bytes, sizes))
		return NULL;
	if (block_trace(block, &blocks->arena, blocks->origins))
		return NULL;
	block_group(block, &blocks->code, blocks->pipeline.cache_line);
	node->first = make_variant(blocks, block, 0);
	if (!node->first)
		return NULL;
	node->variant_count++;
	blocks->variant_count++;
	/* it may get more variants: in order any, out of order one that may follow itself */
	if (block->is_in_order || block->repeats || block->target == block->address) {
		uint8_t *kept = arena_take(&blocks->arena, block->size, 1);

		if (!kept)
			return NULL;
		node->bytes = memcpy(kept, bytes, block->size);
	}
	node->next = blocks->nodes[block->number];
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

/* The variant of the state, without the lock; NULL: it was not asked for yet, or another thread adds it now. */
static struct variant *
find_variant(const struct block_node *node, uint32_t state)
{
	const struct variant_table *table = __atomic_load_n(&node->table, __ATOMIC_ACQUIRE);

	if (!state)
		return node->first;
	for (unsigned at = state; table; at++) {
		const struct variant_slot *slot = &table->slots[at & (table->size - 1)];
		struct variant *variant = __atomic_load_n(&slot->variant, __ATOMIC_ACQUIRE);

		if (!variant || slot->state == state)
			return variant;
	}
	return NULL;
}

static void
put_variant(struct variant_table *table, uint32_t state, bool is_near, struct variant *variant)
{
	unsigned at = state & (table->size - 1);

	while (table->slots[at].variant)
		at = (at + 1) & (table->size - 1);
	table->slots[at].state = state;
	table->slots[at].is_near = is_near;
	__atomic_store_n(&table->slots[at].variant, variant, __ATOMIC_RELEASE);
	table->count++;
}

/* Room for one more variant; at least one slot stays empty, at which searches end. 0 or -ENOMEM. */
static int
reserve_variant(struct blocks *blocks, struct block_node *node)
{
	const struct variant_table *old = node->table;
	const unsigned size = old ? 2 * old->size : VARIANTS_FIRST;
	struct variant_table *new;

	if (old && old->count + 2 <= old->size)
		return 0;
	new = arena_take(&blocks->arena, sizeof(*new) + size * sizeof(new->slots[0]), _Alignof(struct variant_table));
	if (!new)
		return -ENOMEM;
	new->size = size;
	for (unsigned i = 0; old && i < old->size; i++)
		if (old->slots[i].variant)
			put_variant(new, old->slots[i].state, old->slots[i].is_near, old->slots[i].variant);
	__atomic_store_n(&node->table, new, __ATOMIC_RELEASE);
	return 0;
}

/* When the instruction before the first that uses the register issues: until then the register may still be pending. */
static unsigned
needed_after(const struct variant *first, unsigned reg)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is of a table that is filled */
	const uint16_t user = block_first_reader(first->block, reg);

	if (user == BLOCK_NOT_USED)
		return first->cycles;
	return user > 0 ? first->issue_cycles[user - 1] : 0;
}

bool
block_is_undelayed(const struct variant *first, const struct pipeline_state *state)
{
	static const uint8_t none[PIPELINE_UNITS_MAX];

	if (memcmp(state->busy, none, sizeof(none)) != 0)
		return false;
	for (unsigned reg = 0; reg < REGISTER_COUNT; reg++)
		if (state->ready[reg] && state->ready[reg] > needed_after(first, reg))
			return false;
	return true;
}

static struct variant *
find_nearest(const struct blocks *blocks, const struct block_node *node, uint32_t state)
{
	const struct pipeline_state *states = blocks->states.states;
	unsigned least = pipeline_state_distance(&states[state], &states[0]);
	struct variant *nearest = node->first;

	for (unsigned i = 0; i < node->table->size; i++) {
		const struct variant_slot *slot = &node->table->slots[i];
		unsigned distance;

		if (!slot->variant || slot->is_near)
			continue;
		distance = pipeline_state_distance(&states[state], &states[slot->state]);
		if (distance < least) {
			least = distance;
			nearest = slot->variant;
		}
	}
	return nearest;
}

static bool
is_equal(const struct variant *one, const struct variant *other)
{
	return one->state == other->state && one->cycles == other->cycles && one->fraction == other->fraction &&
	       memcmp(one->issue_cycles, other->issue_cycles, (one->block->count + 1u) * sizeof(uint16_t)) == 0;
}

/* Make the variant of this state, or return one of the block that is equal to it. NULL: no memory. */
static struct variant *
make_another(struct blocks *blocks, struct block_node *node, uint32_t state)
{
	const struct variant_table *table = node->table;
	struct variant *variant;

	decode(blocks, &node->block, node->bytes);
	variant = make_variant(blocks, &node->block, state);
	if (!variant)
		return NULL;
	if (is_equal(node->first, variant))
		return node->first;
	for (unsigned i = 0; i < table->size; i++)
		if (table->slots[i].variant && is_equal(table->slots[i].variant, variant))
			return table->slots[i].variant;
	node->variant_count++;
	blocks->variant_count++;
	return variant;
}

/* With the lock. NULL: no memory. */
static struct variant *
add_variant(struct blocks *blocks, struct block_node *node, uint32_t state)
{
	struct variant *variant = find_variant(node, state);
	bool is_near;

	if (variant)
		return variant; /* of another thread, meanwhile */
	if (!node->bytes)
		return node->first;
	if (reserve_variant(blocks, node))
		return NULL;
	is_near = node->variant_count == BLOCK_VARIANTS_MAX;
	if (is_near)
		variant = find_nearest(blocks, node, state);
	else if (node->block.is_in_order && block_is_undelayed(node->first, &blocks->states.states[state]))
		variant = node->first;
	else
		variant = make_another(blocks, node, state);
	if (variant)
		put_variant(node->table, state, is_near, variant);
	return variant;
}

/* Out of order: whether `block` is the next iteration of `before`, or goes on with the string that `before` ended in.
 */
static bool
is_next_iteration(const struct block *before, const struct block *block)
{
	return before == block ||
	       (block->repeats && block->count == 1 && before->repeats && before->fall == block->fall);
}

const struct variant *
blocks_find_variant(struct blocks *blocks, const struct variant *before, const struct block *block)
{
	struct block_node *node = (struct block_node *)(uintptr_t)block;
	const uint32_t state = block->is_in_order ? before->state : is_next_iteration(before->block, block);
	struct variant *variant = find_variant(node, state);

	if (!variant) {
		pthread_mutex_lock(&blocks->lock);
		variant = add_variant(blocks, node, state);
		pthread_mutex_unlock(&blocks->lock);
	}
	return variant ? variant : node->first;
}

size_t
blocks_variant_count(const struct blocks *blocks)
{
	return blocks->variant_count;
}
