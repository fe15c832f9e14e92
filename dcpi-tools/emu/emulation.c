#include "dcpi-tools/emu/emulation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulated_profile.h"
#include "dcpi-tools/emu/report.h"
#include "dcpi-tools/emulated/counted.h"
#include "profile/epoch.h"

#define PLUGIN_NAME "dcpi-timing.so"
#define ROOM_BYTES  (UINT64_C(128) << 20) /* that must be free for the record, and some for each core */
#define CORE_BYTES  (UINT64_C(8) << 20)
#define SECOND_NS   1e9
#define PROGRESS_NS UINT64_C(1000000000) /* between two lines of progress */
#define DAMAGED     "the record of the run is damaged: the program wrote over it"

/* For the callbacks of run_program(). */
struct emulation_progress {
	const struct emulation_request *request;
	char directory[PATH_MAX];
	bool is_wanted, is_shown; /* a line of progress */
	uint64_t shown_ns;        /* when it was written last */
};

static int
prepare(void *context, const char *directory)
{
	struct emulation_progress *progress = context;
	const struct emulation_watch *watch = progress->request->watch;
	int err = setup_write(progress->request->setup, directory);

	snprintf(progress->directory, sizeof(progress->directory), "%s", directory);
	if (!err && watch && watch->prepare)
		return watch->prepare(watch->context, directory);
	return err ? message_cannot(directory, "write the model's setup there", err, "TMPDIR names another place")
	           : STATUS_OK;
}

static int
begin(void *context)
{
	const struct emulation_progress *progress = context;
	const struct emulation_request *request = progress->request;
	int err = request->sets_threads ? thread_count_announce(request->setup->threads) : 0;

	if (err)
		return message_cannot(NULL, "set the number of threads", err, NULL);
	return request->watch && request->watch->begin ? request->watch->begin(request->watch->context) : STATUS_OK;
}

static void
show_progress(void *context, uint64_t elapsed_ns)
{
	struct emulation_progress *progress = context;
	const struct emulation_request *request = progress->request;
	const struct machine *machine = &request->setup->machine;
	const double there = (double)counters_elapsed(progress->directory) / (machine->clock_mhz * 1e6);
	const double here = (double)elapsed_ns / SECOND_NS;
	char *title = text_shown(request->title ? request->title : machine->name);

	fprintf(stderr, "\r\033[K%s: %s: %.3f s in %.0f s here", program_invocation_short_name, title ? title : "?",
	        there, here);
	free(title);
	if (there > 0)
		fprintf(stderr, ", %.1f times as long", here / there);
	progress->is_shown = true;
}

static bool
polls(const struct emulation_request *request)
{
	return request->watch && request->watch->poll;
}

static void
tick(void *context, uint64_t elapsed_ns)
{
	struct emulation_progress *progress = context;
	const struct emulation_watch *watch = progress->request->watch;

	if (polls(progress->request))
		watch->poll(watch->context);
	if (!progress->is_wanted || elapsed_ns - progress->shown_ns < PROGRESS_NS)
		return;
	progress->shown_ns = elapsed_ns;
	show_progress(progress, elapsed_ns);
}

static int
run_command(const struct emulation_request *request, char *const *command, struct emulated_run *run)
{
	struct emulation_progress progress = {
		.request = request,
		.is_wanted = !request->is_quiet && request->setup->parts & SETUP_CLOCK && isatty(STDERR_FILENO) == 1,
	};
	char seed[32];
	const struct run_request run_request = {
		.command = command,
		.plugin = PLUGIN_NAME,
		.does = "dcpiemu emulates",
		.cpu = request->cpu,
		.prefix = request->prefix,
		.seed = seed,
		.room_bytes = ROOM_BYTES + request->setup->threads * CORE_BYTES,
		.prepare = prepare,
		.begin = begin,
		.tick = progress.is_wanted || polls(request) ? tick : NULL,
		.tick_ns = polls(request) ? request->watch->poll_ns : PROGRESS_NS,
		.context = &progress,
		.is_quiet = request->is_silent,
		.mask = request->mask,
	};
	int status;

	snprintf(seed, sizeof(seed), "%" PRIu64, request->setup->seed);
	status = run_program(run, &run_request);
	if (progress.is_shown)
		fputs("\r\033[K", stderr);
	return status;
}

static int
write_profile(const struct emulation_request *request, struct emulation_outcome *outcome)
{
	const struct emulated_profile profile = {
		.setup = request->setup,
		.records = outcome->run.directory,
		.label = request->label,
		.start_ns = outcome->run.start_ns,
		.end_ns = outcome->run.end_ns,
		.memory = request->watch ? request->watch->memory : NULL,
	};
	int err = emulated_profile_write(&profile, request->directory, &outcome->epoch);

	if (err == -DCPI_EDAMAGED) {
		message_print(NULL, DAMAGED);
		return STATUS_FAILURE;
	}
	return err ? database_cannot_write(request->directory, err) : STATUS_OK;
}

