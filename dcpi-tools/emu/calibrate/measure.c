#include "dcpi-tools/emu/calibrate/measure.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "base/small_file.h"
#include "dcpi-tools/emu/calibrate/chase.h"
#include "profile/epoch.h"

#define CACHES_MAX      16  /* of a CPU in sysfs */
#define RUNS            300 /* short ones, so that some are undisturbed */
#define PIECES          5
#define LOADS           8192u
#define ADDITIONS       8192u
#define CALLS           500u
#define PARALLEL_LOADS  1000u
#define LARGEST_PIECE   (UINT64_C(1) << 30)
#define SMALLEST_MEMORY (UINT64_C(64) << 20)
#define PAGE_RUNS       150
#define MOST_BYTES      ((size_t)256 << 20)
#define FIRST_STEP      2.0 /* cycles above noise */
#define SECOND_STEP     8.0
#define ROUNDS          60 /* short ones, so that some are undisturbed */
#define ROUND_NS        5000000
#define CHASES          80
#define CHASE_LOADS     4096u
#define HUGE_BYTES      (2u << 20)
#define PIECE           4096u /* read at a time, before a loader waits */
#define SMALLEST_SHARE  ((size_t)16 << 20)
#define LARGEST_SHARE   ((size_t)256 << 20)

/* ---- What the kernel says ---- */

/* How many CPUs of `host` are in the list that a file has, at least 1. */
static unsigned
count_shared(const struct host *host, const char *path)
{
	uint32_t *list;
	const int count = cpu_list_read(path, &list);
	unsigned shared = 0;

	if (count < 0)
		return 1;
	for (unsigned i = 0; i < host->cores; i++)
		shared += cpu_list_has(list, count, host->cpus[i]);
	free(list);
	return shared ? shared : 1;
}

/* A core has several CPUs, of which the first stands for it. */
static bool
is_first_of_core(const char *sysfs, uint32_t cpu, const uint32_t *online, int count)
{
	char path[256];
	uint32_t *siblings;
	int sibling_count;
	bool is_first = true;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/thread_siblings_list", sysfs, cpu);
	sibling_count = cpu_list_read(path, &siblings);
	if (sibling_count < 0)
		return true;
	for (int i = 0; i < sibling_count; i++)
		if (siblings[i] < cpu && cpu_list_has(online, count, siblings[i]))
			is_first = false;
	free(siblings);
	return is_first;
}

static void
read_cores(const char *sysfs, struct host *host)
{
	const size_t size = CPU_ALLOC_SIZE(CPU_NUMBER_MAX + 1);
	cpu_set_t *allowed = CPU_ALLOC(CPU_NUMBER_MAX + 1);
	char path[256];
	uint32_t *online;
	int count;

	if (allowed && sched_getaffinity(0, size, allowed)) {
		CPU_FREE(allowed);
		allowed = NULL;
	}
	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", sysfs);
	count = cpu_list_read(path, &online);
	for (int i = 0; i < count && host->cores < MACHINE_CORES_MAX; i++)
		if ((!allowed || CPU_ISSET_S(online[i], size, allowed)) &&
		    is_first_of_core(sysfs, online[i], online, count))
			host->cpus[host->cores++] = online[i];
	if (count >= 0)
		free(online);
	CPU_FREE(allowed);
	if (host->cores == 0)
		host->cores = 1;
}

/* "32K" */
static uint64_t
read_size(const char *sysfs, uint32_t cpu, unsigned index)
{
	unsigned long long value;
	char text[64], *end;

	if (small_file_read(text, sizeof(text), "%s/devices/system/cpu/cpu%u/cache/index%u/size", sysfs, cpu, index))
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || value > UINT64_C(1) << 34)
		return 0;
	return value << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
}

/* Adjust a cache of an odd size, or of a sharing that no machine file can express, to the nearest that one can. */
static void
make_sound(const struct host *host, bool is_first, struct machine_cache *cache)
{
	const uint64_t line = host->line_bytes;

	if (cache->ways < 1 || cache->ways > 32 || cache->bytes % (line * cache->ways))
		cache->ways = 8;
	while (is_first && cache->ways > 1 &&
	       (cache->bytes / line / cache->ways & (cache->bytes / line / cache->ways - 1)))
		cache->ways--;
	if (is_first)
		cache->cores = 1;
	while (host->cores / host->nodes % cache->cores)
		cache->cores--;
	cache->bytes -= cache->bytes % (line * cache->ways);
}

