/* Tests of dcpi-tools/ctl/status.h: the status of dcpid as text, and as metrics. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/ctl/status.h"

#define NOW_NS UINT64_C(1700000094000000000) /* 2023-11-14T22:14:54Z */

static void
assert_printed(const char *json, const char *expected)
{
	json_t *status = json_loads(json, 0, NULL);
	size_t length;
	FILE *stream;
	char *text;

	assert_non_null(status);
	stream = open_memstream(&text, &length);
	assert_non_null(stream);
	assert_int_equal(status_print(status, NOW_NS, stream), 0);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
	json_decref(status);
}

static void
labels_are_listed_with_their_processes(void **state)
{
	(void)state;
	assert_printed("{\"version\":\"0.1.0\",\"pid\":812,\"seconds\":1,\"labels\":["
	               "{\"label\":\"gz.1\",\"processes\":1},{\"label\":\"run2\",\"processes\":1234}]}",
	               "dcpid 0.1.0 (process 812), collecting for 1 s, epoch 0\n"
	               "  unknown   0.00 % of the samples\n"
	               "  labels    gz.1: 1 process\n"
	               "            run2: 1,234 processes\n"
	               "  database   0 bytes of 0 bytes, nothing flushed yet\n"
	               "  cost      dcpid used 0.00 % of the machine's CPU time, besides taking samples\n"
	               "  memory    0 bytes\n");
}

static void
a_status_is_printed_in_aligned_lines(void **state)
{
	(void)state;
	assert_printed(
		"{\"version\":\"0.1.0\",\"pid\":812,\"seconds\":7980.5,"
		"\"epoch\":{\"id\":3,\"label\":\"nightly\"},"
		"\"database\":{\"path\":\"/var/lib/dcpi\",\"used\":14889779,\"limit\":2147483648},"
		"\"last_flush\":{\"at\":\"2023-11-14T22:14:50Z\",\"ms\":31.4,\"keys\":5,\"error\":null},"
		"\"cpus\":\"0,2-3\",\"idle\":{\"cpus\":2,\"ticks\":81000,\"ticks_per_second\":40.4},"
		"\"overhead_percent\":0.0213,\"rss_bytes\":9542042,\"overhead\":{\"limit_percent\":"
		"0.5,"
		"\"expected_percent\":0.4375,\"measured_percent\":0.25,\"dcpid_percent\":0.0213,"
		"\"start_cpu_ns\":148200000},\"events\":["
		"{\"name\":\"cpu-clock\",\"requested\":\"cycles\",\"available\":true,\"note\":\"no PMU\",\"rate\":250,"
		"\"cost_ns\":16520,\"period\":4000000,\"unit\":\"ns\",\"samples\":3982211,\"lost\":0,\"throttled\":1,"
		"\"unknown\":{\"no-mapping\":812,\"guest\":1}},"
		"{\"name\":\"page-faults\",\"requested\":\"page-faults\",\"available\":true,\"note\":\"\",\"rate\":0,"
		"\"period\":1009,\"unit\":\"events\",\"samples\":1000,\"lost\":12345,\"throttled\":0,\"dropped\":1234,"
		"\"running_percent\":61.25,"
		"\"unknown\":{\"no-mapping\":400}},"
		"{\"name\":\"\",\"requested\":\"cache-misses\",\"available\":false,\"note\":\"no PMU\"},"
		"{\"name\":\"cycles\",\"requested\":\"cycles\",\"available\":true,\"note\":\"\",\"rate\":1500,"
		"\"cost_ns\":null,\"period\":2000003,\"unit\":\"cycles\",\"samples\":1,\"lost\":0,\"throttled\":0}]}",
		"dcpid 0.1.0 (process 812), collecting for 2 h 13 min, epoch 3 \"nightly\"\n"
		"  cpu-clock     250 samples/s per CPU, 16.5 us each, 3,982,211 samples, 0 lost, 1 throttled\n"
		"                stands in for cycles: no PMU\n"
		"  page-faults   a sample every 1,009 events, 1,000 samples, 12,345 lost, 0 throttled, counted 61.2 % "
		"of the time, "
		"1,234 dropped\n"
		"  cache-misses  not available here\n"
		"                no PMU\n"
		"  cycles        a sample every 2,000,003 cycles, 1,500 samples/s per CPU, 1 samples, 0 lost, 0 "
		"throttled\n"
		"  unknown       0.03 % of the samples (no-mapping 1,212, guest 1)\n"
		"  cpus          0,2-3; 2 idle, and sampled rarely until they work again\n"
		"                40 timer interrupts a second found a CPU idle\n"
		"  database      /var/lib/dcpi 14.2 MiB of 2 GiB, last flush 4 s ago took 31 ms\n"
		"  cost          0.25 % of the machine's CPU time, 0.02 % of it dcpid's own; 0.44 % expected at full "
		"load "
		"(limit 0.5 %)\n"
		"                besides, 148.2 ms of CPU time once, to start\n"
		"  memory        9.1 MiB\n");
}

