/*
 * dcpix - exact counts of what a program executes
 *
 * Its options; how it runs and counts is in dcpi-tools/x/ and emulator/, and man/dcpix.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/x/bursts.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/x/counts_read.h"
#include "dcpi-tools/x/report.h"
#include "dcpi-tools/emulated/run.h"

#define PLUGIN_NAME "dcpi-counts.so"
#define ROOM_BYTES  (UINT64_C(64) << 20) /* that counts may take */

const char *argp_program_version = "dcpix " DCPI_VERSION;

enum x_key {
	KEY_LABEL = 1,
	KEY_JSON,
	KEY_OUTPUT,
	KEY_BURSTS,
	KEY_BUDGET,
	KEY_SECONDS,
};

struct x_request {
	struct options options;
	const char *label;
	const char *output;
	bool json;
	bool is_bursts;
	struct bursts_request bursts;
	char **command;
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is counted:", 1},
	{"label", KEY_LABEL, "LABEL", 0, "Call the epoch and its processes LABEL (the epoch is called dcpix otherwise)",
         1},
	{NULL, 0, NULL, 0, "Where it is kept:", 2},
	{NULL, 0, NULL, 0, "Of a process that cannot be run again:", 3},
	{"bursts", KEY_BURSTS, NULL, 0, "Sample what a process that runs executes, as event 'bursts'", 3},
	{"pid", 'p', "PID", 0, "That process", 3},
	{"budget", KEY_BUDGET, "PERCENT", 0, "Slow a thread of it down by at most PERCENT (5)", 3},
	{"seconds", KEY_SECONDS, "N", 0, "For N seconds (10), or until it ends", 3},
	{NULL, 0, NULL, 0, "The report:", 4},
	{"json", KEY_JSON, NULL, 0, "Print it as JSON", 4},
	{"output", KEY_OUTPUT, "FILE", 0, "Write it to FILE, not to standard error", 4},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{0},
};

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct x_request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &request->options;
		return 0;
	case KEY_LABEL:
		request->label = options_label(state, text, EPOCH_LABEL_SIZE - 1);
		return 0;
	case KEY_JSON:
		request->json = true;
		return 0;
	case KEY_OUTPUT:
		request->output = text;
		return 0;
	case KEY_BURSTS:
		request->is_bursts = true;
		return 0;
	case 'p':
		request->bursts.pid = (pid_t)options_whole(state, "--pid", text, 1, INT32_MAX);
		return 0;
	case KEY_BUDGET:
		request->bursts.budget_percent = options_number(state, "--budget", text, 0.1, 50);
		return 0;
	case KEY_SECONDS:
		request->bursts.seconds = options_number(state, "--seconds", text, 0.1, 1e6);
		return 0;
	case ARGP_KEY_ARG: /* what follows is the program's */
		request->command = options_program(state);
		return 0;
	case ARGP_KEY_END:
		if (request->is_bursts ? !request->bursts.pid || request->command : !!request->bursts.pid)
			argp_error(state, "--bursts and --pid PID belong together, and take no program");
		if (!request->is_bursts && !request->command)
			argp_error(state, "which program? dcpix -- PROGRAM [ARGUMENT]...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[--] PROGRAM [ARGUMENT]...\n--bursts --pid PID",
	.doc = "Run PROGRAM under an emulator and write how often each of its instructions was executed into a dcpi "
	       "profile database, as event 'executions'; or sample where control goes in a process that runs, as "
	       "event 'bursts'.\v"
	       "Output and exit status are PROGRAM's own; it is several times slower, and what is counted is exact. A "
	       "process that is sampled is slowed down by no more than its budget, and said by how much. See dcpix(1).",
	.children = children,
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
	struct guard guard = {
		.claim = "the database is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	int status;

	text_init();
	options_init(&request.options);
	status = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request);
	if (status)
		return message_cannot(NULL, "read the command line", -status, NULL);
	guard.subject = text_shown(request.options.directory);
	if (!guard.subject)
		return message_cannot(NULL, "start", -ENOMEM, NULL);
	guard_enter(&guard);
	status = request.is_bursts ? run_bursts(&request) : run(&request);
	guard_leave(&guard);
	return status;
}
