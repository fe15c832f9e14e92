/*
 * emulator_setup - what bench/emulator gives the timing plugin: the file that dcpiemu would write into a run's
 * directory
 *
 * emulator_setup DIRECTORY MACHINE PARTS [THREADS [QUANTUM]]: parts by their names, with commas between; "all" for all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "emulator/setup.h"

static uint32_t
part_bit(const char *name, size_t length)
{
	for (unsigned bit = 0; setup_part_name(bit); bit++)
		if (strlen(setup_part_name(bit)) == length && memcmp(setup_part_name(bit), name, length) == 0)
			return UINT32_C(1) << bit;
	fprintf(stderr, "emulator_setup: there is no part '%.*s'\n", (int)length, name);
	exit(2);
}

static uint32_t
parts_of(const char *names)
{
	uint32_t parts = 0;

	if (strcmp(names, "all") == 0)
		return SETUP_EVERYTHING;
	for (;;) {
		const size_t length = strcspn(names, ",");

		parts |= part_bit(names, length);
		if (!names[length])
			return parts;
		names += length + 1;
	}
}

int
main(int argc, char **argv)
{
	struct setup *setup;
	char why[512] = "";

	if (argc < 4) {
		fputs("usage: emulator_setup DIRECTORY MACHINE PARTS [THREADS [QUANTUM]]\n", stderr);
		return 2;
	}
	setup = malloc(sizeof(*setup));
	bench_require(setup ? 0 : -ENOMEM, "setup");
	setup_init(setup, argc > 4 ? (unsigned)strtoul(argv[4], NULL, 0) : 1);
	setup->parts = parts_of(argv[3]);
	if (argc > 5)
		setup->quantum_cycles = strtoull(argv[5], NULL, 0);
	bench_require(machine_choose(argv[2], &setup->machine, &setup->pipeline, why, sizeof(why)), why);
	bench_require(setup_write(setup, argv[1]), argv[1]);
	free(setup);
	return 0;
}
