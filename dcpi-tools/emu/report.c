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
	[REASON_TRANSFER] = {"Lines of other cores", "transfer"},
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

/* By `format`, which takes a double. */
static void
add_known(struct table *table, bool is_known, const char *format, double value)
{
	if (is_known)
		table_format(table, STYLE_PLAIN, format, value);
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
	add_known(table, level->accesses, "%.2f%%", 100 - rate(level_missed(level), level->accesses));
	add_known(table, instructions, "%.3f", 1000 * (double)level_missed(level) / (double)instructions);
	table_text(table, STYLE_PLAIN, level->name);
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
	const struct record_counters *sum = sum_of(report);
	const struct executed *executed = &report->outcome->executed;
	struct report_level levels[REPORT_LEVELS_MAX + 7];
	const uint32_t parts = report->setup->parts;
	struct table *table;
	size_t count = 0;

	if (!(parts & (SETUP_CACHES | SETUP_TLBS | SETUP_BRANCHES)))
		return 0;
	if (parts & SETUP_CACHES)
		count = find_levels(report, sum, levels);
	/* a prefetched line that was never loaded is a miss of the prefetcher */
	if (parts & SETUP_CACHES && sum->prefetched)
		levels[count++] = (struct report_level){
			.name = "prefetches",
			.accesses = sum->prefetched,
			.loads_missed =
				sum->prefetched > sum->prefetched_used ? sum->prefetched - sum->prefetched_used : 0,
		};
	if (parts & SETUP_CACHES && sum->transfers)
		levels[count++] = (struct report_level){.name = "other cores", .loads_missed = sum->transfers};
	if (parts & SETUP_CACHES && sum->far_transfers)
		levels[count++] = (struct report_level){.name = "other nodes", .loads_missed = sum->far_transfers};
	if (parts & SETUP_TLBS) {
		levels[count++] = (struct report_level){.name = "ITB", .code_missed = sum->code_tlb_missed};
		levels[count++] = (struct report_level){.name = "DTB",
		                                        .accesses = executed->loads + executed->stores,
		                                        .loads_missed = sum->data_tlb_missed};
		levels[count++] = (struct report_level){.name = "TB level 2",
		                                        .accesses = sum->code_tlb_missed + sum->data_tlb_missed,
		                                        .loads_missed = sum->data_walks,
		                                        .code_missed = sum->code_walks};
	}
	if (parts & SETUP_BRANCHES)
		levels[count++] = (struct report_level){
			.name = "branches", .accesses = executed->branches, .code_missed = sum->mispredicted};
	table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; table && i < count; i++)
		add_level(table, &levels[i], executed->instructions);
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
	const uint64_t data = cycles[REASON_DATA_CACHE] + cycles[REASON_DATA_TLB] + cycles[REASON_TRANSFER] +
	                      cycles[REASON_BANDWIDTH] + cycles[REASON_WRITE_BUFFER];

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

		err |= json_object_set_new(object, setup_event_name(i),
		                           json_pack("{s:o, s:o, s:o}", "events", json_count(count), "samples",
		                                     json_count(counters->samples[i]), "period",
		                                     json_count(report->setup->periods[i])));
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

	for (size_t i = 0; i < count; i++)
		err |= json_array_append_new(
			array, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", levels[i].name, "accesses",
		                         levels[i].accesses ? json_count(levels[i].accesses) : json_null(),
		                         "loads_missed", json_count(levels[i].loads_missed), "stores_missed",
		                         json_count(levels[i].stores_missed), "code_missed",
		                         json_count(levels[i].code_missed)));
	return json_kept(array, err);
}

/* What a run, a program and a thread have in common; not 0: no memory. */
static int
add_counters(json_t *object, const struct record_counters *counters)
{
	json_t *tlbs = json_pack("{s:o, s:o, s:o, s:o}", "code_missed", json_count(counters->code_tlb_missed),
	                         "code_walks", json_count(counters->code_walks), "data_missed",
	                         json_count(counters->data_tlb_missed), "data_walks", json_count(counters->data_walks));

	return json_object_update_new(
		object,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "busy_cycles",
	                  json_count(counters_busy(counters)), "cycles", cycles_of(counters), "tlbs", tlbs,
	                  "mispredicted", json_count(counters->mispredicted), "prefetched",
	                  json_count(counters->prefetched), "prefetched_used", json_count(counters->prefetched_used),
	                  "transfers", json_count(counters->transfers), "far_transfers",
	                  json_count(counters->far_transfers), "system_calls", json_count(counters->calls), "waits",
	                  json_count(counters->waits), "waits_timed_out", json_count(counters->timeouts),
	                  "delayed_seconds", (double)counters->delayed_ns / 1e9));
}

