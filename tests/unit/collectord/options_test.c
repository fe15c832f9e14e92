#include "collectord/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "control/request.h"
#include "tests/unit/test.h"

static struct dcpid_options options;
static struct config config;
static char why[512];

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
		cmocka_unit_test(a_relative_path_is_that_of_the_working_directory),
		cmocka_unit_test(a_path_too_long_or_empty_is_refused),
		cmocka_unit_test_setup(a_missing_file_means_the_defaults_unless_it_was_named, name_missing_file),
		cmocka_unit_test_setup(the_source_is_named_as_it_is, name_missing_file),
		cmocka_unit_test_setup(the_socket_of_a_database_that_was_named_lies_in_it, name_missing_file),
		cmocka_unit_test_setup(an_empty_socket_in_the_file_lies_in_the_database, name_missing_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
