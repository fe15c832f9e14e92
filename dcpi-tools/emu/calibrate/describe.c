#include "dcpi-tools/emu/calibrate/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

#define PARTS       8   /* of the way to all bandwidth */
#define STEP        1.2 /* by which a level is slower than the one before it, or is none */
#define LEAST_MHZ   100
#define MOST_MHZ    10000
#define LEAST_GB_S  0.1
#define PREFETCHERS 2

/* Prefetchers cannot be measured here: these are what those of today's CPUs have in common. */
static const struct machine_prefetcher assumed_prefetchers[PREFETCHERS] = {
	{.kind = PREFETCH_STRIDE, .level = 2, .entries = 64, .degree = 1, .distance = 2, .accuracy = 0.9},
	{.kind = PREFETCH_STREAM, .level = 2, .entries = 32, .degree = 2, .distance = 16, .accuracy = 0.9},
};

unsigned
describe_curve(const struct machine_load *points, unsigned count, double idle_ns, double most_gb_s,
               struct machine_load curve[MACHINE_CURVE_MAX])
{
	struct machine_load parts[PARTS] = {{0}};
	double above_ns = INFINITY;
	unsigned used = 1;

	for (unsigned i = 0; i < count; i++) {
		const double at = points[i].bandwidth_gb_s / most_gb_s * PARTS;
		struct machine_load *part = &parts[at < PARTS ? (unsigned)at : PARTS - 1];

		if (part->latency_ns == 0 || points[i].latency_ns < part->latency_ns)
			*part = points[i];
	}
	for (unsigned i = PARTS; i-- > 0;) {
		if (parts[i].latency_ns == 0)
			continue;
		above_ns = fmin(above_ns, parts[i].latency_ns);
		parts[i].latency_ns = above_ns;
	}
	curve[0] = (struct machine_load){.latency_ns = fmin(idle_ns, above_ns)};
	/* the first part is idle, too */
	for (unsigned i = 1; i < PARTS; i++) {
		if (parts[i].latency_ns == 0 || parts[i].bandwidth_gb_s >= 0.97 * most_gb_s)
			continue;
		curve[used] = parts[i];
		curve[used].latency_ns = fmax(parts[i].latency_ns, curve[used - 1].latency_ns);
		used++;
	}
	curve[used] = (struct machine_load){most_gb_s, fmax(parts[PARTS - 1].latency_ns, curve[used - 1].latency_ns)};
	return used + 1;
}

static int
check_levels(const struct host *host, const struct measurements *measured, char *why, size_t size)
{
	for (unsigned i = 1; i <= host->level_count; i++) {
		const double before = measured->level_cycles[i - 1].value;
		const double cycles =
			i < host->level_count ? measured->level_cycles[i].value : measured->memory_cycles.value;
		char name[32] = "memory";

		if (cycles >= STEP * before && lround(cycles) > lround(before))
			continue;
		if (i < host->level_count)
			snprintf(name, sizeof(name), "level %u", i + 1);
		snprintf(why, size,
		         "%s took %.1f cycles, level %u %.1f: the machine is too busy, or its caches are not what the "
		         "kernel says",
		         name, cycles, i, before);
		return -DCPI_ECONFIG;
	}
	return 0;
}

static int
check(const struct host *host, const struct measurements *measured, char *why, size_t size)
{
	const double mhz = measured->clock_mhz.value;
	double most = 0;

	for (unsigned i = 0; i < measured->bandwidth_count; i++)
		most = fmax(most, measured->bandwidths[i].gb_s);
	if (!(mhz >= LEAST_MHZ && mhz <= MOST_MHZ))
		snprintf(why, size, "additions came at %.0f MHz: no clock of today", mhz);
	else if (!(most >= LEAST_GB_S))
		snprintf(why, size, "memory was read at %.3f GB/s: the machine is too busy", most);
	else
		return check_levels(host, measured, why, size);
	return -DCPI_ECONFIG;
}

