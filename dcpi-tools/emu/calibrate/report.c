#include "dcpi-tools/emu/calibrate/report.h"

#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/table.h"

static const struct table_column columns[] = {
	{.heading = ""},
	{.heading = "measured", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "", .gap = 1, .min_width = 6},
	{.heading = "how sure", .gap = 2},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static void
add_figure(struct table *table, double value, const char *unit, const char *sureness)
{
	table_format(table, STYLE_PLAIN, value < 100 && value != (unsigned)value ? "%.1f" : "%.0f", value);
	table_text(table, STYLE_FAINT, unit);
	table_text(table, STYLE_FAINT, sureness);
}

static void
add_size(struct table *table, unsigned level, uint64_t bytes)
{
	if (bytes >> 20 && !(bytes & ((1 << 20) - 1)))
		table_format(table, STYLE_PLAIN, "level %u, %" PRIu64 " MiB", level, bytes >> 20);
	else
		table_format(table, STYLE_PLAIN, "level %u, %" PRIu64 " KiB", level, bytes >> 10);
}

static void
add_levels(struct table *table, const struct host *host, const struct measurements *measured)
{
	for (unsigned i = 0; i < host->level_count; i++) {
		add_size(table, i + 1, host->levels[i].bytes);
		add_figure(table, measured->level_cycles[i].value, "cycles",
		           measured->ends_seen[i] ? figure_sureness(&measured->level_cycles[i])
		                                  : "doubtful: loads are as fast in twice of it");
	}
	table_text(table, STYLE_PLAIN, "memory, idle");
	add_figure(table, measured->memory_ns.value, "ns",
	           measured->in_huge_pages ? figure_sureness(&measured->memory_ns)
	                                   : "doubtful: no huge pages, walks are in it");
	table_text(table, STYLE_PLAIN, "loads that miss at once");
	add_figure(table, measured->misses_in_flight, "", "roughly");
}

static void
add_tlbs(struct table *table, const struct measured_tlbs *tlbs)
{
	if (tlbs->data_entries == 0) {
		table_text(table, STYLE_PLAIN, "TLB");
		add_figure(table, 0, "pages", "not seen: nothing took longer with more pages");
		return;
	}
	table_text(table, STYLE_PLAIN, "TLB of data");
	add_figure(table, tlbs->data_entries, "pages", "roughly");
	if (tlbs->shared_entries) {
		table_text(table, STYLE_PLAIN, "second TLB");
		add_figure(table, tlbs->shared_entries, "pages", "roughly");
		table_text(table, STYLE_PLAIN, "a hit in it adds");
		add_figure(table, tlbs->hit_cycles, "cycles", "roughly");
	}
	table_text(table, STYLE_PLAIN, "a walk adds");
	add_figure(table, tlbs->walk_cycles, "cycles", "roughly");
}

static void
add_memory(struct table *table, const struct measurements *measured, const struct machine *machine)
{
	const struct machine_load *last = &machine->loads[machine->load_count - 1];

	for (unsigned i = 0; i < measured->bandwidth_count; i++) {
		const struct measured_bandwidth *bandwidth = &measured->bandwidths[i];

		table_format(table, STYLE_PLAIN, "memory, %u thread%s", bandwidth->threads,
		             bandwidth->threads == 1 ? "" : "s");
		add_figure(table, bandwidth->gb_s, "GB/s", "at least");
	}
	table_format(table, STYLE_PLAIN, "memory, at %.3g GB/s%s", last->bandwidth_gb_s,
	             machine->nodes > 1 ? " of a node" : "");
	add_figure(table, last->latency_ns, "ns", "roughly");
}

int
emu_report_measured(const struct host *host, const struct measurements *measured, const struct machine *machine,
                    const struct output *output)
{
	struct table *table = table_new(columns, COLUMN_COUNT);
	int err;

	if (!table)
		return -ENOMEM;
	fprintf(output->stream, "%s: %u core%s, pipeline %s\n\n", machine->title, machine->cores,
	        machine->cores == 1 ? "" : "s", machine->pipeline_name);
	table_text(table, STYLE_PLAIN, "clock");
	add_figure(table, measured->clock_mhz.value, "MHz", figure_sureness(&measured->clock_mhz));
	add_levels(table, host, measured);
	add_tlbs(table, &measured->tlbs);
	add_memory(table, measured, machine);
	table_text(table, STYLE_PLAIN, "a system call");
	add_figure(table, measured->call_cycles.value, "cycles", figure_sureness(&measured->call_cycles));
	err = table_print(table, output, true);
	table_free(table);
	return err;
}
