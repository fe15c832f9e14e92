#include "dcpi-tools/x/replica/branch_x86_64.h"

#define NO_REGISTER 0xff
#define FS_PREFIX   0x64
#define GS_PREFIX   0x65

enum flag {
	FLAG_CARRY = 1,
	FLAG_PARITY = 4,
	FLAG_ZERO = 0x40,
	FLAG_SIGN = 0x80,
	FLAG_OVERFLOW = 0x800,
};

/* Intel SDM volume 2, appendix A: tables, what changes the instruction pointer. */
static enum branch_kind
kind_of_one_byte(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, extension = encoding->modrm >> 3 & 7;

	if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xc2 || opcode == 0xc3)
		return BRANCH_DECIDED;
	if (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb)
		return BRANCH_DIRECT;
	if (opcode == 0xff && extension >= 2 && extension <= 5)
		return extension == 2 || extension == 4 ? BRANCH_DECIDED : BRANCH_LEAVES;
	if (opcode == 0xca || opcode == 0xcb || (opcode >= 0xcc && opcode <= 0xcf) || opcode == 0xf1 || opcode == 0xf4)
		return BRANCH_LEAVES; /* far returns, interrupts, halt */
	if ((opcode == 0xc7 || opcode == 0xc6) && extension == 7)
		return BRANCH_LEAVES; /* transactions */
	return BRANCH_NONE;
}

enum branch_kind
branch_kind_of(const struct x86_encoding *encoding)
{
	enum branch_kind kind = BRANCH_NONE;

	if (encoding->kind != ENCODING_LEGACY)
		return BRANCH_NONE;
	if (encoding->map == MAP_ONE_BYTE)
		kind = kind_of_one_byte(encoding);
	else if (encoding->map == MAP_0F && (encoding->opcode & 0xf0) == 0x80)
		kind = BRANCH_DECIDED;
	else if (encoding->map == MAP_0F && (encoding->opcode == 0x05 || encoding->opcode == 0x07 ||
	                                     encoding->opcode == 0x34 || encoding->opcode == 0x35))
		kind = BRANCH_LEAVES;
	/* With operands of 16 bits processors differ. */
	if (kind != BRANCH_NONE && encoding->has_operand_size && !(encoding->rex & REX_W))
		kind = BRANCH_LEAVES;
	return kind;
}

uint64_t
branch_target(const struct x86_encoding *encoding, uint64_t place)
{
	return place + encoding->size + (uint64_t)encoding->immediate;
}

/* Table B-1 of the SDM: pairs of a condition and its opposite. */
static bool
condition_holds(uint8_t condition, uint64_t flags)
{
	static const uint64_t any_of[] = {FLAG_OVERFLOW, FLAG_CARRY,  FLAG_ZERO, FLAG_CARRY | FLAG_ZERO,
	                                  FLAG_SIGN,     FLAG_PARITY, 0,         FLAG_ZERO};
	const uint8_t pair = condition >> 1 & 7;
	const bool is_less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW);

	return (flags & any_of[pair] || (pair >= 6 && is_less)) != (condition & 1);
}

static greg_t *
general_register(greg_t *registers, uint8_t number)
{
	static const uint8_t names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

	return &registers[names[number & 15]];
}

/* LOOPNE, LOOPE, LOOP, JRCXZ. */
static bool
counter_says_so(const struct x86_encoding *encoding, greg_t *registers)
{
	const uint64_t mask = encoding->has_address_size ? UINT32_MAX : UINT64_MAX;
	uint64_t counter = (uint64_t)registers[REG_RCX] & mask;
	const bool is_zero = registers[REG_EFL] & FLAG_ZERO;

	if (encoding->opcode == 0xe3)
		return counter == 0;
	counter = (counter - 1) & mask;
	registers[REG_RCX] = (greg_t)counter;
	return counter != 0 && (encoding->opcode == 0xe2 || is_zero == (encoding->opcode == 0xe1));
}

static uint64_t
operand_address(const uint8_t *code, const struct x86_encoding *encoding, greg_t *registers,
                const struct branch_memory *memory)
{
	uint64_t address = (uint64_t)(int64_t)encoding->displacement;

	if (encoding->is_rip_relative)
		address += (uint64_t)registers[REG_RIP] + encoding->size;
	if (encoding->base != NO_REGISTER)
		address += (uint64_t)*general_register(registers, encoding->base);
	if (encoding->index != NO_REGISTER)
		address += (uint64_t)*general_register(registers, encoding->index) * encoding->scale;
	if (encoding->has_address_size)
		address &= UINT32_MAX;
	for (uint8_t i = 0; i < encoding->opcode_at; i++) {
		if (code[i] == FS_PREFIX)
			return address + memory->fs_base;
		if (code[i] == GS_PREFIX)
			return address + memory->gs_base;
	}
	return address;
}

static bool
push(greg_t *registers, uint64_t value, const struct branch_memory *memory)
{
	if (!memory->write((uint64_t)registers[REG_RSP] - 8, value))
		return false;
	registers[REG_RSP] -= 8;
	return true;
}

static bool
take_indirect(const uint8_t *code, const struct x86_encoding *encoding, greg_t *registers,
              const struct branch_memory *memory)
{
	const bool is_call = (encoding->modrm >> 3 & 7) == 2;
	uint64_t target;

	if (!encoding->has_memory)
		target = (uint64_t)*general_register(registers, encoding->rm);
	else if (!memory->read(operand_address(code, encoding, registers, memory), &target))
		return false;
	if (is_call && !push(registers, (uint64_t)registers[REG_RIP] + encoding->size, memory))
		return false;
	registers[REG_RIP] = (greg_t)target;
	return true;
}

static bool
take_return(const struct x86_encoding *encoding, greg_t *registers, const struct branch_memory *memory)
{
	uint64_t target;

	if (!memory->read((uint64_t)registers[REG_RSP], &target))
		return false;
	registers[REG_RSP] += 8 + (encoding->opcode == 0xc2 ? (greg_t)(encoding->immediate & 0xffff) : 0);
	registers[REG_RIP] = (greg_t)target;
	return true;
}

bool
branch_take(const uint8_t *code, const struct x86_encoding *encoding, greg_t *registers,
            const struct branch_memory *memory)
{
	const uint64_t place = (uint64_t)registers[REG_RIP], next = place + encoding->size;
	const uint8_t opcode = encoding->opcode;
	bool is_taken = true;

	if (encoding->map == MAP_ONE_BYTE && opcode == 0xff)
		return take_indirect(code, encoding, registers, memory);
	if (encoding->map == MAP_ONE_BYTE && (opcode == 0xc2 || opcode == 0xc3))
		return take_return(encoding, registers, memory);
	if (encoding->map == MAP_ONE_BYTE && opcode == 0xe8 && !push(registers, next, memory))
		return false;
	if (encoding->map == MAP_0F || (opcode & 0xf0) == 0x70)
		is_taken = condition_holds(opcode & 15, (uint64_t)registers[REG_EFL]);
	else if (opcode >= 0xe0 && opcode <= 0xe3)
		is_taken = counter_says_so(encoding, registers);
	registers[REG_RIP] = (greg_t)(is_taken ? branch_target(encoding, place) : next);
	return true;
}
