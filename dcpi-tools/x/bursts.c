#include "dcpi-tools/x/bursts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/x/process_code.h"
#include "dcpi-tools/x/replica_process.h"
#include "dcpi-tools/x/stopped_thread.h"

#define BURST_LIMIT_NS (20 * UINT64_C(1000000)) /* one burst is no longer, however slow the machine */
#define BURST_FIRST_NS (2 * UINT64_C(1000000))  /* what the first one is expected to take */
#define SLEEP_MIN_NS   UINT64_C(1000000)
#define SLEEP_MAX_NS   (SECOND_NS / 2)
#define PRIORITY       (-20)
#define LATE_TRIES     5000 /* of a millisecond */
#define FAILURES_MAX   20   /* of replicas, before the first burst */

struct bursts {
	const struct bursts_request *request;
	struct bursts_summary *summary;
	struct replica_process *replica; /* NULL: to be started */
	struct burst burst;
	struct process_code map;
	struct running running;
	uint32_t context;
	uint32_t failures;
	pid_t late_tid;        /* the last one that did not stop in time; 0: none */
	uint64_t begin_ns;     /* CLOCK_MONOTONIC */
	uint64_t begin_own_ns; /* of our CPU time */
	uint64_t inside_ns;    /* of our CPU time, while a thread stood still */
	uint64_t random;
};

/* xorshift64* (Vigna 2016) */
static uint64_t
draw(void *context)
{
	struct bursts *bursts = context;

	bursts->random ^= bursts->random >> 12;
	bursts->random ^= bursts->random << 25;
	bursts->random ^= bursts->random >> 27;
	return bursts->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* Time that bursts cost the process: its threads were stopped, or we ran on a CPU that it could have used. */
static uint64_t
cost_ns(struct bursts *bursts)
{
	struct bursts_summary *summary = bursts->summary;

	summary->own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - bursts->begin_own_ns - bursts->inside_ns;
	return summary->stopped_ns + summary->own_ns;
}

/* How long a thread may be stopped now within the budget. */
static uint64_t
allowed_ns(struct bursts *bursts)
{
	const uint64_t elapsed_ns = monotonic_ns() - bursts->begin_ns, spent_ns = cost_ns(bursts);
	const uint64_t whole_ns = (uint64_t)((double)elapsed_ns * bursts->request->budget_percent / 100);

	return whole_ns > spent_ns ? whole_ns - spent_ns : 0;
}

/* What a moment costs, in the mean. */
static uint64_t
expected_ns(struct bursts *bursts)
{
	const struct bursts_summary *summary = bursts->summary;

	return summary->bursts ? cost_ns(bursts) / summary->moments : BURST_FIRST_NS;
}

/* Until the budget allows another burst, and a random time more, so that bursts are in phase with nothing. */
static uint64_t
sleep_time(struct bursts *bursts)
{
	const double share = bursts->request->budget_percent / 100;
	const uint64_t wanted_ns = expected_ns(bursts), may_ns = allowed_ns(bursts);
	const uint64_t missing_ns = wanted_ns > may_ns ? (uint64_t)((double)(wanted_ns - may_ns) / share) : 0;
	uint64_t mean_ns = (uint64_t)((double)wanted_ns / share);

	if (mean_ns < SLEEP_MIN_NS)
		mean_ns = SLEEP_MIN_NS;
	if (mean_ns > SLEEP_MAX_NS)
		mean_ns = SLEEP_MAX_NS;
	return (missing_ns > mean_ns / 2 ? missing_ns : mean_ns / 2) + draw(bursts) % mean_ns / 2;
}

/* A thread that did not stop in time will stop later: it would not be released while we ourselves are stopped. */
static void
wait_for_late_thread(const struct bursts *bursts)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < LATE_TRIES && bursts->late_tid; i++) {
		stopped_thread_reap();
		if (running_tracer(bursts->request->pid, bursts->late_tid) != getpid())
			break;
		nanosleep(&pause, NULL);
	}
}

