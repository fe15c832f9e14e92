/*
 * hinting_faults - what NUMA balancing and page-fault samples tell of a process, on a machine with several nodes
 *
 * hinting_faults default|bind|balancing SECONDS MIB
 *
 * A child fills a buffer on the first node, and reads and writes it at random with threads: one on each CPU but the
 * last of a node that has several, which the parent needs. The buffer's policy is the default one, or MPOL_BIND to that
 * node, or MPOL_BIND with MPOL_F_NUMA_BALANCING. The parent samples each page fault of the machine, and asks at once
 * where the page is, as soon as it has the sample and once more for all pages at the end. Prints one JSON object. The
 * buffer is there before sampling begins: faults in it are hinting faults.
 *
 * Root. Where the kernel has no nodes, all CPUs are of node 0.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX    64
#define NODES_MAX   8
#define RING_PAGES  512
#define ASK_AT_ONCE 512
#define LINE        64
#define DRAIN_NS    10000000L
#define TAKEN_MAX   ((size_t)1 << 20)

/* <numaif.h> is not of libc */
#define POLICY_BIND      2
#define POLICY_BALANCING (1 << 13) /* since 5.12 */

struct fault_ring {
	int fd;
	struct perf_event_mmap_page *head;
	const char *data;
};

/* PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU */
struct fault_sample {
	uint32_t pid, tid;
	uint64_t time, address;
	uint32_t cpu, reserved;
};

enum { PTE_UPDATES, HINT_FAULTS, HINT_FAULTS_LOCAL, MIGRATED, COUNTS };

static const char *const count_names[COUNTS] = {
	"numa_pte_updates",
	"numa_hint_faults",
	"numa_hint_faults_local",
	"numa_pages_migrated",
};

struct answers {
	uint64_t on_node[NODES_MAX], refused;
	int error; /* the last refusal's */
	uint64_t ns;
};

static size_t bytes, page_bytes;
static char *buffer;
static unsigned cpu_count, node_of[CPUS_MAX], node_count = 1;
static uint64_t samples, within_page, distinct, lost, from_node[NODES_MAX];
static bool *seen;                /* pages */
static volatile uint64_t *rounds; /* of each CPU's thread, LINE bytes apart; shared with the child */
static struct answers at_once, at_end;
static struct fault_sample *taken; /* TAKEN_MAX at most */
static size_t taken_count;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
pin_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void
find_nodes(void)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	cpu_count = online > CPUS_MAX ? CPUS_MAX : (unsigned)online;
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		pin_to(cpu);
		if (getcpu(NULL, &node_of[cpu]))
			die("getcpu");
		if (node_of[cpu] >= NODES_MAX) {
			fprintf(stderr, "CPU %u is of node %u\n", cpu, node_of[cpu]);
			exit(1);
		}
		node_count = node_of[cpu] >= node_count ? node_of[cpu] + 1 : node_count;
	}
}

/* ---- the child ---- */

static void *
use_buffer(void *data)
{
	const unsigned cpu = (unsigned)(uintptr_t)data;
	uint64_t random = cpu * UINT64_C(0x9e3779b97f4a7c15) + 1;

	pin_to(cpu);
	for (;;) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		((volatile char *)buffer)[random % (bytes / LINE) * LINE + cpu % LINE]++;
		rounds[cpu * LINE / sizeof(*rounds)]++;
	}
	return NULL;
}

