#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dcpi-tools/common/text.h"

static void
one_of_a_thing_is_not_several(void **state)
{
	(void)state;
	assert_string_equal(text_plural(0), "s");
	assert_string_equal(text_plural(1), "");
	assert_string_equal(text_plural(2), "s");
	assert_string_equal(text_plural(UINT64_C(1) << 32), "s");
}

/* e with an accent is two bytes, an ideograph three and two columns. */
static void
widths_are_columns_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(text_width("caf\xc3\xa9"), 4);
	assert_int_equal(text_width("\xe6\x97\xa5x"), 3);
	assert_int_equal(text_width(""), 0);
}

static void
what_is_cut_off_is_whole_characters(void **state)
{
	(void)state;
	assert_int_equal(text_prefix("caf\xc3\xa9s", 4), 5);
	assert_int_equal(text_prefix("x\xe6\x97\xa5", 2), 1);
	assert_int_equal(text_suffix("\xc3\xa9"
	                             "abc",
	                             3),
	                 2);
}

static int
use_utf8(void **state)
{
	(void)state;
	text_init();
	return 0;
}

#define SECOND UINT64_C(1000000000)
/* date -u -d '2026-11-21 14:30:00' +%s */
#define NOON_AND_HALF UINT64_C(1795271400)
#define NOW           (NOON_AND_HALF * SECOND)

static void
use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void
assert_time(const char *text, uint64_t expected_ns)
{
	uint64_t time_ns = 0;

	assert_int_equal(time_parse(text, NOW, &time_ns), 0);
	assert_int_equal(time_ns, expected_ns);
}

static void
assert_no_time(const char *text)
{
	uint64_t time_ns;

	assert_int_equal(time_parse(text, NOW, &time_ns), -EINVAL);
}

static void
a_number_with_a_unit_is_that_long_ago(void **state)
{
	(void)state;
	assert_time("90s", NOW - 90 * SECOND);
	assert_time("10m", NOW - 600 * SECOND);
	assert_time("2h", NOW - 7200 * SECOND);
	assert_time("3d", NOW - 259200 * SECOND);
	assert_time("1w", NOW - 604800 * SECOND);
	assert_time("1h30m", NOW - 5400 * SECOND);
	assert_time("0s", NOW);
}

static void
a_date_begins_at_midnight_local_time(void **state)
{
	(void)state;
	use_zone("UTC0");
	assert_time("2026-11-21", UINT64_C(1795219200) * SECOND);
	use_zone("CET-1");
	assert_time("2026-11-21", UINT64_C(1795215600) * SECOND);
	use_zone("UTC0");
}

static void
a_date_with_a_clock_is_local_time(void **state)
{
	(void)state;
	use_zone("UTC0");
	assert_time("2026-11-21 14:30", NOW);
	assert_time("2026-11-21 14:30:15", NOW + 15 * SECOND);
	assert_time("2026-11-21T14:30:15.25", NOW + 15 * SECOND + SECOND / 4);
	use_zone("CET-1");
	assert_time("2026-11-21 15:30", NOW);
	use_zone("UTC0");
}

static void
a_zone_overrides_the_local_one(void **state)
{
	(void)state;
	use_zone("CET-1");
	assert_time("2026-11-21T14:30:00Z", NOW);
	assert_time("2026-11-21T14:30:00+00:00", NOW);
	assert_time("2026-11-21 20:00:00 +05:30", NOW);
	assert_time("2026-11-21T09:30-0500", NOW);
	use_zone("UTC0");
}

static void
a_clock_alone_is_the_last_time_it_was_that(void **state)
{
	(void)state;
	use_zone("UTC0");
	assert_time("14:30", NOW);
	assert_time("14:00", NOW - 1800 * SECOND);
	assert_time("9:05:07", NOW - (5 * 3600 + 24 * 60 + 53) * SECOND);
	assert_time("14:31", NOW + 60 * SECOND - 86400 * SECOND); /* yesterday */
}

static void
summer_time_is_taken_into_account(void **state)
{
	(void)state;
	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	/* TZ=Europe/Berlin date -d '2026-07-01 12:00' +%s */
	assert_time("2026-07-01 12:00", UINT64_C(1782900000) * SECOND);
	use_zone("UTC0");
}

