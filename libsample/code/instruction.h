/*
 * instruction.h - a machine instruction, as far as the analysis needs it
 *
 * Filled in by code/decoder.h from the text of an image; one table per architecture (code/x86_64.c, code/aarch64.c,
 * code/riscv64.c) adds what Zydis or capstone does not know. The structs have no pointers and no owner: any thread.
 */
#ifndef DCPI_CODE_INSTRUCTION_H
#define DCPI_CODE_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum architecture {
	ARCHITECTURE_X86_64,
	ARCHITECTURE_AARCH64,
	ARCHITECTURE_RISCV64,
	ARCHITECTURE_COUNT,
};

/*
 * What an instruction occupies in a pipeline. An x86 instruction with a memory operand has the class of its operation,
 * and `loads` or `stores` is set: the schedule adds the access.
 */
enum instruction_class {
	CLASS_NOP, /* needs no execution unit; also moves that renaming eliminates */
	CLASS_INTEGER,
	CLASS_SHIFT,
	CLASS_ADDRESS, /* lea, adr */
	CLASS_MOVE,
	CLASS_SELECT, /* cmov, setcc, csel */
	CLASS_MULTIPLY,
	CLASS_DIVIDE,
	CLASS_BIT, /* popcnt, tzcnt, clz, bit fields */
	CLASS_LOAD,
	CLASS_STORE,
	CLASS_PREFETCH,
	CLASS_ATOMIC, /* locked operations, exclusive loads and stores */
	CLASS_BARRIER,
	CLASS_BRANCH, /* conditional */
	CLASS_JUMP,
	CLASS_CALL,
	CLASS_RETURN,
	CLASS_FLOAT_ADD,
	CLASS_FLOAT_MULTIPLY,
	CLASS_FLOAT_FUSED, /* multiply and add */
	CLASS_FLOAT_DIVIDE,
	CLASS_FLOAT_ROOT,
	CLASS_FLOAT_COMPARE,
	CLASS_FLOAT_CONVERT,
	CLASS_FLOAT_MOVE, /* between vector registers, and to and from general ones */
	CLASS_VECTOR_INTEGER,
	CLASS_VECTOR_MULTIPLY,
	CLASS_VECTOR_SHUFFLE,
	CLASS_CRYPTO,
	CLASS_STRING, /* rep movs etc.: its time depends on its count */
	CLASS_SYSTEM, /* traps, cpuid, port and system registers */
	CLASS_UNKNOWN,
	CLASS_COUNT,
};

/* How an instruction ends a block. */
enum instruction_flow {
	FLOW_NEXT, /* it does not */
	FLOW_BRANCH,
	FLOW_JUMP,
	FLOW_JUMP_INDIRECT,
	FLOW_CALL,
	FLOW_CALL_INDIRECT,
	FLOW_RETURN,
	FLOW_STOP, /* ud2, hlt, brk: has no successor */
};

/*
 * Numbers of architectural registers, before renaming: general ones 0 to 31 (x86: rax 0 ... r15 15; aarch64: x0 0 ...
 * x30 30, sp 31; riscv64: x1 1 ... x31 31), vector ones - riscv64: floating-point ones - 32 to 63, the flags 64, x86's
 * x87 stack 65, mask registers 66 to 73. A part of a register counts as the whole register: an instruction that writes
 * 8 or 16 bits of it, or writes it under a merging mask, reads it as well. The zero register and the instruction
 * pointer have no number. An instruction does not read flags that it leaves unchanged (inc: the carry), because flags
 * are renamed separately. An SSE instruction does not read the upper half of a vector register, which it keeps.
 * Instructions that save, load or clear the whole state (xsave, vzeroupper) do not list it.
 */
#define REGISTER_VECTOR 32
#define REGISTER_FLAGS  64
#define REGISTER_X87    65
#define REGISTER_MASK   66
#define REGISTER_COUNT  74
#define REGISTER_NONE   255

#define INSTRUCTION_READS_MAX  6
#define INSTRUCTION_WRITES_MAX 5

struct instruction {
	uint64_t address; /* ELF virtual address */
	uint64_t target;  /* of FLOW_BRANCH, FLOW_JUMP, FLOW_CALL; else 0 */
	uint8_t size;     /* bytes */
	uint8_t class;    /* enum instruction_class */
	uint8_t flow;     /* enum instruction_flow */
	uint8_t read_count, write_count;
	uint8_t reads[INSTRUCTION_READS_MAX];   /* registers, data operands in their order first (Ra, Rb, ...), implicit
	                                           ones after, those of addresses last; no duplicates */
	uint8_t writes[INSTRUCTION_WRITES_MAX]; /* registers (Rc), the flags last */
	uint8_t address_reads; /* how many of the last `reads` only make an address; also rsp of push, call, ret */
	uint8_t access_size;   /* bytes loaded or stored; 0: none or not known */
	bool loads, stores;
	bool is_landing_pad; /* endbr64, bti: an indirect jump may come here */
	bool is_wide;        /* 256 bits or more, a 64-bit division, or a three-part lea: may take longer */
	bool is_scaled;      /* its address has a scaled index */
	bool extends_sign;   /* of the loaded value */
	bool clears;         /* its result does not depend on what it reads (xor eax, eax) */
};

/* Whether the instruction reads or writes register `reg`. */
static inline bool
instruction_reads(const struct instruction *instruction, uint8_t reg)
{
	return memchr(instruction->reads, reg, instruction->read_count) != NULL;
}

static inline bool
instruction_writes(const struct instruction *instruction, uint8_t reg)
{
	return memchr(instruction->writes, reg, instruction->write_count) != NULL;
}

static inline bool
instruction_is_call(const struct instruction *instruction)
{
	return instruction->flow == FLOW_CALL || instruction->flow == FLOW_CALL_INDIRECT;
}

static inline bool
instruction_has_target(const struct instruction *instruction)
{
	return instruction->flow == FLOW_BRANCH || instruction->flow == FLOW_JUMP || instruction->flow == FLOW_CALL;
}

#endif