/* A signal that came while no thread was stopped; whether it asks us to end. */
static bool
take_signal(const struct bursts *bursts, int number)
{
	if (number == SIGTSTP) {
		wait_for_late_thread(bursts);
		raise(SIGSTOP);
	}
	stopped_thread_reap();
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* Until `sleep_ns` have passed or the end has come; true when a signal asks us to end. */
static bool
sleep_or_end(const struct bursts *bursts, const sigset_t *signals, uint64_t sleep_ns)
{
	const uint64_t end_ns = bursts->begin_ns + (uint64_t)(bursts->request->seconds * (double)SECOND_NS);
	uint64_t now = monotonic_ns(), until_ns = now + sleep_ns;
	struct timespec pause;

	if (until_ns > end_ns)
		until_ns = end_ns;
	for (; now < until_ns; now = monotonic_ns()) {
		pause = (struct timespec){(time_t)((until_ns - now) / SECOND_NS), (long)((until_ns - now) % SECOND_NS)};
		if (take_signal(bursts, sigtimedwait(signals, NULL, &pause)))
			return true;
	}
	return now >= end_ns;
}

/* Stop a thread, and execute its next instructions in the replica. 0 or -errno. */
static int
execute_burst(struct bursts *bursts, pid_t tid)
{
	const uint64_t own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t limit_ns = allowed_ns(bursts);
	struct stopped_thread thread;
	int err;

	if (limit_ns > BURST_LIMIT_NS)
		limit_ns = BURST_LIMIT_NS;
	err = stopped_thread_stop(tid, &thread);
	if (err == -EBUSY)
		bursts->late_tid = tid;
	if (err)
		return err;
	if (!thread.is_in_call)
		err = replica_process_execute(bursts->replica, &thread, BURSTS_STEPS, limit_ns, &bursts->burst);
	stopped_thread_release(&thread);
	bursts->summary->stopped_ns += monotonic_ns() - thread.stop_ns;
	bursts->inside_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
	bursts->summary->in_call += thread.is_in_call;
	return err;
}

/* Replace a broken replica; before the first burst at most FAILURES_MAX times. */
static int
replace_replica(struct bursts *bursts)
{
	replica_process_free(bursts->replica);
	bursts->replica = NULL;
	return bursts->summary->bursts == 0 && ++bursts->failures > FAILURES_MAX ? -ENOSYS : 0;
}

/* Not when the thread ended meanwhile, or when we still trace it, since it did not stop last time. */
static bool
is_refused(pid_t pid, pid_t tid)
{
	return running_state(pid, tid) == 'R' && running_tracer(pid, tid) != getpid();
}

/* -ESRCH when the process has ended, or an error. */
static int
take_burst(struct bursts *bursts)
{
	const pid_t pid = bursts->request->pid, tid = running_choose(&bursts->running, pid, draw, bursts);
	int err;

	bursts->summary->moments += tid >= 0;
	bursts->summary->asleep += tid == 0;
	if (tid <= 0)
		return tid;
	if (!bursts->replica)
		bursts->replica = replica_process_new(pid);
	if (!bursts->replica)
		return errno == EPIPE || errno == ETIMEDOUT ? replace_replica(bursts) : -errno;
	bursts->burst.count = 0;
	err = execute_burst(bursts, tid);
	if (err == -EPIPE)
		return replace_replica(bursts);
	/* A thread that ended, perhaps the last one: then there is none next time. */
	if (err == -ESRCH || err == -EBUSY || (err == -EPERM && !is_refused(pid, tid)))
		return 0;
	if (err)
		return err;
	bursts->summary->bursts += bursts->burst.count > 0;
	bursts->summary->steps += bursts->burst.count;
	bursts->summary->ends[bursts->burst.end]++;
	return process_code_count(&bursts->map, bursts->burst.places, bursts->burst.count);
}

static int
take_bursts(struct bursts *bursts)
{
	static const int list[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD};
	struct progress progress;
	sigset_t signals, before;
	const int priority = getpriority(PRIO_PROCESS, 0);
	int result = 0;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		sigaddset(&signals, list[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	/* If we are allowed to: a thread is stopped while we wait for a CPU. */
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	bursts->begin_ns = monotonic_ns();
	bursts->begin_own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	bursts->summary->start_ns = time_now();
	progress_begin(&progress, "of the time of bursts");
	while (!result && !sleep_or_end(bursts, &signals, sleep_time(bursts))) {
		result = take_burst(bursts);
		progress_show(&progress, monotonic_ns() - bursts->begin_ns,
		              (uint64_t)(bursts->request->seconds * (double)SECOND_NS));
	}
	progress_end(&progress);
	(void)cost_ns(bursts);
	bursts->summary->elapsed_ns = monotonic_ns() - bursts->begin_ns;
	bursts->summary->end_ns = time_now();
	bursts->summary->has_ended = result == -ESRCH;
	stopped_thread_reap();
	(void)setpriority(PRIO_PROCESS, 0, priority);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result == -ESRCH ? 0 : result;
}

static int
read_comm(struct bursts *bursts, struct counted *counted)
{
	struct context context = {.comm = bursts->summary->comm, .cgroup = "", .label = bursts->request->label};
	char name[64];
	FILE *comm;

	snprintf(name, sizeof(name), "/proc/%d/comm", (int)bursts->request->pid);
	comm = fopen(name, "re");
	if (!comm)
		return errno == ENOENT ? -ESRCH : -errno;
	if (fgets(bursts->summary->comm, sizeof(bursts->summary->comm), comm))
		bursts->summary->comm[strcspn(bursts->summary->comm, "\n")] = '\0';
	fclose(comm);
	return context_table_intern(counted->contexts, &context, &bursts->context);
}

static int
prepare(struct bursts *bursts, struct counted *counted)
{
	int err = read_comm(bursts, counted);

	if (err)
		return err;
	if (getrandom(&bursts->random, sizeof(bursts->random), GRND_NONBLOCK) < 0)
		bursts->random = monotonic_ns();
	bursts->random |= 1;
	err = process_code_init(&bursts->map, bursts->request->pid, bursts->context, counted);
	if (err)
		return err;
	return process_code_has(&bursts->map, REPLICA_START, REPLICA_END) ? -EADDRINUSE : 0;
}

/* A number from a file with one, -1 when it cannot be had. */
static long
read_number(const char *name, const char *key)
{
	FILE *file = fopen(name, "re");
	char line[256];
	long number = -1;

	while (file && number < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtol(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

/* Say what else may prevent us from tracing it. */
static int
refuse_permission(const char *name, pid_t pid, int err)
{
	const long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", "");
	const pid_t tracer = running_tracer(pid, pid);
	char status[64], hint[128];

	if (tracer > 0) {
		message_print(name, "process %d traces it already, a debugger perhaps, and only one can", (int)tracer);
		return STATUS_FAILURE;
	}
	snprintf(status, sizeof(status), "/proc/%d/status", (int)pid);
	if (read_number(status, "Kthread:") == 1)
		return message_cannot(name, "take bursts of it", err, "it is a thread of the kernel");
	if (scope > 0)
		snprintf(hint, sizeof(hint), "kernel.yama.ptrace_scope is %ld: only root may trace", scope);
	else
		snprintf(hint, sizeof(hint), "its user or root may, if it is no thread of the kernel");
	return message_cannot(name, "take bursts of it", err, hint);
}

/* Say why no bursts can be taken, as far as the error and /proc tell. An exit status. */
static int
refuse(pid_t pid, int err)
{
	char name[64];

	snprintf(name, sizeof(name), "process %d", (int)pid);
	switch (err) {
	case -EPERM:
	case -EACCES:
		return refuse_permission(name, pid, err);
	case -ENOEXEC:
		message_print(name, "it is a 32-bit program; dcpix takes bursts of 64-bit programs");
		return STATUS_FAILURE;
	case -EADDRINUSE:
		message_print(name, "it has memory where dcpix executes what it would execute");
		return STATUS_FAILURE;
	case -ENOSYS:
		message_print(name, "what it is executing cannot be executed in its place on this machine");
		return STATUS_FAILURE;
	case -ENOENT:
		return message_cannot("dcpi-replica", "find it", err, "is dcpi installed whole?");
	default:
		return message_cannot(name, "take bursts of it", err, NULL);
	}
}

int
bursts_run(const struct bursts_request *request, struct counted *counted, struct bursts_summary *summary)
{
	struct bursts *bursts = calloc(1, sizeof(*bursts));
	int err;

	memset(summary, 0, sizeof(*summary));
	if (!bursts)
		return message_cannot(NULL, "take bursts", -ENOMEM, NULL);
	bursts->request = request;
	bursts->summary = summary;
	bursts->map.maps.procfs = -1;
	err = prepare(bursts, counted);
	if (!err)
		err = take_bursts(bursts);
	replica_process_free(bursts->replica);
	process_code_fini(&bursts->map);
	running_fini(&bursts->running);
	free(bursts);
	if (!err)
		return STATUS_OK;
	err = refuse(request->pid, err);
	return summary->bursts > 0 ? STATUS_OK : err; /* bursts that were taken until then are kept */
}
