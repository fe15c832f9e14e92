/*
 * Whatever describes a machine, it is taken or refused with a sentence; and what is taken keeps what machine.h says.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the string before a syntax error: some bytes each time a wrong file is read. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
require_power(uint64_t value)
{
	require(value && (value & (value - 1)) == 0);
}

static void
require_cache(const struct machine *machine, const struct machine_cache *cache)
{
	uint64_t sets;

	require(cache->ways >= 1 && cache->ways <= 32 && cache->latency_cycles >= 1);
	sets = cache->bytes / machine->line_bytes / cache->ways;
	require(sets >= 1 && sets * cache->ways * machine->line_bytes == cache->bytes);
	require(cache->cores >= 1 && machine->cores / machine->nodes % cache->cores == 0);
}

static void
require_tlb(const struct machine_tlb *tlb)
{
	require(tlb->entries == 0 || (tlb->ways >= 1 && tlb->entries % tlb->ways == 0));
}

static void
require_sound(const struct machine *machine)
{
	require(*machine->name && *machine->pipeline_name && machine->clock_mhz >= 1);
	require(machine->nodes >= 1 && machine->cores >= 1 && machine->cores % machine->nodes == 0);
	require(machine->level_count >= 1 && machine->level_count <= MACHINE_LEVELS_MAX);
	require_cache(machine, &machine->code);
	require_power(machine->code.bytes / machine->code.ways);
	require_power(machine->levels[0].bytes / machine->levels[0].ways);
	for (unsigned i = 0; i < machine->level_count; i++)
		require_cache(machine, &machine->levels[i]);
	require_tlb(&machine->code_tlb);
	require_tlb(&machine->data_tlb);
	require_tlb(&machine->shared_tlb);
	require(machine->prefetcher_count <= MACHINE_PREFETCHERS_MAX);
	for (unsigned i = 0; i < machine->prefetcher_count; i++)
		require(machine->prefetchers[i].level >= 1 && machine->prefetchers[i].level <= machine->level_count);
	require(machine->load_count >= 1 && machine->load_count <= MACHINE_CURVE_MAX);
	for (unsigned i = 1; i < machine->load_count; i++)
		require(machine->loads[i].bandwidth_gb_s > machine->loads[i - 1].bandwidth_gb_s);
	require(machine->loads[machine->load_count - 1].bandwidth_gb_s > 0 && machine->controllers >= 1);
	require(machine->placement_node < machine->nodes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine machine;
	char why[512] = "";
	char *text = calloc(1, size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (machine_parse("machine", text, &machine, why, sizeof(why)) == 0)
		require_sound(&machine);
	else
		require(*why);
	free(text);
	return 0;
}
