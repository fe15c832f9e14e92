#include "collectord/announce.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static void
assert_event(const struct event *event, const char *expected)
{
	char text[512];

	announce_event(event, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void
an_event_is_said_with_how_often_and_how_precisely(void **state)
{
	const struct event event = {
		.name = "cycles",
		.requested = "cycles",
		.encoding = {.unit = "cycles"},
		.period = 2000003,
		.precise = 2,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cycles: a sample every 2000003 cycles, precise level 2");
}

static void
a_fallback_is_said_with_its_reason(void **state)
{
	const struct event event = {
		.name = "cpu-clock",
		.requested = "cycles",
		.note = "no hardware counters here",
		.encoding = {.unit = "ns"},
		.period = 4000000,
		.rate = 250,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cpu-clock: 250 samples/s per CPU; stands in for cycles: no hardware counters here");
}

static void
an_absence_is_said_by_the_name_that_was_asked_for(void **state)
{
	struct event event = {.name = "", .requested = "cache-misses", .user = true, .kernel = true};

	(void)state;
	assert_event(&event, "cache-misses: not available here");
	snprintf(event.note, sizeof(event.note), "no PMU");
	assert_event(&event, "cache-misses: not available here; no PMU");
}

static void
a_mode_that_is_left_out_is_said(void **state)
{
	struct event event = {
		.name = "page-faults", .requested = "page-faults", .rate = 5, .available = true, .user = true};

	(void)state;
	assert_event(&event, "page-faults: 5 samples/s per CPU, user mode only");
	event.user = false;
	event.kernel = true;
	assert_event(&event, "page-faults: 5 samples/s per CPU, kernel mode only");
}

static void
a_configuration_is_said_before_the_machine_was_asked(void **state)
{
	const struct event_spec spec = {.name = "cycles", .period = 1000, .precise = 3, .user = true, .kernel = true};
	char text[256];

	(void)state;
	announce_spec(&spec, text, sizeof(text));
	assert_string_equal(text, "cycles: a sample every 1000 events, precise level 3 or less");
}

/* ---- the log ---- */

struct lines {
	char text[2048];
};

static void
keep_line(void *context, enum log_level level, const char *message)
{
	struct lines *lines = context;
	size_t used = strlen(lines->text);

	snprintf(lines->text + used, sizeof(lines->text) - used, "%d %s\n", (int)level, message);
}

static void
the_log_names_epoch_events_and_what_is_not_counted(void **state)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct lines lines = {""};
	const struct log log = {.hook = keep_line, .context = &lines, .limit = LOG_LEVEL_DEBUG};
	char *warning;

	(void)state;
	epoch->id = 3;
	epoch->cpu_count = 2;
	snprintf(epoch->label, sizeof(epoch->label), "nightly");
	epoch->event_count = 2;
	epoch->events[0] = (struct event){.name = "cpu-clock",
	                                  .requested = "cycles",
	                                  .note = "a timer",
	                                  .rate = 250,
	                                  .available = true,
	                                  .user = true,
	                                  .kernel = true};
	epoch->events[1] = (struct event){.name = "page-faults",
	                                  .requested = "page-faults",
	                                  .encoding = {.unit = "events"},
	                                  .period = 7,
	                                  .available = true,
	                                  .user = true,
	                                  .kernel = true};
	announce_epoch(&log, "/var/lib/dcpi", epoch);
	announce_events(&log, epoch);
	warning = strstr(lines.text, "4 this is a pid namespace"); /* depends on where this test runs */
	if (warning)
		*warning = '\0';
	assert_string_equal(lines.text, "6 epoch 3 \"nightly\" in /var/lib/dcpi\n"
	                                "6 2 events on 2 CPUs:\n"
	                                "5 cpu-clock: 250 samples/s per CPU; stands in for cycles: a timer\n"
	                                "6 page-faults: a sample every 7 events\n"
	                                "6 time in which a CPU is idle is not counted\n");
	free(epoch);
}

static void
a_counter_is_said_with_its_period_and_what_that_makes(void **state)
{
	const struct event event = {
		.name = "cycles",
		.requested = "cycles",
		.encoding = {.unit = "cycles"},
		.period = 2000003,
		.rate = 1500,
		.available = true,
		.user = true,
		.kernel = true,
	};

	(void)state;
	assert_event(&event, "cycles: a sample every 2000003 cycles, 1500 samples/s per CPU");
}

static void
what_is_left_to_be_chosen_is_said_so(void **state)
{
	const struct event_spec spec = {.name = "cache-misses", .user = true, .kernel = true};
	char text[256];

	(void)state;
	announce_spec(&spec, text, sizeof(text));
	assert_string_equal(text, "cache-misses: as often as the limit allows");
}

/* 1000 * (19 + 1) us are 2 % of a second. */
static void
what_is_to_cost_more_than_the_limit_is_said(void **state)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct lines lines = {""};
	const struct log log = {.hook = keep_line, .context = &lines, .limit = LOG_LEVEL_DEBUG};

	(void)state;
	epoch->event_count = 1;
	epoch->events[0] = (struct event){.available = true, .rate = 1000, .cost_ns = 19000};
	announce_overhead(&log, epoch, 20000);
	assert_string_equal(lines.text, "");
	announce_overhead(&log, epoch, 10000);
	assert_string_equal(lines.text, "5 sampling is to cost 2.00 % of the machine at full load, more than "
	                                "overhead_limit (1 %): periods and rates that are configured hold\n");
	free(epoch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_said_with_how_often_and_how_precisely),
		cmocka_unit_test(a_fallback_is_said_with_its_reason),
		cmocka_unit_test(an_absence_is_said_by_the_name_that_was_asked_for),
		cmocka_unit_test(a_mode_that_is_left_out_is_said),
		cmocka_unit_test(a_configuration_is_said_before_the_machine_was_asked),
		cmocka_unit_test(the_log_names_epoch_events_and_what_is_not_counted),
		cmocka_unit_test(a_counter_is_said_with_its_period_and_what_that_makes),
		cmocka_unit_test(what_is_left_to_be_chosen_is_said_so),
		cmocka_unit_test(what_is_to_cost_more_than_the_limit_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
