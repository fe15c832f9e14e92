/* The command `dcpiemu sweep`, and sweep.h. */
#include "dcpi-tools/emu/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/emu/report.h"

#define LABEL_MAX 20  /* the rest is a machine's name and a number */
#define WIDTH     820 /* pixels */
#define HEIGHT    560

struct emu_sweep_request {
	struct command_request common;
	const char *machines[SWEEP_MACHINES_MAX];
	size_t machine_count;
	struct thread_list threads;
	bool has_threads, shows_output;
	unsigned runs;
	const char *plot;
};

/* The points that are to be measured. */
struct sweep_runner {
	const struct emu_sweep_request *request;
	struct sweep *sweep;
	size_t planned;
	sigset_t mask; /* what was blocked before signals were held */
};

/* The points of all machines, in their order. STATUS_OK, or an exit status after a message. */
static int
plan(struct sweep_runner *runner)
{
	const struct emu_sweep_request *request = runner->request;
	const char *label = request->common.label;
	struct sweep *sweep = runner->sweep;
	size_t most = 0;

	sweep->setups = calloc(request->machine_count, sizeof(*sweep->setups));
	if (!sweep->setups)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count; i++) {
		int status;

		sweep->setups[i] = request->common.setup;
		status = command_choose_machine(request->machines[i], &sweep->setups[i]);
		if (status)
			return status;
		most += sweep->setups[i].machine.cores;
	}
	sweep->points = calloc(most, sizeof(*sweep->points));
	if (!sweep->points)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count; i++) {
		const struct machine *machine = &sweep->setups[i].machine;

		for (unsigned threads = 1; threads <= machine->cores; threads++) {
			struct sweep_point *point = &sweep->points[runner->planned];

			if (!request->threads.wanted[threads])
				continue;
			*point = (struct sweep_point){.machine = machine, .threads = threads};
			snprintf(point->label, sizeof(point->label), "%s%s%s/%u", label ? label : "", label ? "/" : "",
			         machine->name, threads);
			runner->planned++;
		}
		if (request->threads.most > machine->cores)
			message_print(machine->name, "it has %u core%s: more threads than that are left out",
			              machine->cores, text_plural(machine->cores));
	}
	if (runner->planned == 0)
		message_print(NULL, "no machine has so many cores");
	return runner->planned ? STATUS_OK : STATUS_USAGE;
}

static const struct setup *
setup_of(const struct sweep_runner *runner, const struct sweep_point *point)
{
	size_t i = 0;

	while (&runner->sweep->setups[i].machine != point->machine)
		i++;
	return &runner->sweep->setups[i];
}

/* Add a run to its point. Only a run that ended well has a time to compare. */
static int
take_outcome(struct sweep_point *point, const struct setup *setup, const struct emulation_outcome *outcome)
{
	const struct emulation_report report = {.setup = setup, .outcome = outcome};
	const int ended = outcome->run.status;

	if (WIFSIGNALED(ended)) {
		message_print(point->label, "the program was killed by signal %d", WTERMSIG(ended));
		return STATUS_FAILURE;
	}
	if (WEXITSTATUS(ended) != 0) {
		message_print(point->label, "the program ended with status %d", WEXITSTATUS(ended));
		return STATUS_FAILURE;
	}
	point->seconds[point->runs++] = emulation_seconds(setup, outcome);
	point->host_seconds += run_seconds(&outcome->run);
	point->cores_busy = emulation_report_cores_busy(&report);
	point->bandwidth = 0;
	for (unsigned i = 0; i < setup->machine.nodes; i++)
		point->bandwidth += emulation_report_bandwidth(&report, i);
	point->limit = emulation_report_bandwidth_limit(&report) * setup->machine.nodes;
	point->epoch = outcome->epoch;
	return STATUS_OK;
}

