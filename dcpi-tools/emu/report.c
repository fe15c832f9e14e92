#include "dcpi-tools/emu/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define THREADS_SHOWN     64
#define REPORT_LEVELS_MAX (MACHINE_LEVELS_MAX + 1)

/* A cache, or a table with misses. */
struct report_level {
	char name[16];     /* "L1 data", "L1 code", "L2", ... */
	uint64_t accesses; /* 0: not known */
	uint64_t loads_missed, stores_missed, code_missed;
};

/* What a reason is called: a title for people, a name for scripts. */
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

static uint64_t
level_missed(const struct report_level *level)
{
	return level->loads_missed + level->stores_missed + level->code_missed;
}

/* The caches that were modelled, as many as are returned, with what `counters` of the outcome count. */
static size_t
find_levels(const struct emulation_report *report, const struct record_counters *counters,
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
		level->accesses = level_missed(level - 1) + (i == 1 ? level_missed(level - 2) : 0);
	}
	return count + 1;
}

double
emulation_report_bandwidth(const struct emulation_report *report, unsigned node)
{
	const double seconds = emulation_seconds(report->setup, report->outcome);

	return seconds > 0 ? (double)report->outcome->counters.sum.node_bytes[node] / seconds / 1e9 : 0;
}

double
emulation_report_bandwidth_limit(const struct emulation_report *report)
{
	const struct machine *machine = &report->setup->machine;

	return machine->load_count ? machine->loads[machine->load_count - 1].bandwidth_gb_s * machine->controllers : 0;
}

double
emulation_report_cores_busy(const struct emulation_report *report)
{
	const struct counters *counters = &report->outcome->counters;

	return counters->elapsed_cycles ? (double)counters->busy_cycles / (double)counters->elapsed_cycles : 0;
}

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

static int
print_reasons(const struct emulation_report *report, FILE *stream)
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
		table_text(table, STYLE_PLAIN, reasons[i].title);
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
	table_format(table, STYLE_PLAIN, "%" PRIu64, level_missed(level));
	add_rate(table, level_missed(level), level->accesses);
	add_density(table, level_missed(level), instructions);
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

/* Prefetched lines: one that was never loaded is a miss of the prefetcher. */
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

static int
print_levels(const struct emulation_report *report, FILE *stream)
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
	count = parts & SETUP_CACHES ? find_levels(report, sum_of(report), levels) : 0;
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

