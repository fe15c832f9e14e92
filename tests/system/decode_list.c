/*
 * decode_list - where instructions begin, by code/decoder.h, and what they are
 *
 * decode_list ADDRESS <CODE: a line for each x86-64 instruction, its address in eight hexadecimal digits; behind it "?"
 * where it is none. decode_list ADDRESS riscv64 <CODE: its address and its text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/decoder.h"

static uint8_t *
read_all(FILE *file, size_t *size)
{
	uint8_t *bytes = NULL, *grown;
	size_t capacity = 0, n;

	*size = 0;
	do {
		grown = array_grow(bytes, &capacity, *size + 65536, 1);
		if (!grown) {
			free(bytes);
			return NULL;
		}
		bytes = grown;
		n = fread(bytes + *size, 1, 65536, file);
		*size += n;
	} while (n > 0);
	return bytes;
}

static void
list(struct decoder *decoder, const uint8_t *bytes, const struct instruction *instruction, bool with_text)
{
	char text[INSTRUCTION_TEXT_SIZE];

	printf("%08" PRIx64, instruction->address);
	if (with_text) {
		decoder_text(decoder, bytes, instruction->size, instruction->address, LISTING_ATT, text, sizeof(text));
		printf(" %s\n", text);
	} else {
		printf("%s\n", instruction->class == CLASS_UNKNOWN ? " ?" : "");
	}
}

int
main(int argc, char **argv)
{
	const bool is_riscv = argc == 3 && strcmp(argv[2], "riscv64") == 0;
	struct instruction_list decoded = {0};
	struct decoder *decoder = decoder_new(is_riscv ? ARCHITECTURE_RISCV64 : ARCHITECTURE_X86_64);
	size_t size, at = 0;
	uint8_t *bytes;

	if ((argc != 2 && !is_riscv) || !decoder) {
		fprintf(stderr, "%s\n",
		        is_riscv && architecture_trouble(ARCHITECTURE_RISCV64)
		                ? architecture_trouble(ARCHITECTURE_RISCV64)
		                : "usage: decode_list ADDRESS [riscv64]");
		return EXIT_FAILURE;
	}
	bytes = read_all(stdin, &size);
	if (!bytes || decoder_decode(decoder, bytes, size, strtoull(argv[1], NULL, 16), &decoded) != 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < decoded.count; i++) {
		list(decoder, bytes + at, &decoded.instructions[i], is_riscv);
		at += decoded.instructions[i].size;
	}
	instruction_list_free(&decoded);
	decoder_free(decoder);
	free(bytes);
	return EXIT_SUCCESS;
}
