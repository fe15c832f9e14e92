#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/emu/calibrate/describe.h"

static void
write_text(FILE *stream, const char *name, const char *text)
{
	fprintf(stream, "%s = \"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', stream);
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, stream);
	}
	fprintf(stream, "\";\n");
}

static void
write_cache(FILE *stream, const char *name, const struct machine_cache *cache)
{
	static const char *const replacements[] = {"lru", "fifo", "random"};

	fprintf(stream, "\t%s = { bytes = %" PRIu64 "; ways = %u; latency_cycles = %u; cores = %u; ", name,
	        cache->bytes, cache->ways, cache->latency_cycles, cache->cores);
	fprintf(stream, "replacement = \"%s\"; };\n", replacements[cache->replacement]);
}

static void
write_tlb(FILE *stream, const char *name, const struct machine_tlb *tlb)
{
	if (tlb->entries)
		fprintf(stream, "\t%s = { entries = %u; ways = %u; miss_cycles = %u; };\n", name, tlb->entries,
		        tlb->ways, tlb->miss_cycles);
}

static void
write_caches(FILE *stream, const struct machine *machine)
{
	fprintf(stream, "caches = {\n");
	write_cache(stream, "code", &machine->code);
	for (unsigned i = 0; i < machine->level_count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "level%u", i + 1);
		write_cache(stream, name, &machine->levels[i]);
	}
	fprintf(stream, "};\n");
	if (!machine->data_tlb.entries)
		return;
	fprintf(stream, "tlbs = {\n");
	write_tlb(stream, "code", &machine->code_tlb);
	write_tlb(stream, "data", &machine->data_tlb);
	write_tlb(stream, "shared", &machine->shared_tlb);
	fprintf(stream, "};\n");
}

static void
write_prefetchers(FILE *stream, const struct machine *machine)
{
	static const char *const kinds[] = {"next-line", "stream", "stride"};

	fprintf(stream, "prefetchers = (\n");
	for (unsigned i = 0; i < machine->prefetcher_count; i++) {
		const struct machine_prefetcher *one = &machine->prefetchers[i];

		fprintf(stream, "\t{ kind = \"%s\"; level = %u; entries = %u; degree = %u; distance = %u; ",
		        kinds[one->kind], one->level, one->entries, one->degree, one->distance);
		fprintf(stream, "accuracy = %.9g; }%s\n", one->accuracy, i + 1 < machine->prefetcher_count ? "," : "");
	}
	fprintf(stream, ");\n");
}

static void
write_branches(FILE *stream, const struct machine *machine)
{
	static const char *const predictors[] = {"static", "bimodal", "gshare"};

	fprintf(stream, "branches = { predictor = \"%s\"; entries = %u; history_bits = %u; return_stack = %u; ",
	        predictors[machine->predictor], machine->predictor_entries ? machine->predictor_entries : 1,
	        machine->history_bits, machine->return_stack);
	fprintf(stream, "targets = %u; };\n", machine->target_entries);
}

static void
write_memory(FILE *stream, const struct machine *machine)
{
	static const char *const placements[] = {"first-touch", "interleave", "node"};

	fprintf(stream, "memory = {\n\tcontrollers = %u;\n", machine->controllers);
	if (machine->nodes > 1)
		fprintf(stream, "\tremote_latency_ns = %.1f;\n\tremote_bandwidth_gb_s = %.2f;\n",
		        machine->remote_latency_ns, machine->remote_bandwidth_gb_s);
	fprintf(stream, "\tplacement = \"%s\";\n\tplacement_node = %u;\n\tcurve = (\n", placements[machine->placement],
	        machine->placement_node);
	for (unsigned i = 0; i < machine->load_count; i++)
		fprintf(stream, "\t\t{ gb_s = %.2f; latency_ns = %.1f; }%s\n", machine->loads[i].bandwidth_gb_s,
		        machine->loads[i].latency_ns, i + 1 < machine->load_count ? "," : "");
	fprintf(stream, "\t);\n};\n");
}

int
describe_write(const struct machine *machine, const char *head, FILE *stream)
{
	fputs(head, stream);
	write_text(stream, "name", machine->name);
	write_text(stream, "title", machine->title);
	write_text(stream, "pipeline", machine->pipeline_name);
	fprintf(stream, "clock_mhz = %.1f;\nnodes = %u;\ncores = %u;\n", machine->clock_mhz, machine->nodes,
	        machine->cores);
	fprintf(stream, "line_bytes = %u;\npage_bytes = %u;\nmisses_in_flight = %u;\n", machine->line_bytes,
	        machine->page_bytes, machine->misses_in_flight);
	fprintf(stream, "write_buffer_entries = %u;\ncall_cycles = %.1f;\n", machine->write_buffer_entries,
	        machine->call_cycles);
	write_caches(stream, machine);
	if (machine->prefetcher_count)
		write_prefetchers(stream, machine);
	write_branches(stream, machine);
	write_memory(stream, machine);
	return ferror(stream) ? -EIO : 0;
}
