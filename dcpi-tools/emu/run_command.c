/* dcpiemu run: its options, and what it does with them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/emu/model_options.h"
#include "dcpi-tools/emu/report.h"
#include "profile/epoch.h"

enum run_key {
	KEY_MACHINE = 1,
	KEY_THREADS,
	KEY_LABEL,
	KEY_NO_DB,
	KEY_JSON,
	KEY_OUTPUT,
	KEY_PROCESSES,
	KEY_QUIET,
};

struct emu_request {
	struct options options;
	struct model_options model;
	const char *machine, *label, *output;
	unsigned threads; /* 0: as many as the machine has cores */
	bool without_database, json, by_process, is_quiet;
	char **command;
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "As if where:", 1},
	{"machine", KEY_MACHINE, "NAME|FILE", 0, "On that machine ('dcpiemu machines' lists them)", 1},
	{"threads", KEY_THREADS, "N", 0,
         "The program sees N of its cores, and is told so (OMP_NUM_THREADS and the like, %t in arguments)", 1},
	{NULL, 0, NULL, 0, "Where the profile is kept:", 2},
	{"label", KEY_LABEL, "LABEL", 0,
         "Call the epoch and its processes LABEL (the epoch is called dcpiemu otherwise)", 2},
	{"no-db", KEY_NO_DB, NULL, 0, "Nowhere: only the report", 2},
	{NULL, 0, NULL, 0, "The report:", 3},
	{"processes", KEY_PROCESSES, NULL, 0, "A row for each process, too", 3},
	{"json", KEY_JSON, NULL, 0, "Print it as JSON", 3},
	{"output", KEY_OUTPUT, "FILE", 0, "Write it to FILE, not to standard error", 3},
	{"quiet", KEY_QUIET, NULL, 0, "No progress, and no report unless --output names a file", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 2},
	{&model_options_argp, 0, NULL, 0},
	{0},
};

static void
check(const struct argp_state *state, const struct emu_request *request)
{
	if (!request->machine)
		argp_error(state, "as if on which machine? --machine NAME; 'dcpiemu machines' lists those described");
	if (!request->command)
		argp_error(state, "which program? dcpiemu run --machine NAME -- PROGRAM [ARGUMENT]...");
	if (request->without_database && request->label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct emu_request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &request->options;
		state->child_inputs[1] = &request->model;
		return 0;
	case KEY_MACHINE:
		request->machine = text;
		return 0;
	case KEY_THREADS:
		request->threads = (unsigned)options_whole(state, "--threads", text, 1, MACHINE_CORES_MAX);
		return 0;
	case KEY_LABEL:
		request->label = options_label(state, text, EPOCH_LABEL_SIZE - 1);
		return 0;
	case KEY_NO_DB:
		request->without_database = true;
		return 0;
	case KEY_JSON:
		request->json = true;
		return 0;
	case KEY_OUTPUT:
		request->output = text;
		return 0;
	case KEY_PROCESSES:
		request->by_process = true;
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
	.doc = "Run PROGRAM as if on another machine, and profile it there.\v"
	       "Output and exit status are PROGRAM's own. See dcpiemu(1).",
	.children = children,
};

/* Before the program runs, for hours perhaps: who cannot write the report should be told at once. */
static int
open_report(const struct emu_request *request, struct atomic_file *file)
{
	int err;

	*file = (struct atomic_file){.stream = stderr};
	if (!request->output)
		return STATUS_OK;
	err = atomic_file_open(file, request->output);
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

static int
print_report(const struct emu_request *request, const struct emulation_report *report, struct atomic_file *file)
{
	int err = 0;

	if (request->is_quiet && !request->output)
		return STATUS_OK;
	if (!report->outcome->has_run)
		err = -ECANCELED;
	else if (request->json)
		err = emulation_report_json(report, file->stream);
	else
		err = emulation_report_text(report, file->stream);
	if (request->output)
		err = atomic_file_close(file, err);
	if (!err || !report->outcome->has_run)
		return STATUS_OK;
	return message_cannot(request->output ? request->output : "standard error", "write the report", err, NULL);
}

static int
choose(const struct emu_request *request, struct setup *setup)
{
	int status = command_choose_machine(request->machine, setup);

	if (status)
		return status;
	setup->threads = request->threads ? request->threads : setup->machine.cores;
	if (setup->threads <= setup->machine.cores)
		return STATUS_OK;
	message_print(request->machine, "it has %u core%s: --threads takes 1 to %u", setup->machine.cores,
	              text_plural(setup->machine.cores), setup->machine.cores);
	return STATUS_USAGE;
}

static int
run(struct emu_request *request)
{
	struct setup *setup = &request->model.setup;
	const struct emulation_request emulation = {
		.setup = setup,
		.cpu = request->model.cpu,
		.prefix = request->model.prefix,
		.directory = request->without_database ? NULL : request->options.directory,
		.label = request->label,
		.command = request->command,
		.sets_threads = request->threads > 0,
		.is_quiet = request->is_quiet,
	};
	struct emulation_outcome outcome;
	const struct emulation_report report = {
		.setup = setup,
		.outcome = &outcome,
		.database = emulation.directory,
		.label = request->label,
		.by_process = request->by_process,
	};
	struct atomic_file file;
	int status = choose(request, setup), printed;

	if (!status)
		status = open_report(request, &file);
	if (status)
		return status;
	status = emulation_run(&emulation, &outcome);
	printed = print_report(request, &report, &file);
	if (outcome.counters.count || outcome.run.asked)
		status = run_exit_status(&outcome.run, status ? status : printed);
	emulation_fini(&outcome);
	return status;
}

int
run_main(int argc, char **argv)
{
	struct emu_request request = {0};
	int status;

	options_init(&request.options);
	model_options_init(&request.model);
	status = command_parse(&argp, argc, argv, &request);
	if (!status)
		status = run(&request);
	options_fini(&request.options);
	return status;
}
