/* Who has a label, as records tell. Times in milliseconds; see story.h. */
#include "tests/unit/process/story.h"

#include <errno.h>

#include "process/process_labels.h"

#define CODE 0x1000 /* where all that runs in these stories has its code */

/* A process with something to sample. */
static void
begin(struct story *story, uint64_t at, uint32_t parent, uint32_t pid)
{
	story_fork(story, at, parent, pid);
	story_map(story, at, pid, "/bin/program", 1, CODE, 0x1000, 0);
}

static void
execute(struct story *story, uint64_t at, uint32_t pid, const char *comm)
{
	story_exec(story, at, pid, comm);
	story_map(story, at, pid, "/bin/program", 1, CODE, 0x1000, 0);
}

static void
label_from(struct story *story, uint64_t at, uint32_t pid, const char *label, enum label_start start)
{
	assert_int_equal(process_labels_add(attribution_labels(story->attribution), pid, label, start, at * MS), 0);
	assert_int_equal(process_labels_next_ns(attribution_labels(story->attribution)), at * MS);
	process_labels_begin(attribution_labels(story->attribution), at * MS);
	assert_int_equal(process_labels_next_ns(attribution_labels(story->attribution)), LABELS_WAIT_FOREVER);
}

static const char *
label_of(struct story *story, uint64_t at, uint32_t pid)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, CODE, &key), 0);
	return context_table_get(story->contexts, key.context)->label;
}

static void
a_process_without_a_label_has_none(void **state)
{
	begin(*state, 10, 1, 42);
	assert_string_equal(label_of(*state, 20, 42), "");
}

static void
a_label_begins_at_its_moment(void **state)
{
	begin(*state, 10, 1, 42);
	assert_int_equal(process_labels_add(attribution_labels(((struct story *)*state)->attribution), 42, "run1",
	                                    LABEL_AT_ONCE, 30 * MS),
	                 0);
	process_labels_begin(attribution_labels(((struct story *)*state)->attribution), 29 * MS);
	assert_string_equal(label_of(*state, 29, 42), "");
	process_labels_begin(attribution_labels(((struct story *)*state)->attribution), 30 * MS);
	assert_string_equal(label_of(*state, 31, 42), "run1");
}

/* What the tool that asks for the label does until it becomes the program is not the program's. */
static void
a_label_at_exec_waits_for_it(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_EXEC);
	assert_string_equal(label_of(*state, 25, 42), "");
	begin(*state, 26, 42, 43);
	assert_string_equal(label_of(*state, 27, 43), ""); /* begun by the tool */
	execute(*state, 30, 42, "program");
	assert_string_equal(label_of(*state, 31, 42), "run1");
	assert_string_equal(label_of(*state, 31, 43), "");
}

/* A thread that renames itself, or the process, is no exec. */
static void
another_name_is_no_exec(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_EXEC);
	story_rename(*state, 21, 42, 42, "other");
	assert_string_equal(label_of(*state, 22, 42), "");
}

static void
children_and_theirs_have_it_and_keep_it_over_exec(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	begin(*state, 30, 42, 43);
	begin(*state, 31, 43, 44);
	execute(*state, 32, 44, "other");
	assert_string_equal(label_of(*state, 33, 43), "run1");
	assert_string_equal(label_of(*state, 33, 44), "run1");
}

static void
threads_have_it_and_what_they_begin(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	story_thread(*state, 25, 42, 50);
	begin(*state, 30, 42, 43); /* of whichever thread: the kernel names the process */
	assert_string_equal(label_of(*state, 31, 43), "run1");
}

/* Forks twice, and its parent ends: it belongs to init then. */
static void
a_daemon_keeps_the_label_of_the_tree_it_left(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	begin(*state, 30, 42, 43);
	begin(*state, 31, 43, 44);
	story_exit(*state, 32, 43, 43);
	story_exit(*state, 33, 42, 42);
	attribution_expire(((struct story *)*state)->attribution, 5000 * MS);
	execute(*state, 5001, 44, "daemon");
	assert_string_equal(label_of(*state, 5002, 44), "run1");
	begin(*state, 5003, 44, 45);
	assert_string_equal(label_of(*state, 5004, 45), "run1");
}

