/* Which accesses of a block go to one base: see block.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "code/decoder.h"
#include "emulator/block/block_internal.h"

#define GROUP_BYTES         64
#define GROUPS_OPEN         16 /* that a later access may join */
#define WIDEST              32
#define NO_ROOT             0
#define ADDRESS_CHANGES_MAX 2

#define X86_RAX       0
#define X86_RSP       4
#define X86_RBP       5
#define X86_WORD      8
#define X86_FS_PREFIX 0x64
#define X86_GS_PREFIX 0x65

#define A64_ZERO 31u /* in an instruction: zero or the stack pointer, by its class; register 31 here is the latter */

/* ---- addresses of x86-64, aarch64 and riscv64 ---- */

/* register = from + amount, whole registers. `from`: REGISTER_NONE for zero. */
struct address_change {
	uint8_t reg, from;
	int64_t amount;
};

/* How an instruction computes the address that it accesses, and which registers it changes by a known amount. */
struct address_form {
	bool is_known;       /* one address: segment + base + index * scale + displacement, of registers as before the
	                        instruction */
	uint8_t base, index; /* REGISTER_NONE */
	uint8_t scale, segment; /* x86: fs, gs; else 0 */
	uint8_t change_count;
	bool is_pair;        /* aarch64: of two general registers, */
	bool is_vector_pair; /* or of two vectors: accessed one after the other */
	bool reads_beyond;   /* x86: the emulator loads twice as much */
	int64_t displacement;
	struct address_change changes[ADDRESS_CHANGES_MAX];
};

static void
set_place(struct address_form *form, uint8_t base, int64_t displacement)
{
	form->is_known = true;
	form->base = base;
	form->displacement = displacement;
}

static void
add_change(struct address_form *form, uint8_t reg, uint8_t from, int64_t amount)
{
	if (form->change_count < ADDRESS_CHANGES_MAX)
		form->changes[form->change_count++] =
			(struct address_change){.reg = reg, .from = from, .amount = amount};
}

/* x86-64. Encodings: Intel SDM volume 2, appendix A. */

static uint8_t
x86_segment(const uint8_t *bytes, const struct x86_encoding *encoding)
{
	uint8_t segment = 0;

	for (unsigned i = 0; i < encoding->opcode_at; i++)
		if (bytes[i] == X86_FS_PREFIX || bytes[i] == X86_GS_PREFIX)
			segment = bytes[i];
	return segment;
}

static uint8_t
x86_register(uint8_t reg)
{
	return reg < 16 ? reg : REGISTER_NONE;
}

/* The access is not to all bytes from the address on: a mask or an index for each element, or a bit offset. */
static bool
x86_is_indirect(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode;

	if (encoding->kind == ENCODING_EVEX || encoding->kind == ENCODING_XOP || encoding->has_address_size)
		return true;
	if (encoding->kind == ENCODING_VEX)
		return encoding->map == MAP_0F38 && ((opcode >= 0x2c && opcode <= 0x2f) || opcode == 0x8c ||
		                                     opcode == 0x8e || (opcode >= 0x90 && opcode <= 0x93));
	return encoding->map == MAP_0F && (opcode == 0xa3 || opcode == 0xab || opcode == 0xb3 || opcode == 0xbb);
}

/* FMA of one element: QEMU 7.2 loads a whole vector register. */
static bool
x86_is_scalar_fma(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, order = opcode >> 4;

	return encoding->kind == ENCODING_VEX && encoding->map == MAP_0F38 && encoding->prefix == 0x66 &&
	       order >= 0x9 && order <= 0xb && (opcode & 0xf) >= 0x9 && opcode & 1;
}

/* Shifts of 256 bits whose count is in 128 bits of memory: QEMU 7.2 loads 256. */
static bool
x86_is_wide_shift(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode;

	return encoding->kind == ENCODING_VEX && encoding->map == MAP_0F && encoding->prefix == 0x66 &&
	       encoding->length == 1 &&
	       ((opcode >= 0xd1 && opcode <= 0xd3) || opcode == 0xe1 || opcode == 0xe2 ||
	        (opcode >= 0xf1 && opcode <= 0xf3));
}