/* A cache of the first core. False: there is none of the number. */
static bool
read_cache(const char *sysfs, unsigned index, struct host *host)
{
	const uint32_t cpu = host->cpus[0];
	int64_t level, ways, line;
	struct machine_cache *cache = NULL;
	char kind[32], path[256];

	if (small_file_read_number(&level, "%s/devices/system/cpu/cpu%u/cache/index%u/level", sysfs, cpu, index) ||
	    small_file_read(kind, sizeof(kind), "%s/devices/system/cpu/cpu%u/cache/index%u/type", sysfs, cpu, index))
		return false;
	if (level == 1 && strcmp(kind, "Instruction") == 0)
		cache = &host->code;
	else if (level >= 1 && level <= MACHINE_LEVELS_MAX && strcmp(kind, "Instruction") != 0)
		cache = &host->levels[level - 1];
	if (!cache)
		return true;
	if (small_file_read_number(&line, "%s/devices/system/cpu/cpu%u/cache/index%u/coherency_line_size", sysfs, cpu,
	                           index) == 0 &&
	    line >= 16 && line <= 256)
		host->line_bytes = (unsigned)line;
	ways = 0;
	(void)small_file_read_number(&ways, "%s/devices/system/cpu/cpu%u/cache/index%u/ways_of_associativity", sysfs,
	                             cpu, index);
	cache->bytes = read_size(sysfs, cpu, index);
	cache->ways = ways > 0 && ways <= 32 ? (unsigned)ways : 0;
	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", sysfs, cpu, index);
	cache->cores = count_shared(host, path);
	return true;
}

/* Sizes of caches from glibc, for when sysfs has none. */
static void
ask_library(struct host *host)
{
	const long first = sysconf(_SC_LEVEL1_DCACHE_SIZE), second = sysconf(_SC_LEVEL2_CACHE_SIZE);
	const long third = sysconf(_SC_LEVEL3_CACHE_SIZE);

	if (first <= 0 || second <= first)
		return;
	host->levels[0] = (struct machine_cache){.bytes = (uint64_t)first, .cores = 1};
	host->levels[1] = (struct machine_cache){.bytes = (uint64_t)second, .cores = 1};
	if (third > second)
		host->levels[2] = (struct machine_cache){.bytes = (uint64_t)third, .cores = host->cores};
}

static void
read_nodes(const char *sysfs, struct host *host)
{
	unsigned count = 0;
	char text[1024];

	while (count < MACHINE_NODES_MAX &&
	       small_file_read(text, sizeof(text), "%s/devices/system/node/node%u/cpulist", sysfs, count) == 0 && *text)
		count++;
	host->nodes = count > 1 && host->cores % count == 0 ? count : 1;
	if (host->nodes == 1 || small_file_read(text, sizeof(text), "%s/devices/system/node/node0/distance", sysfs))
		return;
	/* the own one's is 10 */
	for (char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
		const double distance = strtod(at + 1, NULL) / 10;

		if (distance > 1 && (host->distance == 0 || distance < host->distance))
			host->distance = distance;
	}
}

int
host_read(const char *sysfs, const char *procfs, struct host *host, char *why, size_t size)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	struct epoch epoch = {0};

	memset(host, 0, sizeof(*host));
	epoch_host_describe(procfs, &epoch);
	snprintf(host->cpu, sizeof(host->cpu), "%s", epoch.cpu);
	host->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 30;
	host->line_bytes = 64;
	host->page_bytes = page > 0 ? (unsigned)page : 4096;
	read_cores(sysfs, host);
	read_nodes(sysfs, host);
	for (unsigned i = 0; i < CACHES_MAX && read_cache(sysfs, i, host); i++)
		;
	if (host->levels[0].bytes == 0)
		ask_library(host);
	while (host->level_count < MACHINE_LEVELS_MAX && host->levels[host->level_count].bytes)
		host->level_count++;
	if (host->level_count == 0) {
		snprintf(why, size,
		         "the kernel says nothing of this machine's caches (%s/devices/system/cpu/cpu0/cache)", sysfs);
		return -DCPI_ECONFIG;
	}
	if (host->code.bytes == 0)
		host->code = host->levels[0];
	make_sound(host, true, &host->code);
	for (unsigned i = 0; i < host->level_count; i++)
		make_sound(host, i == 0, &host->levels[i]);
	return 0;
}

