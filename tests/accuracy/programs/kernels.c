/* kernels NAME[.SEED] TIMES - run one of ten small procedures on random bytes so often */
#include "kernels.h"

#include "input.h"

static const struct kernel {
	const char *name;
	kernel_function *run;
	size_t size; /* bytes of data */
} kernels[] = {
	{"quicksort", kernel_quicksort, 1 << 22}, {"heap", kernel_heap, 1 << 22},
	{"tree", kernel_tree, 1 << 21},           {"hash", kernel_hash, 1 << 23},
	{"sieve", kernel_sieve, 1 << 23},         {"search", kernel_search, 1 << 22},
	{"lexer", kernel_lexer, 1 << 22},         {"distance", kernel_distance, 1 << 20},
	{"machine", kernel_machine, 1 << 22},     {"life", kernel_life, 1 << 20},
};

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	const size_t length = strcspn(arguments.input, ".");
	const uint64_t seed = strtoul(arguments.input + length + (arguments.input[length] == '.'), NULL, 10);
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		uint8_t *data;

		if (strlen(kernels[i].name) != length || strncmp(kernels[i].name, arguments.input, length) != 0)
			continue;
		data = input_require(malloc(kernels[i].size));
		for (unsigned long time = 0; time < arguments.times; time++) {
			struct random_numbers random = {1000 * seed + time % 8};

			for (size_t k = 0; k < kernels[i].size; k++)
				data[k] = (uint8_t)random_next(&random);
			sum += kernels[i].run(data, kernels[i].size);
		}
		free(data);
		printf("%llu\n", (unsigned long long)sum);
		return 0;
	}
	fprintf(stderr, "kernels: no kernel is called %s\n", arguments.input);
	return EXIT_FAILURE;
}