static int
run_once(struct sweep_runner *runner, struct sweep_point *point, struct setup *setup)
{
	const struct emu_sweep_request *request = runner->request;
	char title[128];
	const struct emulation_request emulation = {
		.setup = setup,
		.cpu = request->common.cpu,
		.prefix = request->common.prefix,
		.directory = runner->sweep->database,
		.label = point->label,
		.title = title,
		.command = request->common.command,
		.mask = &runner->mask,
		.sets_threads = true,
		.is_quiet = request->common.is_quiet,
		.is_silent = !request->shows_output,
	};
	struct emulation_outcome outcome;
	int status, asked;

	snprintf(title, sizeof(title), "%s (%zu of %zu)", point->label, (size_t)(point - runner->sweep->points) + 1,
	         runner->planned);
	status = emulation_run(&emulation, &outcome);
	if (!status && outcome.run.asked) {
		if (outcome.epoch)
			message_print(point->label,
			              "interrupted: it is not in the table; what it did until then is epoch %" PRIu32,
			              outcome.epoch);
		else
			message_print(point->label, "interrupted: it is not in the table");
		status = STATUS_FAILURE;
	} else if (!status) {
		status = take_outcome(point, setup, &outcome);
	}
	asked = exit_signals_take(); /* a signal that came after the program's end */
	runner->sweep->asked = outcome.run.asked ? outcome.run.asked : asked;
	if (runner->sweep->asked)
		status = STATUS_FAILURE;
	emulation_fini(&outcome);
	return status;
}

static int
run_all(struct sweep_runner *runner)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < runner->planned && !status; i++) {
		struct sweep_point *point = &runner->sweep->points[i];
		struct setup *setup = malloc(sizeof(*setup));

		if (!setup)
			return message_cannot(NULL, "begin", -ENOMEM, NULL);
		*setup = *setup_of(runner, point);
		setup->threads = point->threads;
		for (unsigned run = 0; run < runner->request->runs && !status; run++) {
			setup->seed = runner->request->common.setup.seed + run;
			status = run_once(runner, point, setup);
		}
		free(setup);
		if (point->runs)
			runner->sweep->count = i + 1;
	}
	return status;
}

/*
 * Measure the points of `sweep`, whose command and database are set. STATUS_OK, or an exit status after a message, with
 * the points that there are.
 */
static int
measure_points(const struct emu_sweep_request *request, struct sweep *sweep)
{
	struct sweep_runner runner = {.request = request, .sweep = sweep};
	int status = plan(&runner);
	size_t whole = 0;

	if (status)
		return status;
	exit_signals_block(&runner.mask); /* an interrupt must not lose the points that are finished */
	status = run_all(&runner);
	for (size_t i = 0; i < sweep->count; i++)
		whole += sweep->points[i].runs == request->runs;
	if (sweep->asked)
		message_print(NULL, "ended early: %zu of %zu points are whole", whole, runner.planned);
	exit_signals_restore(&runner.mask);
	return status;
}