static json_t *
thread_of(const struct emulation_report *report, const struct record_counters *counters, size_t number)
{
	json_t *object = json_pack("{s:o, s:o, s:o, s:o}", "thread", json_count(number), "began_cycles",
	                           json_count(counters->began), "ended_cycles", json_count(counters->clock), "threads",
	                           json_count(counters->threads));
	int err = add_counters(object, counters);

	err |= json_object_set_new(object, "levels", levels_of(report, counters));
	return json_kept(object, err);
}

static json_t *
program_of(const struct emulation_report *report, const struct counters_program *program)
{
	json_t *threads = json_array();
	json_t *object = json_pack("{s:o, s:i, s:i, s:o, s:o}", "command", json_shown(program->comm), "pid",
	                           (int)program->pid, "parent", (int)program->parent, "began_cycles",
	                           json_count(program->start_cycles), "ended_cycles", json_count(program->sum.clock));
	int err = add_counters(object, &program->sum);

	for (size_t i = 0; i < program->vcpu_count; i++)
		err |= json_array_append_new(threads, thread_of(report, &program->vcpus[i], i));
	err |= json_object_update_new(object,
	                              json_pack("{s:o, s:o, s:o}", "not_followed", json_count(program->unfollowed),
	                                        "not_recorded", json_count(program->unrecorded), "threads", threads));
	return json_kept(object, err);
}

static json_t *
nodes_of(const struct emulation_report *report)
{
	json_t *array = json_array();
	int err = 0;

	for (unsigned i = 0; i < report->setup->machine.nodes; i++)
		err |= json_array_append_new(
			array, json_pack("{s:o, s:f, s:f}", "bytes", json_count(sum_of(report)->node_bytes[i]),
		                         "gb_per_second", emulation_report_bandwidth(report, i), "limit_gb_per_second",
		                         emulation_report_bandwidth_limit(report)));
	return json_kept(array, err);
}

static json_t *
machine_of(const struct setup *setup)
{
	const struct machine *machine = &setup->machine;

	return json_pack("{s:o, s:o, s:o, s:f, s:o, s:o}", "name", json_shown(machine->name), "title",
	                 json_shown(machine->title), "pipeline", json_shown(machine->pipeline_name), "clock_mhz",
	                 machine->clock_mhz, "cores", json_count(machine->cores), "cores_seen",
	                 json_count(setup->threads));
}

int
emulation_report_json(const struct emulation_report *report, FILE *stream)
{
	const struct emulation_outcome *outcome = report->outcome;
	const struct counters *counters = &outcome->counters;
	const struct executed *executed = &outcome->executed;
	const struct setup *setup = report->setup;
	const double there = emulation_seconds(setup, outcome), here = run_seconds(&outcome->run);
	const int status = outcome->run.status;
	json_t *model = json_array(), *programs = json_array(), *root, *ended;
	int err = 0;

	for (unsigned i = 0; i < SETUP_PART_COUNT; i++)
		if (setup->parts >> i & 1)
			err |= json_array_append_new(model, json_string(setup_part_name(i)));
	for (size_t i = 0; i < counters->count; i++)
		err |= json_array_append_new(programs, program_of(report, &counters->programs[i]));
	root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "schema", "dcpiemu/1", "machine", machine_of(setup), "model",
	                 model, "quantum_cycles", json_count(setup->quantum_cycles), "seed", json_count(setup->seed),
	                 "delay", setup->delay == DELAY_REAL ? "real" : "none");
	err |= json_object_update_new(
		root, json_pack("{s:o, s:f, s:f, s:o, s:f, s:o, s:o, s:o, s:o}", "elapsed_cycles",
	                        json_count(counters->elapsed_cycles), "seconds", there, "host_seconds", here,
	                        "slowdown", there > 0 ? json_real(here / there) : json_null(), "cores_busy",
	                        emulation_report_cores_busy(report), "instructions", json_count(executed->instructions),
	                        "loads", json_count(executed->loads), "branches", json_count(executed->branches),
	                        "stores", json_count(executed->stores)));
	err |= add_counters(root, &counters->sum);
	ended = WIFEXITED(status) ? json_pack("{s:i}", "exit", WEXITSTATUS(status))
	                          : json_pack("{s:i}", "signal", WTERMSIG(status));
	err |= json_object_update_new(
		root, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "levels",
	                        levels_of(report, &counters->sum), "events", samples_of(report, &counters->sum),
	                        "nodes", nodes_of(report), "programs", programs, "still_running",
	                        json_count(counters->running), "damaged", json_count(counters->damaged), "database",
	                        outcome->epoch ? json_shown(report->database) : json_null(), "epoch",
	                        outcome->epoch ? json_count(outcome->epoch) : json_null(), "label",
	                        json_shown(report->label), "program", ended));
	return json_print_exact(json_kept(root, err), stream);
}
