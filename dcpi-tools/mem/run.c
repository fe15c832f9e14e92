#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/mem/collect.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/copy_cost.h"
#include "dcpi-tools/mem/kept.h"
#include "dcpi-tools/mem/tracked.h"
#include "memory/object_log.h"
#include "profile/memory_rows.h"

#define POLL_NS UINT64_C(20000000)

struct mem_run_request {
	struct command_once once;
	size_t limit;
	bool by_object;
	unsigned tried; /* verdicts, 1 << enum memory_verdict */
	enum access_source source;
	bool watches;
};

/* For the callbacks of emulation_run(). */
struct mem_run {
	const struct mem_run_request *request;
	struct memory_profile profile;
	struct memory_rows rows;
	struct collector *collector;
	const struct object_remedy_list *remedies; /* of a trial; NULL: it is none */
	struct mem_trial trials[VERDICTS];
	size_t trial_count;
	char directory[PATH_MAX], tracker[PATH_MAX];
	int program_status; /* as waitpid(2) gives it */
	int error;          /* of the collector; 0: none */
};

static int
write_remedies(const struct mem_run *run)
{
	char path[PATH_MAX + sizeof(OBJECT_REMEDY_FILE) + 1];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" OBJECT_REMEDY_FILE, run->directory);
	file = fopen(path, "wxe");
	if (!file || fwrite(run->remedies, sizeof(*run->remedies), 1, file) != 1 || fclose(file))
		return message_cannot(path, "write the remedies", -errno, NULL);
	return STATUS_OK;
}

static int
prepare(void *context, const char *directory)
{
	struct mem_run *run = context;

	snprintf(run->directory, sizeof(run->directory), "%s", directory);
	if (run->remedies)
		return write_remedies(run);
	run->collector = collector_new(&run->profile, &run->request->once.common.setup, directory, MEM_ACCESS_MAX);
	return run->collector ? STATUS_OK : message_cannot(NULL, "begin", -ENOMEM, NULL);
}

/* The emulator itself gets the tracker, too, which does nothing there. */
static int
begin(void *context)
{
	const struct mem_run *run = context;
	const int err = tracked_set_environment(run->tracker, run->directory);

	return err ? message_cannot(NULL, "preload the tracker", err, NULL) : STATUS_OK;
}

static void
poll_run(void *context)
{
	struct mem_run *run = context;

	if (!run->error)
		run->error = collector_poll(run->collector);
}

static int
name_source(struct mem_run *run)
{
	const struct setup *setup = &run->request->once.common.setup;
	char text[MACHINE_NAME_SIZE + MACHINE_TITLE_SIZE + 64];

	snprintf(text, sizeof(text), "Emulated %s (%u of %u cores, %u node%s)", setup->machine.name, setup->threads,
	         setup->machine.cores, setup->machine.nodes, text_plural(setup->machine.nodes));
	run->profile.source = memory_profile_add_text(&run->profile, text);
	return run->profile.source == MEMORY_NOTHING ? -ENOMEM : 0;
}

static bool
is_buffered(const struct memory_access *access)
{
	return (access->flags & (MEMORY_STORE | MEMORY_ATOMIC)) == MEMORY_STORE;
}

/*
 * The cost of a store is by how much it delays the write buffer, but its core waits for that only when the buffer is
 * full. So the costs of all stores are scaled down to what the cores did wait.
 */
static void
scale_stores(struct memory_profile *profile, uint64_t waited_cycles)
{
	uint64_t delayed = 0;

	for (size_t i = 0; i < profile->access_count; i++) {
		const struct memory_access *access = &profile->accesses[i];

		delayed += is_buffered(access) ? (uint64_t)access->weight * access->cost : 0;
	}
	for (size_t i = 0; i < profile->access_count && delayed > waited_cycles; i++) {
		struct memory_access *access = &profile->accesses[i];

		if (is_buffered(access))
			access->cost = (uint32_t)((double)access->cost * (double)waited_cycles / (double)delayed);
	}
}

static int
finish(void *context, const struct emulation_outcome *outcome)
{
	struct mem_run *run = context;
	struct memory_totals *totals = &run->profile.totals;

	run->program_status = outcome->run.status;
	if (!run->error)
		run->error = collector_finish(run->collector);
	if (!run->error)
		run->error = name_source(run);
	totals->elapsed_ns = (uint64_t)(emulation_seconds(&run->request->once.common.setup, outcome) * 1e9);
	totals->busy_cycles = outcome->counters.busy_cycles;
	scale_stores(&run->profile, outcome->counters.sum.cycles[REASON_WRITE_BUFFER]);
	if (!run->error)
		run->error = memory_rows_make(&run->profile, &run->rows);
	return run->error ? message_cannot(run->directory, "read objects and accesses there", run->error, NULL)
	                  : STATUS_OK;
}

