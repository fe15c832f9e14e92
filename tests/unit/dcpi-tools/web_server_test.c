#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/web/assets.h"
#include "dcpi-tools/web/host.h"
#include "dcpi-tools/web/listen.h"
#include "dcpi-tools/web/view.h"

static const char *const names[] = {"profiles.example"};

static bool
is_ours(const char *host)
{
	return host_is_ours(host, names, 1);
}

static void
addresses_and_names_of_this_machine_are_ours(void **state)
{
	(void)state;
	assert_true(is_ours("localhost"));
	assert_true(is_ours("LocalHost:8680"));
	assert_true(is_ours("127.0.0.1:8680"));
	assert_true(is_ours("192.168.7.9"));
	assert_true(is_ours("[::1]:8680"));
	assert_true(is_ours("[fe80::1]"));
	assert_true(is_ours("profiles.example:80"));
}

/* A name may lead to 127.0.0.1, whoever owns it. */
static void
other_names_are_not(void **state)
{
	char endless[1000];

	(void)state;
	assert_false(is_ours("evil.example"));
	assert_false(is_ours("localhost.evil.example"));
	assert_false(is_ours("127.0.0.1.evil.example:8680"));
	assert_false(is_ours("profiles.example.evil"));
	assert_false(is_ours("localhost:80:80"));
	assert_false(is_ours("localhost:x"));
	assert_false(is_ours("[evil.example]"));
	assert_false(is_ours("[::1"));
	assert_false(is_ours("[::1]x"));
	assert_false(is_ours(""));
	assert_false(is_ours(":80"));
	memset(endless, 'a', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	assert_false(is_ours(endless));
}

static void
places_that_are_none_are_refused(void **state)
{
	char url[LISTEN_URL_SIZE];

	(void)state;
	assert_int_equal(listen_open("localhost:80", url), -EINVAL);
	assert_int_equal(listen_open("127.0.0.1", url), -EINVAL);
	assert_int_equal(listen_open("127.0.0.1:x", url), -EINVAL);
	assert_int_equal(listen_open("unix:", url), -EINVAL);
	assert_int_equal(listen_open("", url), -EINVAL);
}

static void
a_free_port_is_in_the_url(void **state)
{
	char url[LISTEN_URL_SIZE];
	const int fd = listen_open("127.0.0.1:0", url);

	(void)state;
	assert_true(fd >= 0);
	assert_memory_equal(url, "http://127.0.0.1:", 17);
	assert_true(strtol(url + 17, NULL, 10) > 0);
	close(fd);
}

/* Sockets are for one process: what another inherited by mistake is not taken. */
static void
sockets_of_another_process_are_not_inherited(void **state)
{
	(void)state;
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "2", 1);
	assert_int_equal(listen_inherited(), 0);
	assert_null(getenv("LISTEN_FDS"));
	assert_int_equal(listen_adopt(STDIN_FILENO) < 0, 1);
}

static void
each_view_has_a_path_of_its_own(void **state)
{
	(void)state;
	assert_ptr_equal(view_find("/"), &view_overview);
	assert_ptr_equal(view_find("/calc"), &view_calc);
	assert_null(view_find("/calc/"));
	assert_null(view_find("/../etc/passwd"));
	assert_null(view_find(""));
	assert_non_null(asset_find("/style.css"));
	assert_true(asset_find("/dcpi.js")->size > 100);
	assert_true(asset_find("/flame.js")->size > 100);
	assert_null(asset_find("/style.css/"));
}

static void
a_view_says_what_it_lacks(void **state)
{
	struct tool_command commands[VIEW_REPORTS_MAX];
	struct query query = {{NULL}};
	char why[512] = "";

	(void)state;
	assert_int_equal(view_calc.commands(&query, NULL, commands, why, sizeof(why)), 0);
	assert_non_null(strstr(why, "which procedure?"));
	query.values[QUERY_BEFORE] = (char *)"a";
	assert_int_equal(view_diff.commands(&query, NULL, commands, why, sizeof(why)), 0);
	assert_non_null(strstr(why, "needs two sets"));
}

/* Labels alone are patterns of runs; with anything else, each side is a set of its own. */
static void
sides_are_runs_or_sets(void **state)
{
	struct tool_command command;
	struct query query = {{NULL}};
	char why[512] = "";

	(void)state;
	command_begin(&command, "dcpidiff", NULL);
	assert_int_equal(command_sides(&command, &query, why, sizeof(why)), 0);
	query.values[QUERY_AFTER] = (char *)"b*";
	assert_int_equal(command_sides(&command, &query, why, sizeof(why)), -1);
	query.values[QUERY_BEFORE] = (char *)"a*";
	assert_int_equal(command_sides(&command, &query, why, sizeof(why)), 1);
	assert_string_equal(command.words[1], "--before=a*");
	assert_string_equal(command.words[2], "--after=b*");
	assert_int_equal(command.count, 3);
	command_fini(&command);

	command_begin(&command, "dcpidiff", NULL);
	query.values[QUERY_AFTER_HOST] = (char *)"beta";
	assert_int_equal(command_sides(&command, &query, why, sizeof(why)), 1);
	assert_int_equal(command.count, 6);
	assert_string_equal(command.words[1], "--set");
	assert_string_equal(command.words[2], "--label=a*");
	assert_string_equal(command.words[3], "--set");
	assert_string_equal(command.words[4], "--label=b*");
	assert_string_equal(command.words[5], "--host=beta");
	command_fini(&command);
}

/* Whatever a value is, it cannot become an option of its own. */
static void
values_are_parts_of_one_word(void **state)
{
	struct tool_command commands[VIEW_REPORTS_MAX];
	struct query query = {{NULL}};
	char why[512] = "";
	size_t count;

	(void)state;
	query.values[QUERY_PROCEDURE] = (char *)"--graph=/etc/x.svg";
	query.values[QUERY_IMAGE] = (char *)"--db=/";
	count = view_calc.commands(&query, "/db", commands, why, sizeof(why));
	assert_int_equal(count, 2);
	assert_string_equal(commands[0].words[1], "--db=/db");
	assert_string_equal(commands[0].words[commands[0].count - 3], "--image=--db=/");
	assert_string_equal(commands[0].words[commands[0].count - 2], "--");
	assert_string_equal(commands[0].words[commands[0].count - 1], "--graph=/etc/x.svg");
	for (size_t i = 0; i < count; i++)
		command_fini(&commands[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_and_names_of_this_machine_are_ours),
		cmocka_unit_test(other_names_are_not),
		cmocka_unit_test(places_that_are_none_are_refused),
		cmocka_unit_test(a_free_port_is_in_the_url),
		cmocka_unit_test(sockets_of_another_process_are_not_inherited),
		cmocka_unit_test(each_view_has_a_path_of_its_own),
		cmocka_unit_test(a_view_says_what_it_lacks),
		cmocka_unit_test(sides_are_runs_or_sets),
		cmocka_unit_test(values_are_parts_of_one_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
