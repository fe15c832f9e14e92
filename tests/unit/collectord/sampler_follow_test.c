#include "tests/unit/test.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

static struct sampler *
open_sampler(void)
{
	struct config config;
	struct sampler *sampler;
	char why[512];
	int err;

	memset(&config, 0, sizeof(config));
	config.tally_limit = 4096;
	config.ring_pages = 16;
	config.sideband_pages = 16;
	config.event_count = 1;
	config.events[0] = (struct event_spec){.name = "cpu-clock", .rate = 500, .user = true, .kernel = true};
	err = sampler_open(&config, NULL, NULL, &sampler, why, sizeof(why));
	if (err == -EACCES || err == -EPERM)
		skip_because(why);
	assert_int_equal(err, 0);
	assert_int_equal(sampler_enable(sampler), 0);
	return sampler;
}

/* What the kernel does to the events of a CPU that goes: they are there, and count no more. */
static void
let_cpu_die(struct sampler *sampler, size_t index)
{
	struct sampler_cpu *cpu = &sampler->cpus[index];

	assert_int_equal(ioctl(cpu->sideband_counter.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	assert_int_equal(ioctl(cpu->counters[0].fd, PERF_EVENT_IOC_DISABLE, 0), 0);
}

/* Samples that its counter takes while something runs on CPU `index` for 100 ms. */
static uint64_t
samples_on(struct sampler *sampler, size_t index)
{
	const struct sampler_cpu *cpu = &sampler->cpus[index];
	struct timespec start, now;
	cpu_set_t before, set;

	CPU_ZERO(&set);
	CPU_SET(cpu->number, &set);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 100);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	return ring_count(cpu->samples, cpu->counters[0].id);
}

static void
the_cpus_that_are_sampled_are_those_that_are_online(void **state)
{
	struct sampler *sampler = open_sampler();
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char online[128], listed[128];

	(void)state;
	assert_non_null(file);
	assert_non_null(fgets(online, sizeof(online), file));
	fclose(file);
	online[strcspn(online, "\n")] = '\0';
	sampler_cpu_list(sampler, listed, sizeof(listed));
	assert_string_equal(listed, online);
	assert_false(sampler_is_outdated(sampler));
	sampler_close(sampler);
}

static void
a_cpu_whose_events_have_died_is_opened_again_and_counts(void **state)
{
	struct sampler *sampler = open_sampler();
	const size_t count = sampler_cpu_count(sampler);
	struct sampler_counter *counter;
	uint64_t before_ns;

	(void)state;
	let_cpu_die(sampler, 0);
	assert_true(sampler_is_outdated(sampler));
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	assert_false(sampler_is_outdated(sampler));
	assert_int_equal(sampler_cpu_count(sampler), count);
	counter = &sampler->cpus[0].counters[0];
	assert_true(sampler_counter_read(sampler, counter));
	before_ns = counter->enabled_ns;
	usleep(1000);
	assert_true(sampler_counter_read(sampler, counter));
	assert_true(counter->enabled_ns > before_ns); /* it was enabled with the others */
	sampler_close(sampler);
}

static void
map_to_run(int fd)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	munmap(memory, 4096);
}

/* Other processes may map new files meanwhile, but not at each of a hundred tries. */
static void
a_file_is_new_when_it_is_mapped_for_the_first_time(void **state)
{
	struct sampler *sampler = open_sampler();
	char path[] = "/tmp/dcpi-new-file-XXXXXX";
	const int fd = mkstemp(path);
	unsigned tries = 0;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 4096), 0);
	while (sampler_has_new_file(sampler))
		assert_true(tries++ < 100);
	map_to_run(fd);
	assert_true(sampler_has_new_file(sampler));
	tries = 0;
	do {
		map_to_run(fd);
		assert_true(tries++ < 100);
	} while (sampler_has_new_file(sampler));
	close(fd);
	sampler_close(sampler);
}

