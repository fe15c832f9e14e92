#include "tests/unit/test.h"

#include "stream/merge.h"
#include "tests/recording.h"

/* As perf names them, in the order of enum record_type; LOST ones must not be there. */
static const char *const names[] = {
	[RECORD_SAMPLE] = "SAMPLE", [RECORD_MMAP] = "MMAP2", [RECORD_COMM] = "COMM",
	[RECORD_FORK] = "FORK",     [RECORD_EXIT] = "EXIT",  [RECORD_CGROUP] = "CGROUP",
};
#define KINDS (sizeof(names) / sizeof(names[0]))

struct merged_recording {
	struct ring_recording recording;
	struct merge *merge;
	struct ring *rings[RECORDING_RINGS];
	unsigned counts[KINDS];
	unsigned others, backwards, astray;
	uint64_t last;
};

static int
setup(void **state)
{
	struct merged_recording *fixture = calloc(1, sizeof(*fixture));

	recording_open(&fixture->recording);
	fixture->merge = merge_new();
	assert_non_null(fixture->merge);
	for (int i = 0; i < RECORDING_RINGS; i++) {
		struct recorded_ring *recorded = &fixture->recording.rings[i];

		fixture->rings[i] = ring_over(recorded->memory, recorded->pages);
		assert_non_null(fixture->rings[i]);
		assert_int_equal(merge_add(fixture->merge, fixture->rings[i], &recorded->layout, recorded->cpu), 0);
	}
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct merged_recording *fixture = *state;

	merge_free(fixture->merge);
	for (int i = 0; i < RECORDING_RINGS; i++)
		ring_free(fixture->rings[i]);
	recording_close(&fixture->recording);
	free(fixture);
	return 0;
}

static int
count(void *context, uint32_t cpu, const struct record *record)
{
	struct merged_recording *fixture = context;

	if (record->type < KINDS && names[record->type])
		fixture->counts[record->type]++;
	else
		fixture->others++;
	fixture->backwards += record->time < fixture->last;
	fixture->last = record->time;
	fixture->astray += recording_ring(&fixture->recording, record->id)->cpu != cpu;
	return 0;
}

static unsigned
expected(const char *name)
{
	FILE *file = fopen(RECORDING_ARM64 "/expected", "re");
	unsigned value, found = 0;
	char line[256], kind[32];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "records %31s %u", kind, &value) == 2 && strcmp(kind, name) == 0)
			found = value;
	fclose(file);
	return found;
}

static void
a_real_recording_has_the_records_that_perf_finds(void **state)
{
	struct merged_recording *fixture = *state;

	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, count, fixture), 0);
	for (size_t i = 0; i < KINDS; i++)
		if (names[i])
			assert_int_equal(fixture->counts[i], expected(names[i]));
	assert_true(fixture->counts[RECORD_SAMPLE] > 1000);
	assert_true(fixture->counts[RECORD_MMAP] > 10);
	assert_int_equal(fixture->others, 0);
	assert_int_equal(fixture->astray, 0);
	for (int i = 0; i < RECORDING_RINGS; i++) {
		assert_int_equal(ring_used(fixture->rings[i]), 0);
		assert_int_equal(ring_take_skipped(fixture->rings[i]), 0);
	}
}

static void
the_rings_of_a_real_recording_merge_in_time_order(void **state)
{
	struct merged_recording *fixture = *state;

	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, count, fixture), 0);
	assert_int_equal(fixture->backwards, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_real_recording_has_the_records_that_perf_finds),
		TEST(the_rings_of_a_real_recording_merge_in_time_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
