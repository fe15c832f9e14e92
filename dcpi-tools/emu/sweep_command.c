/* dcpiemu sweep: its options, and what it does with them. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/sweep_run.h"

#define LABEL_MAX 20 /* the rest is a machine's name and a number */

enum sweep_key {
	KEY_MACHINE = 1,
	KEY_THREADS,
	KEY_RUNS,
	KEY_PLOT,
	KEY_LABEL,
	KEY_NO_DB,
	KEY_SHOW_OUTPUT,
	KEY_QUIET,
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
take_machine(const struct argp_state *state, struct sweep_request *request, const char *text)
{
	if (request->machine_count == SWEEP_MACHINES_MAX)
		argp_error(state, "--machine can be given %d times at most", SWEEP_MACHINES_MAX);
	request->machines[request->machine_count++] = text;
}

static void
take_threads(const struct argp_state *state, struct sweep_request *request, const char *text)
{
	if (thread_list_parse(text, &request->threads) < 0)
		argp_error(state, "--threads takes numbers from 1 to %d and ranges of them: 1..18 or 1,2,4..8",
		           MACHINE_CORES_MAX);
	request->has_threads = true;
}

static void
check(const struct argp_state *state, const struct sweep_request *request)
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
	struct sweep_request *request = state->input;

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
		request->runs = (unsigned)options_whole(state, "--runs", text, 1, SWEEP_RUNS_MAX);
		return 0;
	case KEY_PLOT:
		request->plot = text;
		return 0;
	case KEY_LABEL:
		request->label = options_label(state, text, LABEL_MAX);
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
		request->command = options_program(state);
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

static int
print(const struct sweep_request *request, const struct sweep *sweep)
{
	const struct options *options = &request->options;
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
run(const struct sweep_request *request)
{
	struct sweep sweep = {
		.command = request->command,
		.plot = request->plot,
		.database = request->without_database ? NULL : request->options.directory,
	};
	int status = sweep_run(request, &sweep), shown = STATUS_OK;

	if (sweep.count) {
		sweep_settle(&sweep);
		shown = print(request, &sweep);
		if (!shown && sweep.plot)
			shown = sweep_plot(&sweep);
	}
	sweep_run_fini(&sweep);
	if (sweep.asked)
		return exit_signals_raise(sweep.asked);
	return status ? status : shown;
}

/* Before hours of runs. */
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
	struct sweep_request *request = calloc(1, sizeof(*request));
	int status;

	if (!request)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	options_init(&request->options);
	model_options_init(&request->model);
	request->runs = 1;
	status = command_parse(&argp, argc, argv, request);
	if (!status && request->plot)
		status = check_plot(request->plot);
	if (!status)
		status = run(request);
	options_fini(&request->options);
	free(request);
	return status;
}
