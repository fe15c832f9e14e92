#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "collectord/sampler.h"

#define WHY_SIZE       512
#define SIDEBAND_PAGES 64

/* Skips where all-CPU events are refused. */
static struct sampler *
open_sampler_as(const struct config *config)
{
	struct sampler *sampler;
	char why[WHY_SIZE];
	int err;

	err = sampler_open(config, NULL, NULL, &sampler, why, sizeof(why));
	if (err == -EACCES || err == -EPERM)
		skip_because(why);
	assert_int_equal(err, 0);
	return sampler;
}

static struct sampler *
open_sampler_of(const struct event_spec *spec, size_t tally_limit, size_t ring_pages, size_t sideband_pages)
{
	struct config config;

	memset(&config, 0, sizeof(config));
	config.tally_limit = tally_limit;
	config.ring_pages = ring_pages;
	config.sideband_pages = sideband_pages;
	config.event_count = 1;
	config.events[0] = *spec;
	return open_sampler_as(&config);
}

/* A cpu-clock at a modest rate: what every machine has. */
static struct sampler *
open_sampler_with_rings(size_t tally_limit, size_t ring_pages, size_t sideband_pages)
{
	const struct event_spec spec = {.name = "cpu-clock", .rate = 500, .user = true, .kernel = true};

	return open_sampler_of(&spec, tally_limit, ring_pages, sideband_pages);
}

static struct sampler *
open_sampler(size_t tally_limit)
{
	return open_sampler_with_rings(tally_limit, 16, SIDEBAND_PAGES);
}

/* Processor time, not time of day: other processes may want the CPUs as well. */
static void
burn(unsigned milliseconds)
{
	struct timespec start, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
}

/* Samples of images whose file has the name that `path` ends in: in a container the same build has another path. */
static uint64_t
count_image(struct sampler *sampler, struct tally *tally, const char *path)
{
	size_t count;
	const struct tally_entry *entries = tally_sort(tally, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(basename(image_table_get(sampler_images(sampler), entries[i].image)->path), basename(path)))
			sum += entries[i].count;
	return sum;
}

static void
own_path(char path[PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);

	assert_true(size > 0);
	path[size] = '\0';
}

static void
the_smallest_ring_that_can_be_configured_is_mapped(void **state)
{
	struct sampler *sampler = open_sampler_with_rings(4096, 1, SIDEBAND_PAGES);

	(void)state;
	sampler_close(sampler);
}

static void
what_runs_is_sampled_at_the_rate_that_was_asked_for(void **state)
{
	struct sampler *sampler = open_sampler(4096);
	char path[PATH_MAX];
	struct slice slice = {0};
	struct tally *tally;
	uint64_t own;

	(void)state;
	own_path(path);
	assert_int_equal(sampler_enable(sampler), 0);
	for (int i = 0; i < 12; i++) {
		burn(50);
		assert_int_equal(sampler_drain(sampler),
		                 0); /* whatever else this machine does must fit into the rings */
	}
	assert_int_equal(sampler_disable(sampler), 0);
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally = sampler_take(sampler, tally_new(4096), &slice);
	own = count_image(sampler, tally, path);
	/*
	 * 300 at 500 a second of 600 ms of processor time, however long that takes. A virtual machine's timer skips
	 * while it is not run, and finds it once when it runs again: what a busy host takes away is some of them.
	 */
	assert_in_range(own, 225, 375);
	assert_int_equal(slice.event_count, 1);
	assert_true(slice.events[0].samples >= own);
	assert_int_equal(slice.events[0].lost, 0);
	assert_int_equal(slice.skipped, 0);
	slice_fini(&slice);
	tally_free(tally);
	sampler_close(sampler);
}

