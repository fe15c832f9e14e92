#include "collectord/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "control/request.h"

#include "tests/unit/test.h"

static struct config config;
static char why[512];

static void
assert_refused(const char *text, const char *sentence)
{
	assert_int_equal(dcpid_config_parse("test.conf", text, &config, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, sentence);
}

static void
assert_accepted(const char *text)
{
	int err = dcpid_config_parse("test.conf", text, &config, why, sizeof(why));

	if (err)
		print_error("%s\n", why);
	assert_int_equal(err, 0);
}

static void
an_empty_file_means_the_defaults(void **state)
{
	(void)state;
	assert_accepted("");
	assert_string_equal(config.database, "/var/lib/dcpi");
	assert_string_equal(config.socket, "/run/dcpid/control");
	assert_int_equal(config.size_limit, UINT64_C(2147483648));
	assert_int_equal(config.max_age_ns, UINT64_C(2592000000000000));
	assert_int_equal(config.flush_interval_ns, UINT64_C(10000000000));
	assert_int_equal(config.slice_ns, UINT64_C(600000000000));
	assert_int_equal(config.tally_limit, 131072);
	assert_int_equal(config.ring_pages * (size_t)sysconf(_SC_PAGESIZE), 524288);
	assert_int_equal(config.sideband_pages * (size_t)sysconf(_SC_PAGESIZE), 524288);
	assert_int_equal(config.overhead_limit_ppm, 10000);
	assert_int_equal(config.max_rate, 5200);
	assert_int_equal(config.idle_rate, 20);
	assert_int_equal(config.log_limit, LOG_LEVEL_INFO);
	assert_int_equal(config.event_count, 2);
	assert_string_equal(config.events[0].name, "cycles");
	assert_int_equal(config.events[0].period, 0);
	assert_int_equal(config.events[0].rate, 0);
	assert_int_equal(config.events[0].precise, 3);
	assert_string_equal(config.events[1].name, "cache-misses");
	assert_int_equal(config.events[1].period, 0);
	assert_int_equal(config.events[1].rate, 0);
}

static void
every_option_is_read(void **state)
{
	(void)state;
	assert_accepted("database = \"/srv/profile\"; socket = \"/run/x\"; size_limit_mib = 1048576;\n"
	                "capture_limit_mib = 64; max_age_days = 3650; flush_interval = 1; slice = 3600; tally_limit = "
	                "2048; ring_kib = 64;\n"
	                "sideband_ring_kib = 128; overhead_limit = 0.25; max_rate = 1000; idle_rate = 0; log_level = "
	                "\"debug\";\n"
	                "stacks = { rate = 99; depth = 1024; user = true; kernel = false; };\n"
	                "events = ( { name = \"page-faults\"; rate = 99; precise = 0; user = true;\n"
	                "             kernel = false; idle = true; } );\n");
	assert_string_equal(config.database, "/srv/profile");
	assert_string_equal(config.socket, "/run/x");
	assert_int_equal(config.size_limit, UINT64_C(1) << 40);
	assert_int_equal(config.capture_limit, UINT64_C(64) << 20);
	assert_int_equal(config.max_age_ns, UINT64_C(315360000000000000));
	assert_int_equal(config.flush_interval_ns, UINT64_C(1000000000));
	assert_int_equal(config.slice_ns, UINT64_C(3600000000000));
	assert_int_equal(config.tally_limit, 2048);
	assert_int_equal(config.ring_pages * (size_t)sysconf(_SC_PAGESIZE), 65536);
	assert_int_equal(config.sideband_pages * (size_t)sysconf(_SC_PAGESIZE), 131072);
	assert_int_equal(config.overhead_limit_ppm, 2500);
	assert_int_equal(config.max_rate, 1000);
	assert_int_equal(config.idle_rate, 0);
	assert_int_equal(config.log_limit, LOG_LEVEL_DEBUG);
	assert_int_equal(config.stacks.rate, 99);
	assert_int_equal(config.stacks.depth, 1024);
	assert_true(config.stacks.user && !config.stacks.kernel);
	assert_int_equal(config.event_count, 1);
	assert_string_equal(config.events[0].name, "page-faults");
	assert_int_equal(config.events[0].rate, 99);
	assert_int_equal(config.events[0].period, 0);
	assert_false(config.events[0].kernel);
	assert_true(config.events[0].user && config.events[0].idle);
}

static void
an_unknown_option_is_named_with_what_was_meant(void **state)
{
	(void)state;
	assert_refused("\n\nflush_intervall = 10;",
	               "test.conf:3: there is no option flush_intervall (did you mean flush_interval?)");
	assert_refused("events = ( { name = \"cycles\"; perod = 1; } );",
	               "test.conf:1: there is no option perod (did you mean period?)");
	assert_refused("zzzzzz = 1;", "test.conf:1: there is no option zzzzzz");
}

static void
a_value_out_of_range_is_named_with_the_range(void **state)
{
	(void)state;
	assert_refused("flush_interval = 0;", "test.conf:1: flush_interval is 0; it must be from 1 to 3600 seconds");
	assert_refused("\nsize_limit_mib = -1;",
	               "test.conf:2: size_limit_mib is -1; it must be from 16 to 1048576 MiB");
	assert_refused("capture_limit_mib = 1048577;",
	               "test.conf:1: capture_limit_mib is 1048577; it must be from 0 to 1048576 MiB");
	assert_refused("max_age_days = 0;", "test.conf:1: max_age_days is 0; it must be from 1 to 3650 days");
	assert_refused("max_rate = 20001;",
	               "test.conf:1: max_rate is 20001; it must be from 1 to 20000 samples per second and CPU");
	assert_refused("idle_rate = -1;",
	               "test.conf:1: idle_rate is -1; it must be from 0 to 20000 samples per second and CPU");
	assert_refused("stacks = { rate = 1001; };",
	               "test.conf:1: rate is 1001; it must be from 0 to 1000 stacks per second and CPU");
	assert_refused("stacks = { depth = 0; };", "test.conf:1: depth is 0; it must be from 1 to 1024 frames");
	assert_refused("stacks = { user = false; kernel = false; };",
	               "test.conf:1: stacks has neither user nor kernel mode; rate = 0 turns it off");
	assert_refused("stacks = 49;", "test.conf:1: stacks is written { rate = 49; }");
	assert_refused("stacks = { rat = 49; };", "test.conf:1: there is no option rat (did you mean rate?)");
	assert_refused("overhead_limit = 0.0;", "test.conf:1: overhead_limit is 0; it must be from 0.01 to 50 percent");
	assert_refused("overhead_limit = 51;", "test.conf:1: overhead_limit is 51; it must be from 0.01 to 50 percent");
	assert_refused("overhead_limit = \"1\";",
	               "test.conf:1: overhead_limit must be a number from 0.01 to 50 percent");
	assert_refused("ring_kib = 300;",
	               "test.conf:1: ring_kib is 300; it must be a power of two from 4 to 65536 KiB");
}

static void
a_number_beyond_32_bits_is_not_cut(void **state)
{
	(void)state;
	assert_refused("size_limit_mib = 5000000000;",
	               "test.conf:1: size_limit_mib is 5000000000; it must be from 16 to 1048576 MiB");
	assert_accepted("events = ( { name = \"cycles\"; period = 5000000000; } );");
	assert_int_equal(config.events[0].period, UINT64_C(5000000000));
}

static void
a_wrong_type_is_refused(void **state)
{
	(void)state;
	assert_refused("slice = \"long\";", "test.conf:1: slice must be a whole number from 1 to 86400 seconds");
	assert_refused("slice = 1e2;", "test.conf:1: slice must be a whole number from 1 to 86400 seconds");
	assert_refused("database = 5;", "test.conf:1: database must be a string, in \"...\"");
	assert_refused("log_level = \"loud\";", "test.conf:1: log_level must be \"error\", \"warning\", \"notice\", "
	                                        "\"info\" or \"debug\"");
	assert_refused("events = ( { name = \"cycles\"; period = 1; user = 1; } );",
	               "test.conf:1: user must be true or false");
	assert_refused("events = ( 5 );", "test.conf:1: an event is written { name = \"...\"; }");
	assert_refused("events = ();", "test.conf:1: events must be a list of 1 to 32 events, ( { ... }, { ... } )");
}

static void
an_event_has_a_period_or_a_rate_or_neither(void **state)
{
	(void)state;
	assert_accepted("events = ( { name = \"cycles\"; } );");
	assert_int_equal(config.events[0].period, 0);
	assert_int_equal(config.events[0].rate, 0);
	assert_refused("events = ( { name = \"cycles\"; period = 1000; rate = 100; } );",
	               "test.conf:1: event cycles has both a period and a rate");
	assert_refused("events = ( { period = 1000; } );", "test.conf:1: an event needs a name");
	assert_refused("events = ( { name = \"cycles\"; period = 1000; user = false; kernel = false; } );",
	               "test.conf:1: event cycles counts neither user nor kernel mode");
}

static void
an_event_that_is_there_twice_is_refused(void **state)
{
	(void)state;
	assert_refused("events = (\n{ name = \"cycles\"; period = 1000; },\n{ name = \"cycles\"; rate = 10; } );",
	               "test.conf:3: event cycles is there twice");
}

static void
an_event_name_that_means_nothing_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_int_equal(dcpid_config_parse("test.conf", "events = (\n{ name = \"cylces\"; period = 1000; } );",
	                                    &config, why, sizeof(why)),
	                 -DCPI_ECONFIG);
	assert_memory_equal(why, "test.conf:2: ", 13);
	assert_non_null(strstr(why, "cycles"));
}

