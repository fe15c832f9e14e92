/* A real ring of the running kernel: what it writes is what the decoder, the ring and the merge were made for. */
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "event/event.h"
#include "stream/merge.h"

#define PAGES     64
#define PERIOD_NS 50000

struct seen_records {
	pid_t child;
	bool forked, executed, exited;
	struct record_mmap program; /* the child's mapping of it; its path is not kept */
	uint64_t own_samples;       /* of this process, inside burn() */
	uint64_t records, samples, lost;
	uint64_t first, last; /* times */
	uint64_t sample_id, foreign_ids;
};

struct live_fixture {
	int cpu;
	int sideband, clock; /* descriptors */
	struct ring *ring;
	struct merge *merge;
	struct event_features features;
	struct seen_records seen;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Open both events on one CPU with one ring; false when the kernel refuses. */
static bool
open_events(struct live_fixture *fixture)
{
	struct event_environment environment = {.open = event_open_system, .cpu = fixture->cpu};
	struct event event = {
		.encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
		.period = PERIOD_NS,
		.user = true,
		.kernel = true,
	};
	struct perf_event_attr attr;

	if (event_features_probe(&environment, &fixture->features))
		return false;
	event_sideband_attr(&fixture->features, &attr);
	fixture->sideband = event_open_system(NULL, &attr, fixture->cpu);
	event_sample_attr(&event, &fixture->features, &attr);
	fixture->clock = event_open_system(NULL, &attr, fixture->cpu);
	assert_true(fixture->sideband >= 0 && fixture->clock >= 0);
	assert_int_equal(ioctl(fixture->clock, PERF_EVENT_IOC_ID, &fixture->seen.sample_id), 0);
	fixture->ring = ring_new(fixture->sideband, PAGES);
	assert_non_null(fixture->ring);
	assert_int_equal(ioctl(fixture->clock, PERF_EVENT_IOC_SET_OUTPUT, fixture->sideband), 0);
	assert_int_equal(merge_add(fixture->merge, fixture->ring,
	                           &(struct record_layout){attr.sample_type, attr.sample_id_all},
	                           (uint32_t)fixture->cpu),
	                 0);
	assert_int_equal(ioctl(fixture->sideband, PERF_EVENT_IOC_ENABLE, 0), 0);
	assert_int_equal(ioctl(fixture->clock, PERF_EVENT_IOC_ENABLE, 0), 0);
	return true;
}

static int
setup(void **state)
{
	struct live_fixture *fixture = calloc(1, sizeof(*fixture));
	cpu_set_t cpus;

	assert_non_null(fixture);
	fixture->sideband = fixture->clock = -1;
	fixture->merge = merge_new();
	assert_non_null(fixture->merge);
	fixture->cpu = sched_getcpu();
	CPU_ZERO(&cpus);
	CPU_SET(fixture->cpu, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct live_fixture *fixture = *state;

	merge_free(fixture->merge);
	ring_free(fixture->ring);
	if (fixture->clock >= 0)
		close(fixture->clock);
	if (fixture->sideband >= 0)
		close(fixture->sideband);
	free(fixture);
	return 0;
}

static void __attribute__((noinline)) burn(uint64_t duration_ns)
{
	uint64_t end = now_ns() + duration_ns;
	volatile unsigned work = 0;

	while (now_ns() < end)
		for (unsigned i = 0; i < 10000; i++)
			work += i;
}

static void
see_sample(struct seen_records *seen, const struct record *record)
{
	uint64_t burn_start = (uintptr_t)burn;

	seen->samples++;
	if (record->id != seen->sample_id)
		seen->foreign_ids++;
	if (record->pid == (uint32_t)getpid() && record->mode == CPU_MODE_USER &&
	    record->sample.address - burn_start < 1024)
		seen->own_samples++;
}

static int
see(void *context, uint32_t cpu, const struct record *record)
{
	struct seen_records *seen = context;
	bool is_child = record->pid == (uint32_t)seen->child;

	(void)cpu;
	seen->records++;
	if (!seen->first)
		seen->first = record->time;
	if (record->time > seen->last)
		seen->last = record->time;
	if (record->type == RECORD_SAMPLE)
		see_sample(seen, record);
	else if (record->type == RECORD_LOST)
		seen->lost += record->lost.count;
	else if (record->type == RECORD_FORK && is_child)
		seen->forked = record->task.parent_pid == (uint32_t)getpid();
	else if (record->type == RECORD_COMM && is_child && record->comm.is_exec)
		seen->executed = seen->forked && strcmp(record->comm.name, "true") == 0;
	else if (record->type == RECORD_MMAP && is_child && seen->executed && strstr(record->mmap.path, "/true"))
		seen->program = record->mmap;
	else if (record->type == RECORD_EXIT && is_child)
		seen->exited = seen->executed;
	return 0;
}

static void
run_true(struct live_fixture *fixture)
{
	int status;

	fixture->seen.child = fork();
	assert_true(fixture->seen.child >= 0);
	if (fixture->seen.child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(fixture->seen.child, &status, 0), fixture->seen.child);
	assert_int_equal(status, 0);
}

static void
a_process_is_seen_from_fork_to_exit_with_samples_around_it(void **state)
{
	struct live_fixture *fixture = *state;
	struct seen_records *seen = &fixture->seen;
	uint64_t before = now_ns();
	uint64_t after;

	if (!open_events(fixture))
		skip_because("perf_event_open of all processes is refused");
	run_true(fixture);
	burn(50 * 1000000);
	ioctl(fixture->clock, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fixture->sideband, PERF_EVENT_IOC_DISABLE, 0);
	after = now_ns();

	assert_int_equal(merge_drain(fixture->merge, after, see, seen), 0);
	assert_true(seen->records > 0);
	assert_true(seen->forked);
	assert_true(seen->executed);
	assert_true(seen->exited);
	assert_true(seen->program.length > 0);
	assert_true(seen->program.protection & PROT_EXEC);
	assert_false(seen->program.is_data);
	assert_true(seen->program.inode > 0);

	/* 1000 periods of 50 us were burned; a loaded machine gives us a part of them. */
	assert_true(seen->own_samples >= 20);
	assert_true(seen->own_samples <= 1100);
	assert_int_equal(seen->foreign_ids, 0);
	assert_true(seen->first >= before);
	assert_true(seen->last <= after);
	assert_int_equal(seen->lost, 0);
	assert_int_equal(ring_take_skipped(fixture->ring), 0);
	assert_int_equal(ring_used(fixture->ring), 0);
}

static void
a_ring_that_nobody_reads_counts_what_it_lost(void **state)
{
	struct live_fixture *fixture = *state;
	struct event event = {
		.encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
		.period = PERIOD_NS,
		.user = true,
		.kernel = true,
	};
	struct perf_event_attr attr;

	event_sample_attr(&event, &fixture->features, &attr);
	fixture->clock = event_open_system(NULL, &attr, fixture->cpu);
	if (fixture->clock < 0)
		skip_because("perf_event_open of all processes is refused");
	fixture->ring = ring_new(fixture->clock, 1);
	assert_non_null(fixture->ring);
	assert_int_equal(merge_add(fixture->merge, fixture->ring,
	                           &(struct record_layout){attr.sample_type, attr.sample_id_all}, 0),
	                 0);
	assert_int_equal(ioctl(fixture->clock, PERF_EVENT_IOC_ENABLE, 0), 0);
	burn(40 * 1000000); /* a page holds 102 samples of 40 bytes, 5 ms */
	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, see, &fixture->seen), 0);
	assert_true(fixture->seen.samples >= 50);
	burn(5 * 1000000); /* now there is room to say how many were lost */
	ioctl(fixture->clock, PERF_EVENT_IOC_DISABLE, 0);
	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, see, &fixture->seen), 0);
	assert_true(fixture->seen.lost > 0);
	assert_int_equal(ring_take_skipped(fixture->ring), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_seen_from_fork_to_exit_with_samples_around_it),
		TEST(a_ring_that_nobody_reads_counts_what_it_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
