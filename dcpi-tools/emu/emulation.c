#include "dcpi-tools/emu/emulation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/emulated_profile.h"
#include "dcpi-tools/emu/thread_counts.h"
#include "dcpi-tools/emulated/counted.h"

#define PLUGIN_NAME "dcpi-timing.so"
#define ROOM_BYTES  (UINT64_C(128) << 20) /* that must be free for the record, and some for each core */
#define CORE_BYTES  (UINT64_C(8) << 20)
#define SECOND_NS   1e9
#define DAMAGED     "the record of the run is damaged: the program wrote over it"

/* For the callbacks of run_program(). */
struct emulation_progress {
	const struct emulation_request *request;
	char directory[PATH_MAX];
	bool is_shown; /* a line of progress */
};

static int
prepare(void *context, const char *directory)
{
	struct emulation_progress *progress = context;
	int err = setup_write(progress->request->setup, directory);

	snprintf(progress->directory, sizeof(progress->directory), "%s", directory);
	return err ? message_cannot(directory, "write the model's setup there", err, "TMPDIR names another place")
	           : STATUS_OK;
}

static int
begin(void *context)
{
	const struct emulation_progress *progress = context;
	const struct emulation_request *request = progress->request;
	int err = request->sets_threads ? thread_count_announce(request->setup->threads) : 0;

	return err ? message_cannot(NULL, "set the number of threads", err, NULL) : STATUS_OK;
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

static int
run_command(const struct emulation_request *request, char *const *command, struct emulated_run *run)
{
	struct emulation_progress progress = {.request = request};
	const bool has_progress =
		!request->is_quiet && request->setup->parts & SETUP_CLOCK && isatty(STDERR_FILENO) == 1;
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
		.tick = has_progress ? show_progress : NULL,
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
	};
	int err = emulated_profile_write(&profile, request->directory, &outcome->epoch);

	if (err == -DCPI_EDAMAGED) {
		message_print(NULL, DAMAGED);
		return STATUS_FAILURE;
	}
	return err ? database_cannot_write(request->directory, err) : STATUS_OK;
}

static const char *
why_nothing(const struct emulation_outcome *outcome)
{
	if (outcome->counters.damaged)
		return DAMAGED;
	if (outcome->run.asked)
		return "interrupted before anything was executed";
	return "nothing was executed: the emulator did not start the program";
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
		message_print(NULL, "%s", why_nothing(outcome));
		return STATUS_FAILURE;
	}
	if (outcome->run.disk_filled)
		message_print(outcome->run.directory,
		              "the disk is full: what was recorded is not all (TMPDIR names another place)");
	err = request->directory ? write_profile(request, outcome) : 0;
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
