#include "dcpi-tools/mem/native.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "dcpi-tools/mem/perf_collect.h"
#include "dcpi-tools/mem/tracked.h"

#define POLL_NS   UINT64_C(20000000)
#define BEHIND_NS UINT64_C(5000000) /* by which a CPU may be late to write a record */
#define DIRECTORY "dcpimem-here"    /* directories of emulated runs are called dcpimem */

struct native_state {
	const struct native_request *request;
	struct node_cpus cpus;
	struct sample_source source;
	struct perf_collector *collector;
	char directory[PATH_MAX]; /* of logs */
	int error;
};

/* ---- while it runs ---- */

static int
take(void *context, uint32_t cpu, const struct record *record)
{
	(void)cpu;
	return perf_collector_take(context, record);
}

static void
collect(struct native_state *state, uint64_t horizon)
{
	if (!state->error)
		state->error = source_drain(&state->source, horizon, take, state->collector);
	if (!state->error && horizon != UINT64_MAX)
		state->error = perf_collector_advance(state->collector, horizon - state->source.behind_ns);
}

static void
tick(void *context, uint64_t elapsed_ns)
{
	(void)elapsed_ns;
	collect(context, monotonic_ns() - BEHIND_NS);
}

static int
begin(void *context)
{
	const struct native_state *state = context;
	const bool binds = state->source.kind == SOURCE_FAULTS && state->cpus.nodes > 1;
	int err = tracked_set_environment(state->request->tracker, state->directory);

	if (!err && binds && setenv(OBJECT_LOG_BIND, "1", 1))
		err = -errno;
	return err ? message_cannot(NULL, "preload the tracker", err, NULL) : STATUS_OK;
}

static int
run_command(struct native_state *state, struct native_outcome *outcome)
{
	struct child child = {
		.begin = begin, .begin_context = state, .tick = tick, .tick_context = state, .tick_ns = POLL_NS};
	const int err = child_run(&child, state->request->command);

	outcome->status = child.status;
	outcome->asked = child.asked;
	outcome->has_profile = !err;
	if (err < 0)
		return message_cannot(state->request->command[0], "run it", err, NULL);
	return err;
}

/* Until it ends, or the time is over, or a signal asks to end. */
static int
watch_process(struct native_state *state, struct native_outcome *outcome)
{
	const struct native_request *request = state->request;
	const uint64_t begin_ns = monotonic_ns();
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, (long)request->pid, 0L), .events = POLLIN};
	sigset_t before;

	if (ended.fd < 0)
		return message_cannot(NULL, "watch the process", -errno, NULL);
	exit_signals_block(&before);
	while (!state->error && !outcome->asked) {
		const uint64_t elapsed = monotonic_ns() - begin_ns;

		if (poll(&ended, 1, (int)(POLL_NS / 1000000)) > 0 ||
		    (request->duration_ns && elapsed >= request->duration_ns))
			break;
		tick(state, elapsed);
		outcome->asked = exit_signals_take();
	}
	exit_signals_restore(&before);
	close(ended.fd);
	outcome->has_profile = true;
	return STATUS_OK;
}

/* ---- before and after ---- */

/* The directory of the process's log, which it has in its environment. */
static int
find_directory(struct native_state *state)
{
	const pid_t pid = state->request->pid;
	const int err = tracked_find_directory(pid, state->directory, sizeof(state->directory));

	if (err == -ENOENT) {
		message_print(NULL,
		              "process %d was not started with the tracker: objects of its heap have no names "
		              "(DCPI_OBJECTS and LD_PRELOAD start it so: dcpimem(1))",
		              pid);
		return STATUS_OK;
	}
	if (err == -ESRCH) {
		message_print(NULL, "there is no process %d", pid);
		return STATUS_FAILURE;
	}
	return err ? message_cannot(NULL, "read the environment of the process", err, "it must be yours, or you root")
	           : STATUS_OK;
}

static int
make_directory(struct native_state *state, int *lock)
{
	const char *parent = temporary_directory_parent("/tmp");
	int err;

	run_directory_clean(parent, DIRECTORY);
	err = run_directory_make(parent, DIRECTORY, state->directory, sizeof(state->directory), lock);
	if (!err)
		return run_directory_share(state->directory);
	state->directory[0] = '\0';
	return message_cannot(parent, "make a directory for logs there", err, "TMPDIR names another place");
}

