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

struct form;

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

/* The form of a name. */
struct form_cache_entry {
	char name[FORM_NAME];
	const struct form *form; /* NULL: the entry is empty */
};

struct decoder {
	enum architecture architecture;
	/* x86-64 */
	ZydisDecoder zydis;
	ZydisFormatter formatter[2]; /* by enum listing_syntax */
	/* aarch64, riscv64 */
	csh capstone;
	cs_insn *scratch;    /* of `capstone`, with its details */
	size_t cached_count; /* instructions that were put into the cache */
	_Alignas(128) struct decode_cache_entry cache[CACHE_SETS * CACHE_WAYS]; /* a set is on two of the CPU's lines */
	struct form_cache_entry forms[FORM_CACHE_SIZE];
};

/* A text of limited size that grows at its end. */
struct text {
	char *start;
	size_t size, at;
};

/* Append to `text`. What does not fit is left out; it always ends in NUL. */
__attribute__((format(printf, 2, 3))) void text_put(struct text *text, const char *format, ...);

/* An instruction's text, as capstone's mnemonic and op_str. */
struct listing_parts {
	char name[32], operands[160];
};

/* Put `by` in place of the `length` characters at `at` of `text`, which has `size` bytes, if there is room. */
void listing_splice(char *text, size_t size, char *at, size_t length, const char *by);

/* Capstone's text of one instruction, which is in decoder->scratch, too; false when capstone does not know it. */
bool decoder_capstone_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                           struct listing_parts *parts);

/*
 * The functions of each architecture. _prefetch() fills in the rest of `encoded`, whose bytes (at least one) are set;
 * _decode() returns how many bytes the instruction takes; _text() appends its text.
 */
int x86_64_open(struct decoder *decoder); /* -ENOTSUP when the library is another one */
void x86_64_prefetch(struct decoder *decoder, struct encoded_instruction *encoded);
size_t x86_64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                     struct instruction *instruction);
int x86_64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                  struct instruction_detail *detail);
void x86_64_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                 enum listing_syntax syntax, struct text *text);

void aarch64_prefetch(struct decoder *decoder, struct encoded_instruction *encoded);
size_t aarch64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                      struct instruction *instruction);
int aarch64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction_detail *detail);
void aarch64_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, struct text *text);

/* with HAS_RISCV64 only */
void riscv64_prefetch(struct decoder *decoder, struct encoded_instruction *encoded);
size_t riscv64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                      struct instruction *instruction);
int riscv64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction_detail *detail);
void riscv64_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, struct text *text);

/* Disassemble one instruction into decoder->scratch; false when capstone does not know it. */
bool decoder_disassemble(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address);

/* Set encoded->cache_set to the set of encoded->key, and prefetch it. */
void decoder_cache_prefetch(struct decoder *decoder, struct encoded_instruction *encoded);

/* The cached instruction, NULL when there is none; and a new entry for it, empty but for its key. */
const struct decode_cache_entry *decoder_cache_find(const struct encoded_instruction *encoded);
struct decode_cache_entry *decoder_cache_insert(struct decoder *decoder, const struct encoded_instruction *encoded);

/* The form of `name` in the architecture's table; that of the system's instructions when it is not there. */
const struct form *decoder_form(struct decoder *decoder, const char *name);

/* Add a register to a list, once; left out when the list is full. */
void instruction_add_read(struct instruction *instruction, uint8_t reg);
void instruction_add_write(struct instruction *instruction, uint8_t reg);
/* Behind all other reads. */
void instruction_add_address(struct instruction *instruction, uint8_t reg);

#endif
