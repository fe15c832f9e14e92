#include "collectord/sample_cost.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "tests/unit/test.h"

static bool refuses_affinity;
static unsigned moves; /* that the thread seems to make, one a question */

/* In place of libc's: as the service's filter of calls has it. */
int
sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	if (refuses_affinity) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_sched_setaffinity, pid, size, set);
}

/* In place of libc's: the second answer of each pair is another CPU, while there are moves to make. */
int
sched_getcpu(void)
{
	static bool is_second;
	unsigned cpu = 0;

	if (syscall(SYS_getcpu, &cpu, NULL, NULL))
		return -1;
	is_second = moves > 0 && !is_second;
	if (moves > 0 && !is_second) {
		moves--;
		return (int)cpu + 1;
	}
	return (int)cpu;
}

static struct event
resolve(const char *name)
{
	const struct event_environment environment = {
		.open = event_open_system, .sysfs = "/sys", .procfs = "/proc", .default_rate = 100};
	struct event_spec spec = {.user = true, .kernel = true};
	struct event event;
	char why[256];
	int err;

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	err = event_resolve(&environment, &spec, &event, why, sizeof(why));
	if (err == -EACCES || err == -EPERM)
		skip_because(why);
	assert_int_equal(err, 0);
	assert_true(event.available);
	return event;
}

static const struct event_features features;

static void
a_clocks_sample_costs_something_and_its_count_is_time(void **state)
{
	const struct event event = resolve("cpu-clock");
	struct sample_cost cost;

	(void)state;
	assert_int_equal(sample_cost_measure(&event, &features, &cost), 0);
	assert_in_range(cost.cost_ns, 100, 2000000);
	assert_true(cost.samples >= 16);
	assert_in_range(cost.count_rate, 500000000, 1500000000); /* ns a second, of a CPU that worked all the time */
}

static void
page_faults_are_made_to_happen(void **state)
{
	const struct event event = resolve("page-faults");
	struct sample_cost cost = {0};

	(void)state;
	/* where other work takes the caches away, a fault with a sample may look as cheap as one without */
	for (int i = 0; i < 20 && cost.cost_ns == 0; i++)
		assert_int_equal(sample_cost_measure(&event, &features, &cost), 0);
	assert_in_range(cost.cost_ns, 1, 2000000);
}

static void
what_a_loop_does_not_cause_cannot_be_measured(void **state)
{
	const struct event event = resolve("emulation-faults");
	struct sample_cost cost;

	(void)state;
	assert_int_equal(sample_cost_measure(&event, &features, &cost), -EAGAIN);
}

static void
what_the_kernel_refuses_is_said(void **state)
{
	struct event event = resolve("cpu-clock");
	struct sample_cost cost;

	(void)state;
	event.encoding.type = UINT32_MAX;
	assert_int_equal(sample_cost_measure(&event, &features, &cost), -ENOENT);
}

static void
the_thread_may_run_where_it_could_before(void **state)
{
	const struct event event = resolve("cpu-clock");
	struct sample_cost cost;
	cpu_set_t before, after;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	sample_cost_measure(&event, &features, &cost);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

/* The thread may be moved, and does not notice: of what is measured then, too few samples are its own. */
static void
who_may_not_bind_himself_measures_where_he_is(void **state)
{
	const struct event event = resolve("cpu-clock");
	struct sample_cost cost = {0};
	int err = -EAGAIN;

	(void)state;
	refuses_affinity = true;
	for (int i = 0; i < 20 && err == -EAGAIN; i++)
		err = sample_cost_measure(&event, &features, &cost);
	refuses_affinity = false;
	assert_int_equal(err, 0);
	assert_in_range(cost.cost_ns, 100, 2000000);
}

static void
who_was_moved_measures_again_and_not_for_ever(void **state)
{
	const struct event event = resolve("cpu-clock");
	struct sample_cost cost = {0};

	(void)state;
	refuses_affinity = true;
	moves = 100;
	assert_int_equal(sample_cost_measure(&event, &features, &cost), -EAGAIN);
	refuses_affinity = false;
	assert_int_equal(moves, 97);
	moves = 0;
}

/* Processor time: how long it takes on a busy machine is not its doing. */
static void
it_takes_little_time(void **state)
{
	const struct event event = resolve("cpu-clock");
	const uint64_t before_ns = machine_cpu_time_ns();
	struct sample_cost cost;

	(void)state;
	sample_cost_measure(&event, &features, &cost);
	assert_in_range(machine_cpu_time_ns() - before_ns, 1000000, 100000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clocks_sample_costs_something_and_its_count_is_time),
		cmocka_unit_test(page_faults_are_made_to_happen),
		cmocka_unit_test(what_a_loop_does_not_cause_cannot_be_measured),
		cmocka_unit_test(what_the_kernel_refuses_is_said),
		cmocka_unit_test(the_thread_may_run_where_it_could_before),
		cmocka_unit_test(who_may_not_bind_himself_measures_where_he_is),
		cmocka_unit_test(who_was_moved_measures_again_and_not_for_ever),
		cmocka_unit_test(it_takes_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
