/*
 * dcpix - exact counts of what a program executes: man/dcpix.1.scd
 *
 * Its options and its report; how it runs and counts is in dcpi-tools/x/ and emulator/.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run.h"
#include "dcpi-tools/x/bursts.h"
#include "dcpi-tools/x/counts_read.h"

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

/* ---- the report ---- */

struct x_report {
	const struct x_request *request;
	const struct counted *counted;
	const struct emulated_run *run; /* these two of a program that was run, */
	const struct counts_summary *summary;
	const struct bursts_summary *bursts; /* this one of a process that was sampled; NULL: the others */
	uint32_t epoch;                      /* 0: nothing was counted */
};

/* Instructions a second: how fast the emulator was. */
static double
speed_of(const struct x_report *report)
{
	const double seconds = run_seconds(report->run);

	return seconds > 0 ? (double)report->counted->totals[0] / seconds : 0;
}

static void
print_missing(const struct x_report *report, FILE *stream)
{
	const struct counts_summary *summary = report->summary;
	const struct counted *counted = report->counted;

	if (counted->anonymous[0])
		fprintf(stream,
		        "dcpix: %" PRIu64 " of them (%.2f %%) were in code without a file, or that its file does not "
		        "have, and have no place\n",
		        counted->anonymous[0], summary_percent(counted->anonymous[0], counted->totals[0]));
	if (summary->unfollowed)
		fprintf(stream, "dcpix: %" PRIu64 " program%s could not be followed, and %s not counted\n",
		        summary->unfollowed, summary->unfollowed == 1 ? " that was started" : "s that were started",
		        summary->unfollowed == 1 ? "is" : "are");
	if (summary->running)
		fprintf(stream, "dcpix: %" PRIu64 " %s from now on is not counted\n", summary->running,
		        summary->running == 1 ? "process still runs; what it does"
		                              : "processes still run; what they do");
	if (summary->uncounted)
		fprintf(stream, "dcpix: %" PRIu64 " block%s of instructions found no room, and %s not counted\n",
		        summary->uncounted, text_plural(summary->uncounted), summary->uncounted == 1 ? "is" : "are");
	if (summary->damaged)
		fprintf(stream, "dcpix: the counts of %" PRIu64 " %s were damaged and are incomplete\n",
		        summary->damaged, summary->damaged == 1 ? "process" : "processes");
}

static void
print_run(const struct x_report *report, FILE *stream)
{
	const uint32_t images = image_table_count(report->counted->images);

	fprintf(stream,
	        "dcpix: %" PRIu64 " instructions, %" PRIu64 " %s, %" PRIu32
	        " image%s, %zu edge%s; %.2f s, %.0f million instructions/s\n",
	        report->counted->totals[0], report->summary->processes,
	        report->summary->processes == 1 ? "process" : "processes", images, text_plural(images),
	        report->counted->edges.count, text_plural(report->counted->edges.count), run_seconds(report->run),
	        speed_of(report) / 1e6);
	print_missing(report, stream);
}

static json_t *
run_json(const struct x_report *report)
{
	const struct counts_summary *summary = report->summary;
	const struct counted *counted = report->counted;
	const int status = report->run->status;

	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:{s:i}}", "schema",
		"dcpix/1", "database", json_shown(report->request->options.directory), "epoch",
		json_count(report->epoch), "event", "executions", "instructions", json_count(counted->totals[0]),
		"without_file", json_count(counted->anonymous[0]), "uncounted_blocks", json_count(summary->uncounted),
		"processes", json_count(summary->processes), "still_running", json_count(summary->running),
		"not_followed", json_count(summary->unfollowed), "damaged", json_count(summary->damaged), "images",
		json_count(image_table_count(counted->images)), "edges", json_count(counted->edges.count), "seconds",
		run_seconds(report->run), "instructions_per_second", speed_of(report), "program",
		WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static double
step_us(const struct bursts_summary *bursts)
{
	return bursts->steps ? (double)bursts->stopped_ns / 1e3 / (double)bursts->steps : 0;
}