static void
what_a_cpu_that_went_had_lost_is_told_at_the_next_take(void **state)
{
	struct sampler *sampler = open_sampler();
	struct slice slice = {0};

	(void)state;
	sampler->cpus[0].counters[0].loss = (struct sampler_loss){.lost = 7, .throttled = 3};
	let_cpu_die(sampler, 0);
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	assert_int_equal(slice.events[0].lost, 7);
	assert_int_equal(slice.events[0].throttled, 3);
	slice_fini(&slice);
	sampler_close(sampler);
}

static void
count_warning(void *context, enum log_level level, const char *message)
{
	(void)message;
	*(unsigned *)context += level <= LOG_LEVEL_WARNING;
}

/* /proc is read again for it, and nobody has to do anything. */
static void
a_cpu_that_came_is_no_reason_to_warn(void **state)
{
	struct sampler *sampler = open_sampler();
	unsigned warnings = 0;
	const struct log log = {.hook = count_warning, .context = &warnings, .limit = LOG_LEVEL_DEBUG};

	(void)state;
	let_cpu_die(sampler, 0);
	sampler->log = &log;
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	assert_true(sampler->records_lost);
	assert_int_equal(sampler_drain(sampler), 0);
	assert_false(sampler->records_lost);
	assert_int_equal(warnings, 0);
	sampler_close(sampler);
}

static uint64_t
scans_of(const struct sampler *sampler)
{
	struct proc_reader_stats stats;

	proc_reader_stats(sampler_reader(sampler), &stats);
	return stats.scans;
}

/* A ring that overflows all the time must not have all processes read all the time: that would make it lose more. */
static void
losses_without_end_have_proc_read_again_once(void **state)
{
	struct sampler *sampler = open_sampler();
	const struct timespec moment = {.tv_nsec = 10000000};
	uint64_t before;

	(void)state;
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000));
	before = scans_of(sampler);
	for (unsigned i = 0; i < 100; i++) { /* a second: less than lies between two readings */
		sampler_records_lost(sampler);
		assert_int_equal(sampler_drain(sampler), 0);
		nanosleep(&moment, NULL);
	}
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000));
	assert_int_equal(scans_of(sampler) - before, 1);
	assert_true(sampler->records_lost); /* the rest is made up for later */
	sampler_close(sampler);
}

/* Reading a large machine takes long, and then as many times that long passes before it is read again. */
static void
what_takes_long_to_read_is_read_more_seldom(void **state)
{
	struct sampler *sampler = open_sampler();
	uint64_t before;

	(void)state;
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000));
	before = scans_of(sampler);
	attribution_found_begin(sampler->attribution, true);
	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	attribution_found_end(sampler->attribution, true); /* half a second: 25 s */
	sampler->rescan_ns = machine_clock_ns(CLOCK_MONOTONIC) - UINT64_C(15000000000);
	sampler_records_lost(sampler);
	sampler_rescan(sampler);
	assert_false(proc_reader_is_busy(sampler->reader));
	assert_int_equal(scans_of(sampler), before);
	sampler->rescan_ns -= UINT64_C(15000000000);
	sampler_rescan(sampler);
	assert_true(proc_reader_is_scanning(sampler->reader));
	sampler_close(sampler);
}

static struct held_sample
unknown_sample(struct sampler *sampler)
{
	struct held_sample held = {.record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER}};

	held.record.id = sampler->cpus[0].counters[0].id;
	held.record.pid = held.record.tid = 0x3ffffff0; /* nobody's */
	held.record.time = machine_clock_ns(CLOCK_MONOTONIC);
	held.record.sample.address = 0x400000;
	return held;
}

