/* dcpiemu sweep: its options, and what it does with them. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/plot.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/emu/model_options.h"
#include "dcpi-tools/emu/report.h"
#include "dcpi-tools/emu/sweep.h"
#include "dcpi-tools/emu/thread_list.h"

#define LABEL_MAX 20 /* the rest is a machine's name and a number */

enum key {
	KEY_MACHINE = 1,
	KEY_THREADS,
	KEY_RUNS,
	KEY_PLOT,
	KEY_LABEL,
	KEY_NO_DB,
	KEY_SHOW_OUTPUT,
	KEY_QUIET,
};

struct request {
	struct options options;
	struct model_options model;
	const char *machines[SWEEP_MACHINES_MAX];
	size_t machine_count;
	struct thread_list threads;
	bool has_threads, without_database, shows_output, is_quiet;
	unsigned runs;
	const char *plot, *label;
	char **command;
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "As if where:", 1},
	{"machine", KEY_MACHINE, "NAME|FILE", 0, "On that machine, and others named so, one after the other", 1},
	{"threads", KEY_THREADS, "LIST", 0,
         "With so many threads (1..18 or 1,2,4..8; 1.. up to the machine's cores), one after the other", 1},
	{"runs", KEY_RUNS, "N", 0, "Each N times (1)", 1},
	{NULL, 0, NULL, 0, "Where the profiles are kept:", 2},
	{"label", KEY_LABEL, "LABEL", 0, "Call the epochs LABEL/MACHINE/THREADS (MACHINE/THREADS otherwise)", 2},
	{"no-db", KEY_NO_DB, NULL, 0, "Nowhere", 2},
	{NULL, 0, NULL, 0, "The curves:", 3},
	{"plot", KEY_PLOT, "FILE", 0, "Draw throughput over threads into FILE: .svg, .png, .pdf or .gnuplot", 3},
	{"show-output", KEY_SHOW_OUTPUT, NULL, 0, "What the program prints is not thrown away", 3},
	{"quiet", KEY_QUIET, NULL, 0, "No progress", 3},
	{NULL, 0, NULL, 0, "The table:", 4},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 2},
	{&options_output, 0, NULL, 4},
	{&options_table, 0, NULL, 4},
	{&model_options_argp, 0, NULL, 0},
	{0},
};

static void
take_machine(const struct argp_state *state, struct request *request, const char *text)
{
	if (request->machine_count == SWEEP_MACHINES_MAX)
		argp_error(state, "--machine can be given %d times at most", SWEEP_MACHINES_MAX);
	request->machines[request->machine_count++] = text;
}

static void
take_threads(const struct argp_state *state, struct request *request, const char *text)
{
	if (thread_list_parse(text, &request->threads) < 0)
		argp_error(state, "--threads takes numbers from 1 to %d and ranges of them: 1..18 or 1,2,4..8",
		           MACHINE_CORES_MAX);
	request->has_threads = true;
}

static void
check(const struct argp_state *state, const struct request *request)
{
	if (request->machine_count == 0)
		argp_error(state, "as if on which machines? --machine NAME; 'dcpiemu machines' lists those described");
	if (!request->has_threads)
		argp_error(state, "with how many threads? --threads 1..18");
	if (!request->command)
		argp_error(state, "which program? dcpiemu sweep --machine NAME --threads 1..18 -- PROGRAM "
		                  "[ARGUMENT]...");
	if (request->without_database && request->label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
	if (!(request->model.setup.parts & SETUP_CLOCK))
		argp_error(state, "a sweep compares times: it needs the clock in --model");
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; i < 3; i++)
			state->child_inputs[i] = &request->options;
		state->child_inputs[3] = &request->model;
		return 0;
	case KEY_MACHINE:
		take_machine(state, request, text);
		return 0;
	case KEY_THREADS:
		take_threads(state, request, text);
		return 0;
	case KEY_RUNS:
		request->runs = (unsigned)options_number(state, "--runs", text, 1, SWEEP_RUNS_MAX);
		return 0;
	case KEY_PLOT:
		request->plot = text;
		return 0;
	case KEY_LABEL:
		if (!*text || strlen(text) > LABEL_MAX)
			argp_error(state, "--label takes 1 to %d bytes", LABEL_MAX);
		request->label = text;
		return 0;
	case KEY_NO_DB:
		request->without_database = true;
		return 0;
	case KEY_SHOW_OUTPUT:
		request->shows_output = true;
		return 0;
	case KEY_QUIET:
		request->is_quiet = true;
		return 0;
	case ARGP_KEY_ARG: /* what follows is the program's */
		request->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check(state, request);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM as if on several machines, with several numbers of threads, and compare.\v"
	       "The number of threads is told in OMP_NUM_THREADS and the like, and stands in the place of %t in "
	       "arguments. See dcpiemu(1).",
	.children = children,
};

/* All machines that are swept, and the points that are to be found. */
struct course {
	struct request *request;
	struct setup *setups; /* by machine */
	struct sweep sweep;
	size_t planned;
};