static int
print_nodes(const struct emulation_report *report, FILE *stream)
{
	static const struct table_column columns[] = {
		{.heading = "bytes", .align = TABLE_RIGHT, .min_width = 16},
		{.heading = "GB/s", .align = TABLE_RIGHT, .gap = 1, .min_width = 14},
		{.heading = "limit", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
		{.heading = "memory of", .gap = 1},
	};
	const double limit = emulation_report_bandwidth_limit(report);
	struct table *table;

	if (!(report->setup->parts & SETUP_CACHES) || !(report->setup->parts & SETUP_CLOCK))
		return 0;
	table = table_new(columns, 4);
	for (unsigned i = 0; table && i < report->setup->machine.nodes; i++) {
		const double moved = emulation_report_bandwidth(report, i);

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
static int
print_threads(const struct emulation_report *report, FILE *stream)
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

static int
print_programs(const struct emulation_report *report, FILE *stream)
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

static void
print_time(const struct emulation_report *report, FILE *stream)
{
	const struct setup *setup = report->setup;
	const struct counters *counters = &report->outcome->counters;
	const double there = emulation_seconds(setup, report->outcome), here = run_seconds(&report->outcome->run);
	char *title = text_shown(setup->machine.title);

	fprintf(stream, "Machine:   %s (%s), %g MHz, %u of its %u core%s\n", title ? title : "?", setup->machine.name,
	        setup->machine.clock_mhz, setup->threads, setup->machine.cores, text_plural(setup->machine.cores));
	free(title);
	if (setup->parts & SETUP_CLOCK)
		fprintf(stream,
		        "Time:      %.6f s, %" PRIu64 " cycles; %.2f s here, %.1f times as long\n"
		        "Busy:      %.2f cores on average, %.6f s of one\n",
		        there, counters->elapsed_cycles, here, there > 0 ? here / there : 0,
		        emulation_report_cores_busy(report),
		        (double)counters->busy_cycles / (setup->machine.clock_mhz * 1e6));
	else
		fprintf(stream, "Time:      not modelled; %.2f s here\n", here);
}

/* A process executes one program after the other. */
static size_t
count_processes(const struct counters *counters)
{
	size_t count = 0;

	for (size_t i = 0; i < counters->count; i++) {
		size_t j = 0;

		while (counters->programs[j].pid != counters->programs[i].pid)
			j++;
		count += i == j;
	}
	return count;
}

static void
print_executed(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	const uint64_t instructions = report->outcome->executed.instructions;
	const size_t processes = count_processes(counters);
	size_t threads = 0;

	for (size_t i = 0; i < counters->count; i++)
		threads += counters->programs[i].vcpu_count;
	fprintf(stream, "Executed:  %zu %s, %zu %s, %zu %s, %" PRIu64 " instructions", processes,
	        processes == 1 ? "process" : "processes", counters->count,
	        counters->count == 1 ? "program" : "programs", threads, threads == 1 ? "thread" : "threads",
	        instructions);
	if (report->setup->parts & SETUP_CLOCK && counters->busy_cycles)
		fprintf(stream, ", %.2f a busy cycle", (double)instructions / (double)counters->busy_cycles);
	fputc('\n', stream);
}

static bool
has_several_threads(const struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		if (counters->programs[i].vcpu_count > 1)
			return true;
	return false;
}

static int
print_tables(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	const bool has_clock = report->setup->parts & SETUP_CLOCK;
	int err;

	fputc('\n', stream);
	err = has_clock ? print_reasons(report, stream) : 0;
	if (!err)
		err = print_levels(report, stream);
	if (!err)
		err = print_nodes(report, stream);
	if (err || !has_clock)
		return err;
	if (has_several_threads(counters) && (counters->count == 1 || report->by_process))
		err = print_threads(report, stream);
	if (!err && report->by_process)
		err = print_programs(report, stream);
	return err;
}

static void
print_what_is_missing(const struct emulation_report *report, FILE *stream)
{
	const struct counters *counters = &report->outcome->counters;
	uint64_t unfollowed = 0, unrecorded = 0;

	for (size_t i = 0; i < counters->count; i++) {
		unfollowed += counters->programs[i].unfollowed;
		unrecorded += counters->programs[i].unrecorded;
	}
	if (unfollowed)
		fprintf(stream, "Missing:   %" PRIu64 " program%s that %s started could not be followed\n", unfollowed,
		        unfollowed > 1 ? "s" : "", unfollowed > 1 ? "were" : "was");
	if (unrecorded)
		fprintf(stream, "Missing:   %" PRIu64 " block%s of code or stalls found no room\n", unrecorded,
		        text_plural(unrecorded));
	if (counters->running)
		fprintf(stream, "Missing:   %zu %s from now on is not in it\n", counters->running,
		        counters->running == 1 ? "process still runs; what it does"
		                               : "processes still run; what they do");
	if (counters->damaged)
		fprintf(stream, "Missing:   the records of %zu process%s damaged\n", counters->damaged,
		        counters->damaged == 1 ? " are" : "es are");
	if (sum_of(report)->timeouts)
		fprintf(stream, "Waits:     %" PRIu64 " of %" PRIu64 " for slower threads ended without them\n",
		        sum_of(report)->timeouts, sum_of(report)->waits);
}

int
emulation_report_text(const struct emulation_report *report, FILE *stream)
{
	char *database, *label;
	int err;

	print_time(report, stream);
	if (report->setup->delay == DELAY_REAL)
		fprintf(stream, "Delayed:   %.3f s of all threads were spent here for stalls\n",
		        (double)sum_of(report)->delayed_ns / 1e9);
	print_executed(report, stream);
	err = print_tables(report, stream);
	if (err)
		return err;
	print_what_is_missing(report, stream);
	database = report->database ? text_shown(report->database) : NULL;
	label = report->label ? text_shown(report->label) : NULL;
	if (report->outcome->epoch)
		fprintf(stream, "Profile:   epoch %" PRIu32 " of %s%s%s\n", report->outcome->epoch,
		        database ? database : "?", label ? ", label " : "", label ? label : "");
	free(label);
	free(database);
	return fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
}

static json_t *
cycles_of(const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	for (unsigned i = 0; i < REASON_COUNT; i++)
		err |= json_object_set_new(object, reasons[i].name, json_count(counters->cycles[i]));
	return json_kept(object, err);
}

static json_t *
samples_of(const struct emulation_report *report, const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		const uint64_t count = i == SETUP_EVENT_CYCLES ? counters_busy(counters) : counters->events[i];
		json_t *event = json_object();

		err |= json_object_set_new(event, "events", json_count(count));
		err |= json_object_set_new(event, "samples", json_count(counters->samples[i]));
		err |= json_object_set_new(event, "period", json_count(report->setup->periods[i]));
		err |= json_object_set_new(object, setup_event_name(i), event);
	}
	return json_kept(object, err);
}

static json_t *
levels_of(const struct emulation_report *report, const struct record_counters *counters)
{
	struct report_level levels[REPORT_LEVELS_MAX];
	const size_t count = find_levels(report, counters, levels);
	json_t *array = json_array();
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		json_t *level = json_object();

		err |= json_object_set_new(level, "name", json_string(levels[i].name));
		err |= json_object_set_new(level, "accesses",
		                           levels[i].accesses ? json_count(levels[i].accesses) : json_null());
		err |= json_object_set_new(level, "loads_missed", json_count(levels[i].loads_missed));
		err |= json_object_set_new(level, "stores_missed", json_count(levels[i].stores_missed));
		err |= json_object_set_new(level, "code_missed", json_count(levels[i].code_missed));
		err |= json_array_append_new(array, level);
	}
	return json_kept(array, err);
}

static json_t *
tlbs_of(const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "code_missed", json_count(counters->code_tlb_missed));
	err |= json_object_set_new(object, "code_walks", json_count(counters->code_walks));
	err |= json_object_set_new(object, "data_missed", json_count(counters->data_tlb_missed));
	err |= json_object_set_new(object, "data_walks", json_count(counters->data_walks));
	return json_kept(object, err);
}