/* cvtdq2pd: QEMU 7.2 loads as many bytes as the instruction writes. */
static bool
x86_is_widening(const struct x86_encoding *encoding)
{
	return (encoding->kind == ENCODING_LEGACY || encoding->kind == ENCODING_VEX) && encoding->map == MAP_0F &&
	       encoding->prefix == 0xf3 && encoding->opcode == 0xe6;
}

static void
x86_modrm_access(const uint8_t *bytes, const struct instruction *instruction, const struct x86_encoding *encoding,
                 struct address_form *form)
{
	if (x86_is_indirect(encoding))
		return;
	set_place(form, x86_register(encoding->base), encoding->displacement);
	form->segment = x86_segment(bytes, encoding);
	if (encoding->is_rip_relative) {
		form->base = REGISTER_NONE;
		form->displacement += (int64_t)(instruction->address + instruction->size);
		return;
	}
	form->index = x86_register(encoding->index);
	form->scale = encoding->scale;
}

static void
x86_push(struct address_form *form)
{
	set_place(form, X86_RSP, -X86_WORD);
	add_change(form, X86_RSP, X86_RSP, -X86_WORD);
}

static void
x86_pop(struct address_form *form, uint8_t reg)
{
	set_place(form, X86_RSP, 0);
	if (reg != X86_RSP)
		add_change(form, X86_RSP, X86_RSP, X86_WORD);
}

static bool
x86_is_push(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, which = encoding->modrm >> 3 & 7;

	if (opcode == 0xff)
		return (which == 2 || which == 6) && !encoding->has_memory;
	return opcode >> 3 == 0xa || opcode == 0x68 || opcode == 0x6a || opcode == 0x9c || opcode == 0xe8;
}

/* Instructions that access the stack and other memory, and enter. */
static bool
x86_accesses_two_places(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, which = encoding->modrm >> 3 & 7;

	return opcode == 0xc8 || opcode == 0x8f || (opcode == 0xff && (which == 2 || which == 3 || which == 6));
}

/* False: the instruction does not access the stack. */
static bool
x86_stack_access(const struct x86_encoding *encoding, struct address_form *form)
{
	const uint8_t opcode = encoding->opcode;

	if (x86_is_push(encoding)) {
		x86_push(form);
		return true;
	}
	if (opcode >> 3 == 0xb) {
		x86_pop(form, (opcode & 7) | (encoding->rex & REX_B ? 8 : 0));
		return true;
	}
	switch (opcode) {
	case 0x9d: /* popf */
	case 0xc3:
		x86_pop(form, REGISTER_NONE);
		return true;
	case 0xc2: /* ret, which releases more */
		set_place(form, X86_RSP, 0);
		return true;
	case 0xc9: /* leave */
		set_place(form, X86_RBP, 0);
		add_change(form, X86_RSP, X86_RBP, X86_WORD);
		return true;
	default:
		return x86_accesses_two_places(encoding);
	}
}

/* add, sub, inc, dec, lea and mov of whole registers. */
static void
x86_change(const struct instruction *instruction, const struct x86_encoding *encoding, struct address_form *form)
{
	const uint8_t which = encoding->modrm >> 3 & 7;
	const bool is_register = encoding->has_modrm && !encoding->has_memory;

	switch (encoding->opcode) {
	case 0x81:
	case 0x83:
		if (is_register && (which == 0 || which == 5))
			add_change(form, encoding->rm, encoding->rm,
			           which ? -encoding->immediate : encoding->immediate);
		break;
	case 0x05:
	case 0x2d:
		add_change(form, X86_RAX, X86_RAX,
		           encoding->opcode == 0x2d ? -encoding->immediate : encoding->immediate);
		break;
	case 0xff:
		if (is_register && which < 2)
			add_change(form, encoding->rm, encoding->rm, which ? -1 : 1);
		break;
	case 0x89:
		if (is_register)
			add_change(form, encoding->rm, encoding->reg, 0);
		break;
	case 0x8b:
		if (is_register)
			add_change(form, encoding->reg, encoding->rm, 0);
		break;
	case 0x8d:
		if (encoding->is_rip_relative)
			add_change(form, encoding->reg, REGISTER_NONE,
			           (int64_t)(instruction->address + instruction->size) + encoding->displacement);
		else if (encoding->has_memory && x86_register(encoding->index) == REGISTER_NONE)
			add_change(form, encoding->reg, x86_register(encoding->base), encoding->displacement);
		break;
	default:
		break;
	}
}