static void
children_from_before_have_none(void **state)
{
	begin(*state, 10, 1, 42);
	begin(*state, 11, 42, 43);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	assert_string_equal(label_of(*state, 21, 43), "");
}

static void
a_pid_that_is_given_again_has_no_label(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	story_exit(*state, 30, 42, 42);
	begin(*state, 40, 1, 42);
	assert_string_equal(label_of(*state, 41, 42), "");
}

static void
a_label_that_waited_for_an_exec_ends_with_its_process(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_EXEC);
	story_exit(*state, 30, 42, 42);
	begin(*state, 40, 1, 42);
	execute(*state, 41, 42, "other");
	assert_string_equal(label_of(*state, 42, 42), "");
}

static void
an_inner_label_takes_the_place_of_the_outer_one(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "outer", LABEL_AT_ONCE);
	begin(*state, 30, 42, 43);
	label_from(*state, 40, 43, "inner", LABEL_AT_EXEC);
	assert_string_equal(label_of(*state, 41, 43), "outer");
	execute(*state, 42, 43, "program");
	assert_string_equal(label_of(*state, 43, 43), "inner");
	assert_string_equal(label_of(*state, 43, 42), "outer");
}

static void
two_trees_with_one_label_are_one_context(void **state)
{
	struct story *story = *state;
	struct sample_key first, second;

	begin(story, 10, 1, 42);
	begin(story, 10, 1, 43);
	label_from(story, 20, 42, "run1", LABEL_AT_ONCE);
	label_from(story, 30, 43, "run1", LABEL_AT_ONCE);
	assert_int_equal(story_sample(story, 40, CPU_MODE_USER, 42, CODE, &first), 0);
	assert_int_equal(story_sample(story, 40, CPU_MODE_USER, 43, CODE, &second), 0);
	assert_int_equal(first.context, second.context);
}

