#include "collectord/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/unit/test.h"

struct status_scene {
	struct config config;
	struct epoch epoch;
	struct collection_view view;
	struct status_process process;
};

/* A daemon after 100 s on 2 CPUs, of which it used 0.5 s. */
static int
make_scene(void **state)
{
	struct status_scene *scene = calloc(1, sizeof(*scene));

	dcpid_config_default(&scene->config);
	scene->epoch.id = 3;
	scene->epoch.start_ns = UINT64_C(1700000000000000000); /* date -u -d @1700000000: 2023-11-14 22:13:20 */
	scene->epoch.cpu_count = 2;
	scene->epoch.event_count = 1;
	snprintf(scene->epoch.label, sizeof(scene->epoch.label), "nightly");
	scene->epoch.events[0] = (struct event){.name = "cpu-clock",
	                                        .requested = "cycles",
	                                        .note = "a timer",
	                                        .encoding = {.unit = "ns"},
	                                        .period = 4000000,
	                                        .rate = 250,
	                                        .available = true,
	                                        .user = true,
	                                        .kernel = true};
	scene->view = (struct collection_view){
		.config = &scene->config,
		.epoch = &scene->epoch,
		.cpu_count = 2,
		.cpus = "0,5",
		.idle_cpus = 1,
		.idle_ticks = 2500,
		.idle_ticks_per_s = 25,
		.slice = 9,
		.tally_size = 5,
		.tally_limit = 131072,
		.profile = {.file_bytes = 8192, .used_bytes = 4096, .size_limit = 65536, .images = 11},
		.flush_time_ns = UINT64_C(1700000090000000000),
		.flush_duration_ns = 31000000,
		.flush_entries = 42,
	};
	scene->view.totals.event_count = 1;
	scene->view.totals.events[0] = (struct slice_event){
		.samples = 50000, .lost = 7, .throttled = 2, .enabled_ns = 4000, .running_ns = 3000};
	scene->view.totals.events[0].unknown[UNKNOWN_ADDRESS] = 12;
	scene->view.totals.events[0].unknown[UNKNOWN_GUEST] = 1;
	scene->process = (struct status_process){
		.since_ns = UINT64_C(1700000000000000000),
		.elapsed_ns = UINT64_C(100000000000),
		.cpu_time_ns = 500000000,
		.resident_bytes = 4194304,
		.own_bytes = 1048576,
		.socket = "/run/dcpid/control",
	};
	*state = scene;
	return 0;
}

static int
free_scene(void **state)
{
	free(*state);
	return 0;
}

static void
assert_text(const json_t *object, const char *key, const char *expected)
{
	assert_string_equal(json_string_value(json_object_get(object, key)), expected);
}

static void
assert_count(const json_t *object, const char *key, json_int_t expected)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	assert_int_equal(json_integer_value(value), expected);
}

static void
the_daemon_describes_itself(void **state)
{
	struct status_scene *scene = *state;
	json_t *status = status_json(&scene->view, &scene->process);

	assert_text(status, "schema", "dcpictl-status/1");
	assert_text(status, "version", DCPI_VERSION);
	assert_count(status, "pid", getpid());
	assert_text(status, "since", "2023-11-14T22:13:20Z");
	assert_text(status, "socket", "/run/dcpid/control");
	assert_true(json_real_value(json_object_get(status, "seconds")) == 100.0);
	assert_true(json_real_value(json_object_get(status, "cpu_seconds")) == 0.5);
	assert_true(json_real_value(json_object_get(status, "overhead_percent")) == 0.25);
	assert_count(status, "rss_bytes", 4194304);
	assert_count(status, "own_bytes", 1048576);
	assert_count(status, "slice", 9);
	assert_text(status, "cpus", "0,5");
	assert_count(json_object_get(status, "idle"), "cpus", 1);
	assert_count(json_object_get(status, "idle"), "ticks", 2500);
	assert_true(json_real_value(json_object_get(json_object_get(status, "idle"), "ticks_per_second")) == 25.0);
	json_decref(status);
}

