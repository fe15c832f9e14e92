/* dcpiemu run: its options, and what it does with them. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/emu/report.h"
#include "profile/epoch.h"

struct emu_run_request {
	struct command_request common;
	const char *machine, *output;
	unsigned threads; /* 0: as many as the machine has cores */
	bool json, by_process;
};

static void
take_threads(void *member, char *text, struct argp_state *state)
{
	*(unsigned *)member = (unsigned)options_whole(state, "--threads", text, 1, MACHINE_CORES_MAX);
}

static void
check(void *checked, struct argp_state *state)
{
	const struct emu_run_request *request = checked;

	if (!request->machine)
		argp_error(state, "as if on which machine? --machine NAME; 'dcpiemu machines' lists those described");
	if (!request->common.command)
		argp_error(state, "which program? dcpiemu run --machine NAME -- PROGRAM [ARGUMENT]...");
	if (request->common.without_database && request->common.label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "As if where:"),
	OPTION_TEXT(1, "machine", "NAME|FILE", struct emu_run_request, machine,
                    "On that machine ('dcpiemu machines' lists them)"),
	OPTION_CALL(1, "threads", 0, "N", offsetof(struct emu_run_request, threads), take_threads,
                    "The program sees N of its cores, and is told so (OMP_NUM_THREADS and the like, %t in arguments)"),
	OPTION_HEADING(2, "Where the profile is kept:"),
	OPTION_NAME(2, "label", "LABEL", struct emu_run_request, common.label, EPOCH_LABEL_SIZE - 1,
                    "Call the epoch and its processes LABEL (the epoch is called dcpiemu otherwise)"),
	OPTION_TRUE(2, "no-db", 0, struct emu_run_request, common.without_database, "Nowhere: only the report"),
	OPTION_HEADING(3, "The report:"),
	OPTION_TRUE(3, "processes", 0, struct emu_run_request, by_process, "A row for each process, too"),
	OPTION_REPORT_JSON(3, struct emu_run_request, json),
	OPTION_REPORT_FILE(3, struct emu_run_request, output),
	OPTION_TRUE(3, "quiet", 0, struct emu_run_request, common.is_quiet,
                    "No progress, and no report unless --output names a file"),
	OPTION_ARGUMENT(offsetof(struct emu_run_request, common.command), command_take_program),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM as if on another machine, and profile it there.\v"
	       "Output and exit status are PROGRAM's own. See dcpiemu(1).",
	.options = offsetof(struct emu_run_request, common.options),
	.child = &command_run_options,
	.child_offset = offsetof(struct emu_run_request, common),
	.in_order = true,
	.check = check,
};

/* Called before the program runs, for hours perhaps: a report that cannot be written is an error at once. */
static int
open_report(const struct emu_run_request *request, struct atomic_file *file)
{
	int err;

	*file = (struct atomic_file){.stream = stderr};
	if (!request->output)
		return STATUS_OK;
	err = atomic_file_open(file, request->output);
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

static int
print_report(const struct emu_run_request *request, const struct emulation_report *report, struct atomic_file *file)
{
	int err = 0;

	if (request->common.is_quiet && !request->output)
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
choose(const struct emu_run_request *request, struct setup *setup)
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
run(struct emu_run_request *request)
{
	struct setup *setup = &request->common.setup;
	const struct emulation_request emulation = {
		.setup = setup,
		.cpu = request->common.cpu,
		.prefix = request->common.prefix,
		.directory = request->common.without_database ? NULL : request->common.options.directory,
		.label = request->common.label,
		.command = request->common.command,
		.sets_threads = request->threads > 0,
		.is_quiet = request->common.is_quiet,
	};
	struct emulation_outcome outcome;
	const struct emulation_report report = {
		.setup = setup,
		.outcome = &outcome,
		.database = emulation.directory,
		.label = request->common.label,
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
	struct emu_run_request request = {0};
	int status;

	setup_init(&request.common.setup, 1);
	status = command_line_read(&line, &request, argc, argv);
	if (!status)
		status = run(&request);
	options_fini(&request.common.options);
	return status;
}