/* ---- trials ---- */

static enum object_remedy
remedy_of(enum memory_verdict verdict)
{
	static const enum object_remedy remedies[VERDICTS] = {
		[VERDICT_REPLICATE] = OBJECT_REMEDY_REPLICATE, [VERDICT_INTERLEAVE] = OBJECT_REMEDY_INTERLEAVE,
		[VERDICT_LOCAL] = OBJECT_REMEDY_LOCAL,         [VERDICT_PIN] = OBJECT_REMEDY_PIN,
		[VERDICT_MIGRATE] = OBJECT_REMEDY_MIGRATE,     [VERDICT_PAD] = OBJECT_REMEDY_SPREAD,
		[VERDICT_SPLIT] = OBJECT_REMEDY_SPREAD,
	};

	return remedies[verdict];
}

/*
 * Add what the group's remedy applies to: its allocation site, by its hashes, or the addresses of its variables. False:
 * the list has no room for all.
 */
static bool
add_group(const struct mem_run *run, const struct memory_report *report, const struct memory_group *group,
          struct object_remedy_list *list)
{
	const enum object_remedy kind = remedy_of(group->verdict);
	uint64_t hashes[OBJECT_REMEDIES_MAX];
	size_t count;

	if (kind == OBJECT_REMEDY_PIN) {
		list->pins = true;
		return true;
	}
	if (group->site != MEMORY_NOTHING) {
		count = collector_site_hashes(run->collector, group->site, hashes, OBJECT_REMEDIES_MAX);
		if (count > OBJECT_REMEDIES_MAX - list->site_count)
			return false;
		for (size_t i = 0; i < count; i++)
			list->sites[list->site_count++] = (struct object_remedy_site){.hash = hashes[i], .kind = kind};
		return true;
	}
	for (uint32_t i = 0; i < group->object_count && group->kind == MEMORY_STATIC; i++) {
		const struct memory_member *member = &report->objects[group->first_object + i];
		const struct memory_object *object = &report->profile->objects[member->object];

		if (list->range_count == OBJECT_REMEDIES_MAX)
			return false;
		list->ranges[list->range_count++] = (struct object_remedy_range){object->address, object->size, kind};
	}
	return true;
}

/* What is copied to other nodes before the objects of this verdict are where their users are. */
static uint64_t
copied_bytes(const struct memory_report *report, enum memory_verdict verdict)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < report->group_count; i++) {
		const struct memory_group *group = &report->groups[i];

		for (uint32_t k = 0; k < group->object_count && group->verdict == verdict; k++) {
			const struct memory_member *member = &report->objects[group->first_object + k];
			const uint64_t size = report->profile->objects[member->object].size;

			bytes += verdict == VERDICT_REPLICATE ? size
			         : verdict == VERDICT_MIGRATE ? size * member->turns
			                                      : 0;
		}
	}
	return bytes;
}

/*
 * Run the program once more, with the remedy of all objects that have this verdict. STATUS_OK, or an exit status if it
 * could not be tried: the report says why. *asked: whether the user ended it.
 */