static void
more_events_than_there_is_room_for_are_refused(void **state)
{
	char text[4096] = "events = ( ";

	(void)state;
	for (int i = 0; i <= EVENTS_MAX; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s{ name = \"r%x\"; period = 1000; }", i ? ", " : "",
		         i + 1);
	}
	strncat(text, " );", sizeof(text) - strlen(text) - 1);
	assert_refused(text, "test.conf:1: events must be a list of 1 to 32 events, ( { ... }, { ... } )");
}

static void
a_slice_is_not_shorter_than_a_flush(void **state)
{
	(void)state;
	assert_refused("flush_interval = 60;\nslice = 30;",
	               "test.conf:2: slice (30 s) must not be shorter than flush_interval (60 s)");
	assert_refused("flush_interval = 601;",
	               "test.conf:1: slice (600 s) must not be shorter than flush_interval (601 s)");
}

static void
paths_are_absolute(void **state)
{
	(void)state;
	assert_refused("database = \"profile\";", "test.conf:1: database must be an absolute path");
	assert_refused("database = \"\";", "test.conf:1: database must be an absolute path");
	assert_refused("socket = \"control\";", "test.conf:1: socket must be an absolute path");
	assert_accepted("socket = \"\";");
	assert_string_equal(config.socket, "");
}

