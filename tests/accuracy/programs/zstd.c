/* zstd INPUT TIMES - compress and decompress data of a kind so often, with Debian's libzstd.a */
#include <zstd.h>

#include "input.h"

#define SIZE (6000 * 1000)

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	const size_t room = ZSTD_compressBound(SIZE);
	uint8_t *data = input_make(arguments.input, SIZE, 3);
	uint8_t *packed = input_require(malloc(room)), *back = input_require(malloc(SIZE));
	size_t size = 0;

	for (unsigned long i = 0; i < arguments.times; i++) {
		size = ZSTD_compress(packed, room, data, SIZE, 7);
		for (int k = 0; k < 4 && !ZSTD_isError(size); k++)
			if (ZSTD_decompress(back, SIZE, packed, size) != SIZE)
				return EXIT_FAILURE;
	}
	printf("%zu\n", size);
	free(back);
	free(packed);
	free(data);
	return ZSTD_isError(size) ? EXIT_FAILURE : 0;
}