static void
what_the_kernel_does_for_a_process_has_its_label(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	fake_text(&story->fake, "kallsyms",
	          "ffffffff81000000 T _stext\nffffffff81001000 T work\nffffffff81002000 T _etext\n");
	assert_int_equal(story_scan(story), 0);
	begin(story, 10, 1, 42);
	label_from(story, 20, 42, "run1", LABEL_AT_ONCE);
	assert_int_equal(story_sample(story, 30, CPU_MODE_KERNEL, 42, 0xffffffff81001010, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->label, "run1");
}

static void
a_new_session_keeps_the_labels(void **state)
{
	struct story *story = *state;
	struct context_table *old = story->contexts;
	struct image_table *old_images = story->images;

	begin(story, 10, 1, 42);
	label_from(story, 20, 42, "run1", LABEL_AT_ONCE);
	assert_string_equal(label_of(story, 21, 42), "run1");
	story->contexts = context_table_new();
	story->images = image_table_new();
	attribution_reset_ids(story->attribution, story->images, story->contexts);
	assert_string_equal(label_of(story, 22, 42), "run1");
	context_table_free(old);
	image_table_free(old_images);
}

static void
no_more_than_so_many_wait(void **state)
{
	struct attribution *attribution = ((struct story *)*state)->attribution;

	for (uint32_t i = 0; i < LABELS_WAITING_MAX; i++)
		assert_int_equal(
			process_labels_add(attribution_labels(attribution), 100 + i, "run1", LABEL_AT_ONCE, MS), 0);
	assert_int_equal(process_labels_add(attribution_labels(attribution), 42, "run1", LABEL_AT_ONCE, MS), -EBUSY);
	process_labels_begin(attribution_labels(attribution), MS);
	assert_int_equal(process_labels_add(attribution_labels(attribution), 42, "run1", LABEL_AT_ONCE, 2 * MS), 0);
}

static void
each_change_of_who_has_a_label_is_counted(void **state)
{
	struct story *story = *state;
	uint64_t before = process_labels_changes(attribution_labels(story->attribution));

	begin(story, 10, 1, 42);
	execute(story, 11, 42, "program");
	assert_int_equal(process_labels_changes(attribution_labels(story->attribution)), before);
	label_from(story, 20, 42, "run1", LABEL_AT_ONCE);
	assert_true(process_labels_changes(attribution_labels(story->attribution)) > before);
	before = process_labels_changes(attribution_labels(story->attribution));
	begin(story, 30, 42, 43);
	assert_int_equal(process_labels_changes(attribution_labels(story->attribution)), before + 1);
	story_exit(story, 40, 43, 43);
	assert_int_equal(process_labels_changes(attribution_labels(story->attribution)), before + 2);
}

static void
there_are_labels_while_who_has_or_awaits_one_lives(void **state)
{
	struct story *story = *state;
	uint64_t before;

	begin(story, 10, 1, 42);
	assert_false(process_labels_any(attribution_labels(story->attribution)));
	assert_int_equal(process_labels_add(attribution_labels(story->attribution), 42, "run1", LABEL_AT_EXEC, 20 * MS),
	                 0);
	assert_true(process_labels_any(attribution_labels(story->attribution)));
	process_labels_begin(attribution_labels(story->attribution), 20 * MS);
	assert_true(process_labels_any(attribution_labels(story->attribution)));
	execute(story, 30, 42, "program");
	assert_true(process_labels_any(attribution_labels(story->attribution)));
	before = process_labels_changes(attribution_labels(story->attribution));
	story_exit(story, 40, 42, 42);
	assert_false(process_labels_any(attribution_labels(story->attribution)));
	assert_true(process_labels_changes(attribution_labels(story->attribution)) > before);
}

/* dcpilabel that finds no program to execute. */
static void
who_ends_before_the_exec_changes_who_has_a_label(void **state)
{
	struct story *story = *state;
	uint64_t before;

	begin(story, 10, 1, 42);
	label_from(story, 20, 42, "run1", LABEL_AT_EXEC);
	before = process_labels_changes(attribution_labels(story->attribution));
	story_exit(story, 30, 42, 42);
	assert_true(process_labels_changes(attribution_labels(story->attribution)) > before);
	assert_false(process_labels_any(attribution_labels(story->attribution)));
}

/* ---- for how long ---- */

struct taken_time {
	size_t count;
	struct label_time time; /* of the last */
};

static int
take_time(void *context, const struct label_time *time)
{
	struct taken_time *taken = context;

	taken->count++;
	taken->time = *time;
	return 0;
}

/* What was counted since the last time, up to `at`, is of one label: from when to when, and how much. 0: nothing is. */
static void
assert_counted(struct story *story, uint64_t at, uint64_t begin, uint64_t end, uint64_t elapsed)
{
	struct taken_time taken = {0};

	assert_int_equal(process_labels_take_times(attribution_labels(story->attribution), at * MS, take_time, &taken),
	                 0);
	assert_int_equal(taken.count, elapsed > 0);
	if (elapsed == 0)
		return;
	assert_int_equal(taken.time.begin_ns, begin * MS);
	assert_int_equal(taken.time.end_ns, end * MS);
	assert_int_equal(taken.time.elapsed_ns, elapsed * MS);
}

static void
a_run_lasts_from_its_exec_to_its_exit(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_EXEC);
	assert_counted(*state, 25, 0, 0, 0);
	execute(*state, 30, 42, "program");
	assert_counted(*state, 100, 30, 100, 70);
	story_exit(*state, 350, 42, 42);
	assert_counted(*state, 500, 100, 350, 250);
	assert_counted(*state, 900, 0, 0, 0);
}

static void
a_run_lasts_until_the_last_of_its_tree_has_ended(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	begin(*state, 30, 42, 43);
	begin(*state, 31, 43, 44);
	story_exit(*state, 40, 42, 42);
	story_exit(*state, 50, 44, 44);
	attribution_expire(((struct story *)*state)->attribution, 5000 * MS);
	story_exit(*state, 6000, 43, 43);
	assert_counted(*state, 7000, 20, 6000, 5980);
}