static void
be_watched(const char *policy, int ready)
{
	const unsigned long first = 1;
	long mode = strcmp(policy, "default") == 0 ? 0 : POLICY_BIND;

	mode |= strcmp(policy, "balancing") == 0 ? POLICY_BALANCING : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(0);
	if (mode && syscall(SYS_mbind, buffer, bytes, mode, &first, sizeof(first) * 8 + 1, 0UL))
		die("mbind");
	memset(buffer, 1, bytes);
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		const bool is_first = cpu == 0 || node_of[cpu - 1] != node_of[cpu];
		const bool is_last = cpu + 1 == cpu_count || node_of[cpu + 1] != node_of[cpu];
		pthread_t thread;

		if (is_last && !is_first)
			continue;
		if (pthread_create(&thread, NULL, use_buffer, (void *)(uintptr_t)cpu))
			die("pthread_create");
	}
	if (write(ready, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

/* ---- the parent ---- */

static void
read_counts(uint64_t counts[COUNTS])
{
	FILE *file = fopen("/proc/vmstat", "r");
	unsigned long long value;
	char name[64];

	if (!file)
		die("/proc/vmstat");
	while (fscanf(file, "%63s %llu", name, &value) == 2) {
		for (unsigned i = 0; i < COUNTS; i++)
			counts[i] = strcmp(name, count_names[i]) == 0 ? value : counts[i];
	}
	fclose(file);
}

static void
open_rings(struct fault_ring *rings)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU,
	};

	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		rings[cpu].fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (rings[cpu].fd < 0)
			die("perf_event_open");
		rings[cpu].head =
			mmap(NULL, (RING_PAGES + 1) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rings[cpu].fd, 0);
		if (rings[cpu].head == MAP_FAILED)
			die("mmap");
		rings[cpu].data = (const char *)rings[cpu].head + page_bytes;
	}
}

static void
ask(pid_t pid, void *const *pages, size_t count, struct answers *answers)
{
	int nodes[ASK_AT_ONCE];
	const uint64_t began = now_ns();

	if (syscall(SYS_move_pages, (long)pid, count, pages, NULL, nodes, 0L))
		die("move_pages");
	answers->ns += now_ns() - began;
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] >= 0 && nodes[i] < NODES_MAX) {
			answers->on_node[nodes[i]]++;
		} else {
			answers->refused++;
			answers->error = -nodes[i];
		}
	}
}

static void
take_sample(pid_t pid, const struct fault_sample *sample)
{
	const uint64_t offset = sample->address - (uintptr_t)buffer;
	void *page;

	if ((pid_t)sample->pid != pid || offset >= bytes || sample->cpu >= cpu_count)
		return;
	samples++;
	if (taken_count < TAKEN_MAX)
		taken[taken_count++] = *sample;
	within_page += offset % page_bytes != 0;
	from_node[node_of[sample->cpu]]++;
	distinct += !seen[offset / page_bytes];
	seen[offset / page_bytes] = true;
	page = buffer + offset / page_bytes * page_bytes;
	ask(pid, &page, 1, &at_once);
}

/* A record may go over the end of the ring. */
static void
copy_out(const struct fault_ring *ring, uint64_t at, void *copy, size_t length)
{
	const size_t ring_bytes = RING_PAGES * page_bytes;

	for (size_t i = 0; i < length; i++)
		((char *)copy)[i] = ring->data[(at + i) % ring_bytes];
}

static void
drain(const struct fault_ring *ring, pid_t pid)
{
	const uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;

	for (uint64_t at = ring->head->data_tail; at < head; at += header.size) {
		struct fault_sample sample;
		uint64_t dropped[2];

		copy_out(ring, at, &header, sizeof(header));
		if (header.type == PERF_RECORD_SAMPLE) {
			copy_out(ring, at + sizeof(header), &sample, sizeof(sample));
			take_sample(pid, &sample);
		} else if (header.type == PERF_RECORD_LOST) {
			copy_out(ring, at + sizeof(header), dropped, sizeof(dropped));
			lost += dropped[1];
		}
	}
	__atomic_store_n(&ring->head->data_tail, head, __ATOMIC_RELEASE);
}

static int
compare_times(const void *a, const void *b)
{
	const struct fault_sample *one = a, *other = b;

	return (one->time > other->time) - (one->time < other->time);
}

