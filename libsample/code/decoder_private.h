/*
 * decoder_private.h - what decoder.c and the two architectures know of each other (private to this room)
 *
 * An architecture says what an instruction is (struct instruction_detail, from capstone or, for newer ones, from its
 * own table), looks its name up among its forms, and makes a struct instruction of both.
 */
#ifndef DCPI_CODE_DECODER_PRIVATE_H
#define DCPI_CODE_DECODER_PRIVATE_H

#include <capstone/capstone.h>

#include "code/decoder.h"

struct form;

#define MEMO_SETS   8192u /* a power of two */
#define MEMO_WAYS   2u
#define FORMS_KNOWN 4096u /* a power of two */
#define FORM_NAME   24u

/*
 * Instructions repeat; two that differ only in displacements are the same but for their address and target. The newest
 * of a set comes first.
 */
struct memo {
	uint64_t key[2];
	struct instruction instruction; /* size 0: nothing is remembered here */
};

_Static_assert(sizeof(struct memo) == 64, "each is on one line of the cache");

/* Names repeat even more. */
struct known_form {
	char name[FORM_NAME];
	const struct form *form; /* NULL: nothing here yet */
};

struct decoder {
	enum architecture architecture;
	csh capstone;     /* Intel's syntax and details */
	csh listing[2];   /* by enum listing_syntax; aarch64 has one, twice */
	cs_insn *scratch; /* of `capstone`, with its details */
	void *memo_room;
	struct memo *memos; /* in it, each set on two lines of the cache */
	struct known_form forms[FORMS_KNOWN];
};

/* `encoded` has its bytes, of which there are some: the rest of it. And then the instruction: how many bytes it takes.
 */
void x86_64_look_at(struct decoder *decoder, struct encoded_instruction *encoded);
size_t x86_64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                     struct instruction *instruction);
int x86_64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                  struct instruction_detail *detail);

void aarch64_look_at(struct decoder *decoder, struct encoded_instruction *encoded);
size_t aarch64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                      struct instruction *instruction);
int aarch64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction_detail *detail);

size_t riscv64_decode(const uint8_t *bytes, size_t length, uint64_t address, struct instruction *instruction);
int riscv64_detail(const uint8_t *bytes, size_t length, uint64_t address, struct instruction_detail *detail);

/* One instruction into decoder->scratch; false when capstone does not know it. */
bool decoder_disassemble(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address);

/* The set of encoded->key, as encoded->memos; it is on its way. */
void decoder_find_memos(struct decoder *decoder, struct encoded_instruction *encoded);

/* What is remembered of it; NULL: nothing. And a new place for that, empty but for its key. */
const struct memo *decoder_memo(const struct encoded_instruction *encoded);
struct memo *decoder_new_memo(const struct encoded_instruction *encoded);

/* The form of `name` in the architecture's table; that of the system's instructions when it is not there. */
const struct form *decoder_form(struct decoder *decoder, const char *name);

/* Registers into the lists, once each; what has no room is left out. */
void instruction_add_read(struct instruction *instruction, uint8_t reg);
void instruction_add_write(struct instruction *instruction, uint8_t reg);
/* Behind all other reads. */
void instruction_add_address(struct instruction *instruction, uint8_t reg);

#endif
