/* Which accesses of a block go to one base: see block.h. */
#include <limits.h>
#include <string.h>

#include "emulator/block/address.h"
#include "emulator/block/block_internal.h"

#define GROUP_BYTES 64
#define GROUPS_OPEN 16 /* that a later access may join */
#define WIDEST      32
#define NO_ROOT     0

/* A register's value: a root, which is a value that is not known, by number, plus an offset. NO_ROOT: a constant. */
struct known_value {
	uint32_t root;
	int64_t offset;
};

/* The part of an access' address that is not a constant. */
struct group_base {
	uint32_t base, index;
	uint16_t scale, segment;
};

struct access_group {
	struct group_base base;
	uint16_t leader, last;
	int64_t offset;   /* of the leader's address from the base */
	int64_t from, to; /* of all accesses, relative to the leader's address */
};

struct grouping {
	struct block *block;
	int64_t bytes; /* a group has at most */
	uint32_t roots;
	uint32_t changed; /* registers (bit n); the others have the value they entered the block with: root 1 + n */
	struct known_value values[32];           /* of registers that changed */
	struct access_group groups[GROUPS_OPEN]; /* a new one replaces the oldest */
	unsigned group_count;
};

static struct known_value
value_of(const struct grouping *grouping, uint8_t reg)
{
	if (reg >= 32)
		return (struct known_value){NO_ROOT, 0};
	return grouping->changed >> reg & 1 ? grouping->values[reg] : (struct known_value){NO_ROOT + 1u + reg, 0};
}

static void
change_value(struct grouping *grouping, uint8_t reg, struct known_value value)
{
	if (reg >= 32)
		return;
	grouping->changed |= UINT32_C(1) << reg;
	grouping->values[reg] = value;
}

/* The values of registers behind the instruction. */
static void
change_values(struct grouping *grouping, const struct block_instruction *instruction, const struct address_form *form)
{
	struct known_value changed[ADDRESS_CHANGES_MAX];

	for (unsigned i = 0; i < form->change_count; i++) {
		changed[i] = value_of(grouping, form->changes[i].from);
		changed[i].offset = (int64_t)((uint64_t)changed[i].offset + (uint64_t)form->changes[i].amount);
	}
	for (unsigned i = 0; i < instruction->write_count; i++)
		change_value(grouping, instruction->writes[i], (struct known_value){grouping->roots++, 0});
	for (unsigned i = 0; i < form->change_count; i++)
		change_value(grouping, form->changes[i].reg, changed[i]);
}

static struct group_base
base_of_form(const struct grouping *grouping, const struct address_form *form, int64_t *offset)
{
	const struct known_value base = value_of(grouping, form->base), index = value_of(grouping, form->index);
	struct group_base found;

	memset(&found, 0, sizeof(found)); /* padding, too: bases are compared as bytes */
	found.base = base.root;
	found.index = index.root;
	found.scale = index.root == NO_ROOT ? 0 : form->scale;
	found.segment = form->segment;
	*offset =
		(int64_t)((uint64_t)base.offset + (uint64_t)index.offset * form->scale + (uint64_t)form->displacement);
	return found;
}

static bool
is_whole_size(unsigned bytes)
{
	return bytes && bytes <= WIDEST && !(bytes & (bytes - 1));
}

/* The bytes of each callback (block.h); 0: unknown, the callback says it. */
static uint8_t
callback_bytes(enum block_callbacks callbacks, const struct block_instruction *instruction,
               const struct address_form *form)
{
	const bool is_wide = callbacks == BLOCK_CALLBACKS_16;
	const bool is_halved = form->is_vector_pair || (form->is_pair && !is_wide);
	const unsigned bytes = is_halved ? instruction->access_size / 2u : instruction->access_size;

	if (form->reads_beyond)
		return is_wide ? 16 : 8;
	if (bytes <= 8)
		return (uint8_t)bytes;
	if (!is_whole_size(bytes))
		return 0; /* x87: 8 bytes and 2 */
	if (!is_wide)
		return 8;
	return form->is_known && !instruction->is_atomic ? 16 : 0;
}

static bool
is_update(const struct block_instruction *instruction, const struct address_form *form)
{
	return form->is_known && !form->is_pair && !form->is_vector_pair && instruction->loads && instruction->stores &&
	       !instruction->is_atomic && !instruction->is_blocking &&
	       instruction->callback_size == instruction->access_size &&
	       __builtin_popcount(instruction->access_size) == 1;
}

