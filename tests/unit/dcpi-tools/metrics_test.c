#include "dcpi-tools/ctl/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define NOW_NS UINT64_C(1700000094000000000)

/* What is printed for `json` ("" : no daemon). Free it. */
static char *
printed(const char *json)
{
	json_t *status = *json ? json_loads(json, 0, NULL) : NULL;
	size_t length;
	FILE *stream;
	char *text;

	assert_true(status || !*json);
	stream = open_memstream(&text, &length);
	assert_non_null(stream);
	assert_int_equal(metrics_print(status, NOW_NS, stream), 0);
	fclose(stream);
	json_decref(status);
	return text;
}

/* Is `line` a whole line of what is printed for `json`? */
static void
assert_line(const char *json, const char *line)
{
	char *text = printed(json), *found;

	found = strstr(text, line);
	while (found && !((found == text || found[-1] == '\n') && found[strlen(line)] == '\n'))
		found = strstr(found + 1, line);
	if (!found)
		fail_msg("no line '%s' in:\n%s", line, text);
	free(text);
}

static void
assert_no(const char *json, const char *piece)
{
	char *text = printed(json);

	assert_null(strstr(text, piece));
	free(text);
}

static void
a_daemon_that_is_down_is_a_metric(void **state)
{
	char *text = printed("");

	(void)state;
	assert_string_equal(text, "# HELP dcpi_up 1 when dcpid runs and answers.\n# TYPE dcpi_up gauge\ndcpi_up 0\n");
	free(text);
}

static void
samples_are_counted_since_the_daemon_began(void **state)
{
	static const char json[] = "{\"events\":[{\"name\":\"cycles\",\"requested\":\"cycles\",\"available\":true,"
				   "\"samples\":5}],\"totals\":{\"events\":[{\"name\":\"cycles\",\"samples\":70,"
				   "\"lost\":3,\"dropped\":2,\"throttled\":1,\"unknown\":{\"guest\":4}}]}}";

	(void)state;
	assert_line(json, "# TYPE dcpi_samples_total counter");
	assert_line(json, "dcpi_samples_total{event=\"cycles\"} 70");
	assert_line(json, "dcpi_lost_samples_total{event=\"cycles\"} 3");
	assert_line(json, "dcpi_dropped_samples_total{event=\"cycles\"} 2");
	assert_line(json, "dcpi_throttled_total{event=\"cycles\"} 1");
	assert_line(json, "dcpi_unknown_samples_total{event=\"cycles\",cause=\"guest\"} 4");
	assert_line(json, "dcpi_unknown_samples_total{event=\"cycles\",cause=\"no-mapping\"} 0");
}

static void
units_are_seconds_bytes_and_ratios(void **state)
{
	static const char json[] =
		"{\"since\":\"2023-11-14T22:13:20Z\",\"overhead_percent\":0.5,\"rss_bytes\":4194304,"
		"\"last_flush\":{\"at\":null,\"ms\":31.5,\"error\":null},\"overhead\":{\"limit_percent\":1},"
		"\"events\":[{\"name\":\"cycles\",\"requested\":\"cycles\",\"available\":true,\"cost_ns\":2500,"
		"\"rate\":250,\"running_percent\":75}]}";

	(void)state;
	assert_line(json, "dcpi_start_time_seconds 1700000000.000");
	assert_line(json, "dcpi_cpu_ratio 0.005");
	assert_line(json, "dcpi_resident_memory_bytes 4194304");
	assert_line(json, "dcpi_last_flush_duration_seconds 0.0315");
	assert_line(json, "dcpi_last_flush_timestamp_seconds 0");
	assert_line(json, "dcpi_overhead_limit_ratio 0.01");
	assert_line(json, "dcpi_sample_cost_seconds{event=\"cycles\"} 2.5e-06");
	assert_line(json, "dcpi_sampling_rate_hertz{event=\"cycles\"} 250");
	assert_line(json, "dcpi_event_running_ratio{event=\"cycles\"} 0.75");
}

static void
large_counts_stay_exact(void **state)
{
	(void)state;
	/* 2^53 + 1 has no double */
	assert_line("{\"database\":{\"bytes\":9007199254740993}}", "dcpi_database_size_bytes 9007199254740993");
}

static void
labels_are_escaped(void **state)
{
	(void)state;
	assert_line("{\"version\":\"a\\\"b\\\\c\\nd\"}", "dcpi_build_info{version=\"a\\\"b\\\\c\\nd\"} 1");
}