static int
add_counters(json_t *object, const struct record_counters *counters)
{
	int err = 0;

	err |= json_object_set_new(object, "busy_cycles", json_count(counters_busy(counters)));
	err |= json_object_set_new(object, "cycles", cycles_of(counters));
	err |= json_object_set_new(object, "tlbs", tlbs_of(counters));
	err |= json_object_set_new(object, "mispredicted", json_count(counters->mispredicted));
	err |= json_object_set_new(object, "prefetched", json_count(counters->prefetched));
	err |= json_object_set_new(object, "prefetched_used", json_count(counters->prefetched_used));
	err |= json_object_set_new(object, "system_calls", json_count(counters->calls));
	err |= json_object_set_new(object, "waits", json_count(counters->waits));
	err |= json_object_set_new(object, "waits_timed_out", json_count(counters->timeouts));
	err |= json_object_set_new(object, "delayed_seconds", json_real((double)counters->delayed_ns / 1e9));
	return err;
}

static json_t *
thread_of(const struct emulation_report *report, const struct record_counters *counters, size_t number)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "thread", json_count(number));
	err |= json_object_set_new(object, "began_cycles", json_count(counters->began));
	err |= json_object_set_new(object, "ended_cycles", json_count(counters->clock));
	err |= json_object_set_new(object, "threads", json_count(counters->threads));
	err |= add_counters(object, counters);
	err |= json_object_set_new(object, "levels", levels_of(report, counters));
	return json_kept(object, err);
}

static json_t *
program_of(const struct emulation_report *report, const struct counters_program *program)
{
	json_t *object = json_object(), *threads = json_array();
	int err = 0;

	err |= json_object_set_new(object, "command", json_shown(program->comm));
	err |= json_object_set_new(object, "pid", json_integer(program->pid));
	err |= json_object_set_new(object, "parent", json_integer(program->parent));
	err |= json_object_set_new(object, "began_cycles", json_count(program->start_cycles));
	err |= json_object_set_new(object, "ended_cycles", json_count(program->sum.clock));
	err |= add_counters(object, &program->sum);
	err |= json_object_set_new(object, "not_followed", json_count(program->unfollowed));
	err |= json_object_set_new(object, "not_recorded", json_count(program->unrecorded));
	for (size_t i = 0; i < program->vcpu_count; i++)
		err |= json_array_append_new(threads, thread_of(report, &program->vcpus[i], i));
	err |= json_object_set_new(object, "threads", threads);
	return json_kept(object, err);
}

static json_t *
programs_of(const struct emulation_report *report)
{
	const struct counters *counters = &report->outcome->counters;
	json_t *array = json_array();
	int err = 0;

	for (size_t i = 0; i < counters->count; i++)
		err |= json_array_append_new(array, program_of(report, &counters->programs[i]));
	return json_kept(array, err);
}