static int
begin_collecting(struct native_state *state, struct native_outcome *outcome, int *lock)
{
	const struct native_request *request = state->request;
	struct perf_collector_options options = {
		.cpus = &state->cpus, .is_live = true, .watches = request->watches, .access_max = request->access_max};
	int status, err = node_cpus_read("/sys", &state->cpus);

	if (err)
		return message_cannot("/sys/devices/system/node", "read which nodes there are", err, NULL);
	status = source_choose(request->source, &state->cpus, &state->source);
	if (!status && request->period && state->source.kind == SOURCE_PMU)
		state->source.period = request->period;
	if (!status)
		status = request->command ? make_directory(state, lock) : find_directory(state);
	if (status)
		return status;
	options.source = state->source.kind;
	options.directory = *state->directory ? state->directory : NULL;
	options.only =
		request->command ? (state->source.is_of_machine ? (uint32_t)getpid() : 0) : (uint32_t)request->pid;
	err = memory_profile_init(&outcome->profile);
	state->collector = err ? NULL : perf_collector_new(&outcome->profile, &options);
	if (!state->collector)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	status = source_open(&state->source, request->command ? 0 : request->pid);
	if (!status && !request->command && perf_collector_add_running(state->collector, (uint32_t)request->pid))
		status = message_cannot(NULL, "begin", -ENOMEM, NULL);
	return status;
}

static int
name_source(const struct native_state *state, struct memory_profile *profile)
{
	char text[EVENT_NAME_SIZE * SOURCE_EVENTS + 64];

	if (state->source.kind == SOURCE_FAULTS)
		snprintf(text, sizeof(text), "Page faults of NUMA balancing (%u node%s)", state->cpus.nodes,
		         text_plural(state->cpus.nodes));
	else
		snprintf(text, sizeof(text), "%s%s%s (%u node%s)", state->source.names[0],
		         state->source.event_count > 1 ? " and " : "", state->source.names[1], state->cpus.nodes,
		         text_plural(state->cpus.nodes));
	profile->source = memory_profile_add_text(profile, text);
	return profile->source == MEMORY_NOTHING ? -ENOMEM : 0;
}

static int
finish(struct native_state *state, struct native_outcome *outcome, uint64_t begin_ns)
{
	const uint64_t end_ns = monotonic_ns();
	int refused;

	collect(state, UINT64_MAX);
	source_close(&state->source);
	if (!state->error)
		state->error = perf_collector_finish(state->collector, begin_ns, end_ns);
	outcome->profile.totals.lost_accesses += state->source.lost;
	if (!state->error)
		state->error = name_source(state, &outcome->profile);
	refused = perf_collector_refused(state->collector);
	if (refused)
		(void)message_cannot(NULL, "ask on which nodes its pages are", -refused,
		                     "the process must be yours, and kernel.yama.ptrace_scope 0, or you root");
	if (!state->error)
		return STATUS_OK;
	outcome->has_profile = false;
	return message_cannot(state->directory, "read objects and accesses", state->error, NULL);
}

int
native_run(const struct native_request *request, struct native_outcome *outcome)
{
	struct native_state *state = calloc(1, sizeof(*state));
	uint64_t begin_ns;
	int lock = -1, status;

	memset(outcome, 0, sizeof(*outcome));
	if (!state)
		return message_cannot(NULL, "begin", -ENOMEM, NULL);
	state->request = request;
	status = begin_collecting(state, outcome, &lock);
	if (!status) {
		begin_ns = monotonic_ns();
		outcome->start_ns = clock_ns(CLOCK_REALTIME);
		status = request->command ? run_command(state, outcome) : watch_process(state, outcome);
		outcome->end_ns = clock_ns(CLOCK_REALTIME);
		if (outcome->has_profile) {
			const int finished = finish(state, outcome, begin_ns);

			status = status ? status : finished;
		}
	}
	source_close(&state->source);
	perf_collector_free(state->collector);
	if (lock >= 0) {
		temporary_directory_remove(state->directory);
		close(lock);
	}
	free(state);
	return status;
}

void
native_outcome_fini(struct native_outcome *outcome)
{
	memory_profile_fini(&outcome->profile);
}