static void
a_flush_that_failed_is_no_success(void **state)
{
	(void)state;
	assert_line("{\"last_flush\":{\"error\":null}}", "dcpi_last_flush_success 1");
	assert_line("{\"last_flush\":{\"error\":\"No space left on device\"}}", "dcpi_last_flush_success 0");
}

static void
troubles_are_counted(void **state)
{
	(void)state;
	assert_line("{\"trouble\":[],\"kept\":12}", "dcpi_troubles 0");
	assert_line("{\"trouble\":[],\"kept\":12}", "dcpi_kept_samples 12");
	assert_line("{\"trouble\":[\"a\",\"b\"]}", "dcpi_troubles 2");
}

static void
what_an_older_daemon_does_not_say_is_left_out(void **state)
{
	static const char json[] = "{\"events\":[{\"name\":\"cycles\",\"available\":true}],"
				   "\"totals\":{\"events\":[{\"name\":\"cycles\",\"samples\":1}]}}";

	(void)state;
	assert_no(json, "dcpi_dropped_samples_total");
	assert_no(json, "dcpi_sample_cost_seconds");
	assert_no(json, "dcpi_overhead_limit_ratio");
}

static void
events_that_became_the_same_are_one_series(void **state)
{
	static const char json[] =
		"{\"events\":["
		"{\"name\":\"cpu-clock\",\"requested\":\"cycles\",\"available\":true,\"rate\":242},"
		"{\"name\":\"cpu-clock\",\"requested\":\"cpu-clock\",\"available\":true,\"rate\":97}]}";
	const char *first;
	char *text;

	(void)state;
	assert_line(json, "dcpi_event_available{requested=\"cycles\",event=\"cpu-clock\"} 1");
	assert_line(json, "dcpi_event_available{requested=\"cpu-clock\",event=\"cpu-clock\"} 1");
	text = printed(json);
	first = strstr(text, "dcpi_sampling_rate_hertz{event=\"cpu-clock\"} 242\n");
	assert_non_null(first);
	assert_null(strstr(first + 1, "dcpi_sampling_rate_hertz"));
	free(text);
}

static void
a_file_is_replaced_whole_and_for_all_to_read(void **state)
{
	char directory[] = "/tmp/dcpi-metrics.XXXXXX", path[64], text[256] = "";
	unsigned files = 0;
	struct dirent *entry;
	struct stat before, after;
	FILE *stream;
	DIR *list;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/dcpi.prom", directory);
	assert_int_equal(metrics_write(NULL, NOW_NS, path), 0);
	stream = fopen(path, "re"); /* keeps the old file's inode from being used again */
	assert_non_null(stream);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(metrics_write(NULL, NOW_NS, path), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_ino != after.st_ino);
	assert_int_equal(after.st_mode & 07777, 0644);
	assert_true(fread(text, 1, sizeof(text) - 1, stream) > 0);
	assert_non_null(strstr(text, "dcpi_up 0\n"));
	fclose(stream);
	list = opendir(directory);
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		files += entry->d_name[0] != '.';
	closedir(list);
	assert_int_equal(files, 1);
	unlink(path);
	rmdir(directory);
}

/* A link, as /dev/stdout is one, stays what it is, and so does a directory. */
static void
what_is_no_file_is_not_replaced(void **state)
{
	char directory[] = "/tmp/dcpi-metrics.XXXXXX", path[64], target[64];
	struct stat stat;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/link", directory);
	snprintf(target, sizeof(target), "%s/target", directory);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(metrics_write(NULL, NOW_NS, path), -EEXIST);
	assert_int_equal(lstat(path, &stat), 0);
	assert_true(S_ISLNK(stat.st_mode));
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(metrics_write(NULL, NOW_NS, directory), -EEXIST);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static void
a_directory_that_is_not_there_is_told(void **state)
{
	(void)state;
	assert_int_equal(metrics_write(NULL, NOW_NS, "/nonexistent/dcpi.prom"), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_that_is_down_is_a_metric),
		cmocka_unit_test(samples_are_counted_since_the_daemon_began),
		cmocka_unit_test(units_are_seconds_bytes_and_ratios),
		cmocka_unit_test(large_counts_stay_exact),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(a_flush_that_failed_is_no_success),
		cmocka_unit_test(troubles_are_counted),
		cmocka_unit_test(what_an_older_daemon_does_not_say_is_left_out),
		cmocka_unit_test(events_that_became_the_same_are_one_series),
		cmocka_unit_test(a_file_is_replaced_whole_and_for_all_to_read),
		cmocka_unit_test(what_is_no_file_is_not_replaced),
		cmocka_unit_test(a_directory_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
