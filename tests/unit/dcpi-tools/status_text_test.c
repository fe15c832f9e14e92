#include "dcpi-tools/ctl/status_text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
