#include "dcpi-tools/emu/calibrate/host.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "event/small_file.h"
#include "profile/epoch_host.h"

#define CACHES_MAX 16 /* of a CPU in sysfs */

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