static void
the_epoch_and_its_events_are_described(void **state)
{
	struct status_scene *scene = *state;
	json_t *status = status_json(&scene->view, &scene->process);
	const json_t *epoch = json_object_get(status, "epoch");
	const json_t *event = json_array_get(json_object_get(status, "events"), 0);
	char *unknown;

	assert_count(epoch, "id", 3);
	assert_text(epoch, "label", "nightly");
	assert_text(epoch, "start", "2023-11-14T22:13:20Z");
	assert_int_equal(json_array_size(json_object_get(status, "events")), 1);
	assert_text(event, "name", "cpu-clock");
	assert_text(event, "requested", "cycles");
	assert_text(event, "note", "a timer");
	assert_text(event, "unit", "ns");
	assert_true(json_is_true(json_object_get(event, "available")));
	assert_count(event, "rate", 250);
	assert_count(event, "samples", 50000);
	assert_count(event, "lost", 7);
	assert_count(event, "throttled", 2);
	assert_true(json_real_value(json_object_get(event, "running_percent")) == 75.0);
	unknown = json_dumps(json_object_get(event, "unknown"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(unknown, "{\"guest\":1,\"no-mapping\":12}");
	free(unknown);
	json_decref(status);
}

/* 1000 samples of cpu-clock and 30 of page-faults in earlier epochs; this one counts cpu-clock only. */
static void
totals_span_all_epochs(void **state)
{
	struct status_scene *scene = *state;
	struct collection_past_event events[] = {
		{.name = "cpu-clock", .counts = {.samples = 1000, .lost = 3, .throttled = 1, .dropped = 4}},
		{.name = "page-faults", .counts = {.samples = 30}},
	};
	const struct collection_past past = {.event_count = 2, .events = events, .epochs = 4};
	json_t *status;
	char *totals;

	events[0].counts.unknown[UNKNOWN_GUEST] = 5;
	scene->view.past = &past;
	scene->view.samples = 51000;
	scene->view.lost = 10;
	scene->view.unknown = 18;
	scene->view.sideband_lost = 8;
	scene->view.skipped = 1;
	scene->view.sessions = 3;
	scene->view.flush_tries = 12;
	scene->view.flushes = 10;
	status = status_json(&scene->view, &scene->process);
	totals = json_dumps(json_object_get(status, "totals"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(totals,
	                    "{\"epochs\":4,\"events\":["
	                    "{\"dropped\":4,\"lost\":10,\"name\":\"cpu-clock\",\"samples\":51000,\"throttled\":3,"
	                    "\"unknown\":{\"guest\":6,\"no-mapping\":12}},"
	                    "{\"dropped\":0,\"lost\":0,\"name\":\"page-faults\",\"samples\":30,\"throttled\":0,"
	                    "\"unknown\":{}}],"
	                    "\"flush_failures\":2,\"flushes\":10,\"lost\":10,\"samples\":51000,"
	                    "\"sessions\":3,\"sideband_lost\":8,\"skipped\":1,\"unknown\":18}");
	free(totals);
	json_decref(status);
}

static void
the_last_flush_has_an_error_only_when_it_failed(void **state)
{
	struct status_scene *scene = *state;
	json_t *status = status_json(&scene->view, &scene->process);
	const json_t *flush = json_object_get(status, "last_flush");

	assert_text(flush, "at", "2023-11-14T22:14:50Z");
	assert_true(json_real_value(json_object_get(flush, "ms")) == 31.0);
	assert_count(flush, "keys", 42);
	assert_true(json_is_null(json_object_get(flush, "error")));
	json_decref(status);

	scene->view.flush_error = -DCPI_EFULL;
	scene->view.flush_time_ns = 0;
	status = status_json(&scene->view, &scene->process);
	flush = json_object_get(status, "last_flush");
	assert_text(flush, "error", "the database has reached its size limit; size_limit_mib in dcpid.conf raises it");
	assert_true(json_is_null(json_object_get(flush, "at")));
	json_decref(status);
}

static void
text_that_is_not_utf8_does_not_take_the_status_away(void **state)
{
	struct status_scene *scene = *state;
	json_t *status;

	snprintf(scene->epoch.host, sizeof(scene->epoch.host),
	         "a\xff"
	         "b");
	snprintf(scene->config.database, sizeof(scene->config.database), "/\xfe");
	scene->process.socket = "/\xfe/control";
	status = status_json(&scene->view, &scene->process);
	assert_non_null(status);
	assert_text(json_object_get(status, "epoch"), "host", "a\\xffb");
	assert_text(json_object_get(status, "database"), "path", "/\\xfe");
	assert_text(status, "socket", "/\\xfe/control");
	json_decref(status);
}

static void
counts_beyond_what_json_holds_stay_positive(void **state)
{
	struct status_scene *scene = *state;
	json_t *status;

	scene->view.totals.events[0].samples = UINT64_MAX;
	status = status_json(&scene->view, &scene->process);
	assert_count(json_array_get(json_object_get(status, "events"), 0), "samples", INT64_MAX);
	json_decref(status);
}

static void
a_share_of_no_time_is_zero(void **state)
{
	(void)state;
	assert_true(status_overhead_percent(5, 0, 2) == 0);
	assert_true(status_overhead_percent(5, 10, 0) == 0);
	assert_true(status_overhead_percent(5, 10, 2) == 25.0);
}

static struct config sentence_config = {.database = "/var/lib/dcpi"};

static void
no_trouble_is_no_sentence(void **state)
{
	const struct collection_view view = {.config = &sentence_config, .flush_pending_ns = UINT64_C(29999999999)};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	assert_false(status_health(&view, 0, text, sizeof(text)));
}

static void
a_database_that_cannot_be_written_is_named_with_what_is_kept_and_dropped(void **state)
{
	const struct collection_view view = {
		.config = &sentence_config,
		.flush_error = -ENOSPC,
		.kept = 12345,
		.trouble_dropped = 7,
		.trouble_since_ns = UINT64_C(1700000000000000000), /* 2023-11-14 22:13:20 UTC */
		.flush_pending_ns = UINT64_C(3600000000000),
	};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_true(status_health(&view, 0, text, sizeof(text)));
	assert_string_equal(text, "cannot write /var/lib/dcpi: No space left on device; 12345 samples kept in memory, "
	                          "7 dropped since 22:13");
	assert_false(status_health(&view, 1, text, sizeof(text)));
}

/* root makes it for whom dcpid runs as. */
static void
a_directory_that_is_gone_comes_with_the_command_that_makes_it(void **state)
{
	static const char expected[] =
		"cannot write /var/lib/dcpi: the directory was removed, and dcpid may not make it again: "
		"'install -d -m 0750 -o root -g root /var/lib/dcpi'; 0 samples";
	const struct collection_view view = {.config = &sentence_config, .flush_error = -DCPI_EGONE};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	if (geteuid() != 0 || getegid() != 0)
		skip_because("not root, whose name is known");
	assert_true(status_health(&view, 0, text, sizeof(text)));
	assert_memory_equal(text, expected, sizeof(expected) - 1);
}

static void
a_disk_that_does_not_answer_is_told_after_half_a_minute(void **state)
{
	const struct collection_view view = {
		.config = &sentence_config,
		.kept = 5,
		.flush_pending_ns = UINT64_C(45000000000),
	};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	assert_true(status_health(&view, 0, text, sizeof(text)));
	assert_string_equal(text, "writing /var/lib/dcpi has taken 45 s so far; 5 samples kept in memory");
}

static void
memory_that_is_full_comes_second(void **state)
{
	const struct collection_view view = {.config = &sentence_config, .flush_error = -EIO, .stalled = true};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	assert_true(status_health(&view, 1, text, sizeof(text)));
	assert_string_equal(text, "memory for counts is full: samples that it has no room for are dropped");
	assert_false(status_health(&view, 2, text, sizeof(text)));
}

static void
names_that_have_no_room_are_said_with_where_their_samples_go(void **state)
{
	const struct collection_view view = {
		.config = &sentence_config, .flush_error = -EIO, .stalled = true, .attribution = {.is_full = true}};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	assert_true(status_health(&view, 2, text, sizeof(text)));
	assert_string_equal(text, "memory for names is full until the database takes them: samples of images that are "
	                          "new count as unknown (no-memory), those of new commands as (other)");
	assert_false(status_health(&view, 3, text, sizeof(text)));
}

static void
a_damaged_database_that_was_put_aside_is_named_until_it_is_gone(void **state)
{
	const struct collection_view view = {
		.config = &sentence_config,
		.aside = {.name = "damaged-2026-11-21T09:43:00Z", .bytes = 3 << 19},
	};
	char text[STATUS_SENTENCE_SIZE];

	(void)state;
	assert_true(status_health(&view, 0, text, sizeof(text)));
	assert_string_equal(text,
	                    "the database was damaged: what it held is in /var/lib/dcpi/damaged-2026-11-21T09:43:00Z "
	                    "(1.5 MiB) until somebody saves what is whole of it ('dcpictl --db "
	                    "/var/lib/dcpi/damaged-2026-11-21T09:43:00Z salvage --to NEWDIR') and removes it");
	assert_false(status_health(&view, 1, text, sizeof(text)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, free_scene)
		SCENE_TEST(the_daemon_describes_itself),
		SCENE_TEST(the_epoch_and_its_events_are_described),
		SCENE_TEST(totals_span_all_epochs),
		SCENE_TEST(the_last_flush_has_an_error_only_when_it_failed),
		SCENE_TEST(text_that_is_not_utf8_does_not_take_the_status_away),
		SCENE_TEST(counts_beyond_what_json_holds_stay_positive),
		cmocka_unit_test(a_share_of_no_time_is_zero),
		cmocka_unit_test(no_trouble_is_no_sentence),
		cmocka_unit_test(a_database_that_cannot_be_written_is_named_with_what_is_kept_and_dropped),
		cmocka_unit_test(a_directory_that_is_gone_comes_with_the_command_that_makes_it),
		cmocka_unit_test(a_disk_that_does_not_answer_is_told_after_half_a_minute),
		cmocka_unit_test(memory_that_is_full_comes_second),
		cmocka_unit_test(names_that_have_no_room_are_said_with_where_their_samples_go),
		cmocka_unit_test(a_damaged_database_that_was_put_aside_is_named_until_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
