/* The figures of the report that text and JSON share. */
#include "dcpi-tools/emu/report.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *title, *name;
} reasons[REASON_COUNT] = {
	[REASON_EXECUTION] = {"Execution", "execution"},
	[REASON_CODE_CACHE] = {"I-cache miss", "code-cache"},
	[REASON_CODE_TLB] = {"ITB miss", "code-tlb"},
	[REASON_DATA_CACHE] = {"D-cache miss", "data-cache"},
	[REASON_DATA_TLB] = {"DTB miss", "data-tlb"},
	[REASON_WRITE_BUFFER] = {"Write buffer", "write-buffer"},
	[REASON_MISPREDICT] = {"Branch mispredict", "mispredict"},
	[REASON_BANDWIDTH] = {"Memory bandwidth", "bandwidth"},
	[REASON_CALL] = {"System calls", "call"},
	[REASON_BLOCKED] = {"Blocked", "blocked"},
};

const char *
reason_title(enum record_reason reason)
{
	return reason < REASON_COUNT ? reasons[reason].title : "?";
}

const char *
reason_name(enum record_reason reason)
{
	return reason < REASON_COUNT ? reasons[reason].name : "?";
}

uint64_t
emu_report_level_missed(const struct report_level *level)
{
	return level->loads_missed + level->stores_missed + level->code_missed;
}

size_t
emu_report_levels(const struct emulation_report *report, const struct record_counters *counters,
                  struct report_level levels[REPORT_LEVELS_MAX])
{
	const unsigned count = report->setup->machine.level_count;

	memset(levels, 0, REPORT_LEVELS_MAX * sizeof(*levels));
	snprintf(levels[0].name, sizeof(levels[0].name), "L1 code");
	levels[0].code_missed = counters->code_missed[0];
	snprintf(levels[1].name, sizeof(levels[1].name), "L1 data");
	levels[1].loads_missed = counters->loads_missed[0];
	levels[1].stores_missed = counters->stores_missed[0];
	if (counters == &report->outcome->counters.sum)
		levels[1].accesses = report->outcome->executed.loads + report->outcome->executed.stores;
	for (unsigned i = 1; i < count; i++) {
		struct report_level *level = &levels[i + 1];

		snprintf(level->name, sizeof(level->name), "L%u", i + 1);
		level->loads_missed = counters->loads_missed[i];
		level->stores_missed = counters->stores_missed[i];
		level->code_missed = counters->code_missed[i];
		level->accesses =
			emu_report_level_missed(level - 1) + (i == 1 ? emu_report_level_missed(level - 2) : 0);
	}
	return count + 1;
}

double
emu_report_bandwidth(const struct emulation_report *report, unsigned node)
{
	const double seconds = emulation_seconds(report->setup, report->outcome);

	return seconds > 0 ? (double)report->outcome->counters.sum.node_bytes[node] / seconds / 1e9 : 0;
}

double
emu_report_bandwidth_limit(const struct emulation_report *report)
{
	const struct machine *machine = &report->setup->machine;

	return machine->load_count ? machine->loads[machine->load_count - 1].bandwidth_gb_s * machine->controllers : 0;
}

double
emu_report_cores_busy(const struct emulation_report *report)
{
	const struct counters *counters = &report->outcome->counters;

	return counters->elapsed_cycles ? (double)counters->busy_cycles / (double)counters->elapsed_cycles : 0;
}
