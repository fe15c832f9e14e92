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
#include "dcpi-tools/x/bursts_refusal.h"
#include "dcpi-tools/x/process_code.h"
#include "dcpi-tools/x/replica_run.h"
#include "dcpi-tools/x/running.h"

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
	struct replica *replica; /* NULL: to be started */
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

/* What bursts have cost the process: threads that stood still, and a CPU that it might have had. */
static uint64_t
cost_ns(struct bursts *bursts)
{
	struct bursts_summary *summary = bursts->summary;

	summary->own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - bursts->begin_own_ns - bursts->inside_ns;
	return summary->stopped_ns + summary->own_ns;
}

/* How long a thread may stand still now without going beyond the budget. */
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

/* Until the budget allows for another burst, and by chance half as long again: in step with nothing. */
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

/* Who did not stop in time will do so yet, and nobody would let it go while we are stopped. */
static void
wait_for_late_one(const struct bursts *bursts)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < LATE_TRIES && bursts->late_tid; i++) {
		seized_tend();
		if (running_tracer(bursts->request->pid, bursts->late_tid) != getpid())
			break;
		nanosleep(&pause, NULL);
	}
}

/* A signal that came while nothing stood still; is it the end? */
static bool
take_signal(const struct bursts *bursts, int number)
{
	if (number == SIGTSTP) {
		wait_for_late_one(bursts);
		raise(SIGSTOP);
	}
	seized_tend();
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* Until `sleep_ns` have passed or the end has come; true when somebody told us to end. */
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

/* Let a thread that stands still be executed elsewhere. 0 or -errno. */
static int
execute_burst(struct bursts *bursts, pid_t tid)
{
	const uint64_t own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t limit_ns = allowed_ns(bursts);
	struct seized seized;
	int err;

	if (limit_ns > BURST_LIMIT_NS)
		limit_ns = BURST_LIMIT_NS;
	err = seized_stop(tid, &seized);
	if (err == -EBUSY)
		bursts->late_tid = tid;
	if (err)
		return err;
	if (!seized.is_in_call)
		err = replica_execute(bursts->replica, &seized, BURSTS_STEPS, limit_ns, &bursts->burst);
	seized_let_go(&seized);
	bursts->summary->stopped_ns += monotonic_ns() - seized.stop_ns;
	bursts->inside_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
	bursts->summary->in_call += seized.is_in_call;
	return err;
}

/* A replica that is broken is replaced, the first ones of a process not for ever. */
static int
replace_replica(struct bursts *bursts)
{
	replica_free(bursts->replica);
	bursts->replica = NULL;
	return bursts->summary->bursts == 0 && ++bursts->failures > FAILURES_MAX ? -ENOSYS : 0;
}

/* Not when it ended meanwhile, or when we have it still, since it did not stop last time. */
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
		bursts->replica = replica_new(pid);
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
	/* As far as we may: somebody stands still while we wait for a CPU. */
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
	seized_tend();
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
	replica_free(bursts->replica);
	process_code_fini(&bursts->map);
	running_fini(&bursts->running);
	free(bursts);
	if (!err)
		return STATUS_OK;
	err = bursts_refuse(request->pid, err);
	return summary->bursts > 0 ? STATUS_OK : err; /* what was taken until then is kept */
}