static uint64_t
samples_of_work(struct sampler *sampler)
{
	struct slice slice = {0};
	uint64_t samples;

	assert_int_equal(sampler_drain_all(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	slice_fini(&slice);
	burn(200);
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	samples = slice.events[0].samples;
	slice_fini(&slice);
	return samples;
}

/* 100 samples or more, or one now and then: nothing that a busy machine does makes up for a factor of 100,000. */
static void
periods_change_while_it_samples(void **state)
{
	struct sampler *sampler = open_sampler(4096);
	struct event changed[EVENTS_MAX];
	size_t count;

	(void)state;
	memcpy(changed, sampler_events(sampler, &count), sizeof(*changed));
	changed[0].period *= 100000;
	assert_int_equal(sampler_enable(sampler), 0);
	assert_true(samples_of_work(sampler) >= 20);
	assert_int_equal(sampler_set_periods(sampler, changed), 0);
	assert_int_equal(sampler_events(sampler, &count)[0].period, changed[0].period);
	assert_true(samples_of_work(sampler) < 20);
	assert_int_equal(sampler_disable(sampler), 0);
	sampler_close(sampler);
}

static void
rates_that_are_given_are_not_chosen_again(void **state)
{
	struct sampler *sampler = open_sampler(4096);
	struct event planned[EVENTS_MAX];
	size_t count;

	(void)state;
	assert_false(sampler_plan(sampler, NULL, planned));
	assert_int_equal(planned[0].period, sampler_events(sampler, &count)[0].period);
	assert_int_equal(count, 1);
	sampler_close(sampler);
}

/* The child execs, so its map comes from the ring and is gone before anything is drained. */
static void
a_process_that_is_gone_is_attributed(void **state)
{
	struct sampler *sampler = open_sampler(4096);
	struct slice slice = {0};
	char *shell = realpath("/bin/sh", NULL);
	struct tally *tally;
	pid_t child;

	(void)state;
	assert_int_equal(sampler_enable(sampler), 0);
	child = fork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally = sampler_take(sampler, tally_new(4096), &slice);
	assert_true(count_image(sampler, tally, shell) > 10);
	assert_int_equal(slice.events[0].unknown[UNKNOWN_PROCESS], 0);
	slice_fini(&slice);
	tally_free(tally);
	free(shell);
	sampler_close(sampler);
}

static void
run_true(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		pid_t child = fork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
}

/* A shell that works until it is killed; returns when exec has happened. */
static pid_t
start_busy_shell(void)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return child;
}

/* The smallest ring: 60 mappings or so fill a fifth of it. */
static void
a_ring_that_fills_faster_than_its_records_grow_old_says_so(void **state)
{
	struct sampler *sampler = open_sampler_with_rings(4096, 16, 1);
	struct slice slice = {0};

	(void)state;
	run_true(10);
	assert_int_equal(sampler_drain_all(sampler), 0);
	run_true(10);
	assert_true(sampler_is_filling(sampler));
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	slice_fini(&slice);
	sampler_close(sampler);
}

/* The rings of all CPUs call; one drain a while is for all of them. */
static void
what_began_is_drained_after_a_rest(void **state)
{
	struct sampler *sampler = open_sampler(10000);

	(void)state;
	assert_int_equal(sampler_enable(sampler), 0);
	while (sampler_is_filling(sampler))
		assert_int_equal(sampler_drain_all(sampler), 0);
	assert_int_equal(sampler_drain_all(sampler), 0);
	run_true(1);
	assert_false(sampler_drain_is_due(sampler, 0));
	assert_true(sampler_drain_is_due(sampler, UINT64_C(1000000000)));
	sampler_close(sampler);
}

/* Nobody drains while processes come and go, until the rings are full and the shell's exec is lost. */
static void
a_process_that_began_while_records_were_lost_is_found_again(void **state)
{
	struct sampler *sampler = open_sampler_with_rings(4096, 16, 4);
	struct slice before = {0}, after = {0};
	char *shell = realpath("/bin/sh", NULL);
	struct tally *tally;
	pid_t child;

	(void)state;
	run_true(200);
	child = start_busy_shell();
	assert_int_equal(sampler_drain_all(sampler), 0);
	run_true(4); /* now that there is room, the kernel says what it could not */
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(4096), &before));
	assert_true(before.sideband_lost > 0);
	assert_int_equal(sampler_enable(sampler), 0);
	usleep(500000);
	assert_int_equal(sampler_drain_all(sampler), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	tally = sampler_take(sampler, tally_new(4096), &after);
	assert_true(count_image(sampler, tally, shell) > 10);
	slice_fini(&before);
	slice_fini(&after);
	tally_free(tally);
	free(shell);
	sampler_close(sampler);
}

