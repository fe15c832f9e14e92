#include "machine/emulated_cpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CYCLES_MAX 1000000
#define BYTES_MAX  (1u << 30)

/* What memory takes at most: when it moves as much as it can, from another node if there is one. */
static unsigned
memory_cycles(const struct machine *machine)
{
	double ns = machine->load_count ? machine->loads[machine->load_count - 1].latency_ns : 0;

	if (machine->nodes > 1)
		ns += machine->remote_latency_ns;
	return (unsigned)fmin(ceil(ns * machine->clock_mhz / 1000), CYCLES_MAX);
}

static unsigned
level_cycles(const struct machine *machine, unsigned level)
{
	return level < machine->level_count ? machine->levels[level].latency_cycles : 0;
}

static unsigned
walk_cycles(const struct machine *machine, const struct machine_tlb *tlb)
{
	return tlb->miss_cycles + (machine->shared_tlb.entries ? machine->shared_tlb.miss_cycles : 0);
}

void
emulated_cpu_describe(const struct machine *machine, char *text, size_t size)
{
	const unsigned memory = memory_cycles(machine);
	const unsigned second = machine->level_count > 1 ? level_cycles(machine, 1) : memory;
	const unsigned third = machine->level_count > 2 ? level_cycles(machine, machine->level_count - 1) : 0;

	snprintf(text, size,
	         "emulated %s: pipeline %s, line %u, code %u/%u/%u/%u, data %u/%u/%u/%u, page %u, itlb %u/%u/%u, "
	         "dtlb %u/%u/%u, stores %u",
	         machine->name, machine->pipeline_name, machine->line_bytes, (unsigned)machine->code.bytes, second,
	         third, memory, (unsigned)machine->levels[0].bytes, second, third, memory, machine->page_bytes,
	         machine->code_tlb.entries, machine->code_tlb.miss_cycles, walk_cycles(machine, &machine->code_tlb),
	         machine->data_tlb.entries, machine->data_tlb.miss_cycles, walk_cycles(machine, &machine->data_tlb),
	         machine->write_buffer_entries);
}

bool
emulated_cpu_names(const char *text, char machine[MACHINE_NAME_SIZE], char pipeline[PIPELINE_NAME_SIZE])
{
	return sscanf(text, "emulated %31[^: ]: pipeline %31[^, ],", machine, pipeline) == 2;
}

static bool
is_sound(const struct pipeline *pipeline)
{
	const unsigned line = pipeline->cache_line, page = pipeline->page_bytes;

	return line >= 16 && line <= 256 && page >= 4096 && page <= BYTES_MAX &&
	       pipeline->code_cache_bytes <= BYTES_MAX && pipeline->data_cache_bytes <= BYTES_MAX &&
	       pipeline->code.memory_cycles <= CYCLES_MAX && pipeline->data.memory_cycles <= CYCLES_MAX &&
	       pipeline->code_tlb.near_cycles <= pipeline->code_tlb.miss_cycles &&
	       pipeline->data_tlb.near_cycles <= pipeline->data_tlb.miss_cycles &&
	       pipeline->code_tlb.miss_cycles <= CYCLES_MAX && pipeline->data_tlb.miss_cycles <= CYCLES_MAX &&
	       pipeline->code.level3_cycles <= CYCLES_MAX && pipeline->code.level2_cycles <= CYCLES_MAX &&
	       pipeline->data.level3_cycles <= CYCLES_MAX && pipeline->data.level2_cycles <= CYCLES_MAX;
}

int
emulated_cpu_apply(const char *text, struct pipeline *pipeline)
{
	struct pipeline parsed = *pipeline;
	struct pipeline_memory *code = &parsed.code, *data = &parsed.data;
	const int count =
		sscanf(text,
	               "emulated %*31[^: ]: pipeline %*31[^, ], line %9u, code %9u/%9u/%9u/%9u, data %9u/%9u/%9u/%9u, "
	               "page %10u, itlb %9u/%9u/%9u, dtlb %9u/%9u/%9u, stores %9u",
	               &parsed.cache_line, &parsed.code_cache_bytes, &code->level2_cycles, &code->level3_cycles,
	               &code->memory_cycles, &parsed.data_cache_bytes, &data->level2_cycles, &data->level3_cycles,
	               &data->memory_cycles, &parsed.page_bytes, &parsed.code_tlb.entries, &parsed.code_tlb.near_cycles,
	               &parsed.code_tlb.miss_cycles, &parsed.data_tlb.entries, &parsed.data_tlb.near_cycles,
	               &parsed.data_tlb.miss_cycles, &parsed.write_buffer_entries);

	if (count != 17 || !is_sound(&parsed))
		return -EINVAL;
	parsed.timer_skid = parsed.pmu_skid = 0;
	*pipeline = parsed;
	return 0;
}
