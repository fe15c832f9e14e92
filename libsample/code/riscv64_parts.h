/*
 * riscv64_parts.h - what the files that make a riscv64 instruction share (private to this room)
 *
 * RV64GC and the bit manipulations Zba, Zbb, Zbs, all by tables of ours: a compressed instruction is first expanded to
 * the one that it stands for. Source: The RISC-V Instruction Set Manual, volume I, 20191213.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_RISCV64_PARTS_H
#define DCPI_CODE_RISCV64_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"

#define RISCV64_RA 1u
#define RISCV64_SP 2u
#define RISCV64_T0 5u

/*
 * A row says how words look: those with `match` under `mask`. Operands, in the order of the text: d s t registers (rd,
 * rs1, rs2), D S T R the same of floating point (R: rs3), j u immediates, < > shifts of 5 and 6 bits, o q memory at rs1
 * with a load's or a store's displacement, A memory at rs1, p a targets of branches and of jal, E Z a control register
 * and an immediate for it, m a rounding mode (n: one
 * that makes no difference), F what a fence orders.
 */
struct riscv64_form {
	uint32_t match, mask;
	const char *name;
	const char *operands;
	uint8_t class; /* enum instruction_class */
};

/* NULL: none of ours. */
const struct riscv64_form *riscv64_find(uint32_t word);

/* The word that a compressed instruction stands for; 0: it is none. */
uint32_t riscv64_expand(uint16_t compressed);

/* The instruction at `bytes`, expanded, as *word; how long it is, 0 when `length` is too short. */
size_t riscv64_word(const uint8_t *bytes, size_t length, uint32_t *word);

/* Values of a word's fields. */
int64_t riscv64_load_offset(uint32_t word);
int64_t riscv64_store_offset(uint32_t word);
int64_t riscv64_branch_offset(uint32_t word);
int64_t riscv64_jump_offset(uint32_t word);

static inline unsigned
riscv64_rd(uint32_t word)
{
	return word >> 7 & 31;
}

static inline unsigned
riscv64_rs1(uint32_t word)
{
	return word >> 15 & 31;
}

static inline unsigned
riscv64_rs2(uint32_t word)
{
	return word >> 20 & 31;
}

#endif