static void
a_path_too_long_for_files_in_it_is_refused(void **state)
{
	char text[PATH_MAX + 64] = "database = \"/";

	(void)state;
	memset(text + strlen(text), 'x', PATH_MAX);
	strncat(text, "\";", sizeof(text) - strlen(text) - 1);
	assert_int_equal(dcpid_config_parse("test.conf", text, &config, why, sizeof(why)), -DCPI_ECONFIG);
	assert_non_null(strstr(why, "bytes long; at most 4079 are accepted"));
}

static void
a_syntax_error_has_its_line(void **state)
{
	(void)state;
	assert_refused("slice = 600;\nflush_interval 5\n", "test.conf:2: syntax error");
	assert_refused("slice = 600;\nslice = 700;\n", "test.conf:2: duplicate setting name");
}

static void
a_short_sentence_buffer_is_not_overrun(void **state)
{
	char little[8] = "0123456";

	(void)state;
	assert_int_equal(dcpid_config_parse("test.conf", "slice = 0;", &config, little, 4), -DCPI_ECONFIG);
	assert_string_equal(little, "tes");
	assert_memory_equal(little + 4, "456", 4);
}

static void
a_missing_file_is_told_from_a_wrong_one(void **state)
{
	(void)state;
	assert_int_equal(dcpid_config_load("/nonexistent/dcpid.conf", &config, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "/nonexistent/dcpid.conf: cannot read the configuration: No such file or directory");
}

static struct dcpid_options options;

static void
a_relative_path_is_that_of_the_working_directory(void **state)
{
	char absolute[PATH_MAX], before[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir("/usr"), 0);
	assert_int_equal(dcpid_options_absolute_path("lib/x", absolute), 0);
	assert_string_equal(absolute, "/usr/lib/x");
	assert_int_equal(dcpid_options_absolute_path("/srv/y", absolute), 0);
	assert_string_equal(absolute, "/srv/y");
	assert_int_equal(chdir(before), 0);
}

static void
a_path_too_long_or_empty_is_refused(void **state)
{
	char absolute[PATH_MAX], longer[PATH_MAX + 1];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(dcpid_options_absolute_path("", absolute), -EINVAL);
	assert_int_equal(dcpid_options_absolute_path(longer, absolute), -ENAMETOOLONG);
}

static int
name_missing_file(void **state)
{
	(void)state;
	dcpid_options_init(&options);
	assert_string_equal(options.file, CONFIG_FILE);
	options.file = "/nonexistent/dcpid.conf";
	return 0;
}

static void
a_missing_file_means_the_defaults_unless_it_was_named(void **state)
{
	(void)state;
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), 0);
	assert_string_equal(config.database, "/var/lib/dcpi");
	options.file_given = true;
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), -ENOENT);
	assert_memory_equal(why, "/nonexistent/dcpid.conf: ", 25);
}