static bool
join(struct grouping *grouping, struct access_group *group, uint16_t index, int64_t offset)
{
	struct block_instruction *instructions = grouping->block->instructions;
	struct block_instruction *leader = &instructions[group->leader];
	const int64_t from = (int64_t)((uint64_t)offset - (uint64_t)group->offset);
	int64_t to, low, high;

	if (from <= -grouping->bytes || from >= grouping->bytes)
		return false;
	to = from + instructions[index].access_size;
	low = from < group->from ? from : group->from;
	high = to > group->to ? to : group->to;
	if (high - low > grouping->bytes)
		return false;
	group->from = low;
	group->to = high;
	instructions[index].leader = group->leader;
	instructions[index].displacement = (int16_t)from;
	instructions[group->last].next_member = index;
	leader->leader = group->leader;
	group->last = index;
	/* callbacks of a leader in several pieces are for one part of the group each: the other pieces are taken off */
	leader->group_from = (int16_t)group->from;
	leader->group_to = (int16_t)(group->to - leader->access_size + leader->callback_size);
	return true;
}

static void
add_access(struct grouping *grouping, uint16_t index, const struct address_form *form)
{
	const struct block_instruction *instruction = &grouping->block->instructions[index];
	struct access_group *group;
	struct group_base base;
	int64_t offset;

	if (!form->is_known || instruction->is_atomic || !is_whole_size(instruction->access_size))
		return;
	base = base_of_form(grouping, form, &offset);
	for (unsigned i = 0; i < GROUPS_OPEN && i < grouping->group_count; i++)
		if (memcmp(&grouping->groups[i].base, &base, sizeof(base)) == 0 &&
		    join(grouping, &grouping->groups[i], index, offset))
			return;
	if (instruction->reads_beyond)
		return;
	group = &grouping->groups[grouping->group_count++ % GROUPS_OPEN];
	*group =
		(struct access_group){.leader = index, .last = index, .offset = offset, .to = instruction->access_size};
	group->base = base;
}

/* Whether the instruction accesses memory, or changes a register that an address may be computed from. */
static bool
needs_form(const struct block_instruction *instruction)
{
	bool is_wanted = instruction->loads || instruction->stores;

	for (unsigned i = 0; i < instruction->write_count; i++)
		is_wanted |= instruction->writes[i] < 32;
	return is_wanted;
}

static uint16_t
behind_last_access(const struct block *block)
{
	uint16_t end = block->count;

	while (end > 0 && !block->instructions[end - 1].loads && !block->instructions[end - 1].stores)
		end--;
	return end;
}

void
block_group(struct block *block, const struct block_code *code, unsigned cache_line)
{
	const uint16_t end = behind_last_access(block);
	struct grouping grouping;

	if (end == 0)
		return;
	grouping.block = block;
	grouping.bytes = GROUP_BYTES;
	grouping.roots = NO_ROOT + 1 + 32;
	grouping.changed = 0;
	grouping.group_count = 0;
	if (cache_line && cache_line < GROUP_BYTES)
		grouping.bytes = cache_line;
	for (uint16_t i = 0; i < end; i++) {
		struct block_instruction *instruction = &block->instructions[i];
		struct address_form form;

		if (instruction->is_blocking)
			grouping.group_count = 0; /* the emulator may leave the block here, and come back to another */
		if (!needs_form(instruction))
			continue;
		address_form_fill(code->architecture, code->decoder, &code->encoded[i], &code->decoded[i], &form);
		instruction->callback_size = callback_bytes(code->callbacks, instruction, &form);
		instruction->group_to =
			(int16_t)(instruction->callback_size < instruction->access_size ? instruction->callback_size
		                                                                        : instruction->access_size);
		instruction->updates = is_update(instruction, &form);
		instruction->reads_beyond = form.reads_beyond;
		if (!instruction->is_blocking && (instruction->loads || instruction->stores))
			add_access(&grouping, i, &form);
		change_values(&grouping, instruction, &form);
	}
}

struct block_span
block_group_stores(const struct block *block, uint16_t leader)
{
	struct block_span stores = {INT_MAX, INT_MIN};

	for (uint16_t i = leader; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		const struct block_span bytes =
			block_member_bytes(&block->instructions[leader], &block->instructions[i]);

		if (!block->instructions[i].stores || bytes.from >= bytes.to)
			continue;
		stores.from = bytes.from < stores.from ? bytes.from : stores.from;
		stores.to = bytes.to > stores.to ? bytes.to : stores.to;
	}
	return stores;
}
