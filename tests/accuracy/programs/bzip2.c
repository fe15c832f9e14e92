/* bzip2 INPUT TIMES - compress and decompress data of a kind so often, with Debian's libbz2.a */
#include <bzlib.h>

#include "input.h"

#define SIZE (1500 * 1000)

static void
require(int status)
{
	if (status == BZ_OK)
		return;
	fprintf(stderr, "bzip2: error %d\n", status);
	exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	uint8_t *data = input_make(arguments.input, SIZE, 1);
	char *packed = input_require(malloc(2 * SIZE)), *back = input_require(malloc(SIZE));
	unsigned packed_size = 0, size;

	for (unsigned long i = 0; i < arguments.times; i++) {
		packed_size = 2 * SIZE;
		require(BZ2_bzBuffToBuffCompress(packed, &packed_size, (char *)data, SIZE, 9, 0, 0));
		size = SIZE;
		require(BZ2_bzBuffToBuffDecompress(back, &size, packed, packed_size, 0, 0));
	}
	printf("%u\n", packed_size);
	free(back);
	free(packed);
	free(data);
	return 0;
}