/* How often a sample is of another node than the one before it. */
static size_t
count_turns(void)
{
	size_t turns = 0;

	qsort(taken, taken_count, sizeof(*taken), compare_times);
	for (size_t i = 1; i < taken_count; i++)
		turns += node_of[taken[i].cpu] != node_of[taken[i - 1].cpu];
	return turns;
}

static void
ask_for_all(pid_t pid)
{
	void *pages[ASK_AT_ONCE];
	size_t count = 0;

	for (size_t at = 0; at < bytes; at += page_bytes) {
		pages[count++] = buffer + at;
		if (count == ASK_AT_ONCE || at + page_bytes >= bytes) {
			ask(pid, pages, count, &at_end);
			count = 0;
		}
	}
}

static void
print_nodes(const char *name, const uint64_t counts[NODES_MAX])
{
	printf(" \"%s\": [", name);
	for (unsigned node = 0; node < node_count; node++)
		printf("%s%llu", node ? ", " : "", (unsigned long long)counts[node]);
	printf("],\n");
}

static void
print_answers(const char *name, const struct answers *answers)
{
	printf(" \"%s_refused\": %llu, \"%s_error\": %d, \"%s_ns\": %llu,\n", name,
	       (unsigned long long)answers->refused, name, answers->error, name, (unsigned long long)answers->ns);
	print_nodes(name, answers->on_node);
}

static void
print_rounds(void)
{
	printf(" \"rounds\": [");
	for (unsigned cpu = 0; cpu < cpu_count; cpu++)
		printf("%s%llu", cpu ? ", " : "", (unsigned long long)rounds[cpu * LINE / sizeof(*rounds)]);
	printf("],\n");
}

static void
watch(pid_t pid, uint64_t seconds)
{
	const struct timespec pause = {.tv_nsec = DRAIN_NS};
	struct fault_ring rings[CPUS_MAX];
	uint64_t before[COUNTS] = {0}, after[COUNTS] = {0}, began;

	open_rings(rings);
	read_counts(before);
	began = now_ns();
	while (now_ns() - began < seconds * 1000000000) {
		nanosleep(&pause, NULL);
		for (unsigned cpu = 0; cpu < cpu_count; cpu++)
			drain(&rings[cpu], pid);
	}
	read_counts(after);
	kill(pid, SIGSTOP);
	for (unsigned cpu = 0; cpu < cpu_count; cpu++)
		drain(&rings[cpu], pid);
	ask_for_all(pid);
	printf("{\n \"nodes\": %u, \"cpus\": %u, \"pages\": %zu,\n", node_count, cpu_count, bytes / page_bytes);
	for (unsigned i = 0; i < COUNTS; i++)
		printf(" \"%s\": %llu,\n", count_names[i], (unsigned long long)(after[i] - before[i]));
	print_nodes("from_node", from_node);
	print_answers("at_once", &at_once);
	print_answers("at_end", &at_end);
	print_rounds();
	printf(" \"turns\": %zu,\n", count_turns());
	printf(" \"samples\": %llu, \"within_page\": %llu, \"distinct_pages\": %llu, \"lost\": %llu\n}\n",
	       (unsigned long long)samples, (unsigned long long)within_page, (unsigned long long)distinct,
	       (unsigned long long)lost);
}

int
main(int argc, char **argv)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (argc != 4 || strtoull(argv[3], NULL, 0) == 0) {
		fprintf(stderr, "hinting_faults default|bind|balancing SECONDS MIB\n");
		return 2;
	}
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	bytes = strtoull(argv[3], NULL, 0) << 20;
	seen = calloc(bytes / page_bytes, sizeof(*seen));
	buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	taken = calloc(TAKEN_MAX, sizeof(*taken));
	rounds = mmap(NULL, CPUS_MAX * LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!seen || !taken || rounds == MAP_FAILED || buffer == MAP_FAILED || pipe(ready))
		die("memory");
	madvise(buffer, bytes, MADV_NOHUGEPAGE);
	find_nodes();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		be_watched(argv[1], ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("the child");
	watch(pid, strtoull(argv[2], NULL, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
