/*
 * decoder.h - machine code into instructions: by Zydis for x86-64, capstone for aarch64, capstone 5 for riscv64
 *
 * Decoding never fails because of the bytes. Bytes that are no instruction, and the rest of one that is cut off, become
 * CLASS_UNKNOWN, FLOW_NEXT, 1 byte long on x86-64, 4 (fewer at the end) on aarch64, and 2 or 4 on riscv64; they read
 * and write nothing. An instruction that is newer than the library has its real length and flow, so that the code
 * behind it is decoded right; on x86-64 its registers are those in its encoding. Nothing behind `length` is read.
 * Thread rule: one thread per decoder; its results belong to the caller and outlive the decoder.
 */
#ifndef DCPI_CODE_DECODER_H
#define DCPI_CODE_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"
#include "code/x86_64_encoding.h"

struct decoder;
struct decode_cache_entry;

/* Registers with a special role in the architecture's calling convention. */
struct architecture_registers {
	uint8_t stack, frame;
	uint32_t call_changes; /* general ones (bit n) that a call may change */
};

const struct architecture_registers *architecture_registers(enum architecture architecture);

/* The architecture of ELF's `e_machine` (EM_X86_64, EM_AARCH64, EM_RISCV) into *architecture; -ENOTSUP for others. */
int architecture_of_machine(uint16_t e_machine, enum architecture *architecture);

/*
 * Why this build does not decode `architecture`, and what to do about it, as text behind a program's name; NULL if it
 * does. riscv64 needs capstone 5.
 */
const char *architecture_trouble(enum architecture architecture);

/*
 * NULL and errno: ENOMEM, EINVAL for no enum architecture, ENOTSUP when the library or this build does not support it.
 */
struct decoder *decoder_new(enum architecture architecture);
void decoder_free(struct decoder *decoder); /* NULL is allowed */

/* Decode the instruction at `bytes`, whose ELF address is `address`. Returns its size: 0 only when `length` is 0. */
size_t decoder_decode_one(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                          struct instruction *instruction);

/*
 * decoder_decode_one() in two steps, for callers that decode several instructions: first prefetch all of them from the
 * decoder's cache of decoded instructions, which is large, then decode them. `bytes` must stay until then.
 */
struct encoded_instruction {
	const uint8_t *bytes;
	size_t length;
	struct x86_encoding x86; /* x86-64 */
	uint64_t key[2];         /* private to the decoder, as is `size` */
	size_t size;             /* 0: no instruction */
	struct decode_cache_entry *cache_set;
};

void decoder_prefetch(struct decoder *decoder, const uint8_t *bytes, size_t length,
                      struct encoded_instruction *encoded);
size_t decoder_decode_encoded(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                              struct instruction *instruction);

/* A growing array of instructions; zero it before its first use, instruction_list_free() it after the last. */
struct instruction_list {
	struct instruction *instructions;
	size_t count, capacity;
};

void instruction_list_free(struct instruction_list *list);

/*
 * Append the instructions of `length` bytes from `address` on to `list`: their sizes add up to `length`. 0, or -ENOMEM
 * with the list unchanged.
 */
int decoder_decode(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction_list *list);

/* The syntax of x86-64 in a listing; the other architectures have only one. */
enum listing_syntax {
	LISTING_ATT, /* as objdump and perf annotate show it */
	LISTING_INTEL,
};

#define INSTRUCTION_TEXT_SIZE 192 /* enough for every instruction's text */

/*
 * The text of the instruction at `bytes`: its mnemonic, padded to 7 columns, and its operands, if any. Targets are ELF
 * addresses in hexadecimal. Bytes that are no instruction are "(bad)"; an instruction that is newer than the library is
 * ".byte 0x62,0xf1,..." or ".inst 0x04e31041". The text is cut off at `size`, and ends in NUL unless `size` is 0.
 */
void decoder_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                  enum listing_syntax syntax, char *text, size_t size);

/* Operands, for callers that follow values (jump tables); in Intel's and Arm's order: the destination first. */
enum operand_kind {
	OPERAND_REGISTER,
	OPERAND_IMMEDIATE,
	OPERAND_MEMORY,
	OPERAND_OTHER, /* a condition, a shift, a system register */
};

struct instruction_operand {
	uint8_t kind;     /* enum operand_kind */
	uint8_t size;     /* bytes; 0: not known */
	uint8_t reg;      /* OPERAND_REGISTER: as in struct instruction; REGISTER_NONE if it has no number there */
	uint8_t base;     /* OPERAND_MEMORY: register or REGISTER_NONE */
	uint8_t index;    /* register or REGISTER_NONE */
	uint8_t scale;    /* of the index: 1, 2, 4, 8, 16 */
	bool is_pc;       /* the address is `value` alone: relative to the instruction pointer, already added */
	bool is_extended; /* aarch64: only the lower 32 bits of the index are used, extended */
	bool is_signed;   /* with is_extended: sign-extended */
	uint8_t shift;    /* aarch64: how many bits a register or an immediate is shifted left */
	int64_t value;    /* immediate, a target's address, or displacement */
};

#define INSTRUCTION_OPERANDS_MAX 8

struct instruction_detail {
	char mnemonic[32]; /* Intel's or Arm's, lower case: "movsxd", "b.hi"; empty when not decoded */
	size_t operand_count;
	struct instruction_operand operands[INSTRUCTION_OPERANDS_MAX];
};

/* The instruction at `bytes`, operand by operand. 0, or -DCPI_EDAMAGED when the library does not know it. */
int decoder_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction_detail *detail);

#endif
