/*
 * attribution_bench - how fast samples become counts
 *
 * A made-up machine: PROCESSES processes, each with its program and a set of libraries out of IMAGES, chosen by Zipf's
 * law as are the processes and the addresses; a quarter of the samples is the kernel's. The samples are made before
 * the clock starts, so that what is measured is attribution_sample(), tally_add() and tally_sort().
 * Usage: attribution_bench [samples] [processes] [images] [samples a flush]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/attribution.h"
#include "tally/tally.h"
#include "tests/scan_proc.h"

#define IMAGES_OF_A_PROCESS 12
#define IMAGE_TEXT          (UINT64_C(1) << 20)
#define HOT_ADDRESSES       4096 /* instructions of an image that are ever sampled */
#define KERNEL_START        UINT64_C(0xffffffff81000000)
#define TABLE_SIZE          65536

/* Zipf's law by a table: rank r is drawn about 1/(r+1) as often as rank 0. */
struct zipf {
	uint32_t ranks[TABLE_SIZE];
};

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

static void
zipf_init(struct zipf *zipf, uint32_t count)
{
	double total = 0, sum = 0;
	uint32_t rank = 0;

	for (uint32_t i = 0; i < count; i++)
		total += 1.0 / (i + 1);
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		while (rank + 1 < count && sum + 1.0 / (rank + 1) < total * i / TABLE_SIZE)
			sum += 1.0 / (++rank);
		zipf->ranks[i] = rank;
	}
}

static uint32_t
zipf_draw(const struct zipf *zipf, uint64_t *seed)
{
	return zipf->ranks[next_random(seed) % TABLE_SIZE];
}

struct simulated_machine {
	struct attribution *attribution;
	struct image_table *images;
	struct context_table *contexts;
	uint32_t process_count, image_count;
	uint64_t seed;
};