/* One key fits: on a quiet machine burn()'s few instructions are all that is sampled. */
static void
a_full_tally_keeps_what_did_not_fit(void **state)
{
	struct sampler *sampler = open_sampler(1);
	struct slice first = {0}, all = {0};
	uint64_t counted = 0;
	int err;

	(void)state;
	assert_int_equal(sampler_enable(sampler), 0);
	burn(300);
	assert_int_equal(sampler_disable(sampler), 0);
	err = sampler_drain_all(sampler);
	assert_int_equal(err, -ENOSPC);
	do {
		struct tally *tally = sampler_take(sampler, tally_new(1), &first);
		size_t count;
		const struct tally_entry *entries = tally_sort(tally, &count);

		for (size_t i = 0; i < count; i++)
			counted += entries[i].count;
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			counted += first.events[0].unknown[cause];
		all.events[0].samples += first.events[0].samples;
		all.events[0].lost += first.events[0].lost;
		slice_fini(&first);
		tally_free(tally);
		if (!err)
			break;
		err = sampler_drain_all(sampler);
	} while (true);
	assert_int_equal(all.events[0].samples, counted);
	assert_int_equal(all.events[0].lost, 0);
	assert_true(counted >= 60);
	sampler_close(sampler);
}

/* Fault each page of an area, a third of them at a time from another instruction: here, in libc and in the kernel. */
static void
fault_pages(size_t pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *area = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(zeros >= 0 && area != MAP_FAILED);
	(void)madvise(area, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++) {
		if (i % 3 == 0)
			*(volatile char *)&area[i * page] = 1;
		else if (i % 3 == 1)
			memset(&area[i * page], 1, page);
		else
			assert_int_equal(read(zeros, &area[i * page], 8), 8);
	}
	munmap(area, pages * page);
	close(zeros);
}

static uint64_t
own_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_minflt;
}

/* A sample for which there is no room is taken again, with all the events that it stands for. All faults are on one
 * CPU: of each that had some, the last period is not over. */
static void
a_full_tally_loses_nothing_of_what_samples_stand_for(void **state)
{
	const struct event_spec spec = {.name = "page-faults", .rate = 200, .user = true, .kernel = true};
	struct sampler *sampler = open_sampler_of(&spec, 4096, 64, SIDEBAND_PAGES);
	struct slice first = {0};
	cpu_set_t all, one;
	uint64_t faults, sum = 0;
	unsigned stalls = 0;
	int err;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(sampler_enable(sampler), 0);
	fault_pages(3000); /* each is a sample, until the period follows: the kernel may throttle them */
	usleep(50000);
	sampler_dither(sampler);
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(2), &first)); /* from here on: a place, and its sum */
	faults = own_faults();
	for (unsigned i = 0; i < 50; i++)
		fault_pages(3000);
	faults = own_faults() - faults;
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(faults >= 150000);
	assert_int_equal(sampler_disable(sampler), 0);
	usleep(100000); /* past the horizon of a drain */
	do {
		struct slice slice = {0};

		err = sampler_drain(sampler);
		stalls += err == -ENOSPC;
		tally_free(sampler_take(sampler, tally_new(2), &slice));
		sum += slice.events[1].samples;
		slice_fini(&slice);
	} while (err == -ENOSPC);
	assert_int_equal(err, 0);
	assert_true(stalls > 3);
	assert_true(sum >= faults / 100 * 95);
	slice_fini(&first);
	sampler_close(sampler);
}

/*
 * As when the disk is full: one key fits, and nobody takes the counts. Never drained, a ring of that size would lose
 * some of 480 processes' records; drained, it has room for what others on the machine do in a slow round.
 */
static void
a_full_tally_costs_samples_but_no_records_about_processes(void **state)
{
	struct sampler *sampler = open_sampler_with_rings(1, 16, 64);
	struct slice slice = {0};
	uint64_t unknown = 0;
	unsigned stalls = 0;

	(void)state;
	assert_int_equal(sampler_enable(sampler), 0);
	for (int round = 0; round < 60; round++) {
		run_true(8);
		burn(5);
		if (sampler_drain(sampler) == -ENOSPC) {
			stalls++;
			assert_int_equal(sampler_drain_dropping(sampler, round % 2), 0);
		}
	}
	assert_int_equal(sampler_disable(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(1), &slice));
	assert_true(stalls > 0);
	assert_true(slice.events[0].dropped > 0);
	assert_int_equal(slice.events[0].lost, 0);
	assert_int_equal(slice.sideband_lost, 0);
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		unknown += slice.events[0].unknown[cause];
	assert_true(slice.events[0].samples - unknown >= 1); /* the key that fits is still counted */
	slice_fini(&slice);
	sampler_close(sampler);
}