/* Counted once, with its epoch, when it is known that nobody knows it. */
static void
a_sample_waits_for_what_is_being_read_and_is_counted_then(void **state)
{
	struct sampler *sampler = open_sampler();
	struct held_sample held = unknown_sample(sampler);
	uint64_t samples, unknown;

	(void)state;
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000));
	assert_false(sampler_hold_sample(sampler, 0, &held.record, 0, UNKNOWN_PROCESS));
	assert_int_equal(proc_reader_ask_all(sampler->reader, false), 0);
	assert_true(sampler_hold_sample(sampler, 0, &held.record, 0, UNKNOWN_PROCESS));
	assert_int_equal(sampler->held_count, 1);
	samples = sampler->totals[0].samples;
	unknown = sampler->totals[0].unknown[UNKNOWN_PROCESS];
	assert_int_equal(sampler_count_held(sampler), 0);
	assert_int_equal(sampler->held_count, 1);
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000));
	assert_int_equal(sampler_count_held(sampler), 0);
	assert_int_equal(sampler->held_count, 0);
	assert_int_equal(sampler->totals[0].samples, samples + 1);
	assert_int_equal(sampler->totals[0].unknown[UNKNOWN_PROCESS], unknown + 1);
	sampler_close(sampler);
}

/* There were no descriptors or no memory for it, and nothing else will tell when there are. */
static void
a_cpu_that_could_not_be_opened_is_tried_again(void **state)
{
	struct sampler *sampler = open_sampler();

	(void)state;
	sampler_cpu_close(sampler, &sampler->cpus[0]);
	sampler->cpus[0].error = -EMFILE;
	assert_true(sampler_retry_events(sampler));
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	assert_true(sampler->cpus[0].open);
	sampler->retry_ns = 0;
	assert_false(sampler_retry_events(sampler));
	sampler_close(sampler);
}

/* As on a machine with two kinds of core: mappings are recorded everywhere, the event only where its PMU is. */
static void
an_event_is_opened_on_the_cpus_of_its_pmu_only(void **state)
{
	struct sampler *sampler = open_sampler();
	struct sampler_cpu *cpu = &sampler->cpus[0];
	uint32_t *elsewhere = malloc(sizeof(*elsewhere));

	(void)state;
	assert_non_null(elsewhere);
	*elsewhere = cpu->number + 1;
	sampler->event_cpus[0] = (struct sampler_event_cpus){.cpus = elsewhere, .count = 1};
	sampler_cpu_close(sampler, cpu);
	assert_int_equal(sampler_add_cpu(sampler, cpu->number), 0);
	assert_int_equal(cpu->counters[0].fd, -1);
	assert_null(cpu->samples);
	assert_non_null(cpu->sideband);
	assert_false(cpu->incomplete);
	assert_int_equal(sampler_drain_all(sampler), 0);
	assert_false(sampler_is_outdated(sampler));
	(void)sampler_is_filling(sampler);
	sampler_close(sampler);
}

/* More than there is room for at first, and none of them there: a list that was out of date when it was used. */
static void
cpus_that_are_not_there_take_no_part(void **state)
{
	struct sampler *sampler = open_sampler();
	const size_t count = sampler_cpu_count(sampler);
	struct slice slice = {0};

	(void)state;
	for (uint32_t number = 60000; number < 60100; number++)
		assert_true(sampler_add_cpu(sampler, number) < 0);
	assert_int_equal(sampler_cpu_count(sampler), count);
	assert_int_equal(sampler_descriptor(sampler, 2 * (count + 99)), -1);
	assert_false(sampler_is_outdated(sampler));
	assert_int_equal(sampler_drain_all(sampler), 0);
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	assert_true(slice.events[0].enabled_ns > 0);
	slice_fini(&slice);
	sampler_close(sampler);
}

/* An event that shares its counter with nobody runs all the time it is enabled. */
static void
time_enabled_and_running_is_summed_over_cpus(void **state)
{
	struct sampler *sampler = open_sampler();
	const uint64_t cpus = sampler_cpu_count(sampler);
	struct slice slice = {0};

	(void)state;
	usleep(20000);
	tally_free(sampler_take(sampler, tally_new(4096), &slice));
	assert_true(slice.events[0].enabled_ns >= cpus * 19000000);
	assert_int_equal(slice.events[0].running_ns, slice.events[0].enabled_ns);
	slice_fini(&slice);
	sampler_close(sampler);
}

