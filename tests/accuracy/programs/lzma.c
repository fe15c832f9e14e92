/* lzma INPUT TIMES - compress and decompress data of a kind so often, with Debian's liblzma.a */
#include <lzma.h>

#include "input.h"

#define SIZE (1000 * 1000)

static void
require(lzma_ret status)
{
	if (status == LZMA_OK)
		return;
	fprintf(stderr, "lzma: error %d\n", (int)status);
	exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	uint8_t *data = input_make(arguments.input, SIZE, 4);
	uint8_t *packed = input_require(malloc(2 * SIZE)), *back = input_require(malloc(SIZE));
	size_t packed_size = 0;

	for (unsigned long i = 0; i < arguments.times; i++) {
		packed_size = 0;
		require(lzma_easy_buffer_encode(3, LZMA_CHECK_CRC32, NULL, data, SIZE, packed, &packed_size, 2 * SIZE));
		for (int k = 0; k < 2; k++) {
			uint64_t memory = UINT64_MAX;
			size_t in = 0, out = 0;

			require(lzma_stream_buffer_decode(&memory, 0, NULL, packed, &in, packed_size, back, &out,
			                                  SIZE));
		}
	}
	printf("%zu\n", packed_size);
	free(back);
	free(packed);
	free(data);
	return 0;
}