static void
threads_that_end_are_not_the_end(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	story_thread(*state, 25, 42, 50);
	story_exit(*state, 30, 42, 50);
	story_exit(*state, 40, 42, 42);
	assert_counted(*state, 100, 20, 40, 20);
}

/* The main thread ended, and another goes on: samples tell, and what lies between counts as well. */
static void
a_run_whose_main_thread_ends_first_lasts_as_long_as_the_others(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	story_thread(*state, 25, 42, 50);
	story_exit(*state, 40, 42, 42);
	assert_counted(*state, 50, 20, 40, 20);
	assert_string_equal(label_of(*state, 700, 42), "run1");
	assert_string_equal(label_of(*state, 1500, 42), "run1");
	attribution_expire(((struct story *)*state)->attribution, 3000 * MS); /* and now it has gone */
	assert_counted(*state, 4000, 40, 1500, 1460);
}

static void
another_label_ends_the_run_of_the_first(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	assert_counted(*state, 30, 20, 30, 10);
	label_from(*state, 30, 42, "run2", LABEL_AT_ONCE);
	assert_counted(*state, 100, 30, 100, 70);
}

static void
two_runs_of_a_label_count_where_they_do_not_overlap(void **state)
{
	begin(*state, 10, 1, 42);
	begin(*state, 10, 1, 43);
	begin(*state, 10, 1, 44);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	label_from(*state, 30, 43, "run1", LABEL_AT_ONCE);
	story_exit(*state, 40, 42, 42);
	story_exit(*state, 50, 43, 43);
	label_from(*state, 80, 44, "run1", LABEL_AT_ONCE);
	story_exit(*state, 85, 44, 44);
	assert_counted(*state, 100, 20, 85, 35);
}

/* Its exit was lost: the pid is another process's, which has no label. */
static void
a_pid_that_is_given_again_ends_the_run(void **state)
{
	begin(*state, 10, 1, 42);
	label_from(*state, 20, 42, "run1", LABEL_AT_ONCE);
	begin(*state, 60, 1, 42);
	assert_counted(*state, 100, 20, 60, 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_process_without_a_label_has_none),
		STORY_TEST(a_label_begins_at_its_moment),
		STORY_TEST(a_label_at_exec_waits_for_it),
		STORY_TEST(another_name_is_no_exec),
		STORY_TEST(children_and_theirs_have_it_and_keep_it_over_exec),
		STORY_TEST(threads_have_it_and_what_they_begin),
		STORY_TEST(a_daemon_keeps_the_label_of_the_tree_it_left),
		STORY_TEST(children_from_before_have_none),
		STORY_TEST(a_pid_that_is_given_again_has_no_label),
		STORY_TEST(a_label_that_waited_for_an_exec_ends_with_its_process),
		STORY_TEST(an_inner_label_takes_the_place_of_the_outer_one),
		STORY_TEST(two_trees_with_one_label_are_one_context),
		STORY_TEST(what_the_kernel_does_for_a_process_has_its_label),
		STORY_TEST(a_new_session_keeps_the_labels),
		STORY_TEST(no_more_than_so_many_wait),
		STORY_TEST(each_change_of_who_has_a_label_is_counted),
		STORY_TEST(there_are_labels_while_who_has_or_awaits_one_lives),
		STORY_TEST(who_ends_before_the_exec_changes_who_has_a_label),
		STORY_TEST(a_run_lasts_from_its_exec_to_its_exit),
		STORY_TEST(a_run_lasts_until_the_last_of_its_tree_has_ended),
		STORY_TEST(threads_that_end_are_not_the_end),
		STORY_TEST(a_run_whose_main_thread_ends_first_lasts_as_long_as_the_others),
		STORY_TEST(another_label_ends_the_run_of_the_first),
		STORY_TEST(two_runs_of_a_label_count_where_they_do_not_overlap),
		STORY_TEST(a_pid_that_is_given_again_ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