static int
choose_machines(struct course *course)
{
	const struct request *request = course->request;
	int status = STATUS_OK;

	course->setups = calloc(request->machine_count, sizeof(*course->setups));
	if (!course->setups)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count && !status; i++) {
		course->setups[i] = request->model.setup;
		status = command_choose_machine(request->machines[i], &course->setups[i]);
	}
	return status;
}

static void
plan_machine(struct course *course, const struct setup *setup)
{
	const struct request *request = course->request;
	const struct machine *machine = &setup->machine;

	for (unsigned threads = 1; threads <= machine->cores; threads++) {
		struct sweep_point *point = &course->sweep.points[course->planned];

		if (!request->threads.wanted[threads])
			continue;
		*point = (struct sweep_point){.machine = machine, .threads = threads};
		snprintf(point->label, sizeof(point->label), "%s%s%s/%u", request->label ? request->label : "",
		         request->label ? "/" : "", machine->name, threads);
		course->planned++;
	}
	if (request->threads.most > machine->cores)
		message_print(machine->name, "it has %u cores: more threads than that are left out", machine->cores);
}

static int
plan(struct course *course)
{
	const struct request *request = course->request;
	size_t most = 0;

	for (size_t i = 0; i < request->machine_count; i++)
		most += course->setups[i].machine.cores;
	course->sweep.points = calloc(most, sizeof(*course->sweep.points));
	if (!course->sweep.points)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count; i++)
		plan_machine(course, &course->setups[i]);
	if (course->planned == 0)
		message_print(NULL, "no machine has so many cores");
	return course->planned ? STATUS_OK : STATUS_USAGE;
}

static const struct setup *
setup_of(const struct course *course, const struct sweep_point *point)
{
	size_t i = 0;

	while (&course->setups[i].machine != point->machine)
		i++;
	return &course->setups[i];
}

/* What a run found. Only one that ended well has a time to compare. */
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
	point->host_seconds += emulation_host_seconds(outcome);
	point->cores_busy = report_cores_busy(&report);
	point->bandwidth = 0;
	for (unsigned i = 0; i < setup->machine.nodes; i++)
		point->bandwidth += report_bandwidth(&report, i);
	point->limit = report_bandwidth_limit(&report) * setup->machine.nodes;
	point->epoch = outcome->epoch;
	return STATUS_OK;
}

static int
run_once(const struct course *course, struct sweep_point *point, struct setup *setup)
{
	const struct request *request = course->request;
	char title[128];
	const struct emulation_request emulation = {
		.setup = setup,
		.cpu = request->model.cpu,
		.prefix = request->model.prefix,
		.directory = course->sweep.database,
		.label = point->label,
		.title = title,
		.command = request->command,
		.sets_threads = true,
		.is_quiet = request->is_quiet,
		.is_silent = !request->shows_output,
	};
	struct emulation_outcome outcome;
	int status;

	snprintf(title, sizeof(title), "%s (%zu of %zu)", point->label, (size_t)(point - course->sweep.points) + 1,
	         course->planned);
	status = emulation_run(&emulation, &outcome);
	if (!status)
		status = take_outcome(point, setup, &outcome);
	emulation_fini(&outcome);
	return status;
}

static int
run_all(struct course *course)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < course->planned && !status; i++) {
		struct sweep_point *point = &course->sweep.points[i];
		struct setup *setup = malloc(sizeof(*setup));

		if (!setup)
			return message_cannot(NULL, "begin", -ENOMEM, NULL);
		*setup = *setup_of(course, point);
		setup->threads = point->threads;
		for (unsigned run = 0; run < course->request->runs && !status; run++) {
			setup->seed = course->request->model.setup.seed + run;
			status = run_once(course, point, setup);
		}
		free(setup);
		if (point->runs)
			course->sweep.count = i + 1;
	}
	return status;
}

static int
print(const struct course *course)
{
	const struct options *options = &course->request->options;
	const struct sweep *sweep = &course->sweep;
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

/* What there is, is shown, also when a run failed. */
static int
sweep_all(struct course *course)
{
	int status = choose_machines(course), shown = STATUS_OK;

	if (!status)
		status = plan(course);
	if (!status)
		status = run_all(course);
	if (course->sweep.count) {
		sweep_settle(&course->sweep);
		shown = print(course);
		if (!shown && course->sweep.plot)
			shown = sweep_plot(&course->sweep);
	}
	free(course->sweep.points);
	free(course->setups);
	return status ? status : shown;
}

int
sweep_main(int argc, char **argv)
{
	struct request *request = calloc(1, sizeof(*request));
	struct course course = {.request = request};
	int status;

	if (!request)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	options_init(&request->options);
	model_options_init(&request->model);
	request->runs = 1;
	status = command_parse(&argp, argc, argv, request);
	course.sweep.command = request->command;
	course.sweep.plot = request->plot;
	course.sweep.database = request->without_database ? NULL : request->options.directory;
	if (!status && request->plot)
		status = plot_check(request->plot);
	if (!status)
		status = sweep_all(&course);
	options_fini(&request->options);
	free(request);
	return status;
}
