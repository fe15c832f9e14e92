#include "dcpi-tools/x/bursts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/time_text.h"
#include "dcpi-tools/x/stepper.h"
#include "process/image_of_mapping.h"
#include "process/proc_maps.h"

#define SECOND_NS      UINT64_C(1000000000)
#define BURST_LIMIT_NS (20 * UINT64_C(1000000)) /* one burst is no longer, however slow the machine */
#define BURST_FIRST_NS (5 * UINT64_C(1000000))  /* what the first one is expected to take */
#define SLEEP_MIN_NS   UINT64_C(1000000)
#define SLEEP_MAX_NS   (SECOND_NS / 2)
#define MAPS_AGE_NS    SECOND_NS /* a mapping may have been replaced by another */
#define THREADS_MAX    65536

/* Code that the process has mapped. */
struct mapping {
	uint64_t start, end, offset;
	uint32_t image; /* of the session; UINT32_MAX: no file's */
};

struct bursts {
	const struct bursts_request *request;
	struct bursts_summary *summary;
	struct counted *counted;
	struct burst burst;
	struct proc_maps maps;
	struct vdso_identity vdso;
	struct mapping *mappings;
	size_t mapping_count, mapping_capacity;
	uint64_t maps_ns; /* when they were read */
	uint32_t context;
	pid_t *threads;
	size_t thread_capacity;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t random;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* xorshift64* (Vigna 2016) */
static uint64_t
draw(struct bursts *bursts)
{
	bursts->random ^= bursts->random >> 12;
	bursts->random ^= bursts->random << 25;
	bursts->random ^= bursts->random >> 27;
	return bursts->random * UINT64_C(0x2545f4914f6cdd1d);
}

static char
thread_state(pid_t pid, pid_t tid)
{
	char name[64], text[512], state = '?';
	const char *end;
	FILE *stat;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	stat = fopen(name, "re");
	if (!stat)
		return state;
	if (fgets(text, sizeof(text), stat)) {
		end = strrchr(text, ')');
		if (end && end[1] == ' ')
			state = end[2];
	}
	fclose(stat);
	return state;
}

/* One of the threads that run, by chance; 0 when none does, or -errno: the process is gone. */
static pid_t
choose_thread(struct bursts *bursts)
{
	const pid_t pid = bursts->request->pid;
	const struct dirent *entry;
	char name[64];
	size_t count = 0;
	DIR *tasks;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	tasks = opendir(name);
	if (!tasks)
		return -errno;
	while ((entry = readdir(tasks)) && count < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t *grown;

		if (tid <= 0 || thread_state(pid, tid) != 'R')
			continue;
		grown = array_grow(bursts->threads, &bursts->thread_capacity, count + 1, sizeof(*grown));
		if (!grown)
			break;
		bursts->threads = grown;
		grown[count++] = tid;
	}
	closedir(tasks);
	return count ? bursts->threads[draw(bursts) % count] : 0;
}

static int
add_mapping(void *context, const struct record_mmap *mmap)
{
	struct bursts *bursts = context;
	struct mapping *grown;
	struct image image;
	char buffer[PATH_MAX];
	uint32_t number = UINT32_MAX;
	int err = 0;

	grown = array_grow(bursts->mappings, &bursts->mapping_capacity, bursts->mapping_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	bursts->mappings = grown;
	image_of_mapping(mmap, &bursts->vdso, &image, buffer);
	if (image.kind == IMAGE_USER || image.kind == IMAGE_VDSO)
		err = image_table_intern(bursts->counted->images, &image, &number);
	if (err)
		return err;
	grown[bursts->mapping_count++] = (struct mapping){
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.offset = image.kind == IMAGE_USER ? mmap->file_offset : 0,
		.image = number,
	};
	return 0;
}

static int
read_mappings(struct bursts *bursts)
{
	bursts->mapping_count = 0;
	bursts->maps_ns = now_ns();
	return proc_maps_read(&bursts->maps, (uint32_t)bursts->request->pid, add_mapping, bursts);
}

static const struct mapping *
find_mapping(const struct bursts *bursts, uint64_t address)
{
	for (size_t i = 0; i < bursts->mapping_count; i++)
		if (address >= bursts->mappings[i].start && address < bursts->mappings[i].end)
			return &bursts->mappings[i];
	return NULL;
}

static int
count_step(struct bursts *bursts, const struct step *step)
{
	const struct mapping *from = find_mapping(bursts, step->from), *to = find_mapping(bursts, step->to);
	uint64_t offset;
	int err;

	if (!from || from->image == UINT32_MAX) {
		bursts->counted->anonymous++;
		bursts->counted->total++;
		return 0;
	}
	offset = step->from - from->start + from->offset;
	err = counted_add(bursts->counted, from->image, bursts->context, offset, 1);
	if (err || !to || to->image != from->image)
		return err;
	return counted_add_edge(bursts->counted, from->image, offset, step->to - to->start + to->offset, 1);
}

/* Once the thread goes on: where its steps were. */
static int
count_burst(struct bursts *bursts)
{
	const struct burst *burst = &bursts->burst;
	bool is_known = now_ns() - bursts->maps_ns < MAPS_AGE_NS;
	int err = 0;

	for (size_t i = 0; i < burst->count && is_known; i++)
		is_known = find_mapping(bursts, burst->steps[i].from) && find_mapping(bursts, burst->steps[i].to);
	if (!is_known && burst->count > 0)
		err = read_mappings(bursts);
	if (err == -ENOENT || err == -ESRCH)
		err = 0; /* it has ended: what was known must do */
	for (size_t i = 0; !err && i < burst->count; i++)
		err = count_step(bursts, &burst->steps[i]);
	bursts->summary->bursts += burst->count > 0;
	bursts->summary->steps += burst->count;
	return err;
}

/* How long a thread may be stopped now without going beyond the budget. */
static uint64_t
allowed_ns(const struct bursts *bursts)
{
	const uint64_t elapsed_ns = now_ns() - bursts->begin_ns;
	const uint64_t whole_ns = (uint64_t)((double)elapsed_ns * bursts->request->budget_percent / 100);

	return whole_ns > bursts->summary->stopped_ns ? whole_ns - bursts->summary->stopped_ns : 0;
}

/* What a burst takes, in the mean. */
static uint64_t
expected_ns(const struct bursts *bursts)
{
	const struct bursts_summary *summary = bursts->summary;

	return summary->bursts ? summary->stopped_ns / summary->bursts : BURST_FIRST_NS;
}

/* Until the budget allows for another burst, and half to one and a half times as long: in step with nothing. */
static uint64_t
sleep_time(struct bursts *bursts)
{
	const double share = bursts->request->budget_percent / 100;
	const uint64_t wanted_ns = expected_ns(bursts), may_ns = allowed_ns(bursts);
	uint64_t mean_ns = (uint64_t)((double)wanted_ns / share), sleep_ns;

	if (mean_ns < SLEEP_MIN_NS)
		mean_ns = SLEEP_MIN_NS;
	if (mean_ns > SLEEP_MAX_NS)
		mean_ns = SLEEP_MAX_NS;
	sleep_ns = mean_ns / 2 + draw(bursts) % mean_ns;
	if (wanted_ns > may_ns && (uint64_t)((double)(wanted_ns - may_ns) / share) > sleep_ns)
		sleep_ns = (uint64_t)((double)(wanted_ns - may_ns) / share) + draw(bursts) % mean_ns / 2;
	return sleep_ns;
}

/* Until `sleep_ns` have passed or the end has come; true when somebody told us to end. */
static bool
sleep_or_end(const struct bursts *bursts, const sigset_t *signals, uint64_t sleep_ns)
{
	const uint64_t end_ns = bursts->begin_ns + (uint64_t)(bursts->request->seconds * (double)SECOND_NS);
	const uint64_t now = now_ns();
	struct timespec pause;

	if (now >= end_ns)
		return true;
	if (sleep_ns > end_ns - now)
		sleep_ns = end_ns - now;
	pause = (struct timespec){(time_t)(sleep_ns / SECOND_NS), (long)(sleep_ns % SECOND_NS)};
	return sigtimedwait(signals, NULL, &pause) > 0 || now_ns() >= end_ns;
}

/* 1 when the process has ended, or an error. */
static int
run_burst(struct bursts *bursts)
{
	pid_t tid = choose_thread(bursts);
	uint64_t limit_ns = allowed_ns(bursts);
	int err;

	bursts->burst.count = 0;
	bursts->burst.stopped_ns = 0;
	if (tid <= 0)
		return tid == 0 ? 0 : 1;
	if (limit_ns > BURST_LIMIT_NS)
		limit_ns = BURST_LIMIT_NS;
	err = stepper_burst(tid, BURSTS_STEPS, limit_ns, &bursts->burst);
	bursts->summary->stopped_ns += bursts->burst.stopped_ns;
	/* A thread that ended; or the process, which is seen next time. */
	if (err == -ESRCH || (err == -EPERM && thread_state(bursts->request->pid, tid) != 'R'))
		err = 0;
	return err ? err : count_burst(bursts);
}

static int
run_bursts(struct bursts *bursts)
{
	sigset_t signals, before;
	int result = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	bursts->begin_ns = now_ns();
	bursts->summary->start_ns = time_now();
	while (!result && !sleep_or_end(bursts, &signals, sleep_time(bursts)))
		result = run_burst(bursts);
	bursts->summary->elapsed_ns = now_ns() - bursts->begin_ns;
	bursts->summary->end_ns = time_now();
	bursts->summary->has_ended = result == 1;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result == 1 ? 0 : result;
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

static int
cannot_trace(pid_t pid, int err)
{
	const long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", "");
	char name[64], hint[128];

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	if (read_number(name, "TracerPid:") > 0) {
		message_print(name, "process %ld traces it already, and only one can", read_number(name, "TracerPid:"));
		return STATUS_FAILURE;
	}
	snprintf(name, sizeof(name), "process %d", (int)pid);
	if (err != -EPERM && err != -EACCES)
		return message_cannot(name, "step it", err, NULL);
	if (scope > 0)
		snprintf(hint, sizeof(hint), "kernel.yama.ptrace_scope is %ld: only root may trace", scope);
	else
		snprintf(hint, sizeof(hint), "its user or root may, if it is no thread of the kernel");
	return message_cannot(name, "step it", err, hint);
}

static int
read_comm(struct bursts *bursts)
{
	struct context context = {.comm = bursts->summary->comm, .cgroup = "", .label = bursts->request->label};
	char name[64];
	FILE *comm;

	snprintf(name, sizeof(name), "/proc/%d/comm", (int)bursts->request->pid);
	comm = fopen(name, "re");
	if (!comm)
		return -errno;
	if (fgets(bursts->summary->comm, sizeof(bursts->summary->comm), comm))
		bursts->summary->comm[strcspn(bursts->summary->comm, "\n")] = '\0';
	fclose(comm);
	return context_table_intern(bursts->counted->contexts, &context, &bursts->context);
}

static int
prepare(struct bursts *bursts)
{
	int err = read_comm(bursts);

	if (err)
		return err == -ENOENT ? -ESRCH : err;
	if (getrandom(&bursts->random, sizeof(bursts->random), GRND_NONBLOCK) < 0)
		bursts->random = now_ns();
	bursts->random |= 1;
	vdso_identity_read(&bursts->vdso);
	bursts->maps.procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bursts->maps.files = file_identities_new();
	bursts->maps.lines = malloc(sizeof(*bursts->maps.lines));
	if (!bursts->maps.files || !bursts->maps.lines)
		return -ENOMEM;
	if (bursts->maps.procfs < 0)
		return -errno;
	err = read_mappings(bursts);
	return err || bursts->mapping_count > 0 ? err : -EPERM; /* the kernel's own have none */
}

int
bursts_run(const struct bursts_request *request, struct counted *counted, struct bursts_summary *summary)
{
	struct bursts *bursts = calloc(1, sizeof(*bursts));
	int err;

	memset(summary, 0, sizeof(*summary));
	if (!bursts)
		return message_cannot(NULL, "step it", -ENOMEM, NULL);
	bursts->request = request;
	bursts->counted = counted;
	bursts->summary = summary;
	bursts->maps.procfs = -1;
	err = prepare(bursts);
	if (!err)
		err = run_bursts(bursts);
	if (bursts->maps.procfs >= 0)
		close(bursts->maps.procfs);
	file_identities_free(bursts->maps.files);
	free(bursts->maps.lines);
	free(bursts->mappings);
	free(bursts->threads);
	free(bursts);
	return err ? cannot_trace(request->pid, err) : STATUS_OK;
}