static void
a_machine_that_can_count_nothing_of_it_is_said(void **state)
{
	struct config config;
	struct sampler *sampler;
	char why[WHY_SIZE];

	(void)state;
	memset(&config, 0, sizeof(config));
	config.tally_limit = 16;
	config.ring_pages = 16;
	config.sideband_pages = 16;
	config.event_count = 1;
	config.events[0] = (struct event_spec){.name = "no-such-event", .rate = 1, .user = true, .kernel = true};
	assert_true(sampler_open(&config, NULL, NULL, &sampler, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "no-such-event"));
}

/* The kernel takes no period of more than 63 bits. */
static void
a_period_that_the_kernel_refuses_leaves_all_as_it_was(void **state)
{
	struct sampler *sampler = open_sampler(4096);
	struct event events[EVENTS_MAX];
	const struct event *now;
	size_t count;

	(void)state;
	now = sampler_events(sampler, &count);
	memcpy(events, now, count * sizeof(*now));
	events[0].period = UINT64_C(3) << 62;
	assert_int_equal(sampler_set_periods(sampler, events), -EINVAL);
	assert_int_equal(now[0].period, 2062000); /* 1.031 / 500 s */
	sampler_close(sampler);
}

/* ---- idle CPUs: one without a sample is idle, also when that is because nothing was enabled ---- */

/* With a clock of `rate` and, if its rate is not 0, page faults. */
static struct sampler *
open_sampler_that_slows_down_from(uint64_t rate, uint64_t fault_rate)
{
	struct config config;

	memset(&config, 0, sizeof(config));
	config.tally_limit = 4096;
	config.ring_pages = 64;
	config.sideband_pages = SIDEBAND_PAGES;
	config.idle_rate = 20;
	config.event_count = fault_rate ? 2 : 1;
	config.events[0] = (struct event_spec){.name = "cpu-clock", .rate = rate, .user = true, .kernel = true};
	config.events[1] = (struct event_spec){.name = "page-faults", .rate = fault_rate, .user = true, .kernel = true};
	return open_sampler_as(&config);
}

static struct sampler *
open_sampler_that_slows_down(void)
{
	return open_sampler_that_slows_down_from(500, 0);
}

/* How many CPUs are idle after the longest window. */
static size_t
idle_after_a_window(struct sampler *sampler)
{
	struct timespec window = {.tv_sec = 1, .tv_nsec = 20000000};

	while (nanosleep(&window, &window) && errno == EINTR)
		;
	sampler_watch_idle(sampler);
	return sampler_idle_cpu_count(sampler);
}

static void
a_cpu_is_idle_until_a_process_has_a_label(void **state)
{
	struct sampler *sampler = open_sampler_that_slows_down();
	const size_t all = sampler_cpu_count(sampler);

	(void)state;
	assert_int_equal(sampler_idle_cpu_count(sampler), 0);
	assert_int_equal(idle_after_a_window(sampler), all);
	assert_true(sampler_idle_due_ns(sampler) == UINT64_MAX);
	assert_int_equal(
		sampler_label(sampler, (uint32_t)getpid(), "run1", LABEL_AT_EXEC, machine_clock_ns(CLOCK_MONOTONIC)),
		0);
	sampler_watch_idle(sampler);
	assert_int_equal(sampler_idle_cpu_count(sampler), 0);
	assert_int_equal(idle_after_a_window(sampler), 0);
	sampler_close(sampler);
}

/* A timer drains the rings of all busy CPUs at once: a wake-up by each ring would come on top of it. */
static void
the_ring_of_a_busy_cpu_needs_no_wakeup(void **state)
{
	struct sampler *sampler = open_sampler_that_slows_down();

	(void)state;
	assert_true(sampler_needs_wakeup(sampler, 0)); /* of processes that begin */
	assert_false(sampler_needs_wakeup(sampler, 1));
	assert_in_range(sampler_idle_due_ns(sampler) - machine_clock_ns(CLOCK_MONOTONIC), 500000000, 1000000000);
	idle_after_a_window(sampler);
	assert_true(sampler_needs_wakeup(sampler, 1));
	sampler_close(sampler);
}

/* Faults come as fast as programs make them, whatever was seen of them before. */
static void
a_ring_with_samples_of_faults_needs_wakeups(void **state)
{
	struct sampler *sampler = open_sampler_that_slows_down_from(500, 100);

	(void)state;
	assert_true(sampler_needs_wakeup(sampler, 1));
	sampler_close(sampler);
}