static void
print_bursts(const struct x_report *report, FILE *stream)
{
	const struct bursts_summary *bursts = report->bursts;

	fprintf(stream, "dcpix: %" PRIu64 " bursts, %" PRIu64 " steps of ", bursts->bursts, bursts->steps);
	text_print(bursts->comm, stream);
	fprintf(stream, " (process %d) in %.1f s%s\n", (int)report->request->bursts.pid,
	        (double)bursts->elapsed_ns / (double)SECOND_NS, bursts->has_ended ? ", when it ended" : "");
	fprintf(stream,
	        "dcpix: a thread stood still for %.2f %% of the time, %.1f us a step; dcpix ran for %.2f %% (limit of "
	        "both %g %%)\n",
	        summary_percent(bursts->stopped_ns, bursts->elapsed_ns), step_us(bursts),
	        summary_percent(bursts->own_ns, bursts->elapsed_ns), report->request->bursts.budget_percent);
	if (bursts->asleep || bursts->in_call)
		fprintf(stream,
		        "dcpix: of %" PRIu64 " moments, no thread was running at %" PRIu64
		        ", and it entered the kernel at %" PRIu64 "\n",
		        bursts->moments, bursts->asleep, bursts->in_call);
}

static json_t *
bursts_json(const struct x_report *report)
{
	const struct bursts_request *request = &report->request->bursts;
	const struct bursts_summary *bursts = report->bursts;
	json_t *ends = json_pack(
		"{s:o, s:o, s:o, s:o, s:o}", "steps", json_count(bursts->ends[REPLICA_END_STEPS]), "time",
		json_count(bursts->ends[REPLICA_END_TIME]), "call", json_count(bursts->ends[REPLICA_END_CALL]), "fault",
		json_count(bursts->ends[REPLICA_END_FAULT]), "vectors", json_count(bursts->ends[REPLICA_END_VECTORS]));

	return json_pack(
		"{s:s, s:o, s:o, s:s, s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f}",
		"schema", "dcpix/1", "database", json_shown(report->request->options.directory), "epoch",
		report->epoch ? json_count(report->epoch) : json_null(), "event", "bursts", "process",
		(int)request->pid, "comm", json_shown(bursts->comm), "ended", bursts->has_ended, "moments",
		json_count(bursts->moments), "asleep", json_count(bursts->asleep), "in_call",
		json_count(bursts->in_call), "bursts", json_count(bursts->bursts), "steps", json_count(bursts->steps),
		"ends", ends, "without_file", json_count(report->counted->anonymous[0]), "edges",
		json_count(report->counted->edges.count), "seconds", (double)bursts->elapsed_ns / (double)SECOND_NS,
		"stopped_percent", summary_percent(bursts->stopped_ns, bursts->elapsed_ns), "own_percent",
		summary_percent(bursts->own_ns, bursts->elapsed_ns), "budget_percent", request->budget_percent,
		"step_us", step_us(bursts));
}

/* An exit status. */
static int
print_report(const struct x_report *report)
{
	const struct x_request *request = report->request;
	FILE *stream = request->output ? fopen(request->output, "we") : stderr;
	int err = 0;

	if (!stream)
		return message_cannot(request->output, "write the report", -errno, NULL);
	if (request->json) {
		err = json_print(report->bursts ? bursts_json(report) : run_json(report), stream);
	} else {
		if (report->bursts)
			print_bursts(report, stream);
		else
			print_run(report, stream);
		if (report->epoch) {
			fprintf(stream, "dcpix: epoch %" PRIu32 " of ", report->epoch);
			text_print(request->options.directory, stream);
			fprintf(stream, ", event %s\n", report->bursts ? "bursts" : "executions");
		}
		err = fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
	}
	if (request->output && fclose(stream) != 0 && !err)
		err = -errno;
	return err ? message_cannot(request->output, "write the report", err, NULL) : STATUS_OK;
}

/* ---- a program, run and counted ---- */

/* Add up what the run left, write it, say so. */
static int
keep_counts(const struct x_request *request, const struct emulated_run *run, struct counted *counted)
{
	const char *directory = request->options.directory, *label = request->label;
	struct counts_summary summary;
	struct x_report report = {.request = request, .counted = counted, .run = run, .summary = &summary};
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
	return err ? database_cannot_write(directory, err) : print_report(&report);
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

/* ---- a process that runs, sampled ---- */

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
	struct x_report report = {.request = request, .counted = counted, .bursts = summary};
	int err = 0;

	snprintf(note, sizeof(note), "steps of process %d, sampled by dcpix", (int)request->bursts.pid);
	counted_describe_event(&event, "bursts", "steps", note);
	if (summary->steps > 0)
		err = counted_write(counted, request->options.directory, &description, &report.epoch);
	if (err)
		return database_cannot_write(request->options.directory, err);
	err = print_report(&report);
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
