/* Tests of collectord/capture_thread.h: users that run shell scripts in the place of dcpi-capture. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/capture_child.h"
#include "collectord/capture_thread.h"
#include "tests/remove_tree.h"

#define PATIENCE_NS (60 * SECOND_NS)

/* A user that has a number of runs to do, one after the other. */
struct runner {
	struct capture_thread_stage *stage;
	const char *program;
	unsigned begun, ended, wanted;
	bool is_own; /* its work is done on the thread itself */
	unsigned asked;
	int error; /* of the last */
	struct byte_writer request;
	struct capture_outcome outcome;
};

struct capture_thread_stage {
	char directory[64], hanging[96], good[96];
	char order[16]; /* the first letters of what began */
	struct capture_thread *thread;
	struct runner first, second;
};

static void
write_script(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int
set_up(void **state)
{
	static struct capture_thread_stage stage;

	memset(&stage, 0, sizeof(stage));
	snprintf(stage.directory, sizeof(stage.directory), "/tmp/capture-thread-XXXXXX");
	if (!mkdtemp(stage.directory))
		return -1;
	snprintf(stage.hanging, sizeof(stage.hanging), "%s/hanging", stage.directory);
	snprintf(stage.good, sizeof(stage.good), "%s/good", stage.directory);
	write_script(stage.hanging, "#!/bin/sh\nexec sleep 600\n");
	write_script(stage.good, "#!/bin/sh\nprintf '\\004\\000\\000\\000\\001\\000'\n"); /* the end: 0 */
	stage.thread = capture_thread_new("unused");
	*state = &stage;
	return stage.thread ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct capture_thread_stage *stage = *state;

	capture_thread_free(stage->thread);
	capture_outcome_fini(&stage->first.outcome);
	capture_outcome_fini(&stage->second.outcome);
	return remove_tree(stage->directory);
}

static bool
begin(void *context, uint64_t now_ns, struct capture_child *child, uint64_t *due_ns)
{
	struct runner *runner = context;
	struct capture_thread_stage *stage = runner->stage;
	const size_t length = strlen(stage->order);

	assert_true(now_ns > 0);
	runner->asked++;
	*due_ns = UINT64_MAX;
	if (runner->begun == runner->wanted)
		return false;
	runner->begun++;
	if (length + 1 < sizeof(stage->order))
		stage->order[length] = runner == &stage->first ? '1' : '2';
	capture_thread_unlock(stage->thread);
	if (runner->is_own)
		child->has_ended = true;
	else
		capture_child_start(child, runner->program, &runner->request, -1, &runner->outcome);
	capture_thread_lock(stage->thread);
	return true;
}

static void
end(void *context, const struct capture_child *child)
{
	struct runner *runner = context;

	assert_true(child->has_ended);
	runner->ended++;
	runner->error = runner->outcome.error;
	capture_outcome_fini(&runner->outcome);
}

static void
add(struct capture_thread_stage *stage, struct runner *runner, const char *program, unsigned wanted)
{
	runner->stage = stage;
	runner->program = program;
	runner->request = (struct byte_writer)BYTE_WRITER_INIT;
	runner->wanted = wanted;
	capture_thread_add(stage->thread, &(struct capture_user){runner, begin, end});
}

static void
want(struct capture_thread_stage *stage, struct runner *runner, unsigned wanted)
{
	capture_thread_lock(stage->thread);
	runner->wanted = wanted;
	capture_thread_notify(stage->thread);
	capture_thread_unlock(stage->thread);
}

/* 0, or ETIMEDOUT. */
static int
wait_for(struct capture_thread_stage *stage, const unsigned *count, unsigned wanted)
{
	const uint64_t until_ns = monotonic_ns() + PATIENCE_NS;
	int err = 0;

	capture_thread_lock(stage->thread);
	while (*count < wanted && !err)
		err = capture_thread_wait_until(stage->thread, until_ns);
	capture_thread_unlock(stage->thread);
	return err;
}

static void
a_process_that_hangs_delays_no_other_user(void **state)
{
	struct capture_thread_stage *stage = *state;

	add(stage, &stage->first, stage->hanging, 1);
	add(stage, &stage->second, stage->good, 5);
	assert_int_equal(wait_for(stage, &stage->second.ended, 5), 0);
	assert_int_equal(stage->second.error, 0);
	assert_int_equal(stage->first.ended, 0);
	assert_int_equal(wait_for(stage, &stage->first.ended, 1), 0);
	assert_int_equal(stage->first.error, -ETIMEDOUT);
}

/* Work of one user that comes while the process of the other runs. */
static void
work_that_comes_meanwhile_is_begun(void **state)
{
	struct capture_thread_stage *stage = *state;

	add(stage, &stage->first, stage->good, 0);
	add(stage, &stage->second, stage->hanging, 1);
	usleep(100000);
	want(stage, &stage->first, 1);
	assert_int_equal(wait_for(stage, &stage->first.ended, 1), 0);
	assert_int_equal(stage->second.ended, 0);
}

static void
users_begin_in_turn_and_the_one_added_first_before(void **state)
{
	struct capture_thread_stage *stage = *state;

	stage->first.is_own = stage->second.is_own = true;
	add(stage, &stage->first, NULL, 0);
	add(stage, &stage->second, NULL, 0);
	capture_thread_lock(stage->thread);
	stage->first.wanted = stage->second.wanted = 3;
	capture_thread_notify(stage->thread);
	capture_thread_unlock(stage->thread);
	assert_int_equal(wait_for(stage, &stage->second.ended, 3), 0);
	assert_string_equal(stage->order, "121212");
}

static void
a_thread_that_stops_ends_its_processes(void **state)
{
	struct capture_thread_stage *stage = *state;
	const uint64_t began_ns = monotonic_ns();

	add(stage, &stage->first, stage->hanging, 1);
	add(stage, &stage->second, stage->hanging, 1);
	usleep(100000);
	capture_thread_stop(stage->thread);
	assert_int_equal(stage->first.ended, stage->first.begun);
	assert_int_equal(stage->second.ended, stage->second.begun);
	assert_int_equal(stage->first.error, stage->first.begun ? -ECANCELED : 0);
	assert_true(monotonic_ns() - began_ns < PATIENCE_NS);
}

static void
a_thread_with_nothing_to_do_sleeps(void **state)
{
	struct capture_thread_stage *stage = *state;
	unsigned asked;

	add(stage, &stage->first, stage->good, 1);
	assert_int_equal(wait_for(stage, &stage->first.ended, 1), 0);
	usleep(300000);
	asked = stage->first.asked;
	sleep(2);
	assert_int_equal(stage->first.asked, asked);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_process_that_hangs_delays_no_other_user),
		CASE(work_that_comes_meanwhile_is_begun),
		CASE(users_begin_in_turn_and_the_one_added_first_before),
		CASE(a_thread_that_stops_ends_its_processes),
		CASE(a_thread_with_nothing_to_do_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