static void
a_ring_that_a_second_fills_needs_wakeups(void **state)
{
	struct sampler *dense = open_sampler_that_slows_down_from(5000, 0), *never_idle = open_sampler(4096);

	(void)state;
	assert_true(sampler_needs_wakeup(dense, 1)); /* 200 KB a second, and there are 256 KiB */
	assert_true(sampler_needs_wakeup(never_idle, 1));
	sampler_close(dense);
	sampler_close(never_idle);
}

/* What was due at once would be due at once again: the event loop would do nothing else. */
static void
an_idle_period_that_is_no_longer_makes_nothing_due_at_once(void **state)
{
	struct sampler *sampler = open_sampler_that_slows_down();
	struct event changed[EVENTS_MAX];
	size_t count;

	(void)state;
	memcpy(changed, sampler_events(sampler, &count), sizeof(*changed));
	assert_int_equal(count, 2);
	assert_true(idle_after_a_window(sampler) > 0);
	changed[0].period *= 100;
	assert_int_equal(sampler_set_periods(sampler, changed), 0);
	sampler_watch_idle(sampler);
	assert_int_equal(sampler_idle_cpu_count(sampler), 0);
	assert_int_equal(idle_after_a_window(sampler), 0);
	assert_true(sampler_idle_due_ns(sampler) > machine_clock_ns(CLOCK_MONOTONIC));
	sampler_close(sampler);
}

static void
samples_that_wait_are_those_of_one_window(void **state)
{
	struct sampler *sampler = open_sampler_that_slows_down();
	const size_t all = sampler_cpu_count(sampler);

	(void)state;
	assert_int_equal(sampler_enable(sampler), 0);
	burn(400);
	assert_int_equal(sampler_disable(sampler), 0);
	assert_true(idle_after_a_window(sampler) < all);
	assert_int_equal(idle_after_a_window(sampler), all);
	sampler_close(sampler);
}

/* Each fault is a sample for both, and the kernel gives it the id of one of them only. */
static void
samples_of_a_fault_that_another_samples_too_are_ours(void **state)
{
	const struct event_spec spec = {.name = "page-faults", .period = 1, .user = true, .kernel = true};
	struct sampler *samplers[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		samplers[i] = open_sampler_of(&spec, 65536, 256, SIDEBAND_PAGES);
		assert_int_equal(sampler_enable(samplers[i]), 0);
	}
	run_true(20);
	for (int i = 0; i < 2; i++) {
		struct slice slice = {0};

		assert_int_equal(sampler_drain_all(samplers[i]), 0);
		tally_free(sampler_take(samplers[i], tally_new(1), &slice));
		assert_int_equal(slice.skipped, 0);
		assert_true(slice.events[0].samples >= 20);
		slice_fini(&slice);
		sampler_close(samplers[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_period_that_the_kernel_refuses_leaves_all_as_it_was),
		cmocka_unit_test(the_smallest_ring_that_can_be_configured_is_mapped),
		cmocka_unit_test(what_runs_is_sampled_at_the_rate_that_was_asked_for),
		cmocka_unit_test(periods_change_while_it_samples),
		cmocka_unit_test(rates_that_are_given_are_not_chosen_again),
		cmocka_unit_test(a_process_that_is_gone_is_attributed),
		cmocka_unit_test(a_ring_that_fills_faster_than_its_records_grow_old_says_so),
		cmocka_unit_test(what_began_is_drained_after_a_rest),
		cmocka_unit_test(a_process_that_began_while_records_were_lost_is_found_again),
		cmocka_unit_test(a_full_tally_keeps_what_did_not_fit),
		cmocka_unit_test(a_full_tally_loses_nothing_of_what_samples_stand_for),
		cmocka_unit_test(a_full_tally_costs_samples_but_no_records_about_processes),
		cmocka_unit_test(a_machine_that_can_count_nothing_of_it_is_said),
		cmocka_unit_test(samples_of_a_fault_that_another_samples_too_are_ours),
		cmocka_unit_test(a_cpu_is_idle_until_a_process_has_a_label),
		cmocka_unit_test(the_ring_of_a_busy_cpu_needs_no_wakeup),
		cmocka_unit_test(a_ring_with_samples_of_faults_needs_wakeups),
		cmocka_unit_test(a_ring_that_a_second_fills_needs_wakeups),
		cmocka_unit_test(an_idle_period_that_is_no_longer_makes_nothing_due_at_once),
		cmocka_unit_test(samples_that_wait_are_those_of_one_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
