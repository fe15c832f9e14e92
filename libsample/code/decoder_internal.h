/*
 * decoder_internal.h - what decoder.c and the architectures know of each other (private to this room)
 *
 * An architecture says what an instruction is (by Zydis, by capstone, or by its own table for newer ones), looks its
 * name up among its forms, and makes a struct instruction of both.
 */
#ifndef DCPI_CODE_DECODER_INTERNAL_H
#define DCPI_CODE_DECODER_INTERNAL_H

#include <Zydis/Zydis.h>
#include <capstone/capstone.h>

#include "code/decoder.h"

struct text;

/* Capstone knows RISC-V from version 5 on (Debian 13 has it, Debian 12 has 4). */
#define HAS_RISCV64 (CS_API_MAJOR >= 5)

#define CACHE_SETS      8192u /* a power of two */
#define CACHE_WAYS      2u
#define FORM_CACHE_SIZE 4096u /* a power of two */
#define FORM_NAME       24u

/*
 * Decoded instructions are cached: they repeat, and two that differ only in displacements differ only in address and
 * target. The newest of a set comes first.
 */
struct decode_cache_entry {
	uint64_t key[2];
	struct instruction instruction; /* size 0: the entry is empty */
};

_Static_assert(sizeof(struct decode_cache_entry) == 64, "each is on one line of the CPU's cache");

/* What happens to the first operands; those that follow are read. */
enum operand_access {
	ACCESS_READ,   /* all are read */
	ACCESS_WRITE,  /* the first is written */
	ACCESS_UPDATE, /* the first is read and written */
	ACCESS_PAIR,   /* the first two are written */
	ACCESS_SWAP,   /* the first two are read and written */
	ACCESS_SECOND, /* the second is written (aarch64: ldadd) */
	ACCESS_NONE,   /* none is touched */
};

enum form_trait {
	FLAGS_READ = 1 << 0,
	FLAGS_WRITE = 1 << 1,
	IS_MOVE = 1 << 2,    /* a load or store, and nothing else, when it has memory */
	IS_ZEROING = 1 << 6, /* with one register as both operands, the result does not depend on it (xor) */
	USES_X87 = 1 << 7,
	IS_STORE = 1 << 8, /* memory is written, by an operand that is not the first */
	IS_LOAD = 1 << 9,
	IS_LANDING = 1 << 10,
	KEEPS_FIRST = 1 << 11, /* x86-64: the first operand may stay as it was (bsf) */
};

/* What an instruction does to its operands, by its name: a row of an architecture's table. */
struct form {
	const char *names; /* between blanks; one that ends in '*' stands for all that begin so */
	uint8_t class;     /* enum instruction_class */
	uint8_t access;    /* enum operand_access */
	uint16_t traits;   /* enum form_trait */
	uint8_t flow;      /* enum instruction_flow */
	uint32_t reads;    /* implicit: bits of general registers */
	uint32_t writes;
};

/* The form of a name. */
struct form_cache_entry {
	char name[FORM_NAME];
	const struct form *form; /* NULL: the entry is empty */
};

/* What differs between architectures: each of their files defines one of these. */
struct decoder_architecture {
	const struct form *forms;
	size_t form_count;
	int (*open)(struct decoder *decoder); /* 0, -ENOMEM, -ENOTSUP when the library is another one */

	/* Set the key of `encoded`, whose bytes (at least one) are set. Returns the instruction's size, 0: it is none.
	 */
	size_t (*measure)(struct encoded_instruction *encoded);
	/* Fill in all but the place: address and target, and the size, which is set. False: it is no instruction. */
	bool (*fill)(struct decoder *decoder, const struct encoded_instruction *encoded,
	             struct instruction *instruction);
	/* How far behind its address the target of a branch, a jump or a call is. */
	int64_t (*distance)(const struct encoded_instruction *encoded, const struct instruction *instruction);

	/* `detail` is empty. False: the library does not know it. */
	bool (*detail)(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
	               struct instruction_detail *detail);
	/* Append the text of an instruction, of at least one byte. */
	void (*text)(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
	             enum listing_syntax syntax, struct text *text);
};

extern const struct decoder_architecture x86_64_architecture, aarch64_architecture;
extern const struct decoder_architecture riscv64_architecture; /* with HAS_RISCV64 only */

struct decoder {
	const struct decoder_architecture *architecture;
	/* x86-64 */
	ZydisDecoder zydis;
	ZydisFormatter formatter[2]; /* by enum listing_syntax */
	/* aarch64, riscv64 */
	csh capstone;
	cs_insn *scratch;                 /* of `capstone`, with its details */
	size_t cached_count;              /* instructions that were put into the cache */
	struct decode_cache_entry *cache; /* CACHE_SETS of CACHE_WAYS; a set is on two of the CPU's lines */
	struct form_cache_entry *forms;   /* FORM_CACHE_SIZE */
};

/* A text of limited size that grows at its end. */
struct text {
	char *start;
	size_t size, at;
};

/* Append to `text`. What does not fit is left out; it always ends in NUL. */
__attribute__((format(printf, 2, 3))) void text_put(struct text *text, const char *format, ...);

/* Open capstone. 0, -ENOMEM, -ENOTSUP. */
int decoder_open_capstone(struct decoder *decoder, cs_arch arch, cs_mode mode);

/* Disassemble one instruction into decoder->scratch; false when capstone does not know it. */
bool decoder_disassemble(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address);

/* The form of `name` in a table: an exact name before a pattern, a longer pattern before a shorter one. NULL: none. */
const struct form *form_find(const struct form *forms, size_t count, const char *name);

/* The form of `name` in the architecture's table; that of the system's instructions when it is not there. */
const struct form *decoder_form(struct decoder *decoder, const char *name);

/* Add a register to a list, once; left out when the list is full. */
void instruction_add_read(struct instruction *instruction, uint8_t reg);
void instruction_add_write(struct instruction *instruction, uint8_t reg);
/* Behind all other reads. */
void instruction_add_address(struct instruction *instruction, uint8_t reg);
/* General registers, as bits. */
void instruction_add_implicit(struct instruction *instruction, uint32_t reads, uint32_t writes);

#endif