static int
keep(const struct emulation_request *request, struct emulation_outcome *outcome)
{
	int err = counters_read(outcome->run.directory, &outcome->counters);

	if (!err)
		err = executed_read(outcome->run.directory, &outcome->executed);
	if (err)
		return message_cannot(outcome->run.directory, "read what was counted", err, NULL);
	outcome->has_run = outcome->executed.instructions > 0 || outcome->counters.elapsed_cycles > 0;
	if (!outcome->has_run) {
		message_print(NULL, "%s",
		              outcome->counters.damaged ? DAMAGED
		              : outcome->run.asked      ? "interrupted before anything was executed"
		                                   : "nothing was executed: the emulator did not start the program");
		return STATUS_FAILURE;
	}
	if (outcome->run.disk_filled)
		message_print(outcome->run.directory,
		              "the disk is full: what was recorded is not all (TMPDIR names another place)");
	if (request->watch && request->watch->finish)
		err = request->watch->finish(request->watch->context, outcome);
	if (!err && request->directory)
		err = write_profile(request, outcome);
	return err ? err : outcome->run.disk_filled ? STATUS_FAILURE : STATUS_OK;
}

int
emulation_run(const struct emulation_request *request, struct emulation_outcome *outcome)
{
	char **inserted;
	int err, status;

	memset(outcome, 0, sizeof(*outcome));
	err = request->directory ? counted_can_write(request->directory) : 0;
	if (err)
		return database_cannot_write(request->directory, err);
	inserted = request->sets_threads ? thread_count_insert(request->command, request->setup->threads) : NULL;
	if (request->sets_threads && !inserted)
		status = message_cannot(NULL, "begin", -ENOMEM, NULL);
	else
		status = run_command(request, inserted ? inserted : request->command, &outcome->run);
	if (!status)
		status = keep(request, outcome);
	thread_count_free(inserted);
	run_remove(&outcome->run);
	return status;
}

struct emulation_request
emulation_of(const struct command_once *once)
{
	return (struct emulation_request){
		.setup = &once->common.setup,
		.cpu = once->common.cpu,
		.prefix = once->common.prefix,
		.directory = once->common.without_database ? NULL : once->common.options.directory,
		.label = once->common.label,
		.command = once->common.command,
		.sets_threads = once->threads > 0,
		.is_quiet = once->common.is_quiet,
	};
}

void
emulation_fini(struct emulation_outcome *outcome)
{
	counters_fini(&outcome->counters);
}

double
emulation_seconds(const struct setup *setup, const struct emulation_outcome *outcome)
{
	return (double)outcome->counters.elapsed_cycles / (setup->machine.clock_mhz * 1e6);
}

/* ---- The command ---- */

struct emu_run_request {
	struct command_once once;
	bool by_process;
};

static void
check(void *checked, struct argp_state *state)
{
	const struct emu_run_request *request = checked;

	command_check_once(&request->once, "dcpiemu run", state);
}

static const struct option_row rows[] = {
	COMMAND_ONCE_WHERE,
	COMMAND_ONCE_KEPT,
	OPTION_TRUE(3, "processes", 0, struct emu_run_request, by_process, "A row for each process, too"),
	COMMAND_ONCE_REPORT,
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM as if on another machine, and profile it there.\v"
	       "Output and exit status are PROGRAM's own. See dcpiemu(1).",
	.options = offsetof(struct command_once, common.options),
	.child = &command_run_options,
	.child_offset = offsetof(struct command_once, common),
	.in_order = true,
	.check = check,
};

static int
print_report(const struct emu_run_request *request, const struct emulation_report *report, struct atomic_file *file)
{
	int err = 0;

	if (!report->outcome->has_run)
		err = -ECANCELED;
	else if (request->once.common.is_quiet && !request->once.output)
		return STATUS_OK;
	else if (request->once.json)
		err = emulation_report_json(report, file->stream);
	else
		err = emulation_report_text(report, file->stream);
	return command_close_report(&request->once, file, err);
}

static int
run(struct emu_run_request *request)
{
	const struct setup *setup = &request->once.common.setup;
	const struct emulation_request emulation = emulation_of(&request->once);
	struct emulation_outcome outcome;
	const struct emulation_report report = {
		.setup = setup,
		.outcome = &outcome,
		.database = emulation.directory,
		.label = emulation.label,
		.by_process = request->by_process,
	};
	struct atomic_file file;
	int status = command_choose_once(&request->once), printed;

	if (!status)
		status = command_open_report(&request->once, &file);
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

	setup_init(&request.once.common.setup, 1);
	status = command_line_read(&line, &request, argc, argv);
	if (!status)
		status = run(&request);
	options_fini(&request.once.common.options);
	return status;
}
