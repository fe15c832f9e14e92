#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "stream/perf_data.h"

/* Recordings of real machines, and what `perf script` makes of them: event, image, samples. */
#define RECORDED "tests/recorded/perf_data/"

struct perf_data_counts {
	uint64_t samples, lost, records, skipped;
	uint64_t of_event[8];
	int result;
	struct perf_data_fault fault;
};

static struct perf_data *
open_recorded(const char *name, int *fd)
{
	struct perf_data_fault fault;
	struct perf_data *data;
	char path[256];

	snprintf(path, sizeof(path), RECORDED "%s.data", name);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(perf_data_open(*fd, &data, &fault), 0);
	return data;
}

static struct perf_data_counts
count(struct perf_data *data)
{
	struct perf_data_counts counts = {0};
	struct record record;
	uint32_t event;

	while ((counts.result = perf_data_next(data, &record, &event)) > 0) {
		counts.records++;
		if (record.type == RECORD_LOST)
			counts.lost += record.lost.count;
		if (record.type != RECORD_SAMPLE)
			continue;
		counts.samples++;
		assert_true(event < 8);
		counts.of_event[event]++;
	}
	counts.fault = perf_data_fault(data);
	return counts;
}

static uint64_t
expected(const char *name, const char *event)
{
	char path[256], line[512], found[256], image[256];
	uint64_t sum = 0;
	unsigned samples;
	FILE *file;

	snprintf(path, sizeof(path), RECORDED "%s.expected.tsv", name);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		assert_int_equal(sscanf(line, "%255[^\t]\t%255[^\t]\t%u", found, image, &samples), 3);
		if (strcmp(found, event) == 0)
			sum += samples;
	}
	fclose(file);
	return sum;
}

static void
real_recordings_have_the_samples_that_perf_finds(void **state)
{
	static const char *const names[] = {"lost_samples-4.4", "hybrid_topology", "remmap-3.2"};
	static const uint64_t totals[] = {191, 7, 198};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct perf_data_event *events;
		struct perf_data *data;
		struct perf_data_counts counts;
		size_t event_count;
		int fd;

		data = open_recorded(names[i], &fd);
		counts = count(data);
		assert_int_equal(counts.result, 0);
		assert_int_equal(counts.samples, totals[i]);
		events = perf_data_events(data, &event_count);
		for (size_t event = 0; event < event_count; event++) {
			assert_non_null(events[event].name);
			assert_int_equal(counts.of_event[event], expected(names[i], events[event].name));
		}
		perf_data_free(data);
		close(fd);
	}
}

/* README of the recordings: two samples were lost. */
static void
what_was_lost_is_told(void **state)
{
	struct perf_data *data;
	int fd;

	(void)state;
	data = open_recorded("lost_samples-4.4", &fd);
	assert_int_equal(count(data).lost, 2);
	perf_data_free(data);
	close(fd);
}

static void
a_record_without_a_size_ends_the_recording_and_tells_where(void **state)
{
	struct perf_data *data;
	struct perf_data_counts counts;
	int fd;

	(void)state;
	data = open_recorded("zero_size_sample-3.2", &fd);
	counts = count(data);
	assert_int_equal(counts.result, -DCPI_EDAMAGED);
	assert_int_equal(counts.records, 468 + 100); /* perf: mappings and names of processes */
	assert_int_equal(counts.fault.offset, 0xbfd0);
	assert_string_equal(counts.fault.text, "a record is smaller than its own header");
	perf_data_free(data);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_recordings_have_the_samples_that_perf_finds),
		cmocka_unit_test(what_was_lost_is_told),
		cmocka_unit_test(a_record_without_a_size_ends_the_recording_and_tells_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
