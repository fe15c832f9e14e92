/*
 * decode_list - where x86-64 instructions begin, by code/decoder.h
 *
 * decode_list ADDRESS <CODE: a line for each, its address in eight hexadecimal digits; behind it "?" where it is none.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
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

int
main(int argc, char **argv)
{
	struct instruction_list list = {0};
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	uint8_t *bytes;
	size_t size;

	if (argc != 2 || !decoder)
		return EXIT_FAILURE;
	bytes = read_all(stdin, &size);
	if (!bytes || decoder_decode(decoder, bytes, size, strtoull(argv[1], NULL, 16), &list) != 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < list.count; i++)
		printf("%08" PRIx64 "%s\n", list.instructions[i].address,
		       list.instructions[i].class == CLASS_UNKNOWN ? " ?" : "");
	instruction_list_free(&list);
	decoder_free(decoder);
	free(bytes);
	return EXIT_SUCCESS;
}
