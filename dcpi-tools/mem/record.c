/* dcpimem record, and dcpimem run without an emulated machine */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/kept.h"

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

void
mem_take_period(void *member, char *text, struct argp_state *state)
{
	*(uint64_t *)member = options_whole(state, "--period", text, 1, PERIOD_MAX);
}

int
mem_here_run(const struct mem_here_request *request)
{
	const struct command_once *once = request->once;
	const struct mem_view view = {.limit = request->limit, .by_object = request->by_object, .header = true};
	struct native_outcome outcome;
	struct atomic_file file = {0};
	int status = mem_begin_kept(once, &file), kept = STATUS_OK, printed;

	if (status)
		return status;
	status = native_run(&request->native, &outcome);
	if (outcome.has_profile)
		kept = mem_keep(once, &outcome.profile,
		                &(struct mem_kept){
					.called = "dcpimem", .start_ns = outcome.start_ns, .end_ns = outcome.end_ns});
	printed = mem_end_kept(once, outcome.has_profile ? &outcome.profile : NULL, &view, &file);
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
check(void *checked, struct argp_state *state)
{
	const struct mem_record_request *request = checked;

	if (!request->pid)
		argp_error(state, "which process? dcpimem record --pid PID");
	command_check_kept(&request->once.common, state);
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
		OPTION_CALL(1, "period", 0, "N", offsetof(struct mem_record_request, period), mem_take_period,
	                    "A sample in N of a PMU's loads and stores (10007)"),
		MEM_OPTION_WATCH(struct mem_record_request, watches),
		MEM_KEPT_ROWS(struct mem_record_request, "it is called dcpimem otherwise"),
		MEM_REPORT_ROWS(struct mem_record_request),
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
		                   .access_max = MEM_ACCESS_MAX,
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
