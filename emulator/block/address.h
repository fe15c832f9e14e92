/*
 * address.h - how an instruction computes the address that it accesses, and which registers it changes by a known
 * amount
 *
 * For x86-64, aarch64 and riscv64. Thread rule: stateless.
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

/*
 * The address form of the access that `encoded` makes, which `decoder` of `architecture` decoded as `instruction` at
 * its guest address.
 */
void address_form_fill(enum architecture architecture, struct decoder *decoder,
                       const struct encoded_instruction *encoded, const struct instruction *instruction,
                       struct address_form *form);

#endif
