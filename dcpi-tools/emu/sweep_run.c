#include "dcpi-tools/emu/sweep_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/emulation.h"
#include "dcpi-tools/emu/report.h"

/* The points that are to be found. */
struct sweep_course {
	const struct sweep_request *request;
	struct sweep *sweep;
	size_t planned;
	sigset_t mask; /* what was blocked before signals were held */
};

static int
choose_machines(struct sweep_course *course)
{
	const struct sweep_request *request = course->request;
	int status = STATUS_OK;

	course->sweep->setups = calloc(request->machine_count, sizeof(*course->sweep->setups));
	if (!course->sweep->setups)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count && !status; i++) {
		course->sweep->setups[i] = request->model.setup;
		status = command_choose_machine(request->machines[i], &course->sweep->setups[i]);
	}
	return status;
}

static void
plan_machine(struct sweep_course *course, const struct setup *setup)
{
	const struct sweep_request *request = course->request;
	const struct machine *machine = &setup->machine;

	for (unsigned threads = 1; threads <= machine->cores; threads++) {
		struct sweep_point *point = &course->sweep->points[course->planned];

		if (!request->threads.wanted[threads])
			continue;
		*point = (struct sweep_point){.machine = machine, .threads = threads};
		snprintf(point->label, sizeof(point->label), "%s%s%s/%u", request->label ? request->label : "",
		         request->label ? "/" : "", machine->name, threads);
		course->planned++;
	}
	if (request->threads.most > machine->cores)
		message_print(machine->name, "it has %u core%s: more threads than that are left out", machine->cores,
		              text_plural(machine->cores));
}

static int
plan(struct sweep_course *course)
{
	const struct sweep_request *request = course->request;
	size_t most = 0;

	for (size_t i = 0; i < request->machine_count; i++)
		most += course->sweep->setups[i].machine.cores;
	course->sweep->points = calloc(most, sizeof(*course->sweep->points));
	if (!course->sweep->points)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	for (size_t i = 0; i < request->machine_count; i++)
		plan_machine(course, &course->sweep->setups[i]);
	if (course->planned == 0)
		message_print(NULL, "no machine has so many cores");
	return course->planned ? STATUS_OK : STATUS_USAGE;
}

static const struct setup *
setup_of(const struct sweep_course *course, const struct sweep_point *point)
{
	size_t i = 0;

	while (&course->sweep->setups[i].machine != point->machine)
		i++;
	return &course->sweep->setups[i];
}

/* Somebody wants us to end, while the program ran or after it. */
static bool
is_asked(struct sweep *sweep, const struct emulated_run *run)
{
	const int later = exit_signals_take();

	sweep->asked = run->asked ? run->asked : later;
	return sweep->asked != 0;
}

static void
say_interrupted(const struct sweep_point *point, const struct emulation_outcome *outcome)
{
	if (outcome->epoch)
		message_print(point->label,
		              "interrupted: it is not in the table; what it did until then is epoch %" PRIu32,
		              outcome->epoch);
	else
		message_print(point->label, "interrupted: it is not in the table");
}

/* What a run found. Only one that ended well has a time to compare. */
static int
take_outcome(struct sweep_point *point, const struct setup *setup, const struct emulation_outcome *outcome)
{
	const struct emulation_report report = {.setup = setup, .outcome = outcome};
	const int ended = outcome->run.status;

	if (WIFSIGNALED(ended)) {
		message_print(point->label, "the program was killed by signal %d", WTERMSIG(ended));
		return STATUS_FAILURE;
	}
	if (WEXITSTATUS(ended) != 0) {
		message_print(point->label, "the program ended with status %d", WEXITSTATUS(ended));
		return STATUS_FAILURE;
	}
	point->seconds[point->runs++] = emulation_seconds(setup, outcome);
	point->host_seconds += run_seconds(&outcome->run);
	point->cores_busy = emu_report_cores_busy(&report);
	point->bandwidth = 0;
	for (unsigned i = 0; i < setup->machine.nodes; i++)
		point->bandwidth += emu_report_bandwidth(&report, i);
	point->limit = emu_report_bandwidth_limit(&report) * setup->machine.nodes;
	point->epoch = outcome->epoch;
	return STATUS_OK;
}

static int
run_once(struct sweep_course *course, struct sweep_point *point, struct setup *setup)
{
	const struct sweep_request *request = course->request;
	char title[128];
	const struct emulation_request emulation = {
		.setup = setup,
		.cpu = request->model.cpu,
		.prefix = request->model.prefix,
		.directory = course->sweep->database,
		.label = point->label,
		.title = title,
		.command = request->command,
		.mask = &course->mask,
		.sets_threads = true,
		.is_quiet = request->is_quiet,
		.is_silent = !request->shows_output,
	};
	struct emulation_outcome outcome;
	int status;

	snprintf(title, sizeof(title), "%s (%zu of %zu)", point->label, (size_t)(point - course->sweep->points) + 1,
	         course->planned);
	status = emulation_run(&emulation, &outcome);
	if (!status && outcome.run.asked) {
		say_interrupted(point, &outcome);
		status = STATUS_FAILURE;
	} else if (!status) {
		status = take_outcome(point, setup, &outcome);
	}
	if (is_asked(course->sweep, &outcome.run))
		status = STATUS_FAILURE;
	emulation_fini(&outcome);
	return status;
}

static int
run_all(struct sweep_course *course)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < course->planned && !status; i++) {
		struct sweep_point *point = &course->sweep->points[i];
		struct setup *setup = malloc(sizeof(*setup));

		if (!setup)
			return message_cannot(NULL, "begin", -ENOMEM, NULL);
		*setup = *setup_of(course, point);
		setup->threads = point->threads;
		for (unsigned run = 0; run < course->request->runs && !status; run++) {
			setup->seed = course->request->model.setup.seed + run;
			status = run_once(course, point, setup);
		}
		free(setup);
		if (point->runs)
			course->sweep->count = i + 1;
	}
	return status;
}

static void
say_what_is_left(const struct sweep_course *course)
{
	size_t whole = 0;

	for (size_t i = 0; i < course->sweep->count; i++)
		whole += course->sweep->points[i].runs == course->request->runs;
	message_print(NULL, "ended early: %zu of %zu points are whole", whole, course->planned);
}

int
sweep_run(const struct sweep_request *request, struct sweep *sweep)
{
	struct sweep_course course = {.request = request, .sweep = sweep};
	int status = choose_machines(&course);

	if (!status)
		status = plan(&course);
	if (status)
		return status;
	exit_signals_block(&course.mask); /* what was finished is not lost */
	status = run_all(&course);
	if (sweep->asked)
		say_what_is_left(&course);
	exit_signals_restore(&course.mask);
	return status;
}

void
sweep_run_fini(struct sweep *sweep)
{
	free(sweep->points);
	free(sweep->setups);
}