static int
compare_times(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

void
sweep_summarize(struct sweep *sweep)
{
	const struct sweep_point *first = NULL;

	for (size_t i = 0; i < sweep->count; i++) {
		struct sweep_point *point = &sweep->points[i];
		const unsigned middle = point->runs / 2;

		qsort(point->seconds, point->runs, sizeof(*point->seconds), compare_times);
		point->median = point->runs % 2 ? point->seconds[middle]
		                                : (point->seconds[middle - 1] + point->seconds[middle]) / 2;
		if (!first || first->machine != point->machine)
			first = point;
		point->first = first->threads;
		point->throughput = point->median > 0 ? first->median / point->median : 0;
	}
}

/* Throughput as a part of what so many threads would have at best. */
static double
scale(const struct sweep_point *point)
{
	return point->throughput * point->first / point->threads;
}

/* How far the slowest and the fastest run are apart, in percent of the median. */
static double
spread(const struct sweep_point *point)
{
	return point->median > 0 ? 100 * (point->seconds[point->runs - 1] - point->seconds[0]) / point->median : 0;
}

static void
add_row(struct table *table, const struct sweep_point *point)
{
	table_format(table, STYLE_PLAIN, "%u", point->threads);
	table_format(table, STYLE_PLAIN, "%.6f", point->median);
	if (point->runs > 1)
		table_format(table, STYLE_PLAIN, "%.2f%%", spread(point));
	else
		table_text(table, STYLE_PLAIN, "-");
	table_format(table, STYLE_PLAIN, "%.3f", point->throughput);
	table_format(table, STYLE_PLAIN, "%.1f%%", 100 * scale(point));
	table_format(table, STYLE_PLAIN, "%.2f", point->cores_busy);
	table_format(table, STYLE_PLAIN, "%.2f", point->bandwidth);
	table_format(table, STYLE_PLAIN, "%.1f%%", point->limit > 0 ? 100 * point->bandwidth / point->limit : 0);
	table_format(table, STYLE_PLAIN, "%.1f", point->host_seconds);
	table_text(table, STYLE_PLAIN, point->machine->name);
}

int
sweep_print_text(const struct sweep *sweep, const struct output *output, bool header)
{
	static const struct table_column columns[] = {
		{.heading = "threads", .align = TABLE_RIGHT},
		{.heading = "seconds", .align = TABLE_RIGHT, .gap = 1, .min_width = 11},
		{.heading = "spread", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "throughput", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "perfect", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "busy", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "GB/s", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "limit", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "s here", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "machine", .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	for (size_t i = 0; table && i < sweep->count; i++)
		add_row(table, &sweep->points[i]);
	err = table ? table_print(table, output, header) : -ENOMEM;
	table_free(table);
	return err;
}

static json_t *
point_of(const struct sweep_point *point)
{
	const struct machine *machine = point->machine;
	json_t *runs = json_array();
	int err = 0;

	for (unsigned i = 0; i < point->runs; i++)
		err |= json_array_append_new(runs, json_real(point->seconds[i]));
	return json_kept(json_pack("{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "machine",
	                           json_shown(machine->name), "title", json_shown(machine->title), "cores",
	                           json_count(machine->cores), "threads", json_count(point->threads), "runs_seconds",
	                           runs, "seconds", point->median, "throughput", point->throughput, "of_perfect",
	                           scale(point), "cores_busy", point->cores_busy, "gb_per_second", point->bandwidth,
	                           "limit_gb_per_second", point->limit, "host_seconds", point->host_seconds, "label",
	                           point->epoch ? json_shown(point->label) : json_null(), "epoch",
	                           point->epoch ? json_count(point->epoch) : json_null()),
	                 err);
}

int
sweep_print_json(const struct sweep *sweep, FILE *stream)
{
	json_t *points = json_array(), *command = json_array();
	int err = 0;

	for (size_t i = 0; sweep->command[i]; i++)
		err |= json_array_append_new(command, json_shown(sweep->command[i]));
	for (size_t i = 0; i < sweep->count; i++)
		err |= json_array_append_new(points, point_of(&sweep->points[i]));
	return json_print_exact(json_kept(json_pack("{s:s, s:o, s:o, s:o}", "schema", "dcpiemu-sweep/1", "command",
	                                            command, "database", json_shown(sweep->database), "points", points),
	                                  err),
	                        stream);
}

int
sweep_print_csv(const struct sweep *sweep, FILE *stream, bool header)
{
	static const char *const headings[] = {"machine",     "threads",       "seconds",
	                                       "least",       "most",          "throughput",
	                                       "cores_busy",  "gb_per_second", "limit_gb_per_second",
	                                       "host_seconds"};
	struct csv csv = {.stream = stream};
	int err = 0;

	for (size_t i = 0; header && i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(&csv, headings[i]);
	if (header)
		csv_end(&csv);
	for (size_t i = 0; i < sweep->count && !err; i++) {
		const struct sweep_point *point = &sweep->points[i];

		err = csv_shown(&csv, point->machine->name);
		csv_number(&csv, point->threads);
		csv_real(&csv, point->median, 9);
		csv_real(&csv, point->seconds[0], 9);
		csv_real(&csv, point->seconds[point->runs - 1], 9);
		csv_real(&csv, point->throughput, 6);
		csv_real(&csv, point->cores_busy, 3);
		csv_real(&csv, point->bandwidth, 3);
		csv_real(&csv, point->limit, 3);
		csv_real(&csv, point->host_seconds, 3);
		csv_end(&csv);
	}
	return err;
}

static const char *const colors[] = {"#3070b0", "#c03020", "#309050", "#a060a0", "#d08020", "#207080"};
#define COLORS (sizeof(colors) / sizeof(colors[0]))

/* Where the points of the next machine begin. */
static size_t
next_machine(const struct sweep *sweep, size_t at)
{
	const struct machine *machine = sweep->points[at].machine;

	while (at < sweep->count && sweep->points[at].machine == machine)
		at++;
	return at;
}

/* Threads and throughput, then the throughput of the slowest and of the fastest run. */
static void
print_data(const struct sweep *sweep, FILE *stream)
{
	size_t machine = 0;

	for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i)) {
		const double first = sweep->points[i].median;

		fprintf(stream, "$machine%zu << END\n", machine++);
		for (size_t j = i; j < next_machine(sweep, i); j++) {
			const struct sweep_point *point = &sweep->points[j];

			fprintf(stream, "%u %.6g %.6g %.6g\n", point->threads, point->throughput,
			        first / point->seconds[point->runs - 1], first / point->seconds[0]);
		}
		fputs("END\n", stream);
	}
}

static void
print_frame(const struct sweep *sweep, FILE *stream)
{
	const unsigned first = sweep->points[0].first;
	unsigned most = 1;

	for (size_t i = 0; i < sweep->count; i++)
		if (sweep->points[i].threads > most)
			most = sweep->points[i].threads;
	fputs("set title '", stream);
	plot_print_title(text_basename(sweep->command[0]), stream);
	for (size_t i = 1; sweep->command[i]; i++) {
		fputc(' ', stream);
		plot_print_title(sweep->command[i], stream);
	}
	fputs("'\nset xlabel 'threads'\n", stream);
	fprintf(stream,
	        "set ylabel 'throughput (%u %s = 1)'\n"
	        "set xrange [0.5:%u.5]\nset yrange [0:*]\nset grid\nset key left top reverse Left\nset tics nomirror\n"
	        "%s\n",
	        first, first == 1 ? "thread" : "threads", most, most <= 24 ? "set xtics 1" : "");
}

/* How a machine's curve looks. */
static void
print_style(size_t machine, FILE *stream)
{
	fprintf(stream, " with linespoints linewidth 2 pointtype %zu pointsize 0.8 linecolor rgb '%s'",
	        4 + machine % 10, colors[machine % COLORS]);
}

/* The points of the machine that begin at `at`. */
static void
print_curve(const struct sweep *sweep, size_t at, size_t machine, FILE *stream)
{
	if (sweep->points[at].runs > 1)
		fprintf(stream, ", \\\n  $machine%zu using 1:2:3:4 with yerrorbars linecolor rgb '%s' notitle", machine,
		        colors[machine % COLORS]);
	fprintf(stream, ", \\\n  $machine%zu using 1:2", machine);
	print_style(machine, stream);
	fputs(" notitle", stream);
}

/* Long curves first: they would hide a short one with equal points. The key is in the order of machines. */
static void
print_curves(const struct sweep *sweep, FILE *stream)
{
	size_t machine = 0;

	fprintf(stream, "plot x/%u with lines dashtype 2 linecolor rgb '#808080' title 'perfect scale'",
	        sweep->points[0].first);
	for (size_t length = sweep->count; length > 0; length--) {
		machine = 0;
		for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i), machine++)
			if (next_machine(sweep, i) - i == length)
				print_curve(sweep, i, machine, stream);
	}
	machine = 0;
	for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i)) {
		fputs(", \\\n  keyentry", stream);
		print_style(machine++, stream);
		fputs(" title '", stream);
		plot_print_title(sweep->points[i].machine->title, stream);
		fputc('\'', stream);
	}
	fputc('\n', stream);
}

