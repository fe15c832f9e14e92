/* The tables of the report as text. */
#include "dcpi-tools/emu/report_tables.h"

#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/table.h"

#define THREADS_SHOWN 64

static const struct record_counters *
sum_of(const struct emulation_report *report)
{
	return &report->outcome->counters.sum;
}

static int
finish(struct table *table, FILE *stream)
{
	const struct output output = {.stream = stream};
	int err = table ? table_print(table, &output, true) : -ENOMEM;

	table_free(table);
	if (!err)
		fputc('\n', stream);
	return err;
}

static double
rate(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

int
emu_report_print_reasons(const struct emulation_report *report, FILE *stream)
{
	static const struct table_column columns[] = {
		{.heading = "cycles", .align = TABLE_RIGHT, .min_width = 16},
		{.heading = "busy", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
		{.heading = "spent on", .gap = 1},
	};
	struct table *table = table_new(columns, 3);
	const struct counters *counters = &report->outcome->counters;

	for (unsigned i = 0; table && i < REASON_COUNT; i++) {
		if (!counters->sum.cycles[i])
			continue;
		table_format(table, STYLE_PLAIN, "%" PRIu64, counters->sum.cycles[i]);
		if (i == REASON_BLOCKED)
			table_text(table, STYLE_PLAIN, "-");
		else
			table_format(table, STYLE_PLAIN, "%.2f%%",
			             rate(counters->sum.cycles[i], counters->busy_cycles));
		table_text(table, STYLE_PLAIN, reason_title(i));
	}
	return finish(table, stream);
}

/* How many in a thousand instructions. */
static void
add_density(struct table *table, uint64_t missed, uint64_t instructions)
{
	if (instructions)
		table_format(table, STYLE_PLAIN, "%.3f", 1000 * (double)missed / (double)instructions);
	else
		table_text(table, STYLE_PLAIN, "-");
}

static void
add_rate(struct table *table, uint64_t missed, uint64_t accesses)
{
	if (accesses)
		table_format(table, STYLE_PLAIN, "%.2f%%", 100 - rate(missed, accesses));
	else
		table_text(table, STYLE_PLAIN, "-");
}

static void
add_level(struct table *table, const struct report_level *level, uint64_t instructions)
{
	if (level->accesses)
		table_format(table, STYLE_PLAIN, "%" PRIu64, level->accesses);
	else
		table_text(table, STYLE_PLAIN, "-");
	table_format(table, STYLE_PLAIN, "%" PRIu64, emu_report_level_missed(level));
	add_rate(table, emu_report_level_missed(level), level->accesses);
	add_density(table, emu_report_level_missed(level), instructions);
	table_text(table, STYLE_PLAIN, level->name);
}

static void
add_tlbs(struct table *table, const struct emulation_report *report)
{
	const struct record_counters *sum = sum_of(report);
	const struct executed *executed = &report->outcome->executed;
	const struct report_level tlbs[] = {
		{.name = "ITB", .code_missed = sum->code_tlb_missed},
		{.name = "DTB", .accesses = executed->loads + executed->stores, .loads_missed = sum->data_tlb_missed},
		{.name = "TB level 2",
	         .accesses = sum->code_tlb_missed + sum->data_tlb_missed,
	         .loads_missed = sum->data_walks,
	         .code_missed = sum->code_walks},
	};

	for (size_t i = 0; i < sizeof(tlbs) / sizeof(tlbs[0]); i++)
		add_level(table, &tlbs[i], executed->instructions);
}

static void
add_branches(struct table *table, const struct emulation_report *report)
{
	const struct report_level level = {
		.name = "branches",
		.accesses = report->outcome->executed.branches,
		.code_missed = sum_of(report)->mispredicted,
	};

	add_level(table, &level, report->outcome->executed.instructions);
}

/* Lines that were fetched before anybody asked for them: of those nobody ever did, each is a miss of the prefetcher. */
static void
add_prefetches(struct table *table, const struct emulation_report *report)
{
	const struct record_counters *sum = sum_of(report);
	const struct report_level level = {
		.name = "prefetches",
		.accesses = sum->prefetched,
		.loads_missed = sum->prefetched > sum->prefetched_used ? sum->prefetched - sum->prefetched_used : 0,
	};

	if (sum->prefetched)
		add_level(table, &level, report->outcome->executed.instructions);
}

int
emu_report_print_levels(const struct emulation_report *report, FILE *stream)
{
	static const struct table_column columns[] = {
		{.heading = "accesses", .align = TABLE_RIGHT, .min_width = 16},
		{.heading = "misses", .align = TABLE_RIGHT, .gap = 1, .min_width = 14},
		{.heading = "hits", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
		{.heading = "per 1000", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "of", .gap = 1},
	};
	struct report_level levels[REPORT_LEVELS_MAX];
	const uint32_t parts = report->setup->parts;
	struct table *table;
	size_t count;

	if (!(parts & (SETUP_CACHES | SETUP_TLBS | SETUP_BRANCHES)))
		return 0;
	table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	count = parts & SETUP_CACHES ? emu_report_levels(report, sum_of(report), levels) : 0;
	for (size_t i = 0; table && i < count; i++)
		add_level(table, &levels[i], report->outcome->executed.instructions);
	if (table && parts & SETUP_CACHES)
		add_prefetches(table, report);
	if (table && parts & SETUP_TLBS)
		add_tlbs(table, report);
	if (table && parts & SETUP_BRANCHES)
		add_branches(table, report);
	return finish(table, stream);
}

int
emu_report_print_nodes(const struct emulation_report *report, FILE *stream)
{
	static const struct table_column columns[] = {
		{.heading = "bytes", .align = TABLE_RIGHT, .min_width = 16},
		{.heading = "GB/s", .align = TABLE_RIGHT, .gap = 1, .min_width = 14},
		{.heading = "limit", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
		{.heading = "memory of", .gap = 1},
	};
	const double limit = emu_report_bandwidth_limit(report);
	struct table *table;

	if (!(report->setup->parts & SETUP_CACHES) || !(report->setup->parts & SETUP_CLOCK))
		return 0;
	table = table_new(columns, 4);
	for (unsigned i = 0; table && i < report->setup->machine.nodes; i++) {
		const double moved = emu_report_bandwidth(report, i);

		table_format(table, STYLE_PLAIN, "%" PRIu64, sum_of(report)->node_bytes[i]);
		table_format(table, STYLE_PLAIN, "%.3f", moved);
		table_format(table, STYLE_PLAIN, "%.1f%%", limit > 0 ? 100 * moved / limit : 0);
		table_format(table, STYLE_PLAIN, "node %u (%g GB/s)", i, limit);
	}
	return finish(table, stream);
}

/* Cycles of a thread, or of a program, by what they were spent on. */
static void
add_cycles(struct table *table, const struct record_counters *counters)
{
	const uint64_t *cycles = counters->cycles, busy = counters_busy(counters);
	const uint64_t code = cycles[REASON_CODE_CACHE] + cycles[REASON_CODE_TLB];
	const uint64_t data = cycles[REASON_DATA_CACHE] + cycles[REASON_DATA_TLB] + cycles[REASON_BANDWIDTH] +
	                      cycles[REASON_WRITE_BUFFER];

	table_format(table, STYLE_PLAIN, "%" PRIu64, busy);
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(cycles[REASON_EXECUTION], busy));
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(code, busy));
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(data, busy));
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(cycles[REASON_MISPREDICT], busy));
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(cycles[REASON_CALL], busy));
	table_format(table, STYLE_PLAIN, "%.1f%%", rate(cycles[REASON_BLOCKED], busy + cycles[REASON_BLOCKED]));
}

