#include "dcpi-tools/mem/here.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/report.h"
#include "profile/memory_rows.h"

#define ACCESS_MAX  ((size_t)1 << 20) /* that are kept */
#define PERIOD_MAX  1000000000
#define SECONDS_MAX 31536000.0 /* a year */
#define SECOND_NS_F 1e9

void
mem_take_source(void *member, char *text, struct argp_state *state)
{
	const char *names[SOURCES];

	for (unsigned i = 0; i < SOURCES; i++)
		names[i] = source_text(i);
	*(enum access_source *)member = options_choice(state, "source", text, names, SOURCES);
}

/* As an epoch of its own. */
static int
keep(const struct mem_here_request *request, const struct native_outcome *outcome)
{
	const struct command_request *common = &request->once->common;
	struct memory_rows rows = {.count = 0};
	const struct counted_epoch description = {
		.label = common->label ? common->label : "dcpimem",
		.start_ns = outcome->start_ns,
		.end_ns = outcome->end_ns,
		.memory = &rows,
	};
	struct counted counted;
	uint32_t epoch;
	int err = memory_rows_make(&outcome->profile, &rows);

	if (!err)
		err = counted_init(&counted);
	else
		counted = (struct counted){0};
	if (!err)
		err = counted_write(&counted, common->options.directory, &description, &epoch);
	counted_fini(&counted);
	memory_rows_fini(&rows);
	return err ? database_cannot_write(common->options.directory, err) : STATUS_OK;
}

static int
report(const struct mem_here_request *request, const struct native_outcome *outcome, struct atomic_file *file)
{
	const struct mem_view view = {.limit = request->limit, .by_object = request->by_object, .header = true};
	struct memory_report report;
	int err = memory_report_init(&report, &outcome->profile);

	if (!err)
		err = mem_objects_print(&report, &view, request->once->json, file->stream);
	memory_report_fini(&report);
	return err;
}

int
mem_here_run(const struct mem_here_request *request)
{
	const struct command_request *common = &request->once->common;
	struct native_outcome outcome;
	struct atomic_file file = {0};
	int err = common->without_database ? 0 : counted_can_write(common->options.directory);
	int status = err ? database_cannot_write(common->options.directory, err) : STATUS_OK;
	int kept, printed;

	if (!status)
		status = command_open_report(request->once, &file);
	if (status)
		return status;
	status = native_run(&request->native, &outcome);
	kept = outcome.has_profile && !common->without_database ? keep(request, &outcome) : STATUS_OK;
	err = outcome.has_profile ? 0 : -ECANCELED;
	if (!err && (!common->is_quiet || request->once->output))
		err = report(request, &outcome, &file);
	printed = command_close_report(request->once, &file, err);
	status = status ? status : kept ? kept : printed;
	if (request->native.command && outcome.start_ns && outcome.has_profile)
		status = child_exit_status(outcome.status, status);
	else if (outcome.asked)
		status = exit_signals_raise(outcome.asked);
	native_outcome_fini(&outcome);
	return status;
}

/* ---- dcpimem record ---- */

struct mem_record_request {
	struct command_once once;
	size_t limit;
	bool by_object;
	enum access_source source;
	bool watches;
	uint64_t period;
	int pid; /* 0: none was given */
	double seconds;
};

static void
take_pid(void *member, char *text, struct argp_state *state)
{
	*(int *)member = (int)options_whole(state, "--pid", text, 1, INT32_MAX);
}

static void
take_seconds(void *member, char *text, struct argp_state *state)
{
	char *end;
	const double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds <= 0 || seconds > SECONDS_MAX)
		argp_error(state, "--seconds '%s' is no time in seconds", text);
	*(double *)member = seconds;
}

static void
take_period(void *member, char *text, struct argp_state *state)
{
	*(uint64_t *)member = options_whole(state, "--period", text, 1, PERIOD_MAX);
}

static void
check(void *checked, struct argp_state *state)
{
	const struct mem_record_request *request = checked;

	if (!request->pid)
		argp_error(state, "which process? dcpimem record --pid PID");
	if (request->once.common.without_database && request->once.common.label)
		argp_error(state, "--label names what is kept: it does not go with --no-db");
}

int
mem_record_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		OPTION_HEADING(1, "What is watched:"),
		OPTION_CALL(1, "pid", 'p', "PID", offsetof(struct mem_record_request, pid), take_pid, "This process"),
		OPTION_CALL(1, "seconds", 0, "S", offsetof(struct mem_record_request, seconds), take_seconds,
	                    "For so long (until it ends, or Ctrl-C)"),
		OPTION_CALL(1, "source", 0, "SOURCE", offsetof(struct mem_record_request, source), mem_take_source,
	                    "By the PMU (pmu), or by faults of NUMA balancing (faults); auto: what there is"),
		OPTION_CALL(1, "period", 0, "N", offsetof(struct mem_record_request, period), take_period,
	                    "A sample in N of a PMU's loads and stores (10007)"),
		MEM_OPTION_WATCH(struct mem_record_request, watches),
		OPTION_HEADING(2, "Where the profile is kept:"),
		OPTION_NAME(2, "label", "LABEL", struct mem_record_request, once.common.label, EPOCH_LABEL_SIZE - 1,
	                    "Call the epoch LABEL (it is called dcpimem otherwise)"),
		OPTION_TRUE(2, "no-db", 0, struct mem_record_request, once.common.without_database,
	                    "Nowhere: only the report"),
		OPTION_HEADING(3, "The report:"),
		OPTION_TRUE(3, "each", 0, struct mem_record_request, by_object,
	                    "A row for each object, not for each allocation site"),
		OPTION_COUNT(3, "limit", "N", struct mem_record_request, limit, "At most N rows"),
		OPTION_REPORT_JSON(3, struct mem_record_request, once.json),
		OPTION_REPORT_FILE(3, struct mem_record_request, once.output),
		OPTION_TRUE(3, "quiet", 0, struct mem_record_request, once.common.is_quiet,
	                    "No report unless --output names a file"),
		OPTION_ARGUMENT(0, command_refuse_argument),
		OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.doc = "Watch a process that runs, and report which memory objects are accessed remotely or shared "
		       "falsely.",
		.shared = SHARED_DATABASE,
		.options = offsetof(struct mem_record_request, once.common.options),
		.check = check,
	};
	struct mem_record_request request = {.watches = true};
	int status = command_line_read(&line, &request, argc, argv);

	if (!status)
		status = mem_here_run(&(struct mem_here_request){
			.native = {.source = request.source,
		                   .period = request.period,
		                   .access_max = ACCESS_MAX,
		                   .watches = request.watches,
		                   .pid = request.pid,
		                   .duration_ns = (uint64_t)(request.seconds * SECOND_NS_F)},
			.once = &request.once,
			.limit = request.limit,
			.by_object = request.by_object,
		});
	options_fini(&request.once.common.options);
	return status;
}
