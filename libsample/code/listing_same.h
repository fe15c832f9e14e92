/*
 * listing_same.h - one text of an instruction, whichever capstone wrote it (private to this room)
 *
 * Capstone 4 (Debian 12) and 5 (Debian 13) differ in names, signs and sizes. Where they do, the text is objdump's.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_LISTING_SAME_H
#define DCPI_CODE_LISTING_SAME_H

#include <stdint.h>

#include "code/decoder.h"
#include "code/x86_64_encoding.h"

struct listing_parts {
	char name[32], operands[160]; /* as capstone's mnemonic and op_str */
};

void listing_same_x86_64(const struct x86_encoding *encoding, const uint8_t *bytes, enum listing_syntax syntax,
                         struct listing_parts *parts);
void listing_same_aarch64(uint32_t word, struct listing_parts *parts);

#endif