static struct table *
new_cycles_table(const char *of)
{
	const struct table_column columns[] = {
		{.heading = "busy cycles", .align = TABLE_RIGHT, .min_width = 16},
		{.heading = "exec", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "code", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "data", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "branch", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "calls", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "blocked", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = of, .gap = 1},
	};

	return table_new(columns, sizeof(columns) / sizeof(columns[0]));
}

/* The threads of programs that have several; of many, the first. */
int
emu_report_print_threads(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	struct table *table = new_cycles_table("thread");
	size_t shown = 0, all = 0;
	int err;

	for (size_t i = 0; table && i < counters->count; i++) {
		const struct counters_program *program = &counters->programs[i];

		for (size_t j = 0; j < program->vcpu_count && program->vcpu_count > 1; j++) {
			if (all++ >= THREADS_SHOWN)
				continue;
			add_cycles(table, &program->vcpus[j]);
			table_format(table, STYLE_PLAIN, "%zu of %.15s, process %d", j, program->comm,
			             (int)program->pid);
			shown++;
		}
	}
	err = finish(table, stream);
	if (!err && shown < all)
		fprintf(stream, "%zu further thread%s not shown; --json has all\n\n", all - shown,
		        all - shown == 1 ? " is" : "s are");
	return err;
}

int
emu_report_print_programs(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	struct table *table = new_cycles_table("program");

	for (size_t i = 0; table && i < counters->count; i++) {
		const struct counters_program *program = &counters->programs[i];

		add_cycles(table, &program->sum);
		table_format(table, STYLE_PLAIN, "%.15s, process %d", program->comm, (int)program->pid);
	}
	return finish(table, stream);
}