static void
describe_caches(const struct host *host, const struct measurements *measured, struct machine *machine)
{
	machine->line_bytes = host->line_bytes;
	machine->code = host->code;
	machine->level_count = host->level_count;
	for (unsigned i = 0; i < host->level_count; i++) {
		machine->levels[i] = host->levels[i];
		machine->levels[i].latency_cycles = (unsigned)lround(measured->level_cycles[i].value);
	}
	machine->code.latency_cycles = machine->levels[0].latency_cycles;
	machine->misses_in_flight = measured->misses_in_flight;
	for (unsigned i = 0; i < PREFETCHERS; i++)
		if (assumed_prefetchers[i].level <= host->level_count)
			machine->prefetchers[machine->prefetcher_count++] = assumed_prefetchers[i];
}

/* The fewest ways, from 4 on, with which the number of sets is a power of two; else fully associative. */
static struct machine_tlb
tlb_of(unsigned entries, double miss_cycles)
{
	struct machine_tlb tlb = {.entries = entries, .ways = entries, .miss_cycles = (unsigned)lround(miss_cycles)};

	for (unsigned ways = 4; entries > 128 && ways < entries; ways++) {
		const unsigned sets = entries / ways;

		if (entries % ways || (sets & (sets - 1)))
			continue;
		tlb.ways = ways;
		break;
	}
	return tlb;
}

/* The code TLB has the size that the CPU's model says; a miss of it is as slow as one of the data TLB. */
static void
describe_tlbs(const struct host *host, const struct measured_tlbs *tlbs, const struct pipeline *pipeline,
              struct machine *machine)
{
	const double first = tlbs->shared_entries ? tlbs->hit_cycles : tlbs->walk_cycles;
	const unsigned code = pipeline->code_tlb.entries;

	machine->page_bytes = host->page_bytes;
	if (tlbs->data_entries == 0)
		return;
	machine->data_tlb = tlb_of(tlbs->data_entries, first);
	machine->code_tlb = tlb_of(code ? code : tlbs->data_entries, first);
	if (tlbs->shared_entries)
		machine->shared_tlb = tlb_of(tlbs->shared_entries, tlbs->walk_cycles);
}

static void
describe_memory(const struct host *host, const struct measurements *measured, struct machine *machine)
{
	double most = 0;

	for (unsigned i = 0; i < measured->bandwidth_count; i++)
		most = fmax(most, measured->bandwidths[i].gb_s);
	for (unsigned i = 0; i < measured->point_count; i++)
		most = fmax(most, measured->points[i].bandwidth_gb_s);
	machine->controllers = 1;
	machine->load_count = describe_curve(measured->points, measured->point_count, measured->memory_ns.value, most,
	                                     machine->loads);
	for (unsigned i = 0; i < machine->load_count; i++)
		machine->loads[i].bandwidth_gb_s /= host->nodes;
	if (host->nodes > 1 && host->distance > 1)
		machine->remote_latency_ns = machine->loads[0].latency_ns * (host->distance - 1);
}

int
describe_machine(const struct host *host, const struct measurements *measured, const struct pipeline *pipeline,
                 struct machine *machine, char *why, size_t size)
{
	int err = check(host, measured, why, size);

	if (err)
		return err;
	memset(machine, 0, sizeof(*machine));
	snprintf(machine->name, sizeof(machine->name), "host");
	snprintf(machine->title, sizeof(machine->title), "%.*s", (int)sizeof(machine->title) - 1,
	         *host->cpu ? host->cpu : "this machine");
	snprintf(machine->pipeline_name, sizeof(machine->pipeline_name), "%s", pipeline->name);
	machine->clock_mhz = round(measured->clock_mhz.value);
	machine->nodes = host->nodes;
	machine->cores = host->cores;
	machine->write_buffer_entries = pipeline->write_buffer_entries;
	machine->call_cycles = round(fmin(measured->call_cycles.value, 1e6));
	describe_caches(host, measured, machine);
	describe_tlbs(host, &measured->tlbs, pipeline, machine);
	describe_memory(host, measured, machine);
	machine->predictor = PREDICTOR_GSHARE;
	machine->predictor_entries = 16384;
	machine->history_bits = 14;
	machine->return_stack = 16;
	machine->target_entries = 4096;
	return 0;
}

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
	if (machine->transfer_ns > 0)
		fprintf(stream, "\ttransfer_ns = %.1f;\n", machine->transfer_ns);
	if (machine->remote_transfer_ns > 0)
		fprintf(stream, "\tremote_transfer_ns = %.1f;\n", machine->remote_transfer_ns);
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