static void
print_script(const void *context, FILE *stream)
{
	const struct sweep *sweep = context;

	plot_begin(sweep->plot, WIDTH, HEIGHT, stream);
	print_data(sweep, stream);
	print_frame(sweep, stream);
	print_curves(sweep, stream);
}

int
sweep_plot(const struct sweep *sweep)
{
	return plot_write(sweep->plot, print_script, sweep);
}

static void
take_machine(void *taken, char *text, struct argp_state *state)
{
	struct emu_sweep_request *request = taken;

	if (request->machine_count == SWEEP_MACHINES_MAX)
		argp_error(state, "--machine can be given %d times at most", SWEEP_MACHINES_MAX);
	request->machines[request->machine_count++] = text;
}

static void
take_threads(void *taken, char *text, struct argp_state *state)
{
	struct emu_sweep_request *request = taken;

	if (thread_list_parse(text, &request->threads) < 0)
		argp_error(state, "--threads takes numbers from 1 to %d and ranges of them: 1..18 or 1,2,4..8",
		           MACHINE_CORES_MAX);
	request->has_threads = true;
}

static void
take_runs(void *member, char *text, struct argp_state *state)
{
	*(unsigned *)member = (unsigned)options_whole(state, "--runs", text, 1, SWEEP_RUNS_MAX);
}