/* ---- What is measured ---- */

static int
compare_runs(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

struct figure
figure_least(double *runs, size_t count)
{
	struct figure figure = {0};

	if (count == 0)
		return figure;
	qsort(runs, count, sizeof(*runs), compare_runs);
	figure.value = runs[0];
	if (figure.value > 0)
		figure.spread = runs[count / 4] / figure.value - 1;
	return figure;
}

const char *
figure_sureness(const struct figure *figure)
{
	if (figure->spread <= FIGURE_SURE)
		return "sure";
	return figure->spread <= FIGURE_ROUGH ? "roughly" : "doubtful";
}

static bool
pin_to(uint32_t cpu)
{
	const size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	bool done;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	done = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return done;
}

/* Cycles of a load of the chain in the best of `runs` walks, by additions before each walk: the clock may change. */
static struct figure
load_cycles(struct chase *chase, unsigned runs, struct figure *clock_mhz)
{
	double walks[RUNS], additions[RUNS];
	struct figure walk, addition;

	(void)chase_walk_ns(chase, chase->count);
	for (unsigned i = 0; i < runs; i++) {
		additions[i] = (double)chase_additions_ns(ADDITIONS) / ADDITIONS;
		walks[i] = (double)chase_walk_ns(chase, LOADS) / LOADS;
	}
	addition = figure_least(additions, runs);
	walk = figure_least(walks, runs);
	if (clock_mhz && 1000 / addition.value > clock_mhz->value)
		*clock_mhz = (struct figure){1000 / addition.value, addition.spread};
	walk.value /= addition.value;
	return walk;
}

/* The best of some pieces of memory, until one is sure: other programs evict it from caches that are shared. */
static int
piece_cycles(uint64_t size, struct figure *cycles, struct figure *clock_mhz)
{
	*cycles = (struct figure){0};
	for (unsigned piece = 0; piece < PIECES && (piece == 0 || cycles->spread > FIGURE_ROUGH); piece++) {
		struct figure figure;
		struct chase chase;
		int err = chase_init(&chase, size, CHASE_LINE);

		if (err)
			return err;
		figure = load_cycles(&chase, RUNS, clock_mhz);
		chase_fini(&chase);
		if (piece == 0 || figure.value < cycles->value)
			*cycles = figure;
	}
	return 0;
}

/* Half of the level, but no more than three times the level before: other programs use the rest of a large one. */
static uint64_t
size_within(const struct host *host, unsigned level)
{
	const uint64_t half = host->levels[level].bytes / 2;
	const uint64_t enough = level > 0 ? 3 * host->levels[level - 1].bytes : half;

	return enough < half ? enough : half;
}

/* Four times the last cache, but no more than an eighth of what there is. */
static uint64_t
size_beyond(const struct host *host)
{
	uint64_t size = 4 * host->levels[host->level_count - 1].bytes;

	if (size < SMALLEST_MEMORY)
		size = SMALLEST_MEMORY;
	if (size > LARGEST_PIECE)
		size = LARGEST_PIECE;
	return size < host->memory_bytes / 8 ? size : host->memory_bytes / 8;
}

/* Misses in flight: how much faster independent chains are together than one after the other. */
static unsigned
find_misses_in_flight(struct chase *chase, double alone_ns)
{
	double best = alone_ns;

	for (unsigned chains = 2; chains <= CHASE_CHAINS_MAX; chains += 2)
		for (unsigned run = 0; run < 30; run++) {
			const double each_ns = (double)chase_walk_chains_ns(chase, chains, PARALLEL_LOADS) /
			                       (PARALLEL_LOADS * (double)chains);

			best = each_ns < best ? each_ns : best;
		}
	alone_ns = best > 0 ? alone_ns / best : 1;
	return alone_ns < CHASE_CHAINS_MAX ? (unsigned)(alone_ns + 0.5) : CHASE_CHAINS_MAX;
}

static int
measure_memory(const struct host *host, struct measurements *measured)
{
	struct chase chase;
	int err = chase_init(&chase, size_beyond(host), CHASE_LINE);

	if (err)
		return err;
	measured->in_huge_pages = chase_is_huge(&chase);
	measured->memory_cycles = load_cycles(&chase, RUNS, &measured->clock_mhz);
	measured->memory_ns = measured->memory_cycles;
	measured->memory_ns.value *= 1000 / measured->clock_mhz.value;
	measured->misses_in_flight = find_misses_in_flight(&chase, measured->memory_ns.value);
	chase_fini(&chase);
	return 0;
}

static int
measure_levels(const struct host *host, struct measurements *measured)
{
	for (unsigned i = 0; i < host->level_count; i++) {
		struct figure beyond;
		int err = piece_cycles(size_within(host, i), &measured->level_cycles[i], &measured->clock_mhz);

		if (!err)
			err = piece_cycles(host->levels[i].bytes * 2, &beyond, NULL);
		if (err)
			return err;
		measured->ends_seen[i] = beyond.value > 1.2 * measured->level_cycles[i].value;
	}
	return measure_memory(host, measured);
}

static void
measure_call(const struct figure *clock_mhz, struct figure *call_cycles)
{
	double runs[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		const uint64_t begin = monotonic_ns();

		for (unsigned call = 0; call < CALLS; call++)
			(void)syscall(SYS_getppid);
		runs[i] = (double)(monotonic_ns() - begin) / CALLS;
	}
	*call_cycles = figure_least(runs, RUNS);
	call_cycles->value *= clock_mhz->value / 1000;
}

static const unsigned page_counts[] = {
	8,   12,  16,  24,  32,   40,   48,   56,   64,   72,   80,   96,   112,  128,   160,
	192, 256, 384, 512, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 6144, 8192, 12288, 16384,
};
#define PAGE_COUNTS (sizeof(page_counts) / sizeof(page_counts[0]))

static int
page_cycles(size_t size, size_t stride, double *cycles)
{
	struct chase chase;
	int err = chase_init(&chase, size, stride);

	if (err)
		return err;
	*cycles = load_cycles(&chase, PAGE_RUNS, NULL).value;
	chase_fini(&chase);
	return 0;
}

/* One line in each of so many pages, against as many adjacent lines: equal use of caches, different use of TLBs. */
static int
measure_pages(const struct host *host, struct measured_pages *pages)
{
	const unsigned level = host->level_count > 1 ? 1 : 0;
	const uint64_t room = host->levels[level].bytes / CHASE_LINE / 2;

	pages->count = 0;
	for (unsigned i = 0; i < PAGE_COUNTS && (page_counts[i] <= 2048 || page_counts[i] <= room); i++) {
		const size_t size = (size_t)page_counts[i] * host->page_bytes;
		double apart, together;
		int err;

		if (size > MOST_BYTES)
			break;
		err = page_cycles(size, host->page_bytes, &apart);
		if (!err)
			err = page_cycles((size_t)page_counts[i] * CHASE_LINE, CHASE_LINE, &together);
		if (err)
			return err;
		pages->pages[pages->count] = page_counts[i];
		pages->extra_cycles[pages->count++] = apart > together ? apart - together : 0;
	}
	return 0;
}

/* The last of the counts, from `from` on, up to which none costs more than `limit`. */
static unsigned
last_within(const struct measured_pages *pages, unsigned from, double limit)
{
	unsigned last = from;

	while (last + 1 < pages->count && pages->extra_cycles[last + 1] <= limit)
		last++;
	return last;
}

void
measure_find_tlbs(const struct measured_pages *pages, struct measured_tlbs *tlbs)
{
	const unsigned first = last_within(pages, 0, FIRST_STEP);
	double hit, most = 0;
	unsigned second;

	*tlbs = (struct measured_tlbs){0};
	if (pages->count == 0 || first + 1 >= pages->count)
		return;
	for (unsigned i = first + 1; i < pages->count; i++)
		most = pages->extra_cycles[i] > most ? pages->extra_cycles[i] : most;
	tlbs->data_entries = pages->pages[first];
	hit = pages->extra_cycles[first + 1];
	/* between both capacities the cost is constant: take it at twice the entries, where no page hits by chance */
	for (unsigned i = first + 1; i < pages->count && pages->pages[i] <= 4 * tlbs->data_entries; i++)
		if (pages->pages[i] >= 2 * tlbs->data_entries) {
			hit = pages->extra_cycles[i];
			break;
		}
	if (most < hit + SECOND_STEP) { /* one level, or a second one that was not exceeded */
		tlbs->walk_cycles = hit;
		return;
	}
	second = last_within(pages, first + 1, hit + 0.35 * (most - hit));
	tlbs->shared_entries = pages->pages[second];
	tlbs->hit_cycles = hit;
	tlbs->walk_cycles = pages->extra_cycles[pages->count - 1] - hit;
}

typedef uint64_t vector __attribute__((vector_size(32)));

/* A thread that reads its memory again and again. */
struct loader {
	pthread_t thread;
	uint32_t cpu;
	size_t size;
	unsigned additions; /* that it waits behind each piece */
	_Atomic bool *stop;
	_Atomic bool ready;
	_Atomic uint64_t read_bytes; /* so far */
	int err;
};

struct loaders {
	struct loader *each;
	unsigned count;
	_Atomic bool stop;
};

static uint64_t
read_piece(const uint8_t *bytes)
{
	const vector *at = (const vector *)bytes;
	vector sums[4] = {{0}};

	for (unsigned i = 0; i < PIECE / sizeof(vector); i += 4)
		for (unsigned j = 0; j < 4; j++)
			sums[j] += at[i + j];
	sums[0] += sums[1] + sums[2] + sums[3];
	return sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
}

static void *
load(void *argument)
{
	struct loader *loader = argument;
	uint8_t *bytes = aligned_alloc(HUGE_BYTES, loader->size);

	(void)pin_to(loader->cpu);
	if (!bytes) {
		loader->err = -ENOMEM;
		atomic_store(&loader->ready, true);
		return NULL;
	}
	(void)madvise(bytes, loader->size, MADV_HUGEPAGE);
	memset(bytes, 1, loader->size);
	atomic_store(&loader->ready, true);
	for (size_t at = 0; !atomic_load_explicit(loader->stop, memory_order_relaxed);) {
		uint64_t sum = read_piece(bytes + at);

		__asm__ volatile("" : : "r"(sum));
		if (loader->additions)
			(void)chase_additions_ns(loader->additions);
		atomic_fetch_add_explicit(&loader->read_bytes, PIECE, memory_order_relaxed);
		at = at + 2 * PIECE <= loader->size ? at + PIECE : 0;
	}
	free(bytes);
	return NULL;
}

static int
loaders_stop(struct loaders *loaders)
{
	int err = 0;

	atomic_store(&loaders->stop, true);
	for (unsigned i = 0; i < loaders->count; i++) {
		pthread_join(loaders->each[i].thread, NULL);
		err = err ? err : loaders->each[i].err;
	}
	free(loaders->each);
	return err;
}

/* On `count` cores from `first` on; they have begun when it returns. */
static int
loaders_start(struct loaders *loaders, const struct host *host, unsigned first, unsigned count, unsigned additions)
{
	size_t share = 4 * host->levels[host->level_count - 1].bytes / count;
	int err = 0;

	share = share < SMALLEST_SHARE ? SMALLEST_SHARE : share > LARGEST_SHARE ? LARGEST_SHARE : share;
	loaders->count = 0;
	atomic_store(&loaders->stop, false);
	loaders->each = calloc(count, sizeof(*loaders->each));
	if (!loaders->each)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < count; i++) {
		loaders->each[i] = (struct loader){.cpu = host->cpus[first + i],
		                                   .size = share / HUGE_BYTES * HUGE_BYTES,
		                                   .additions = additions,
		                                   .stop = &loaders->stop};
		err = -pthread_create(&loaders->each[i].thread, NULL, load, &loaders->each[i]);
		loaders->count += !err;
	}
	for (unsigned i = 0; i < loaders->count; i++)
		while (!atomic_load(&loaders->each[i].ready))
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	if (err)
		(void)loaders_stop(loaders);
	return err;
}

