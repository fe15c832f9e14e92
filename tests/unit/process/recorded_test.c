#include "tests/unit/test.h"

#include "process/attribution.h"
#include "stream/merge.h"
#include "tally/tally.h"
#include "tests/recording.h"
#include "tests/scan_proc.h"

struct attributed_recording {
	struct ring_recording recording;
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct tally *tally;
	const struct tally_entry *entries;
	size_t entry_count;
	uint64_t unknown[RECORDING_EVENTS];
};

static const char *const events[RECORDING_EVENTS] = {"cycles", "instructions"};

/* /proc was read before all that was recorded. */
static uint64_t
clock_of_scan(void)
{
	return 1;
}

static int
take(void *context, uint32_t cpu, const struct record *record)
{
	struct attributed_recording *fixture = context;
	struct sample_key key = {0};

	(void)cpu;
	if (record->type != RECORD_SAMPLE)
		return attribution_apply(fixture->attribution, record);
	key.event = (uint16_t)recording_event(&fixture->recording, record->id);
	if (attribution_sample(fixture->attribution, record, &key)) {
		fixture->unknown[key.event]++;
		return 0;
	}
	return tally_add(fixture->tally, &key, 1);
}

/* The way of a sample, from the rings to the sorted tally. */
static void
replay(struct attributed_recording *fixture)
{
	struct merge *merge = merge_new();
	struct ring *rings[RECORDING_RINGS];

	assert_non_null(merge);
	for (int i = 0; i < RECORDING_RINGS; i++) {
		struct recorded_ring *recorded = &fixture->recording.rings[i];

		rings[i] = ring_over(recorded->memory, recorded->pages);
		assert_non_null(rings[i]);
		assert_int_equal(merge_add(merge, rings[i], &recorded->layout, recorded->cpu), 0);
	}
	assert_int_equal(merge_drain(merge, UINT64_MAX, take, fixture), 0);
	fixture->entries = tally_sort(fixture->tally, &fixture->entry_count);
	merge_free(merge);
	for (int i = 0; i < RECORDING_RINGS; i++)
		ring_free(rings[i]);
}

static int
setup(void **state)
{
	struct attributed_recording *fixture = calloc(1, sizeof(*fixture));
	const struct attribution_options options = {
		.procfs = RECORDING_ARM64 "/proc",
		.sysfs = RECORDING_ARM64 "/sys",
		.cgroupfs = RECORDING_ARM64 "/sys/fs/cgroup",
		.exit_grace_ns = 10000000000,
		.clock_ns = clock_of_scan,
	};

	recording_open(&fixture->recording);
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	fixture->tally = tally_new(10000);
	assert_true(fixture->images && fixture->contexts && fixture->tally);
	fixture->attribution = attribution_new(&options, fixture->images, fixture->contexts);
	assert_non_null(fixture->attribution);
	assert_int_equal(scan_proc(fixture->attribution, &options), 0);
	replay(fixture);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct attributed_recording *fixture = *state;

	attribution_free(fixture->attribution);
	tally_free(fixture->tally);
	image_table_free(fixture->images);
	context_table_free(fixture->contexts);
	recording_close(&fixture->recording);
	free(fixture);
	return 0;
}

/* Samples of an event at offsets from `start` to before `end` of an image. */
static uint64_t
counted(const struct attributed_recording *fixture, const char *event, const char *image, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < fixture->entry_count; i++) {
		const struct tally_entry *entry = &fixture->entries[i];

		if (strcmp(events[entry->event], event) == 0 && entry->offset >= start && entry->offset < end &&
		    strcmp(image_table_get(fixture->images, entry->image)->path, image) == 0)
			sum += entry->count;
	}
	return sum;
}

static FILE *
open_expected(void)
{
	FILE *file = fopen(RECORDING_ARM64 "/expected", "re");

	assert_non_null(file);
	return file;
}

static void
every_image_of_a_real_recording_has_the_samples_that_perf_gives_it(void **state)
{
	const struct attributed_recording *fixture = *state;
	unsigned long long samples, sum = 0, all = 0, unknown[RECORDING_EVENTS] = {0};
	char line[512], event[32], image[256];
	FILE *file = open_expected();

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "image %31s %255s %llu", event, image, &samples) != 3)
			continue;
		sum += samples;
		if (strcmp(image, "[unknown]") == 0)
			unknown[strcmp(event, events[0]) != 0] += samples;
		else
			assert_int_equal(counted(fixture, event, image, 0, UINT64_MAX), samples);
	}
	fclose(file);
	for (size_t i = 0; i < fixture->entry_count; i++)
		all += fixture->entries[i].count;
	for (size_t i = 0; i < RECORDING_EVENTS; i++) {
		assert_int_equal(fixture->unknown[i], unknown[i]);
		all += fixture->unknown[i];
	}
	assert_int_equal(all, sum); /* no image that perf does not know */
	assert_true(sum > 1000);
}

static void
every_procedure_of_a_real_recording_has_the_samples_that_perf_gives_it(void **state)
{
	const struct attributed_recording *fixture = *state;
	unsigned long long start, end, samples, procedures = 0;
	char line[512], event[32], image[256];
	FILE *file = open_expected();

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "procedure %31s %255s %*s %llx %llx %llu", event, image, &start, &end, &samples) != 5)
			continue;
		assert_int_equal(counted(fixture, event, image, start, end), samples);
		procedures++;
	}
	fclose(file);
	assert_int_equal(procedures, 2 * 2 * 3); /* of two events, in two programs, three functions */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_image_of_a_real_recording_has_the_samples_that_perf_gives_it),
		TEST(every_procedure_of_a_real_recording_has_the_samples_that_perf_gives_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
