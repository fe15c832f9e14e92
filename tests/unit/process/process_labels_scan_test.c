/* Labels where no record told: lost records, and a dcpid that comes after another. Times in milliseconds. */
#include "process/proc.h"
#include "process/process_labels.h"
#include "tests/unit/process/story.h"

#define CODE "00001000-00002000 r-xp 00000000 08:01 77 /bin/program\n"

static uint64_t now_ms;

static uint64_t
clock_of_the_story(void)
{
	return now_ms * MS;
}

static struct attribution *
attribution_of(struct story *story)
{
	const struct attribution_options options = {
		.procfs = story->fake.path,
		.sysfs = story->fake.path,
		.cgroupfs = story->fake.path,
		.exit_grace_ns = 1000 * MS,
		.clock_ns = clock_of_the_story,
	};

	story->options = options;
	return attribution_new(&options, story->images, story->contexts);
}

static int
setup(void **state)
{
	struct story *story;

	story_setup(state);
	story = *state;
	attribution_free(story->attribution);
	story->attribution = attribution_of(story);
	return 0;
}

/* /proc shows a process that began then; it has what can be sampled. */
static void
show(struct story *story, uint32_t pid, uint32_t parent, uint64_t start_ms)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "%u/stat", pid);
	snprintf(text, sizeof(text), "%u (program) S %u 1 1 0 1 0 0 0 0 0 1 2 0 0 20 0 1 0 %llu 2703360 236\n", pid,
	         parent, (unsigned long long)proc_stat_ticks(start_ms * MS));
	fake_text(&story->fake, name, text);
	snprintf(name, sizeof(name), "%u/comm", pid);
	fake_text(&story->fake, name, "program\n");
	snprintf(name, sizeof(name), "%u/maps", pid);
	fake_text(&story->fake, name, CODE);
}

static void
hide(struct story *story, uint32_t pid)
{
	char name[32], path[PATH_MAX];

	snprintf(name, sizeof(name), "%u", pid);
	remove_tree(fake_path(&story->fake, name, path));
}

static void
label(struct story *story, uint64_t at, uint32_t pid, const char *text, enum label_start start)
{
	assert_int_equal(process_labels_add(attribution_labels(story->attribution), pid, text, start, at * MS), 0);
	process_labels_begin(attribution_labels(story->attribution), at * MS);
}

static void
scan(struct story *story, uint64_t at)
{
	now_ms = at;
	assert_int_equal(story_scan(story), 0);
}

static void
scan_again(struct story *story, uint64_t at)
{
	now_ms = at;
	attribution_records_lost(story->attribution);
	assert_int_equal(story_rescan(story), 0);
}

static const char *
label_of(struct story *story, uint64_t at, uint32_t pid)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, 0x1000, &key), 0);
	return context_table_get(story->contexts, key.context)->label;
}

static void
children_whose_records_were_lost_have_the_label(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	show(story, 43, 42, 2000);
	show(story, 44, 43, 2010);
	scan_again(story, 3000);
	assert_string_equal(label_of(story, 3001, 42), "run1");
	assert_string_equal(label_of(story, 3001, 43), "run1");
	assert_string_equal(label_of(story, 3001, 44), "run1");
}

static void
children_that_were_known_without_stay_without(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	show(story, 43, 42, 200);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	scan_again(story, 3000);
	assert_string_equal(label_of(story, 3001, 42), "run1");
	assert_string_equal(label_of(story, 3001, 43), "");
}

/* Its end and the other's beginning were among what was lost. */
static void
a_pid_that_was_given_again_unseen_has_the_label_of_its_new_parent(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	show(story, 50, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	label(story, 1100, 50, "run2", LABEL_AT_ONCE);
	show(story, 42, 1, 2000);
	show(story, 43, 50, 2000);
	scan_again(story, 3000);
	assert_string_equal(label_of(story, 3001, 42), "");
	assert_string_equal(label_of(story, 3001, 43), "run2");
}

/* The record of the exec is one that the scan has overtaken: but for the label. */
static void
labels_follow_records_that_a_scan_has_overtaken(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_EXEC);
	scan_again(story, 3000);
	assert_string_equal(label_of(story, 1200, 42), "");
	story_exec(story, 2000, 42, "program");
	assert_string_equal(label_of(story, 2001, 42), "run1");
}

/* What the attribution knows goes to another, over the processes that are there by then. */
static void
begin_anew(struct story *story, uint64_t known_ms, uint64_t scan_ms)
{
	struct labelled_processes labelled = {0};

	assert_int_equal(process_labels_save(attribution_labels(story->attribution), known_ms * MS, &labelled), 0);
	attribution_free(story->attribution);
	story->attribution = attribution_of(story);
	scan(story, scan_ms);
	assert_int_equal(process_labels_restore(attribution_labels(story->attribution), &labelled, scan_ms * MS), 0);
	labelled_processes_fini(&labelled);
}

