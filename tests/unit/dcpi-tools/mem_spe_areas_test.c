/* Tests of dcpi-tools/mem/spe_areas.h: recordings laid out by hand, with pieces of areas between their records. */
#include "dcpi-tools/mem/spe_areas.h"

#include "memory/data_source.h"
#include "tests/unit/stream/perf_file_builder.h"

#define NEOVERSE_N1 UINT64_C(0x413fd0c1)
#define THUNDERX2   UINT64_C(0x431f0af1)
#define CONTEXT     0x65

struct spe_fixture {
	struct file_builder file;
	int fd;
	struct spe_areas *areas;
	struct record samples[8];
	size_t count;
};

static struct spe_fixture fixture;

static int
setup(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fixture.fd = -1;
	begin_pipe(&fixture.file, false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	spe_areas_free(fixture.areas);
	if (fixture.fd >= 0)
		close(fixture.fd);
	return 0;
}

/* ---- the recording ---- */

/* 10 ns a tick. */
static void
put_time(void)
{
	begin_record(&fixture.file, 79, 0);
	put_number(&fixture.file, 0, 8);
	put_number(&fixture.file, 10, 8);
	put_number(&fixture.file, 0, 8);
	end_record(&fixture.file);
}

static void
put_info(void)
{
	begin_record(&fixture.file, 70, 0);
	put_number(&fixture.file, PERF_DATA_ARM_SPE, 4);
	put_number(&fixture.file, 0, 4);
	put_number(&fixture.file, 31, 8);
	put_number(&fixture.file, 1, 8);
	end_record(&fixture.file);
}

/* As perf 6.13 and later have it: with the model of each CPU. */
static void
put_info_of_cpus(void)
{
	static const uint64_t words[] = {2, 4,           32, 2,    0x1010101010101010, 5,
	                                 3, NEOVERSE_N1, 32, 1024, 0x1010101010101010, 6,
	                                 3, THUNDERX2,   32, 1024};

	begin_record(&fixture.file, 70, 0);
	put_number(&fixture.file, PERF_DATA_ARM_SPE, 4);
	put_number(&fixture.file, 0, 4);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		put_number(&fixture.file, words[i], 8);
	end_record(&fixture.file);
}

/* A load at `tick`, from a cache that Neoverse's code 9 names; `context` 0: it has no such packet. */
static size_t
build_load(uint8_t *bytes, uint32_t context, uint32_t tick)
{
	struct file_builder built = {.is_big = false};

	if (context) {
		put_number(&built, CONTEXT, 1);
		put_number(&built, context, 4);
	}
	put_number(&built, 0x0049, 2);
	put_number(&built, 0xb2, 1);
	put_number(&built, 0x1000 + tick, 8);
	put_number(&built, 0x0943, 2);
	put_number(&built, tick ? 0x71 : 0x01, 1);
	if (tick)
		put_number(&built, tick, 8);
	put_bytes(&built, (const uint8_t[8]){0}, -built.size % 8);
	memcpy(bytes, built.bytes, built.size);
	return built.size;
}

/* A piece of the area of `cpu` with two loads. */
static void
put_piece(uint32_t cpu, uint32_t tid, uint32_t context, uint32_t first_tick, uint32_t second_tick)
{
	uint8_t bytes[256];
	size_t size = build_load(bytes, context, first_tick);

	size += build_load(bytes + size, context, second_tick);
	begin_record(&fixture.file, 71, 0);
	put_number(&fixture.file, size, 8);
	put_number(&fixture.file, 0, 8);
	put_number(&fixture.file, 0, 8);
	put_number(&fixture.file, cpu, 4);
	put_number(&fixture.file, tid, 4);
	put_number(&fixture.file, cpu, 4);
	put_number(&fixture.file, 0, 4);
	end_record(&fixture.file);
	put_bytes(&fixture.file, bytes, size);
}

/* ---- reading it ---- */

static int
keep(void *context, const struct record *sample)
{
	(void)context;
	assert_true(fixture.count < sizeof(fixture.samples) / sizeof(*fixture.samples));
	fixture.samples[fixture.count++] = *sample;
	return 0;
}

static void
find(void)
{
	fixture.fd = file_open(&fixture.file, fixture.file.size);
	assert_int_equal(spe_areas_find(fixture.fd, &fixture.areas), 0);
	assert_int_equal(lseek(fixture.fd, 0, SEEK_CUR), 0);
}

static void
follow(struct record record)
{
	assert_int_equal(spe_areas_follow(fixture.areas, &record), 0);
}

static void
take(uint64_t horizon)
{
	assert_int_equal(spe_areas_take(fixture.areas, horizon, keep, NULL), 0);
}

static void
a_recording_without_spe_has_no_areas(void **state)
{
	(void)state;
	put_piece(5, 43, 0, 100, 200);
	put_sample(&fixture.file, 11, 0x400010, 1000);
	find();
	assert_null(fixture.areas);
}

/* Pieces come in any order; samples before a record's time are taken before it. */
static void
samples_of_all_areas_are_in_the_order_of_time(void **state)
{
	static const uint64_t times[] = {1000, 1500, 2000, 3000, 5000, 6000};

	(void)state;
	put_time();
	put_info();
	put_piece(6, 44, 0, 150, 300);
	put_piece(5, 43, 0, 100, 200);
	put_piece(6, 44, 0, 500, 600);
	find();
	assert_non_null(fixture.areas);
	assert_int_equal(spe_areas_event_type(fixture.areas), 31);
	assert_true(spe_areas_has_clock_of_records(fixture.areas));
	take(2000);
	assert_int_equal(fixture.count, 2);
	take(2001);
	assert_int_equal(fixture.count, 3);
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(fixture.samples[i].time, times[i]);
	assert_int_equal(fixture.samples[0].sample.cpu, 5);
	assert_int_equal(fixture.samples[1].sample.cpu, 6);
	assert_int_equal(fixture.samples[0].sample.data_address, 0x1064);
}

/* A packet of its own comes first, then what runs on the CPU, then the area's thread. */
static void
an_access_belongs_to_the_thread_that_is_known_best(void **state)
{
	(void)state;
	put_time();
	put_info();
	put_piece(5, 43, 0, 100, 200);
	put_piece(6, 44, 77, 300, 400);
	find();
	follow((struct record){.type = RECORD_FORK, .pid = 42, .tid = 43});
	follow((struct record){.type = RECORD_COMM, .pid = 70, .tid = 77});
	take(1500);
	follow((struct record){.type = RECORD_RUNNING, .pid = 60, .tid = 61, .running = {.cpu = 5}});
	take(2500);
	follow((struct record){.type = RECORD_RUNNING, .pid = 60, .tid = 61, .running = {.cpu = 6}});
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 4);
	assert_int_equal(fixture.samples[0].tid, 43);
	assert_int_equal(fixture.samples[0].pid, 42);
	assert_int_equal(fixture.samples[1].tid, 61);
	assert_int_equal(fixture.samples[1].pid, 60);
	assert_int_equal(fixture.samples[2].tid, 77);
	assert_int_equal(fixture.samples[2].pid, 70);
	assert_int_equal(spe_areas_counts(fixture.areas).unowned, 0);
}