static void
an_event_that_could_not_be_opened_is_tried_again(void **state)
{
	struct sampler *sampler = open_sampler();
	struct sampler_cpu *cpu = &sampler->cpus[0];

	(void)state;
	assert_false(sampler_retry_events(sampler));
	sampler_cpu_close(sampler, cpu);
	assert_int_equal(sampler_add_cpu(sampler, cpu->number), 0);
	close(cpu->counters[0].fd);
	cpu->counters[0].fd = -1;
	cpu->counters[0].error = -EBUSY;
	cpu->incomplete = true;
	merge_remove(sampler->merge, cpu->samples);
	ring_free(cpu->samples);
	cpu->samples = NULL;
	sampler->retry_ns = 0;
	assert_true(sampler_retry_events(sampler));
	assert_true(cpu->counters[0].fd >= 0);
	assert_false(cpu->incomplete);
	assert_false(sampler_retry_events(sampler));
	sampler_close(sampler);
}

/*
 * In the counter's place one that only counts: the kernel refuses it any period. Another is opened, with the new
 * period, into the ring, which the event loop goes on watching; what the old one did is kept.
 */
static void
a_counter_whose_period_cannot_be_changed_is_opened_anew(void **state)
{
	struct sampler *sampler = open_sampler();
	struct sampler_counter *counter = &sampler->cpus[0].counters[0];
	struct perf_event_attr attr = {.size = sizeof(attr),
	                               .type = PERF_TYPE_SOFTWARE,
	                               .config = PERF_COUNT_SW_CPU_CLOCK,
	                               .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
	                                              PERF_FORMAT_ID |
	                                              (sampler->features.read_lost ? PERF_FORMAT_LOST : 0)};
	const int watched = sampler_descriptor(sampler, 1);
	const uint64_t old_id = counter->id, period = 3000000;
	struct event events[EVENTS_MAX];
	size_t count;

	(void)state;
	memcpy(events, sampler_events(sampler, &count), sizeof(events[0]));
	assert_int_equal(ioctl(watched, PERF_EVENT_IOC_DISABLE, 0), 0);
	counter->fd = event_open_system(NULL, &attr, (int)sampler->cpus[0].number);
	assert_true(counter->fd >= 0);
	memset(&counter->read, 0, sizeof(counter->read));
	counter->loss.lost = 5;
	assert_int_equal(ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period), -1);

	events[0].period = period;
	assert_int_equal(sampler_set_periods(sampler, events), 0);
	assert_int_equal(sampler_events(sampler, &count)->period, period);
	assert_int_not_equal(counter->id, old_id);
	assert_int_equal(counter->loss.lost, 5);
	assert_int_equal(sampler_descriptor(sampler, 1), watched);
	assert_int_equal(ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	assert_true(samples_on(sampler, 0) > 0);
	sampler_close(sampler);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_whose_period_cannot_be_changed_is_opened_anew),
		cmocka_unit_test(the_cpus_that_are_sampled_are_those_that_are_online),
		cmocka_unit_test(a_file_is_new_when_it_is_mapped_for_the_first_time),
		cmocka_unit_test(a_cpu_whose_events_have_died_is_opened_again_and_counts),
		cmocka_unit_test(what_a_cpu_that_went_had_lost_is_told_at_the_next_take),
		cmocka_unit_test(a_cpu_that_came_is_no_reason_to_warn),
		cmocka_unit_test(losses_without_end_have_proc_read_again_once),
		cmocka_unit_test(what_takes_long_to_read_is_read_more_seldom),
		cmocka_unit_test(a_sample_waits_for_what_is_being_read_and_is_counted_then),
		cmocka_unit_test(a_cpu_that_could_not_be_opened_is_tried_again),
		cmocka_unit_test(an_event_is_opened_on_the_cpus_of_its_pmu_only),
		cmocka_unit_test(cpus_that_are_not_there_take_no_part),
		cmocka_unit_test(time_enabled_and_running_is_summed_over_cpus),
		cmocka_unit_test(an_event_that_could_not_be_opened_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
