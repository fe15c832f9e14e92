/* Tests of dcpi-tools/mem/spe_live.h: an area in memory, as SPE would have written it. */
#include "dcpi-tools/mem/spe_live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "memory/data_source.h"
#include "memory/object_log.h"
#include "tests/unit/test.h"

#include "tests/unit/stream/fake_ring.h"

#define AREA_BYTES 4096

static struct {
	struct fake_ring fake;
	uint8_t area[AREA_BYTES];
	uint64_t head;
	struct spe_live *live;
	struct record samples[8];
	uint32_t cpus[8];
	size_t count;
} fixture;

static int
setup(void **state)
{
	static const uint32_t cpus[] = {2, 5};

	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fake_ring_init(&fixture.fake, 0);
	ring_over_aux(fixture.fake.ring, fixture.area, AREA_BYTES);
	fixture.live = spe_live_new("/nowhere", cpus, 2);
	assert_non_null(fixture.live);
	usleep(3000); /* so that it is known how long a tick lasts */
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	spe_live_free(fixture.live);
	fake_ring_fini(&fixture.fake);
	return 0;
}

static void
put(uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fixture.area[fixture.head++ % AREA_BYTES] = (uint8_t)(number >> 8 * i);
}

/* A store now, of a model that says by events that it hit level 1. */
static void
put_store(uint64_t ticks)
{
	put(0x0149, 2);
	put(0xb2, 1);
	put(0x401000, 8);
	put(0x0442, 2);
	put(0x71, 1);
	put(ticks, 8);
	while (fixture.head % 64)
		put(0, 1);
}

static int
keep(void *context, uint32_t cpu, const struct record *sample)
{
	(void)context;
	assert_true(fixture.count < sizeof(fixture.cpus) / sizeof(*fixture.cpus));
	fixture.cpus[fixture.count] = cpu;
	fixture.samples[fixture.count++] = *sample;
	return 0;
}

static void
take(struct record record)
{
	assert_int_equal(spe_live_take(fixture.live, 1, fixture.fake.ring, &record, keep, NULL), 0);
}

/* What was written since `from` is new; process 60, thread 61 runs then. */
static struct record
piece_since(uint64_t from, uint64_t flags)
{
	return (struct record){.type = RECORD_AUX,
	                       .pid = 60,
	                       .tid = 61,
	                       .time = monotonic_ns(),
	                       .aux = {.offset = from, .size = fixture.head - from, .flags = flags}};
}

static void
a_sample_has_the_time_of_the_clock_and_its_cpu(void **state)
{
	const uint64_t before = monotonic_ns();

	(void)state;
	put_store(object_log_counter());
	spe_live_set_time(fixture.live);
	take(piece_since(0, 0));
	assert_int_equal(fixture.count, 1);
	assert_int_equal(fixture.cpus[0], 5);
	assert_int_equal(fixture.samples[0].sample.cpu, 5);
	assert_int_equal(fixture.samples[0].sample.data_address, 0x401000);
	assert_int_equal(data_source_level(fixture.samples[0].sample.data_source), DATA_LEVEL_L1);
	assert_int_equal(fixture.samples[0].pid, 60);
	assert_int_equal(fixture.samples[0].tid, 61);
	/* within 50 us of the reading of counter and clock */
	assert_true(fixture.samples[0].time + 50000 > before);
	assert_true(fixture.samples[0].time < monotonic_ns() + 50000);
	assert_int_equal(fixture.fake.header->aux_tail, 64);
	assert_int_equal(spe_live_lost(fixture.live), 0);
}

/* A switch between two samples of a piece; that a thread leaves says nothing of who comes. */
static void
a_sample_is_of_the_thread_that_ran_then(void **state)
{
	uint64_t first, second, middle;

	(void)state;
	take((struct record){.type = RECORD_RUNNING, .pid = 70, .tid = 71, .time = monotonic_ns()});
	usleep(1000);
	first = object_log_counter();
	usleep(1000);
	middle = monotonic_ns();
	usleep(1000);
	second = object_log_counter();
	take((struct record){.type = RECORD_RUNNING, .pid = 80, .tid = 81, .time = middle});
	take((struct record){.type = RECORD_RUNNING, .pid = UINT32_MAX, .tid = UINT32_MAX, .time = middle + 1});
	put_store(first);
	put_store(second);
	spe_live_set_time(fixture.live);
	take(piece_since(0, 0));
	put_store(object_log_counter()); /* the next piece begins with the thread that came last */
	take(piece_since(128, 0));
	assert_int_equal(fixture.count, 3);
	assert_int_equal(fixture.samples[0].tid, 71);
	assert_int_equal(fixture.samples[1].tid, 81);
	assert_int_equal(fixture.samples[2].tid, 81);
	assert_int_equal(fixture.samples[2].pid, 80);
}

static void
what_is_missing_is_counted(void **state)
{
	(void)state;
	spe_live_set_time(fixture.live);
	put_store(1); /* before the beginning */
	put(0xffff, 2);
	put_store(object_log_counter());
	take(piece_since(0, PERF_AUX_FLAG_TRUNCATED));
	take((struct record){.type = RECORD_AUX, .aux = {.offset = fixture.head, .size = 0}});
	assert_int_equal(fixture.count, 0);
	assert_int_equal(spe_live_lost(fixture.live), 3);
}

/* As the kernel says it on Arm: what served a load is then read by the model's codes. */
static void
the_model_of_a_cpu_is_known(void **state)
{
	char sysfs[] = "/tmp/dcpi-sysfs.XXXXXX", path[256], command[300];
	const uint32_t cpu = 5;
	struct spe_live *live;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(sysfs));
	snprintf(command, sizeof(command), "mkdir -p %s/devices/system/cpu/cpu5/regs/identification", sysfs);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu5/regs/identification/midr_el1", sysfs);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("0x00000000413fd0c1\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	live = spe_live_new(sysfs, &cpu, 1);
	assert_non_null(live);
	usleep(2000);
	put(0x0049, 2); /* a load, from memory by code 14 */
	put(0x0e43, 2);
	put(0x71, 1);
	put(object_log_counter(), 8);
	spe_live_set_time(live);
	assert_int_equal(spe_live_take(live, 0, fixture.fake.ring,
	                               &(const struct record){.type = RECORD_AUX, .aux = {.size = 13}}, keep, NULL),
	                 0);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(data_source_level(fixture.samples[0].sample.data_source), DATA_LEVEL_LOCAL_DRAM);
	spe_live_free(live);
	snprintf(command, sizeof(command), "rm -r %s", sysfs);
	assert_int_equal(system(command), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_has_the_time_of_the_clock_and_its_cpu),
		TEST(a_sample_is_of_the_thread_that_ran_then),
		TEST(what_is_missing_is_counted),
		TEST(the_model_of_a_cpu_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