static int
run_trial(struct mem_run *run, const struct memory_report *report, enum memory_verdict verdict, double before,
          bool *asked)
{
	const struct mem_run_request *request = run->request;
	struct object_remedy_list *list = calloc(1, sizeof(*list));
	struct setup setup = request->once.common.setup;
	struct mem_run trial = {.request = request, .remedies = list};
	const struct emulation_watch watch = {.prepare = prepare, .begin = begin, .context = &trial};
	struct emulation_request emulation = emulation_of(&request->once);
	struct mem_trial *result = &run->trials[run->trial_count++];
	struct emulation_outcome outcome;
	bool is_partial = false, ended_otherwise = false;
	double copying;
	int status;

	*result = (struct mem_trial){.verdict = verdict, .before = before, .missing = "there is no memory for it"};
	if (!list)
		return message_cannot(NULL, "try a remedy", -ENOMEM, NULL);
	memcpy(trial.tracker, run->tracker, sizeof(trial.tracker));
	emulation.setup = &setup;
	emulation.directory = NULL;
	emulation.title = verdict_text(verdict);
	emulation.is_silent = true;
	emulation.watch = &watch;
	setup.access_period = 0; /* nobody reads samples */
	list->magic = OBJECT_REMEDY_MAGIC;
	for (size_t i = 0; i < report->group_count; i++) {
		if (report->groups[i].verdict == verdict && !add_group(run, report, &report->groups[i], list))
			is_partial = true;
	}
	if (is_partial)
		message_print(verdict_text(verdict),
		              "tried for %d allocation sites and %d variables at most: not for all",
		              OBJECT_REMEDIES_MAX, OBJECT_REMEDIES_MAX);
	if (!list->site_count && !list->range_count && !list->pins) {
		result->missing = "this can only be tried for objects of the heap, mappings and variables";
		free(list);
		return STATUS_OK;
	}
	status = emulation_run(&emulation, &outcome);
	*asked = outcome.run.asked;
	if (!status && *asked)
		status = STATUS_FAILURE;
	if (!status && outcome.run.status != run->program_status) {
		result->missing = "the program ended otherwise with it: what it took cannot be compared";
		status = STATUS_FAILURE;
		ended_otherwise = true;
	}
	if (!status)
		status = copy_cost_measure(&emulation, copied_bytes(report, verdict), verdict == VERDICT_MIGRATE,
		                           &copying, asked);
	if (!status) {
		result->missing = NULL;
		result->seconds = emulation_seconds(&request->once.common.setup, &outcome) + copying;
	} else if (!ended_otherwise) {
		result->missing = *asked ? "the run with it was ended" : "the run with it failed";
	}
	emulation_fini(&outcome);
	free(list);
	return status;
}

/* STATUS_OK, or an exit status if a trial could not be made: the report says which. */
static int
run_trials(struct mem_run *run, const struct memory_report *report, double before)
{
	unsigned done = 0;
	int status = STATUS_OK;
	bool asked = false;

	for (size_t i = 0; i < report->group_count && !asked; i++) {
		const enum memory_verdict verdict = report->groups[i].verdict;
		int failed;

		if (verdict == VERDICT_NOTHING || done & 1U << verdict || !(run->request->tried & 1U << verdict))
			continue;
		done |= 1U << verdict;
		failed = run_trial(run, report, verdict, before, &asked);
		status = failed ? failed : status;
	}
	return status;
}

/* ---- The command ---- */

static void
take_trial(void *member, char *text, struct argp_state *state)
{
	unsigned *tried = member;
	const char *names[VERDICTS];
	enum memory_verdict verdict;

	names[0] = "all";
	for (unsigned i = 1; i < VERDICTS; i++)
		names[i] = verdict_text(i);
	verdict = options_choice(state, "verdict", text, names, VERDICTS);
	*tried |= verdict ? 1U << verdict : ~0U;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct mem_run_request *request = checked;

	if (!request->once.common.command)
		argp_error(state, "which program? dcpimem run [--machine NAME] -- PROGRAM [ARGUMENT]...");
	command_check_kept(&request->once.common, state);
	if (request->once.machine)
		command_check_once(&request->once, "dcpimem run", state);
	else if (request->tried)
		argp_error(state, "--try goes with --machine NAME: an emulated machine alone can have remedies");
	else if (request->once.threads)
		argp_error(state, "--threads goes with --machine NAME: it chooses from that machine's cores");
	else if (request->once.common.model_option)
		argp_error(state, "--%s goes with --machine NAME: it says how that machine is emulated",
		           request->once.common.model_option);
	if (request->once.machine && request->source)
		argp_error(state, "--source is of this machine: it does not go with --machine");
	if (!(request->once.common.setup.parts & SETUP_CACHES))
		argp_error(state, "accesses are sampled where caches miss: --model must not leave out caches");
}

static const struct option_row rows[] = {
	COMMAND_ONCE_WHERE,
	OPTION_CALL(1, "period", 0, "N", offsetof(struct command_once, common.setup.access_period), mem_take_period,
                    "A sample in N of the accesses that leave a core's caches "
                    "(1; more rarely when they are very many); here, of a PMU's loads and stores (10007)"),
	OPTION_CALL(1, "source", 0, "SOURCE", offsetof(struct mem_run_request, source), mem_take_source,
                    "Here: sample by the PMU (pmu), or by faults of NUMA balancing (faults); auto: what there is"),
	OPTION_CALL(1, "try", 0, "VERDICT", offsetof(struct mem_run_request, tried), take_trial,
                    "Run it once more with the remedy of the objects that have VERDICT ('all': of each), and compare"),
	MEM_OPTION_WATCH(struct mem_run_request, watches),
	COMMAND_ONCE_KEPT,
	MEM_OBJECTS_ROWS(struct mem_run_request),
	COMMAND_ONCE_REPORT,
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM, and report which memory objects are accessed remotely or shared falsely.\v"
	       "Output and exit status are PROGRAM's own. See dcpimem(1).",
	.options = offsetof(struct command_once, common.options),
	.child = &command_run_options,
	.child_offset = offsetof(struct command_once, common),
	.in_order = true,
	.check = check,
};

