/* Processes of a fake /proc, one of which does not answer: its maps are a pipe that nobody writes to. */
#include "tests/unit/process/story.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "collectord/proc_reader.h"

struct proc_reader_site {
	struct story *story;
	struct proc_reader *reader;
};

static int
setup(void **state)
{
	struct proc_reader_site *site = calloc(1, sizeof(*site));
	void *story;

	assert_non_null(site);
	assert_int_equal(story_setup(&story), 0);
	site->story = story;
	site->reader = proc_reader_new(site->story->fake.path, site->story->fake.path, site->story->attribution, NULL);
	assert_non_null(site->reader);
	*state = site;
	return 0;
}

static int
teardown(void **state)
{
	struct proc_reader_site *site = *state;
	void *story = site->story;

	proc_reader_free(site->reader);
	free(site);
	return story_teardown(&story);
}

static void
put_name(struct proc_reader_site *site, uint32_t pid, const char *comm)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/comm", pid);
	fake_text(&site->story->fake, name, comm);
}

static void
put_process(struct proc_reader_site *site, uint32_t pid)
{
	char name[64], text[128];

	snprintf(text, sizeof(text), "name-%u\n", pid);
	put_name(site, pid, text);
	snprintf(name, sizeof(name), "%u/maps", pid);
	snprintf(text, sizeof(text), "00400000-00401000 r-xp 00000000 08:01 %u /bin/of-%u\n", pid, pid);
	fake_text(&site->story->fake, name, text);
}

static void
put_silent(struct proc_reader_site *site, uint32_t pid)
{
	char name[64], path[PATH_MAX];

	put_name(site, pid, "silent\n");
	snprintf(name, sizeof(name), "%u/maps", pid);
	assert_int_equal(mkfifo(fake_path(&site->story->fake, name, path), 0600), 0);
}

static void
assert_named(struct proc_reader_site *site, uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/bin/of-%u", pid);
	assert_sample(site->story, 1, pid, 0x400010, path, 0x10);
	snprintf(path, sizeof(path), "name-%u", pid);
	assert_comm(site->story, 1, pid, 0x400010, path);
}

static struct proc_reader_stats
stats_of(const struct proc_reader_site *site)
{
	struct proc_reader_stats stats;

	proc_reader_stats(site->reader, &stats);
	return stats;
}

static void
wait_until_idle(struct proc_reader_site *site)
{
	proc_reader_wait(site->reader, monotonic_ns() + 60 * SECOND_NS);
	assert_false(proc_reader_is_busy(site->reader));
}

static void
all_processes_are_told(void **state)
{
	struct proc_reader_site *site = *state;

	for (uint32_t pid = 1; pid <= 1000; pid++) /* more than the socket holds */
		put_process(site, pid);
	assert_int_equal(proc_reader_ask_all(site->reader, false), 0);
	assert_true(proc_reader_is_scanning(site->reader));
	assert_int_equal(proc_reader_ask_all(site->reader, false), -EBUSY);
	wait_until_idle(site);
	assert_int_equal(stats_of(site).scans, 1);
	assert_int_equal(stats_of(site).processes, 1000);
	for (uint32_t pid = 1; pid <= 1000; pid++)
		assert_named(site, pid);
}

/* The loop takes a little, whatever is there. */
static void
taking_does_not_wait(void **state)
{
	struct proc_reader_site *site = *state;
	uint64_t began_ns;

	put_silent(site, 1);
	assert_int_equal(proc_reader_ask_all(site->reader, false), 0);
	began_ns = monotonic_ns();
	for (unsigned i = 0; i < 10; i++)
		proc_reader_take(site->reader, SECOND_NS);
	assert_true(monotonic_ns() - began_ns < SECOND_NS);
	assert_true(proc_reader_is_busy(site->reader));
}

static void
a_process_that_does_not_answer_costs_its_mappings_and_nobody_else_anything(void **state)
{
	struct proc_reader_site *site = *state;

	put_process(site, 41);
	put_silent(site, 42);
	put_process(site, 43);
	assert_int_equal(proc_reader_ask_all(site->reader, false), 0);
	wait_until_idle(site);
	assert_int_equal(stats_of(site).error, 0);
	assert_int_equal(stats_of(site).scans, 1);
	assert_int_equal(stats_of(site).hung, 1);
	assert_int_equal(stats_of(site).unread, 1);
	assert_int_equal(stats_of(site).processes, 2);
	assert_int_equal(story_stats(site->story).processes, 3); /* its name is known */
	assert_named(site, 41);
	assert_named(site, 43);
	assert_unknown(site->story, 1, 42, 0x400010, UNKNOWN_ADDRESS);
}

/* It is not asked again before a minute has passed. */
static void
what_did_not_answer_delays_no_second_reading(void **state)
{
	struct proc_reader_site *site = *state;
	uint64_t began_ns;

	put_silent(site, 42);
	put_process(site, 43);
	assert_int_equal(proc_reader_ask_all(site->reader, false), 0);
	wait_until_idle(site);
	began_ns = monotonic_ns();
	assert_int_equal(proc_reader_ask_all(site->reader, false), 0);
	wait_until_idle(site);
	assert_true(monotonic_ns() - began_ns < PROC_READER_PATIENCE_NS);
	assert_int_equal(stats_of(site).hung, 1);
	assert_false(proc_reader_ask(site->reader, 42));
}

static void
one_process_is_read_when_it_is_asked_for(void **state)
{
	struct proc_reader_site *site = *state;

	put_process(site, 41);
	put_process(site, 42);
	assert_true(proc_reader_ask(site->reader, 42));
	assert_true(proc_reader_ask(site->reader, 42)); /* it is asked already */
	assert_false(proc_reader_is_scanning(site->reader));
	wait_until_idle(site);
	assert_named(site, 42);
	assert_int_equal(stats_of(site).scans, 0);
	assert_int_equal(story_stats(site->story).processes, 1);
}

/* So many that are unknown must not become more work than they are. */
static void
single_processes_are_read_at_a_limited_rate(void **state)
{
	struct proc_reader_site *site = *state;
	unsigned asked = 0;

	for (uint32_t pid = 1; pid <= 1000; pid++)
		asked += proc_reader_ask(site->reader, pid);
	assert_in_range(asked, 1, 128); /* 64 a second, should a second begin meanwhile */
	wait_until_idle(site);
}

static void
without_proc_the_reading_ends_with_an_error(void **state)
{
	struct proc_reader_site *site = *state;
	struct proc_reader *reader =
		proc_reader_new("/no/such/proc", "/no/such/cgroup", site->story->attribution, NULL);
	struct proc_reader_stats stats;

	assert_int_equal(proc_reader_ask_all(reader, true), 0);
	proc_reader_wait(reader, monotonic_ns() + 60 * SECOND_NS);
	proc_reader_stats(reader, &stats);
	assert_int_equal(stats.scans, 1);
	assert_int_equal(stats.error, -ENOENT);
	proc_reader_free(reader);
}

#define SITE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(all_processes_are_told),
		SITE_TEST(taking_does_not_wait),
		SITE_TEST(a_process_that_does_not_answer_costs_its_mappings_and_nobody_else_anything),
		SITE_TEST(what_did_not_answer_delays_no_second_reading),
		SITE_TEST(one_process_is_read_when_it_is_asked_for),
		SITE_TEST(single_processes_are_read_at_a_limited_rate),
		SITE_TEST(without_proc_the_reading_ends_with_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
