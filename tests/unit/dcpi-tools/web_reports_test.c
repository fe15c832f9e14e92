#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "dcpi-tools/web/reports.h"
#include "tests/remove_tree.h"

#define WAITS 8

/* A pool whose tools are scripts; what they print goes into reports[]. */
struct pool {
	char directory[64];
	struct event_base *base;
	struct reports *reports;
	struct client {
		struct pool *pool;
		struct reports_wait wait;
		struct report *report;
		bool is_done;
	} clients[WAITS];
	int missing;
};

static void
write_file(const struct pool *pool, const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pool->directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int
pool_of(int at_once, void **state)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	struct reports_options options = {.at_once = at_once};

	snprintf(pool->directory, sizeof(pool->directory), "/tmp/dcpi-reports-XXXXXX");
	if (!mkdtemp(pool->directory))
		return -1;
	write_file(pool, "data.mdb", "1", 0600);
	/* each run leaves a line in `runs` */
	write_file(pool, "count", "#!/bin/sh\necho run >>${0%/*}/runs; sleep 0.1; echo \"report $*\"\n", 0700);
	write_file(pool, "order", "#!/bin/sh\necho $1 >>${0%/*}/runs; sleep 0.1; echo\n", 0700);
	write_file(pool, "fail", "#!/bin/sh\necho run >>${0%/*}/runs; echo 'fail: nothing to show' >&2; exit 4\n",
	           0700);
	write_file(pool, "endless", "#!/bin/sh\nexec yes\n", 0700);
	write_file(pool, "killed", "#!/bin/sh\nkill -SEGV $$\n", 0700);
	pool->base = event_base_new();
	options.base = pool->base;
	options.database = options.tools = pool->directory;
	pool->reports = reports_new(&options);
	*state = pool;
	return pool->reports ? 0 : -1;
}

static int
pool_setup(void **state)
{
	return pool_of(2, state);
}

/* One after the other, so that their lines are in the order in which they began. */
static int
pool_of_one_setup(void **state)
{
	return pool_of(1, state);
}

static int
pool_teardown(void **state)
{
	struct pool *pool = *state;

	for (int i = 0; i < WAITS; i++)
		report_release(pool->clients[i].report);
	reports_free(pool->reports);
	event_base_free(pool->base);
	remove_tree(pool->directory);
	free(pool);
	return 0;
}

static void
on_done(void *context, struct report *report)
{
	struct client *client = context;

	report_release(client->report);
	client->report = report;
	client->is_done = true;
	if (--client->pool->missing == 0)
		event_base_loopbreak(client->pool->base);
}

static void
ask_as(struct pool *pool, int index, const char *tool, const char *word, enum command_need need)
{
	struct client *client = &pool->clients[index];
	struct tool_command command;

	client->pool = pool;
	client->wait.done = on_done;
	client->wait.context = client;
	client->is_done = false;
	pool->missing++;
	command_begin(&command, tool, NULL);
	command_word(&command, word);
	command.need = need;
	reports_ask(pool->reports, &command, &client->wait);
	command_fini(&command);
}

static void
ask(struct pool *pool, int index, const char *tool, const char *word)
{
	ask_as(pool, index, tool, word, COMMAND_NEEDED);
}

/* Until all that was asked for is there. */
static void
wait_for_all(struct pool *pool)
{
	const struct timeval limit = {.tv_sec = 30};

	if (pool->missing == 0)
		return;
	event_base_loopexit(pool->base, &limit);
	event_base_dispatch(pool->base);
	assert_int_equal(pool->missing, 0);
}

static int
count_runs(const struct pool *pool)
{
	char path[128], line[32];
	FILE *file;
	int count = 0;

	snprintf(path, sizeof(path), "%s/runs", pool->directory);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		count++;
	if (file)
		fclose(file);
	return count;
}

static void
equal_command_lines_run_once(void **state)
{
	struct pool *pool = *state;

	for (int i = 0; i < 4; i++)
		ask(pool, i, "count", "a");
	ask(pool, 4, "count", "b");
	wait_for_all(pool);
	for (int i = 0; i < 4; i++)
		assert_string_equal(pool->clients[i].report->output, "report a\n");
	assert_string_equal(pool->clients[4].report->output, "report b\n");
	assert_int_equal(pool->clients[4].report->size, 9);
	assert_int_equal(pool->clients[4].report->status, 0);
	assert_int_equal(count_runs(pool), 2);
}