static uint64_t
loaders_bytes(const struct loaders *loaders)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < loaders->count; i++)
		bytes += atomic_load(&loaders->each[i].read_bytes);
	return bytes;
}

/* What so many threads read in a second, at the best of some rounds. */
static int
measure_threads(const struct host *host, unsigned threads, double *gb_s)
{
	struct loaders loaders;
	int err = loaders_start(&loaders, host, 0, threads, 0);

	if (err)
		return err;
	*gb_s = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t bytes = loaders_bytes(&loaders), begin = monotonic_ns();
		double rate;

		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
		rate = (double)(loaders_bytes(&loaders) - bytes) / (double)(monotonic_ns() - begin);
		*gb_s = rate > *gb_s ? rate : *gb_s;
	}
	return loaders_stop(&loaders);
}

static int
measure_bandwidths(const struct host *host, struct measurements *measured)
{
	unsigned threads = 1;

	while (measured->bandwidth_count < MEASURE_THREADS_MAX) {
		struct measured_bandwidth *bandwidth = &measured->bandwidths[measured->bandwidth_count++];
		int err = measure_threads(host, threads, &bandwidth->gb_s);

		bandwidth->threads = threads;
		if (err || threads == host->cores)
			return err;
		threads = threads * 2 < host->cores ? threads * 2 : host->cores;
	}
	return 0;
}