static void
fill_x86_64(const struct encoded_instruction *encoded, const struct instruction *instruction, struct address_form *form)
{
	const struct x86_encoding *encoding = &encoded->x86;

	if (encoded->size != instruction->size)
		return;
	if (encoding->kind == ENCODING_LEGACY && encoding->map == MAP_ONE_BYTE) {
		const bool is_whole = encoding->rex & REX_W && !encoding->has_address_size;

		if (encoding->has_operand_size ? x86_accesses_two_places(encoding) : x86_stack_access(encoding, form))
			return;
		if (is_whole)
			x86_change(instruction, encoding, form);
	}
	if (!encoding->has_memory)
		return;
	form->reads_beyond = x86_is_scalar_fma(encoding) || x86_is_wide_shift(encoding) || x86_is_widening(encoding);
	x86_modrm_access(encoded->bytes, instruction, encoding, form);
}

/* aarch64. Encodings: Arm Architecture Reference Manual, C4.1. */

static int64_t
a64_signed_field(uint32_t word, unsigned from, unsigned bits)
{
	return (int64_t)((uint64_t)(word >> from) << (64 - bits)) >> (64 - bits);
}

static uint8_t
a64_base(uint32_t word)
{
	return word >> 5 & 31;
}

static bool
a64_is_vector(uint32_t word)
{
	return word >> 26 & 1;
}

/* Log2 of the bytes that a load or store of one register accesses. */
static unsigned
a64_single_scale(uint32_t word)
{
	return a64_is_vector(word) && word >> 23 & 1 ? 4 : word >> 30;
}

static unsigned
a64_pair_scale(uint32_t word)
{
	return a64_is_vector(word) ? 2 + (word >> 30) : 2 + (word >> 31);
}

enum a64_index_mode {
	A64_OFFSET,
	A64_POST,
	A64_PRE,
};

static void
a64_indexed(struct address_form *form, uint8_t base, int64_t offset, enum a64_index_mode mode)
{
	set_place(form, base, mode == A64_POST ? 0 : offset);
	if (mode != A64_OFFSET)
		add_change(form, base, base, offset);
}

static void
a64_pair_access(uint32_t word, struct address_form *form)
{
	static const enum a64_index_mode modes[4] = {A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE};

	form->is_pair = !a64_is_vector(word);
	form->is_vector_pair = a64_is_vector(word);
	a64_indexed(form, a64_base(word), a64_signed_field(word, 15, 7) * (1 << a64_pair_scale(word)),
	            modes[word >> 23 & 3]);
}

static void
a64_unscaled_access(uint32_t word, struct address_form *form)
{
	static const enum a64_index_mode modes[4] = {A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE};

	a64_indexed(form, a64_base(word), a64_signed_field(word, 12, 9), modes[word >> 10 & 3]);
}

static void
a64_register_access(uint32_t word, struct address_form *form)
{
	const bool is_whole = (word >> 13 & 3) == 3; /* lsl, sxtx */
	const uint8_t index = word >> 16 & 31;

	if (!is_whole || index == A64_ZERO)
		return;
	set_place(form, a64_base(word), 0);
	form->index = index;
	form->scale = (uint8_t)(word >> 12 & 1 ? 1u << a64_single_scale(word) : 1);
}