static void
accesses_of_unknown_threads_are_counted(void **state)
{
	(void)state;
	put_time();
	put_info();
	put_piece(5, UINT32_MAX, 0, 100, 200);
	find();
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 2);
	assert_true(fixture.samples[0].pid == UINT32_MAX);
	assert_int_equal(spe_areas_counts(fixture.areas).unowned, 2);
}

static void
what_served_a_load_is_read_by_the_model_of_its_cpu(void **state)
{
	(void)state;
	put_time();
	put_info_of_cpus();
	put_piece(5, 43, 0, 100, 200);
	put_piece(6, 44, 0, 300, 400);
	find();
	assert_int_equal(spe_areas_event_type(fixture.areas), 32);
	take(UINT64_MAX);
	assert_int_equal(data_source_level(fixture.samples[0].sample.data_source), DATA_LEVEL_L2);
	assert_int_equal(data_source_level(fixture.samples[2].sample.data_source), DATA_LEVEL_UNKNOWN);
}

static void
without_times_there_are_no_samples(void **state)
{
	(void)state;
	put_time();
	put_info();
	put_piece(5, 43, 0, 0, 200);
	find();
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(spe_areas_counts(fixture.areas).timeless, 1);
	spe_areas_free(fixture.areas);
	close(fixture.fd);
	begin_pipe(&fixture.file, false);
	put_info();
	put_piece(5, 43, 0, 100, 200);
	find();
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(spe_areas_counts(fixture.areas).timeless, 2);
}

static void
what_the_hardware_dropped_is_counted(void **state)
{
	(void)state;
	put_time();
	put_info();
	find();
	follow((struct record){.type = RECORD_AUX, .aux = {.flags = PERF_AUX_FLAG_TRUNCATED}});
	follow((struct record){.type = RECORD_AUX, .aux = {.flags = PERF_AUX_FLAG_COLLISION}});
	follow((struct record){.type = RECORD_AUX,
	                       .aux = {.flags = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION}});
	follow((struct record){.type = RECORD_AUX});
	assert_int_equal(spe_areas_counts(fixture.areas).truncated, 2);
	assert_int_equal(spe_areas_counts(fixture.areas).collided, 2);
}

static void
a_piece_that_is_cut_has_what_is_there(void **state)
{
	(void)state;
	put_time();
	put_info();
	put_piece(5, 43, 0, 100, 200);
	fixture.file.size -= 12;
	find();
	take(UINT64_MAX);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(spe_areas_counts(fixture.areas).damaged, 1);
}

/* perf record -k: records have the times of that clock, and SPE's ticks do not become them. */
static void
a_clock_of_the_event_is_not_that_of_spe(void **state)
{
	const size_t flags = 16 + 8 + 40; /* of the first attribute */

	(void)state;
	fixture.file.bytes[flags + 25 / 8] |= 1 << 25 % 8; /* use_clockid */
	put_time();
	put_info();
	find();
	assert_false(spe_areas_has_clock_of_records(fixture.areas));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_recording_without_spe_has_no_areas),
		TEST(samples_of_all_areas_are_in_the_order_of_time),
		TEST(an_access_belongs_to_the_thread_that_is_known_best),
		TEST(accesses_of_unknown_threads_are_counted),
		TEST(what_served_a_load_is_read_by_the_model_of_its_cpu),
		TEST(without_times_there_are_no_samples),
		TEST(what_the_hardware_dropped_is_counted),
		TEST(a_piece_that_is_cut_has_what_is_there),
		TEST(a_clock_of_the_event_is_not_that_of_spe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