/* 10^9 s are 11,574 days and 1.8 hours. */
static void
a_duration_that_cannot_be_is_cut(void **state)
{
	(void)state;
	assert_printed("{\"version\":\"0.1.0\",\"pid\":1,\"seconds\":1e34,\"epoch\":{\"id\":1,\"label\":\"\"},"
	               "\"database\":{\"path\":\"/d\",\"limit\":1048576},\"last_flush\":{\"at\":null},\"events\":[]}",
	               "dcpid 0.1.0 (process 1), collecting for 11574 d 1 h, epoch 1\n"
	               "  unknown   0.00 % of the samples\n"
	               "  database  /d 0 bytes of 1 MiB, nothing flushed yet\n"
	               "  cost      dcpid used 0.00 % of the machine's CPU time, besides taking samples\n"
	               "  memory    0 bytes\n");
}

static void
trouble_is_not_hidden(void **state)
{
	(void)state;
	assert_printed("{\"version\":\"0.1.0\",\"pid\":1,\"seconds\":1,\"epoch\":{\"id\":1,\"label\":\"\"},"
	               "\"database\":{\"path\":\"/d\",\"used\":0,\"limit\":1048576},\"trouble\":[\"cannot "
	               "write\",\"memory is full\"],"
	               "\"last_flush\":{\"at\":null,\"ms\":1,\"keys\":0,\"error\":\"No space left on device\"},"
	               "\"sideband_lost\":1000,\"skipped\":2,\"events\":[]}",
	               "dcpid 0.1.0 (process 1), collecting for 1 s, epoch 1\n"
	               "  unknown   0.00 % of the samples\n"
	               "  database  /d 0 bytes of 1 MiB, nothing flushed yet\n"
	               "  trouble   cannot write\n"
	               "  trouble   memory is full\n"
	               "  records   1,000 on mappings and processes lost: what came after them may be unknown\n"
	               "  records   2 could not be decoded\n"
	               "  cost      dcpid used 0.00 % of the machine's CPU time, besides taking samples\n"
	               "  memory    0 bytes\n");
}

static void
a_daemon_that_says_less_is_understood(void **state)
{
	(void)state;
	assert_printed("{}", "dcpid  (process 0), collecting for 0 s, epoch 0\n"
	                     "  unknown   0.00 % of the samples\n"
	                     "  database   0 bytes of 0 bytes, nothing flushed yet\n"
	                     "  cost      dcpid used 0.00 % of the machine's CPU time, besides taking samples\n"
	                     "  memory    0 bytes\n");
}

static void
counts_have_a_comma_every_three_digits(void **state)
{
	char text[STATUS_NUMBER_SIZE];

	(void)state;
	assert_string_equal(status_format_count(0, text), "0");
	assert_string_equal(status_format_count(999, text), "999");
	assert_string_equal(status_format_count(1000, text), "1,000");
	assert_string_equal(status_format_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void
sizes_have_three_digits_at_most(void **state)
{
	char text[STATUS_NUMBER_SIZE];

	(void)state;
	assert_string_equal(status_format_size(0, text), "0 bytes");
	assert_string_equal(status_format_size(1023, text), "1023 bytes");
	assert_string_equal(status_format_size(1024, text), "1 KiB");
	assert_string_equal(status_format_size(1536, text), "1.5 KiB");
	assert_string_equal(status_format_size(UINT64_C(256) << 20, text), "256 MiB");
	assert_string_equal(status_format_size(UINT64_C(3) << 40, text), "3 TiB");
}

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
	assert_int_equal(status_print_metrics(status, NOW_NS, stream), 0);
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
	assert_int_equal(status_write_metrics(NULL, NOW_NS, path), 0);
	stream = fopen(path, "re"); /* keeps the old file's inode from being used again */
	assert_non_null(stream);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(status_write_metrics(NULL, NOW_NS, path), 0);
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
	assert_int_equal(status_write_metrics(NULL, NOW_NS, path), -EEXIST);
	assert_int_equal(lstat(path, &stat), 0);
	assert_true(S_ISLNK(stat.st_mode));
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(status_write_metrics(NULL, NOW_NS, directory), -EEXIST);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static void
a_directory_that_is_not_there_is_told(void **state)
{
	(void)state;
	assert_int_equal(status_write_metrics(NULL, NOW_NS, "/nonexistent/dcpi.prom"), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_listed_with_their_processes),
		cmocka_unit_test(a_status_is_printed_in_aligned_lines),
		cmocka_unit_test(a_duration_that_cannot_be_is_cut),
		cmocka_unit_test(trouble_is_not_hidden),
		cmocka_unit_test(a_daemon_that_says_less_is_understood),
		cmocka_unit_test(counts_have_a_comma_every_three_digits),
		cmocka_unit_test(sizes_have_three_digits_at_most),
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