/*
 * Latency of memory while the other cores read, with pauses of so many additions. The load that they make varies while
 * they run, so each walk is a point of its own.
 */
static int
measure_points(const struct host *host, struct chase *chase, unsigned additions, struct measurements *measured)
{
	struct loaders loaders;
	int err = loaders_start(&loaders, host, 1, host->cores - 1, additions);

	if (err)
		return err;
	for (unsigned i = 0; i < CHASES && measured->point_count < MEASURE_POINTS_MAX; i++) {
		const uint64_t bytes = loaders_bytes(&loaders), begin = monotonic_ns();
		const double load_ns = (double)chase_walk_ns(chase, CHASE_LOADS) / CHASE_LOADS;
		const double gb_s = (double)(loaders_bytes(&loaders) - bytes) / (double)(monotonic_ns() - begin);

		measured->points[measured->point_count++] =
			(struct machine_load){.bandwidth_gb_s = gb_s + CHASE_LINE / load_ns, .latency_ns = load_ns};
	}
	return loaders_stop(&loaders);
}

/* With one core, it makes the load itself: several chains at once, with the latency of each. */
static void
measure_alone(struct chase *chase, struct measurements *measured)
{
	for (unsigned chains = 1; chains <= measured->misses_in_flight && chains <= CHASE_CHAINS_MAX; chains *= 2) {
		const size_t loads = CHASE_LOADS / chains;
		double best = 0;

		for (unsigned i = 0; i < CHASES; i++) {
			const double load_ns = (double)chase_walk_chains_ns(chase, chains, loads) / (double)loads;

			best = best == 0 || load_ns < best ? load_ns : best;
		}
		measured->points[measured->point_count++] =
			(struct machine_load){.bandwidth_gb_s = CHASE_LINE * chains / best, .latency_ns = best};
	}
}

static int
measure_load(const struct host *host, struct measurements *measured)
{
	static const unsigned pauses[] = {0, 500, 1500, 4000, 12000};
	struct chase chase;
	int err = measure_bandwidths(host, measured);

	if (!err)
		err = chase_init(&chase, SMALLEST_SHARE + 4 * host->levels[host->level_count - 1].bytes, CHASE_LINE);
	if (err)
		return err;
	(void)chase_walk_ns(&chase, chase.count);
	measured->point_count = 0;
	if (host->cores == 1)
		measure_alone(&chase, measured);
	for (unsigned i = 0; host->cores > 1 && !err && i < sizeof(pauses) / sizeof(pauses[0]); i++)
		err = measure_points(host, &chase, pauses[i], measured);
	chase_fini(&chase);
	return err;
}

int
measure_host(const struct host *host, struct measurements *measured)
{
	int err;

	memset(measured, 0, sizeof(*measured));
	(void)pin_to(host->cpus[0]);
	err = measure_levels(host, measured);
	if (!err)
		err = measure_pages(host, &measured->pages);
	if (err)
		return err;
	measure_find_tlbs(&measured->pages, &measured->tlbs);
	measure_call(&measured->clock_mhz, &measured->call_cycles);
	return measure_load(host, measured);
}