static void
the_source_is_named_as_it_is(void **state)
{
	(void)state;
	assert_string_equal(dcpid_options_source(&options),
	                    "built-in configuration (there is no /etc/dcpi/dcpid.conf)");
	options.file_given = true;
	assert_string_equal(dcpid_options_source(&options), "/nonexistent/dcpid.conf");
}

static void
the_socket_of_a_database_that_was_named_lies_in_it(void **state)
{
	(void)state;
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), 0);
	assert_string_equal(config.socket, "/run/dcpid/control");
	snprintf(options.database, sizeof(options.database), "/srv/profile");
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), 0);
	assert_string_equal(config.database, "/srv/profile");
	assert_string_equal(config.socket, "/srv/profile/control");
	snprintf(options.socket, sizeof(options.socket), "/srv/socket");
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), 0);
	assert_string_equal(config.socket, "/srv/socket");
}

static void
an_empty_socket_in_the_file_lies_in_the_database(void **state)
{
	char path[] = "/tmp/dcpi-options.XXXXXX";
	static const char text[] = "database = \"/srv/other\";\nsocket = \"\";\n";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	options.file = path;
	options.file_given = true;
	assert_int_equal(dcpid_options_read_config(&options, &config, why, sizeof(why)), 0);
	assert_string_equal(config.database, "/srv/other");
	assert_string_equal(config.socket, "/srv/other/control");
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_means_the_defaults),
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(an_unknown_option_is_named_with_what_was_meant),
		cmocka_unit_test(a_value_out_of_range_is_named_with_the_range),
		cmocka_unit_test(a_number_beyond_32_bits_is_not_cut),
		cmocka_unit_test(a_wrong_type_is_refused),
		cmocka_unit_test(an_event_has_a_period_or_a_rate_or_neither),
		cmocka_unit_test(an_event_that_is_there_twice_is_refused),
		cmocka_unit_test(an_event_name_that_means_nothing_is_refused_with_its_line),
		cmocka_unit_test(more_events_than_there_is_room_for_are_refused),
		cmocka_unit_test(a_slice_is_not_shorter_than_a_flush),
		cmocka_unit_test(paths_are_absolute),
		cmocka_unit_test(a_path_too_long_for_files_in_it_is_refused),
		cmocka_unit_test(a_syntax_error_has_its_line),
		cmocka_unit_test(a_short_sentence_buffer_is_not_overrun),
		cmocka_unit_test(a_missing_file_is_told_from_a_wrong_one),
		cmocka_unit_test(a_relative_path_is_that_of_the_working_directory),
		cmocka_unit_test(a_path_too_long_or_empty_is_refused),
		cmocka_unit_test_setup(a_missing_file_means_the_defaults_unless_it_was_named, name_missing_file),
		cmocka_unit_test_setup(the_source_is_named_as_it_is, name_missing_file),
		cmocka_unit_test_setup(the_socket_of_a_database_that_was_named_lies_in_it, name_missing_file),
		cmocka_unit_test_setup(an_empty_socket_in_the_file_lies_in_the_database, name_missing_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
