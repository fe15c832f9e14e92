/*
 * address.h - what an instruction's access is addressed by, and registers that it changes by a known amount
 *
 * One file per architecture. Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_BLOCK_ADDRESS_H
#define DCPI_EMULATOR_BLOCK_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "code/decoder.h"

#define ADDRESS_CHANGES_MAX 2

/* register = from + amount, whole registers. `from`: REGISTER_NONE for zero. */
struct address_change {
	uint8_t reg, from;
	int64_t amount;
};

struct address_form {
	bool is_known;       /* one place: segment + base + index * scale + displacement, of the registers before it */
	uint8_t base, index; /* REGISTER_NONE */
	uint8_t scale, segment; /* x86: fs, gs; else 0 */
	uint8_t change_count;
	bool is_pair;        /* aarch64: of two general registers, */
	bool is_vector_pair; /* or of two vectors: accessed one after the other */
	bool reads_beyond;   /* x86: the emulator loads twice as much */
	int64_t displacement;
	struct address_change changes[ADDRESS_CHANGES_MAX];
};

/* Of what was decoded as `instruction` at its guest address. */
void address_form_fill(enum architecture architecture, const struct encoded_instruction *encoded,
                       const struct instruction *instruction, struct address_form *form);

/* By architecture; `form` is empty before. */
void address_form_x86_64(const struct encoded_instruction *encoded, const struct instruction *instruction,
                         struct address_form *form);
void address_form_aarch64(const uint8_t *bytes, const struct instruction *instruction, struct address_form *form);
void address_form_riscv64(const uint8_t *bytes, const struct instruction *instruction, struct address_form *form);

/* For those. */
void address_form_set(struct address_form *form, uint8_t base, int64_t displacement);
void address_form_change(struct address_form *form, uint8_t reg, uint8_t from, int64_t amount);

#endif