static void
a64_register_change(uint32_t word, uint64_t address, struct address_form *form)
{
	const uint8_t to = word & 31;

	/* add and sub with an immediate, of 64 bits */
	if ((word & 0xbf800000) == 0x91000000) {
		const int64_t amount = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

		add_change(form, to, a64_base(word), word >> 30 & 1 ? -amount : amount);
	}
	if ((word & 0xffe0ffe0) == 0xaa0003e0 && to != A64_ZERO && (word >> 16 & 31) != A64_ZERO)
		add_change(form, to, word >> 16 & 31, 0);
	/* adr, adrp */
	if ((word & 0x1f000000) == 0x10000000 && to != A64_ZERO) {
		const int64_t offset = a64_signed_field(word, 5, 19) * 4 + (word >> 29 & 3);
		const bool is_page = word >> 31;

		add_change(form, to, REGISTER_NONE,
		           is_page ? (int64_t)(address & ~UINT64_C(4095)) + offset * 4096 : (int64_t)address + offset);
	}
}

static void
fill_aarch64(const uint8_t *bytes, const struct instruction *instruction, struct address_form *form)
{
	uint32_t word;

	if (instruction->size != 4)
		return;
	word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	if ((word & 0x3b000000) == 0x39000000)
		set_place(form, a64_base(word), (int64_t)(word >> 10 & 0xfff) << a64_single_scale(word));
	else if ((word & 0x3a000000) == 0x28000000)
		a64_pair_access(word, form);
	else if ((word & 0x3b200000) == 0x38000000)
		a64_unscaled_access(word, form);
	else if ((word & 0x3b200c00) == 0x38200800)
		a64_register_access(word, form);
	else if ((word & 0x3b000000) == 0x18000000)
		set_place(form, REGISTER_NONE, (int64_t)instruction->address + a64_signed_field(word, 5, 19) * 4);
	else
		a64_register_change(word, instruction->address, form);
}

/* riscv64 */

static void
fill_riscv64(struct decoder *decoder, const struct encoded_instruction *encoded, const struct instruction *instruction,
             struct address_form *form)
{
	struct instruction_detail detail;
	const struct instruction_operand *operands = detail.operands;

	if (instruction->class == CLASS_UNKNOWN ||
	    decoder_detail(decoder, encoded->bytes, encoded->length, instruction->address, &detail) < 0)
		return;
	if (instruction->class == CLASS_LOAD || instruction->class == CLASS_STORE) {
		if (detail.operand_count == 2)
			set_place(form, operands[1].base, operands[1].value);
		return;
	}
	if (detail.operand_count < 2 || operands[0].reg == REGISTER_NONE)
		return;
	if (strcmp(detail.mnemonic, "addi") == 0 && detail.operand_count == 3)
		add_change(form, operands[0].reg, operands[1].reg, operands[2].value);
	else if (strcmp(detail.mnemonic, "mv") == 0)
		add_change(form, operands[0].reg, operands[1].reg, 0);
	else if (strcmp(detail.mnemonic, "li") == 0 || strcmp(detail.mnemonic, "lui") == 0)
		add_change(form, operands[0].reg, REGISTER_NONE, operands[1].value);
	else if (strcmp(detail.mnemonic, "auipc") == 0)
		add_change(form, operands[0].reg, REGISTER_NONE, (int64_t)instruction->address + operands[1].value);
}

/*
 * The address form of the access that `encoded` makes, which `decoder` of `architecture` decoded as `instruction` at
 * its guest address.
 */
static void
address_form_fill(enum architecture architecture, struct decoder *decoder, const struct encoded_instruction *encoded,
                  const struct instruction *instruction, struct address_form *form)
{
	*form = (struct address_form){.base = REGISTER_NONE, .index = REGISTER_NONE, .scale = 1};
	if (architecture == ARCHITECTURE_X86_64)
		fill_x86_64(encoded, instruction, form);
	else if (architecture == ARCHITECTURE_AARCH64)
		fill_aarch64(encoded->bytes, instruction, form);
	else if (architecture == ARCHITECTURE_RISCV64)
		fill_riscv64(decoder, encoded, instruction, form);
	if (!instruction->loads && !instruction->stores)
		form->is_known = false;
}

/* ---- groups ---- */

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