static void
die(const char *what)
{
	fprintf(stderr, "attribution_bench: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
apply(struct simulated_machine *machine, const struct record *record)
{
	if (attribution_apply(machine->attribution, record))
		die("out of memory");
}

static void
make_process(struct simulated_machine *machine, uint32_t pid, const struct zipf *images)
{
	struct record exec = {.type = RECORD_COMM, .pid = pid, .tid = pid, .time = 1};
	char name[32];

	snprintf(name, sizeof(name), "command%u", pid % 200);
	exec.comm.name = name;
	exec.comm.is_exec = true;
	apply(machine, &exec);
	for (uint32_t i = 0; i < IMAGES_OF_A_PROCESS; i++) {
		struct record map = {.type = RECORD_MMAP, .pid = pid, .tid = pid, .time = 1};
		uint32_t image = zipf_draw(images, &machine->seed) + 1;
		char path[64];

		snprintf(path, sizeof(path), "/usr/lib/libimage%u.so", image);
		map.mmap.path = path;
		map.mmap.start = UINT64_C(0x7f0000000000) + i * 2 * IMAGE_TEXT;
		map.mmap.length = IMAGE_TEXT;
		map.mmap.build_id_size = BUILD_ID_SIZE_MAX;
		memcpy(map.mmap.build_id, &image, sizeof(image));
		apply(machine, &map);
	}
}

/* A kernel of 16 MiB, on a /proc that lists nothing else. */
static void
scan_kernel(struct simulated_machine *machine)
{
	char directory[] = "/tmp/dcpi-bench-XXXXXX", path[64];
	struct attribution_options options = {.procfs = directory, .sysfs = directory, .cgroupfs = directory};
	FILE *file;

	if (!mkdtemp(directory))
		die("cannot make a directory in /tmp");
	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	file = fopen(path, "we");
	if (!file)
		die("cannot write in /tmp");
	fputs("ffffffff81000000 T _stext\nffffffff82000000 T _etext\n", file);
	fclose(file);
	machine->attribution = attribution_new(&options, machine->images, machine->contexts);
	if (!machine->attribution || scan_proc(machine->attribution, &options))
		die("cannot scan");
	unlink(path);
	rmdir(directory);
}

static struct record *
make_samples(struct simulated_machine *machine, size_t count)
{
	struct zipf *processes = malloc(sizeof(*processes)), *slots = malloc(sizeof(*slots)),
		    *addresses = malloc(sizeof(*addresses));
	struct record *samples = calloc(count, sizeof(*samples));

	if (!processes || !slots || !addresses || !samples)
		die("out of memory");
	zipf_init(processes, machine->process_count);
	zipf_init(slots, IMAGES_OF_A_PROCESS);
	zipf_init(addresses, HOT_ADDRESSES);
	for (size_t i = 0; i < count; i++) {
		struct record *sample = &samples[i];
		/* Scatter the hot instructions over the text, as compilers order functions without regard to heat. */
		uint64_t hot = zipf_draw(addresses, &machine->seed) * UINT64_C(40503) * 5 % IMAGE_TEXT;

		sample->type = RECORD_SAMPLE;
		sample->pid = sample->tid = 1000 + zipf_draw(processes, &machine->seed);
		sample->time = 1000 + i;
		sample->sample.cgroup = 1;
		sample->mode = next_random(&machine->seed) % 4 ? CPU_MODE_USER : CPU_MODE_KERNEL;
		sample->sample.address =
			hot + (sample->mode == CPU_MODE_KERNEL
		                       ? KERNEL_START
		                       : UINT64_C(0x7f0000000000) + zipf_draw(slots, &machine->seed) * 2 * IMAGE_TEXT);
	}
	free(processes);
	free(slots);
	free(addresses);
	return samples;
}

static double
seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct attribution_result {
	double seconds;
	size_t unknown, flushes, keys;
};

/* Samples go nowhere without a tally; with one it is emptied after every `flush` samples, sorted before if `sort`. */
static struct attribution_result
run(struct simulated_machine *machine, const struct record *samples, size_t count, struct tally *tally, size_t flush,
    bool sort)
{
	double start = seconds(CLOCK_THREAD_CPUTIME_ID);
	struct attribution_result result = {0};

	for (size_t i = 0; i < count; i++) {
		struct sample_key key = {.event = 0};
		size_t keys = 0;

		if (attribution_sample(machine->attribution, &samples[i], &key))
			result.unknown++;
		else if (tally && tally_add(tally, &key, 1))
			die("the tally is full");
		if (!tally || (i + 1) % flush)
			continue;
		if (sort)
			tally_sort(tally, &keys);
		result.flushes++;
		result.keys += tally_size(tally);
		tally_clear(tally);
	}
	result.seconds = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	return result;
}

static void
print(const char *name, const struct attribution_result *result, size_t count)
{
	printf("%-26s %6.1f M samples/s %6.1f ns/sample  %zu unknown", name, (double)count / result->seconds / 1e6,
	       result->seconds / (double)count * 1e9, result->unknown);
	if (result->flushes)
		printf("  %zu keys a flush", result->keys / result->flushes);
	printf("\n");
}

static size_t
argument(int argc, char **argv, int index, size_t otherwise)
{
	unsigned long long value;
	char *end;

	if (index >= argc)
		return otherwise;
	value = strtoull(argv[index], &end, 10);
	if (*end || end == argv[index] || value == 0)
		die("arguments are numbers above 0");
	return (size_t)value;
}

int
main(int argc, char **argv)
{
	size_t count = argument(argc, argv, 1, 4000000), flush = argument(argc, argv, 4, 100000);
	struct simulated_machine machine = {.seed = 88172645463325252u};
	struct zipf *images = malloc(sizeof(*images));
	struct record *samples;
	struct attribution_result result;
	struct tally *tally;

	machine.process_count = (uint32_t)argument(argc, argv, 2, 500);
	machine.image_count = (uint32_t)argument(argc, argv, 3, 1000);
	machine.images = image_table_new();
	machine.contexts = context_table_new();
	tally = tally_new(flush);
	if (!images || !machine.images || !machine.contexts || !tally)
		die("out of memory");
	scan_kernel(&machine);
	zipf_init(images, machine.image_count);
	for (uint32_t i = 0; i < machine.process_count; i++)
		make_process(&machine, 1000 + i, images);
	samples = make_samples(&machine, count);

	result = run(&machine, samples, count, NULL, flush, false);
	print("attribution", &result, count);
	result = run(&machine, samples, count, tally, flush, false);
	print("attribution, tally", &result, count);
	result = run(&machine, samples, count, tally, flush, true);
	print("attribution, tally, sort", &result, count);

	free(samples);
	free(images);
	tally_free(tally);
	attribution_free(machine.attribution);
	context_table_free(machine.contexts);
	image_table_free(machine.images);
	return 0;
}
