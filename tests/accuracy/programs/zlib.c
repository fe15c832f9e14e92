/* zlib INPUT TIMES - compress and decompress data of a kind so often, with Debian's libz.a */
#include <zlib.h>

#include "input.h"

#define SIZE (3000 * 1000)

static void
require(int status)
{
	if (status == Z_OK)
		return;
	fprintf(stderr, "zlib: error %d\n", status);
	exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	uint8_t *data = input_make(arguments.input, SIZE, 2);
	uint8_t *packed = input_require(malloc(2 * SIZE)), *back = input_require(malloc(SIZE));
	uLongf packed_size = 0, size;

	for (unsigned long i = 0; i < arguments.times; i++) {
		packed_size = 2 * SIZE;
		require(compress2(packed, &packed_size, data, SIZE, 6));
		for (int k = 0; k < 2; k++) {
			size = SIZE;
			require(uncompress(back, &size, packed, packed_size));
		}
	}
	printf("%lu\n", packed_size);
	free(back);
	free(packed);
	free(data);
	return 0;
}