static json_t *
nodes_of(const struct emulation_report *report)
{
	json_t *array = json_array();
	int err = 0;

	for (unsigned i = 0; i < report->setup->machine.nodes; i++) {
		json_t *node = json_object();

		err |= json_object_set_new(node, "bytes", json_count(report->outcome->counters.sum.node_bytes[i]));
		err |= json_object_set_new(node, "gb_per_second", json_real(emulation_report_bandwidth(report, i)));
		err |= json_object_set_new(node, "limit_gb_per_second",
		                           json_real(emulation_report_bandwidth_limit(report)));
		err |= json_array_append_new(array, node);
	}
	return json_kept(array, err);
}

static json_t *
machine_of(const struct setup *setup)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "name", json_shown(setup->machine.name));
	err |= json_object_set_new(object, "title", json_shown(setup->machine.title));
	err |= json_object_set_new(object, "pipeline", json_shown(setup->machine.pipeline_name));
	err |= json_object_set_new(object, "clock_mhz", json_real(setup->machine.clock_mhz));
	err |= json_object_set_new(object, "cores", json_count(setup->machine.cores));
	err |= json_object_set_new(object, "cores_seen", json_count(setup->threads));
	return json_kept(object, err);
}

static json_t *
model_of(const struct setup *setup)
{
	json_t *array = json_array();
	int err = 0;

	for (unsigned i = 0; i < SETUP_PART_COUNT; i++)
		if (setup->parts >> i & 1)
			err |= json_array_append_new(array, json_string(setup_part_name(i)));
	return json_kept(array, err);
}

static int
add_time(json_t *root, const struct emulation_report *report)
{
	const double there = emulation_seconds(report->setup, report->outcome);
	const double here = run_seconds(&report->outcome->run);
	int err = 0;

	err |= json_object_set_new(root, "elapsed_cycles", json_count(report->outcome->counters.elapsed_cycles));
	err |= json_object_set_new(root, "seconds", json_real(there));
	err |= json_object_set_new(root, "host_seconds", json_real(here));
	err |= json_object_set_new(root, "slowdown", there > 0 ? json_real(here / there) : json_null());
	err |= json_object_set_new(root, "cores_busy", json_real(emulation_report_cores_busy(report)));
	return err;
}

int
emulation_report_json(const struct emulation_report *report, FILE *stream)
{
	const struct record_counters *sum = &report->outcome->counters.sum;
	const struct setup *setup = report->setup;
	const uint32_t epoch = report->outcome->epoch;
	const int status = report->outcome->run.status;
	json_t *root = json_object();
	int err = 0;

	err |= json_object_set_new(root, "schema", json_string("dcpiemu/1"));
	err |= json_object_set_new(root, "machine", machine_of(setup));
	err |= json_object_set_new(root, "model", model_of(setup));
	err |= json_object_set_new(root, "quantum_cycles", json_count(setup->quantum_cycles));
	err |= json_object_set_new(root, "seed", json_count(setup->seed));
	err |= json_object_set_new(root, "delay", json_string(setup->delay == DELAY_REAL ? "real" : "none"));
	err |= add_time(root, report);
	err |= json_object_set_new(root, "instructions", json_count(report->outcome->executed.instructions));
	err |= json_object_set_new(root, "loads", json_count(report->outcome->executed.loads));
	err |= json_object_set_new(root, "branches", json_count(report->outcome->executed.branches));
	err |= json_object_set_new(root, "stores", json_count(report->outcome->executed.stores));
	err |= add_counters(root, sum);
	err |= json_object_set_new(root, "levels", levels_of(report, sum));
	err |= json_object_set_new(root, "events", samples_of(report, sum));
	err |= json_object_set_new(root, "nodes", nodes_of(report));
	err |= json_object_set_new(root, "programs", programs_of(report));
	err |= json_object_set_new(root, "still_running", json_count(report->outcome->counters.running));
	err |= json_object_set_new(root, "damaged", json_count(report->outcome->counters.damaged));
	err |= json_object_set_new(root, "database", epoch ? json_shown(report->database) : json_null());
	err |= json_object_set_new(root, "epoch", epoch ? json_count(epoch) : json_null());
	err |= json_object_set_new(root, "label", json_shown(report->label));
	err |= json_object_set_new(root, "program",
	                           WIFEXITED(status) ? json_pack("{s:i}", "exit", WEXITSTATUS(status))
	                                             : json_pack("{s:i}", "signal", WTERMSIG(status)));
	return err ? (json_decref(root), -ENOMEM) : json_print_exact(root, stream);
}