static void
check(void *checked, struct argp_state *state)
{
	const struct emu_sweep_request *request = checked;

	if (request->machine_count == 0)
		argp_error(state, "as if on which machines? --machine NAME; 'dcpiemu machines' lists those described");
	if (!request->has_threads)
		argp_error(state, "with how many threads? --threads 1..18");
	if (!request->common.command)
		argp_error(state, "which program? dcpiemu sweep --machine NAME --threads 1..18 -- PROGRAM "
		                  "[ARGUMENT]...");
	if (request->common.without_database && request->common.label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
	if (!(request->common.setup.parts & SETUP_CLOCK))
		argp_error(state, "a sweep compares times: it needs the clock in --model");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "As if where:"),
	OPTION_CALL(1, "machine", 0, "NAME|FILE", 0, take_machine,
                    "On that machine, and others named so, one after the other"),
	OPTION_CALL(1, "threads", 0, "LIST", 0, take_threads,
                    "With so many threads (1..18 or 1,2,4..8; 1.. up to the machine's cores), one after the other"),
	OPTION_CALL(1, "runs", 0, "N", offsetof(struct emu_sweep_request, runs), take_runs, "Each N times (1)"),
	OPTION_HEADING(2, "Where the profiles are kept:"),
	OPTION_NAME(2, "label", "LABEL", struct emu_sweep_request, common.label, LABEL_MAX,
                    "Call the epochs LABEL/MACHINE/THREADS (MACHINE/THREADS otherwise)"),
	OPTION_TRUE(2, "no-db", 0, struct emu_sweep_request, common.without_database, "Nowhere"),
	OPTION_HEADING(3, "The curves:"),
	OPTION_TEXT(3, "plot", "FILE", struct emu_sweep_request, plot,
                    "Draw throughput over threads into FILE: .svg, .png, .pdf or .gnuplot"),
	OPTION_TRUE(3, "show-output", 0, struct emu_sweep_request, shows_output,
                    "What the program prints is not thrown away"),
	OPTION_TRUE(3, "quiet", 0, struct emu_sweep_request, common.is_quiet, "No progress"),
	OPTION_HEADING(4, "The table:"),
	OPTION_ARGUMENT(offsetof(struct emu_sweep_request, common.command), command_take_program),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM as if on several machines, with several numbers of threads, and compare.\v"
	       "The number of threads is passed in OMP_NUM_THREADS and the like, and stands in the place of %t in "
	       "arguments. See dcpiemu(1).",
	.options = offsetof(struct emu_sweep_request, common.options),
	.child = &command_sweep_options,
	.child_offset = offsetof(struct emu_sweep_request, common),
	.in_order = true,
	.check = check,
};

static int
print(const struct emu_sweep_request *request, const struct sweep *sweep)
{
	const struct options *options = &request->common.options;
	struct output output;
	int err, closed;

	output_open(&output, options->color, options->pager && options->format == FORMAT_TEXT);
	if (options->format == FORMAT_JSON)
		err = sweep_print_json(sweep, output.stream);
	else if (options->format == FORMAT_CSV)
		err = sweep_print_csv(sweep, output.stream, options->header);
	else
		err = sweep_print_text(sweep, &output, options->header);
	closed = output_close(&output);
	err = err ? err : closed;
	return err ? message_cannot("standard output", "write the table", err, NULL) : STATUS_OK;
}

/* Points that were measured are shown also when a run failed. */
static int
run(const struct emu_sweep_request *request)
{
	struct sweep sweep = {
		.command = request->common.command,
		.plot = request->plot,
		.database = request->common.without_database ? NULL : request->common.options.directory,
	};
	int status = measure_points(request, &sweep), shown = STATUS_OK;

	if (sweep.count) {
		sweep_summarize(&sweep);
		shown = print(request, &sweep);
		if (!shown && sweep.plot)
			shown = sweep_plot(&sweep);
	}
	free(sweep.points);
	free(sweep.setups);
	if (sweep.asked)
		return exit_signals_raise(sweep.asked);
	return status ? status : shown;
}

/* Called before hours of runs: a picture that cannot be written is an error at once. */
static int
check_plot(const char *path)
{
	struct atomic_file file;
	int status = plot_check(path), err;

	if (status)
		return status;
	err = atomic_file_open(&file, path);
	if (err)
		return message_cannot(path, "write the plot", err, NULL);
	atomic_file_close(&file, -ECANCELED);
	return STATUS_OK;
}

int
sweep_main(int argc, char **argv)
{
	struct emu_sweep_request *request = calloc(1, sizeof(*request));
	int status;

	if (!request)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	setup_init(&request->common.setup, 1);
	request->runs = 1;
	status = command_line_read(&line, request, argc, argv);
	if (!status && request->plot)
		status = check_plot(request->plot);
	if (!status)
		status = run(request);
	options_fini(&request->common.options);
	free(request);
	return status;
}