static void
an_at_sign_gives_seconds_since_1970(void **state)
{
	(void)state;
	assert_time("@1795271400", NOW);
	assert_time("@1795271400.5", NOW + SECOND / 2);
	assert_time("@0", 0);
}

static void
what_is_no_time_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"yesterday",
		"10",
		"10x",
		"10 m",
		"10m2",
		"-5m",
		"m",
		"9999999999s",
		"999999999w",
		"2026-13-01",
		"2026-02-29",
		"2026-00-10",
		"2026-1-1",
		"1969-12-31",
		"2026-11-21 ",
		"2026-11-21 24:00",
		"2026-11-21 14:60",
		"2026-11-21 14",
		"2026-11-21 14:30:61",
		"2026-11-21 14:30:00.",
		"2026-11-21 14:30 +25:00",
		"2026-11-21 14:30Zulu",
		"2026-11-21x14:30",
		"14:3",
		"25:00",
		"14:30 ",
		"@",
		"@12x",
		"@999999999999999999",
		"@-1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_no_time(wrong[i]);
	assert_time("2024-02-29", UINT64_C(1709164800) * SECOND);
}

static void
a_range_says_date_and_zone_once(void **state)
{
	char text[2 * TIME_TEXT_SIZE];

	(void)state;
	use_zone("UTC0");
	assert_string_equal(time_format_range(NOW, NOW + 1200 * SECOND, text), "2026-11-21 14:30:00 to 14:50:00 UTC");
	assert_string_equal(time_format_range(NOW, NOW + 86400 * SECOND, text),
	                    "2026-11-21 14:30:00 to 2026-11-22 14:30:00 UTC");
}

static void
a_range_across_the_end_of_summer_time_says_both_zones(void **state)
{
	/* TZ=Europe/Berlin date -d @1792888200 */
	const uint64_t half_past_two = UINT64_C(1792888200) * SECOND;
	char text[2 * TIME_TEXT_SIZE];

	(void)state;
	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	assert_string_equal(time_format_range(half_past_two, half_past_two + 2400 * SECOND, text),
	                    "2026-10-25 02:30:00 CEST to 02:10:00 CET");
	use_zone("UTC0");
}

static void
durations_are_said_in_their_unit(void **state)
{
	char text[TIME_TEXT_SIZE];

	(void)state;
	assert_string_equal(duration_format(0, text), "0 s");
	assert_string_equal(duration_format(SECOND / 2, text), "0.5 s");
	assert_string_equal(duration_format(42 * SECOND + 1, text), "42 s");
	assert_string_equal(duration_format(60 * SECOND, text), "1 min");
	assert_string_equal(duration_format(90 * SECOND, text), "90 s");
	assert_string_equal(duration_format(1200 * SECOND, text), "20 min");
	assert_string_equal(duration_format(3900 * SECOND, text), "1 h 5 min");
	assert_string_equal(duration_format(UINT64_C(266400) * SECOND, text), "3 d 2 h");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_thing_is_not_several),
		cmocka_unit_test(widths_are_columns_not_bytes),
		cmocka_unit_test(what_is_cut_off_is_whole_characters),
		cmocka_unit_test(a_number_with_a_unit_is_that_long_ago),
		cmocka_unit_test(a_date_begins_at_midnight_local_time),
		cmocka_unit_test(a_date_with_a_clock_is_local_time),
		cmocka_unit_test(a_zone_overrides_the_local_one),
		cmocka_unit_test(a_clock_alone_is_the_last_time_it_was_that),
		cmocka_unit_test(summer_time_is_taken_into_account),
		cmocka_unit_test(an_at_sign_gives_seconds_since_1970),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(a_range_says_date_and_zone_once),
		cmocka_unit_test(a_range_across_the_end_of_summer_time_says_both_zones),
		cmocka_unit_test(durations_are_said_in_their_unit),
	};

	use_zone("UTC0");
	return cmocka_run_group_tests(tests, use_utf8, NULL);
}