static void
a_tree_keeps_its_label_beyond_the_attribution(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	show(story, 50, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	begin_anew(story, 1500, 2000);
	assert_string_equal(label_of(story, 2001, 42), "run1");
	assert_string_equal(label_of(story, 2001, 50), "");
	story_fork(story, 2010, 42, 43);
	story_map(story, 2010, 43, "/bin/program", 1, 0x1000, 0x1000, 0);
	assert_string_equal(label_of(story, 2011, 43), "run1");
}

static void
children_that_began_between_two_have_it(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	begin_anew(story, 1500, 2000);
	show(story, 43, 42, 2100);
	begin_anew(story, 2050, 3000);
	assert_string_equal(label_of(story, 3001, 43), "run1");
}

static void
children_that_had_none_before_have_none_after(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	show(story, 43, 42, 200);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	begin_anew(story, 1500, 2000);
	assert_string_equal(label_of(story, 2001, 43), "");
}

static void
a_pid_that_was_given_again_between_two_has_none(void **state)
{
	struct story *story = *state;
	struct labelled_processes labelled = {0};

	show(story, 42, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	assert_int_equal(process_labels_save(attribution_labels(story->attribution), 1500 * MS, &labelled), 0);
	assert_int_equal(labelled.count, 1);
	show(story, 42, 1, 1700);
	attribution_free(story->attribution);
	story->attribution = attribution_of(story);
	scan(story, 2000);
	assert_int_equal(process_labels_restore(attribution_labels(story->attribution), &labelled, 2000 * MS), 0);
	labelled_processes_fini(&labelled);
	assert_string_equal(label_of(story, 2001, 42), "");
}

/* A later process of its pid is alive already, and the record of that is still to come. */
static void
who_has_ended_unseen_is_not_listed(void **state)
{
	struct story *story = *state;
	struct labelled_processes labelled = {0};

	show(story, 42, 1, 100);
	show(story, 50, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	label(story, 1100, 50, "run2", LABEL_AT_ONCE);
	show(story, 42, 1, 1490);
	hide(story, 50);
	assert_int_equal(process_labels_save(attribution_labels(story->attribution), 1480 * MS, &labelled), 0);
	assert_int_equal(labelled.count, 0);
	labelled_processes_fini(&labelled);
}

/* dcpid has answered that it will have it, and is killed. */
static void
a_label_that_waits_is_listed(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	scan(story, 1000);
	assert_int_equal(
		process_labels_add(attribution_labels(story->attribution), 42, "run1", LABEL_AT_EXEC, 1100 * MS), 0);
	begin_anew(story, 1050, 2000);
	assert_string_equal(label_of(story, 2001, 42), "run1");
}

/* Of whom the new one has not heard yet, because it began after the scan. */
static void
who_began_after_the_scan_has_its_label_from_then_on(void **state)
{
	struct story *story = *state;
	struct labelled_processes labelled = {0};

	scan(story, 1000);
	show(story, 42, 1, 1200);
	story_fork(story, 1200, 1, 42);
	label(story, 1300, 42, "run1", LABEL_AT_ONCE);
	assert_int_equal(process_labels_save(attribution_labels(story->attribution), 1500 * MS, &labelled), 0);
	hide(story, 42);
	attribution_free(story->attribution);
	story->attribution = attribution_of(story);
	scan(story, 1100);
	show(story, 42, 1, 1200);
	assert_int_equal(process_labels_restore(attribution_labels(story->attribution), &labelled, 1600 * MS), 0);
	labelled_processes_fini(&labelled);
	story_fork(story, 1200, 1, 42);
	story_map(story, 1200, 42, "/bin/program", 1, 0x1000, 0x1000, 0);
	assert_string_equal(label_of(story, 1201, 42), "");
	assert_int_equal(process_labels_next_ns(attribution_labels(story->attribution)), 1600 * MS);
	process_labels_begin(attribution_labels(story->attribution), 1600 * MS);
	assert_string_equal(label_of(story, 1601, 42), "run1");
}

static int
add_elapsed(void *context, const struct label_time *time)
{
	assert_string_equal(time->text, "run1");
	*(uint64_t *)context += time->elapsed_ns;
	return 0;
}

static uint64_t
elapsed_until(struct story *story, uint64_t at)
{
	uint64_t elapsed_ns = 0;

	assert_int_equal(
		process_labels_take_times(attribution_labels(story->attribution), at * MS, add_elapsed, &elapsed_ns),
		0);
	return elapsed_ns / MS;
}

/* While none watches, nothing is sampled, and no time counts. */
static void
a_run_is_counted_by_one_attribution_and_then_by_the_next(void **state)
{
	struct story *story = *state;

	show(story, 42, 1, 100);
	scan(story, 1000);
	label(story, 1100, 42, "run1", LABEL_AT_ONCE);
	assert_int_equal(elapsed_until(story, 1500), 400);
	begin_anew(story, 1500, 2000);
	assert_int_equal(elapsed_until(story, 2600), 600);
	story_exit(story, 2700, 42, 42);
	assert_int_equal(elapsed_until(story, 3000), 100);
}

#define KIN_TEST(test) cmocka_unit_test_setup_teardown(test, setup, story_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		KIN_TEST(children_whose_records_were_lost_have_the_label),
		KIN_TEST(children_that_were_known_without_stay_without),
		KIN_TEST(a_pid_that_was_given_again_unseen_has_the_label_of_its_new_parent),
		KIN_TEST(labels_follow_records_that_a_scan_has_overtaken),
		KIN_TEST(a_tree_keeps_its_label_beyond_the_attribution),
		KIN_TEST(children_that_began_between_two_have_it),
		KIN_TEST(children_that_had_none_before_have_none_after),
		KIN_TEST(a_pid_that_was_given_again_between_two_has_none),
		KIN_TEST(who_has_ended_unseen_is_not_listed),
		KIN_TEST(a_label_that_waits_is_listed),
		KIN_TEST(who_began_after_the_scan_has_its_label_from_then_on),
		KIN_TEST(a_run_is_counted_by_one_attribution_and_then_by_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