/* *status: of trials. */
static int
print_report(struct mem_run *run, struct atomic_file *file, int *status)
{
	const struct mem_run_request *request = run->request;
	struct memory_report report;
	int err = memory_report_init(&report, &run->profile);

	if (!err && request->tried)
		*status = run_trials(run, &report, (double)run->profile.totals.elapsed_ns / 1e9);
	if (!err)
		err = mem_objects_print(&report,
		                        &(struct mem_view){
						.limit = request->limit,
						.by_object = request->by_object,
						.header = true,
						.trials = run->trials,
						.trial_count = run->trial_count,
					},
		                        request->once.json, file->stream);
	memory_report_fini(&report);
	return err;
}

static int
cannot_find_tracker(const char *path, int err)
{
	return message_cannot(path, "find the tracker", err, "is dcpi installed whole?");
}

static int
begin_run(struct mem_run_request *request, struct mem_run *run, struct atomic_file *file)
{
	struct setup *setup = &request->once.common.setup;
	int status = command_choose_once(&request->once), err;

	setup->access_period = setup->access_period ? setup->access_period : 1;
	if (status)
		return status;
	err = child_find_installed(TRACKER_NAME, run->tracker);
	if (err)
		return cannot_find_tracker(run->tracker, err);
	err = memory_profile_init(&run->profile);
	return err ? message_cannot(NULL, "begin", err, NULL) : command_open_report(&request->once, file);
}

static int
end_run(const struct mem_run_request *request, struct mem_run *run, bool has_profile, struct atomic_file *file)
{
	int err = 0, tried = STATUS_OK, written;

	if (!has_profile)
		err = -ECANCELED;
	else if (!request->once.common.is_quiet || request->once.output)
		err = print_report(run, file, &tried);
	written = command_close_report(&request->once, file, err);
	return written ? written : tried;
}

static int
run_emulated(struct mem_run_request *request)
{
	struct mem_run run = {.request = request};
	const struct emulation_watch watch = {
		.prepare = prepare,
		.begin = begin,
		.poll = poll_run,
		.poll_ns = POLL_NS,
		.finish = finish,
		.memory = &run.rows,
		.context = &run,
	};
	struct emulation_request emulation = emulation_of(&request->once);
	struct emulation_outcome outcome;
	struct atomic_file file = {0};
	int status = begin_run(request, &run, &file), printed;

	if (!status) {
		emulation.watch = &watch;
		status = emulation_run(&emulation, &outcome);
		printed = end_run(request, &run, outcome.has_run && !run.error, &file);
		if (outcome.counters.count || outcome.run.asked)
			status = run_exit_status(&outcome.run, status ? status : printed);
		emulation_fini(&outcome);
	}
	collector_free(run.collector);
	memory_rows_fini(&run.rows);
	memory_profile_fini(&run.profile);
	return status;
}

static int
run_here(const struct mem_run_request *request)
{
	char tracker[PATH_MAX];
	const struct mem_here_request here = {
		.native = {.source = request->source,
	                   .period = request->once.common.setup.access_period,
	                   .access_max = MEM_ACCESS_MAX,
	                   .watches = request->watches,
	                   .tracker = tracker,
	                   .command = request->once.common.command},
		.once = &request->once,
		.limit = request->limit,
		.by_object = request->by_object,
	};
	const int err = child_find_installed(TRACKER_NAME, tracker);

	return err ? cannot_find_tracker(tracker, err) : mem_here_run(&here);
}

int
mem_run_main(int argc, char **argv)
{
	struct mem_run_request request = {.watches = true};
	int status;

	setup_init(&request.once.common.setup, 1);
	status = command_line_read(&line, &request, argc, argv);
	if (!status)
		status = request.once.machine ? run_emulated(&request) : run_here(&request);
	options_fini(&request.once.common.options);
	return status;
}
