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
	if (!err && watch)
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
	return request->watch ? request->watch->begin(request->watch->context) : STATUS_OK;
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

static void
tick(void *context, uint64_t elapsed_ns)
{
	struct emulation_progress *progress = context;
	const struct emulation_watch *watch = progress->request->watch;

	if (watch)
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
		.tick = progress.is_wanted || request->watch ? tick : NULL,
		.tick_ns = request->watch ? request->watch->poll_ns : PROGRESS_NS,
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
	err = request->watch ? request->watch->finish(request->watch->context, outcome) : 0;
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
                    "The program sees N of its cores, also by OMP_NUM_THREADS and the like, and %t in arguments is N"),
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