static void
more_than_may_run_at_once_wait(void **state)
{
	static const char *const words[WAITS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct pool *pool = *state;

	for (int i = 0; i < WAITS; i++)
		ask(pool, i, "count", words[i]);
	wait_for_all(pool);
	for (int i = 0; i < WAITS; i++)
		assert_string_equal(pool->clients[i].report->output + strlen("report "),
		                    ((char[]){words[i][0], '\n', '\0'}));
	assert_int_equal(count_runs(pool), WAITS);
}

/* "a" runs, and six wait. A second page needs "d", which then goes before "c". */
static void
what_is_needed_runs_before_what_is_wanted(void **state)
{
	static const char *const order[] = {"a", "e", "d", "b", "c", "g", "f"};
	struct pool *pool = *state;
	char path[128], line[32];
	FILE *file;

	ask(pool, 0, "order", "a");
	ask_as(pool, 1, "order", "b", COMMAND_WANTED);
	ask_as(pool, 2, "order", "c", COMMAND_WANTED);
	ask_as(pool, 3, "order", "d", COMMAND_IF_THERE);
	ask_as(pool, 4, "order", "f", COMMAND_IF_THERE);
	ask(pool, 5, "order", "e");
	ask_as(pool, 6, "order", "g", COMMAND_WANTED);
	ask(pool, 7, "order", "d");
	wait_for_all(pool);
	snprintf(path, sizeof(path), "%s/runs", pool->directory);
	file = fopen(path, "re");
	assert_non_null(file);
	for (int i = 0; i < 7; i++) {
		assert_non_null(fgets(line, sizeof(line), file));
		assert_string_equal(line, ((char[]){order[i][0], '\n', '\0'}));
	}
	fclose(file);
}

static void
a_report_is_kept_while_the_database_is_the_same(void **state)
{
	struct pool *pool = *state;
	char path[128], other[128];

	ask(pool, 0, "count", "a");
	wait_for_all(pool);
	ask(pool, 1, "count", "a");
	assert_true(pool->clients[1].is_done); /* at once */
	assert_ptr_equal(pool->clients[1].report, pool->clients[0].report);
	write_file(pool, "data.mdb", "12", 0600); /* written to a moment ago */
	ask(pool, 1, "count", "a");
	assert_true(pool->clients[1].is_done);

	/* another file in its place */
	snprintf(path, sizeof(path), "%s/data.mdb", pool->directory);
	snprintf(other, sizeof(other), "%s/other", pool->directory);
	write_file(pool, "other", "12", 0600);
	assert_int_equal(rename(other, path), 0);
	ask(pool, 1, "count", "a");
	assert_false(pool->clients[1].is_done);
	wait_for_all(pool);
	assert_int_equal(count_runs(pool), 2);
}

static void
a_failure_is_not_kept_for_another_database(void **state)
{
	struct pool *pool = *state;

	ask(pool, 0, "fail", "a");
	wait_for_all(pool);
	assert_int_equal(pool->clients[0].report->status, 4);
	assert_string_equal(pool->clients[0].report->errors, "fail: nothing to show\n");
	assert_string_equal(pool->clients[0].report->output, "");
	ask(pool, 0, "fail", "a"); /* a page that is read again and again */
	assert_true(pool->clients[0].is_done);
	write_file(pool, "data.mdb", "mended", 0600);
	ask(pool, 0, "fail", "a");
	assert_false(pool->clients[0].is_done);
	wait_for_all(pool);
	assert_int_equal(count_runs(pool), 2);
}

static void
what_ends_badly_gets_a_sentence(void **state)
{
	struct pool *pool = *state;

	ask(pool, 0, "endless", "a");
	ask(pool, 1, "killed", "a");
	ask(pool, 2, "missing", "a");
	wait_for_all(pool);
	assert_true(pool->clients[0].report->status < 0);
	assert_non_null(strstr(pool->clients[0].report->errors, "larger than 8 MiB"));
	assert_true(pool->clients[1].report->status < 0);
	assert_non_null(strstr(pool->clients[1].report->errors, "'killed' was ended by signal 11"));
	assert_true(pool->clients[2].report->status < 0);
	assert_non_null(strstr(pool->clients[2].report->errors, "cannot run 'missing' in /tmp/dcpi-reports-"));
}

/* A client that leaves is not called any more, and what only it waited for is not begun. */
static void
a_wait_can_be_cancelled(void **state)
{
	struct pool *pool = *state;

	ask(pool, 0, "count", "a");
	ask(pool, 1, "count", "b");
	ask(pool, 2, "count", "c"); /* waits for one of the others to end */
	reports_cancel(&pool->clients[2].wait);
	reports_cancel(&pool->clients[0].wait);
	pool->missing -= 2;
	ask(pool, 3, "count", "d");
	wait_for_all(pool);
	assert_false(pool->clients[0].is_done);
	assert_false(pool->clients[2].is_done);
	assert_int_equal(count_runs(pool), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_command_lines_run_once, pool_setup, pool_teardown),
		cmocka_unit_test_setup_teardown(more_than_may_run_at_once_wait, pool_setup, pool_teardown),
		cmocka_unit_test_setup_teardown(what_is_needed_runs_before_what_is_wanted, pool_of_one_setup,
	                                        pool_teardown),
		cmocka_unit_test_setup_teardown(a_report_is_kept_while_the_database_is_the_same, pool_setup,
	                                        pool_teardown),
		cmocka_unit_test_setup_teardown(a_failure_is_not_kept_for_another_database, pool_setup, pool_teardown),
		cmocka_unit_test_setup_teardown(what_ends_badly_gets_a_sentence, pool_setup, pool_teardown),
		cmocka_unit_test_setup_teardown(a_wait_can_be_cancelled, pool_setup, pool_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
