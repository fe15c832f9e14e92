/*
 * dcpix - exact counts of what a program executes
 *
 * Its options; how it runs and counts is in dcpi-tools/x/ and emulator/, and man/dcpix.1.scd describes it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run.h"
#include "dcpi-tools/x/bursts.h"
#include "dcpi-tools/x/counts_read.h"
#include "dcpi-tools/x/report.h"

#define PLUGIN_NAME "dcpi-counts.so"
#define ROOM_BYTES  (UINT64_C(64) << 20) /* that counts may take */

const char *argp_program_version = "dcpix " DCPI_VERSION;

struct x_request {
	struct options options;
	const char *label;
	const char *output;
	bool json;
	bool is_bursts;
	struct bursts_request bursts;
	char **command;
};

static void
take_pid(void *member, char *text, struct argp_state *state)
{
	*(pid_t *)member = (pid_t)options_whole(state, "--pid", text, 1, INT32_MAX);
}

static void
take_program(void *member, char *text, struct argp_state *state)
{
	(void)text; /* what follows is the program's */
	*(char ***)member = options_program(state);
}

static void
check(void *checked, struct argp_state *state)
{
	const struct x_request *request = checked;

	if (request->is_bursts ? !request->bursts.pid || request->command : !!request->bursts.pid)
		argp_error(state, "--bursts and --pid PID belong together, and take no program");
	if (!request->is_bursts && !request->command)
		argp_error(state, "which program? dcpix -- PROGRAM [ARGUMENT]...");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is counted:"),
	OPTION_NAME(1, "label", "LABEL", struct x_request, label, EPOCH_LABEL_SIZE - 1,
                    "Call the epoch and its processes LABEL (the epoch is called dcpix otherwise)"),
	OPTION_HEADING(2, "Where it is kept:"),
	OPTION_HEADING(3, "Of a process that cannot be run again:"),
	OPTION_TRUE(3, "bursts", 0, struct x_request, is_bursts,
                    "Sample what a process that runs executes, as event 'bursts'"),
	OPTION_CALL(3, "pid", 'p', "PID", offsetof(struct x_request, bursts.pid), take_pid, "That process"),
	OPTION_DOUBLE(3, "budget", "PERCENT", struct x_request, bursts.budget_percent, 0.1, 50,
                      "Slow a thread of it down by at most PERCENT (5)"),
	OPTION_DOUBLE(3, "seconds", "N", struct x_request, bursts.seconds, 0.1, 1e6,
                      "For N seconds (10), or until it ends"),
	OPTION_HEADING(4, "The report:"),
	OPTION_REPORT_JSON(4, struct x_request, json),
	OPTION_REPORT_FILE(4, struct x_request, output),
	OPTION_ARGUMENT(offsetof(struct x_request, command), take_program),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[--] PROGRAM [ARGUMENT]...\n--bursts --pid PID",
	.doc = "Run PROGRAM under an emulator and write how often each of its instructions was executed into a dcpi "
	       "profile database, as event 'executions'; or sample where control goes in a process that runs, as "
	       "event 'bursts'.\v"
	       "Output and exit status are PROGRAM's own; it is several times slower, and what is counted is exact. A "
	       "process that is sampled is slowed down by no more than its budget, and said by how much. See dcpix(1).",
	.shared = SHARED_DATABASE,
	.options = offsetof(struct x_request, options),
	.in_order = true,
	.check = check,
};

static int
print_report(const struct x_request *request, const struct x_report *report)
{
	FILE *stream = request->output ? fopen(request->output, "we") : stderr;
	int err;

	if (!stream)
		return message_cannot(request->output, "write the report", -errno, NULL);
	err = request->json ? x_report_print_json(report, stream) : x_report_print_text(report, stream);
	if (request->output && fclose(stream) != 0 && !err)
		err = -errno;
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

/* Add up what the run left, write it, say so. */
static int
keep_counts(const struct x_request *request, const struct emulated_run *run, struct counted *counted)
{
	const char *directory = request->options.directory, *label = request->label;
	struct counts_summary summary;
	struct x_report report = {.run = run, .counted = counted, .summary = &summary, .database = directory};
	char note[EVENT_NOTE_SIZE];
	struct event event;
	const struct counted_epoch description = {
		.label = label ? label : "dcpix",
		.start_ns = run->start_ns,
		.end_ns = run->end_ns,
		.events = &event,
		.event_count = 1,
	};
	int err;

	snprintf(note, sizeof(note), "exact, of one program run under %s by dcpix", text_basename(run->emulator));
	counted_describe_event(&event, "executions", "executions", note);
	err = counts_read(run->directory, label ? label : "", counted, &summary);
	if (err)
		return message_cannot(run->directory, "read the counts", err, NULL);
	if (summary.processes == 0) {
		message_print(NULL, "nothing was counted: the emulator did not start the program");
		return STATUS_FAILURE;
	}
	err = counted_write(counted, directory, &description, &report.epoch);
	return err ? database_cannot_write(directory, err) : print_report(request, &report);
}

static int
print_bursts(const struct x_request *request, const struct counted *counted, const struct bursts_summary *summary,
             uint32_t epoch)
{
	const char *directory = request->options.directory;
	FILE *stream = request->output ? fopen(request->output, "we") : stderr;
	int err;

	if (!stream)
		return message_cannot(request->output, "write the report", -errno, NULL);
	if (request->json)
		err = bursts_print_json(&request->bursts, summary, counted, directory, epoch, stream);
	else
		err = bursts_print_text(&request->bursts, summary, directory, epoch, stream);
	if (request->output && fclose(stream) != 0 && !err)
		err = -errno;
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

static int
keep_bursts(const struct x_request *request, struct counted *counted, const struct bursts_summary *summary)
{
	char note[EVENT_NOTE_SIZE];
	struct event event;
	const struct counted_epoch description = {
		.label = request->label ? request->label : "dcpix",
		.start_ns = summary->start_ns,
		.end_ns = summary->end_ns,
		.events = &event,
		.event_count = 1,
	};
	uint32_t epoch = 0;
	int err = 0;

	snprintf(note, sizeof(note), "steps of process %d, sampled by dcpix", (int)request->bursts.pid);
	counted_describe_event(&event, "bursts", "steps", note);
	if (summary->steps > 0)
		err = counted_write(counted, request->options.directory, &description, &epoch);
	if (err)
		return database_cannot_write(request->options.directory, err);
	err = print_bursts(request, counted, summary, epoch);
	if (!err && summary->steps == 0) {
		message_print(NULL, "nothing was counted: no thread of the process was found running");
		return STATUS_EMPTY;
	}
	return err;
}

static int
run_bursts(struct x_request *request)
{
	struct bursts_summary summary = {0};
	struct counted counted;
	int err, status;

	request->bursts.label = request->label ? request->label : "";
	err = counted_can_write(request->options.directory);
	if (err)
		return database_cannot_write(request->options.directory, err);
	err = counted_init(&counted);
	status = err ? message_cannot(NULL, "keep the counts", err, NULL)
	             : bursts_run(&request->bursts, &counted, &summary);
	if (!status)
		status = keep_bursts(request, &counted, &summary);
	counted_fini(&counted);
	return status;
}

static int
run(const struct x_request *request)
{
	const struct run_request run_request = {
		.command = request->command,
		.plugin = PLUGIN_NAME,
		.does = "dcpix counts",
		.instead = "dcpix --bursts counts any that runs natively",
		.room_bytes = ROOM_BYTES,
	};
	struct counted counted;
	struct emulated_run program;
	int err, status;

	err = counted_can_write(request->options.directory);
	if (err)
		return database_cannot_write(request->options.directory, err);
	status = run_program(&program, &run_request);
	if (status) {
		run_remove(&program);
		return status;
	}
	err = counted_init(&counted);
	status = err ? message_cannot(NULL, "keep the counts", err, NULL) : keep_counts(request, &program, &counted);
	counted_fini(&counted);
	run_remove(&program);
	return run_exit_status(&program, status);
}

int
main(int argc, char **argv)
{
	struct x_request request = {
		.bursts = {.budget_percent = BURSTS_BUDGET_PERCENT, .seconds = BURSTS_SECONDS},
	};
	struct guard guard;
	char *shown;
	int status = command_line_read(&line, &request, argc, argv);

	if (status)
		return status;
	shown = text_shown(request.options.directory);
	if (!shown)
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	guard = database_guard(shown);
	guard_enter(&guard);
	status = request.is_bursts ? run_bursts(&request) : run(&request);
	guard_leave(&guard);
	free(shown);
	return status;
}
