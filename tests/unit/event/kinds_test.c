#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "tests/unit/event/fake_tree.h"

#define ASKED_MAX 32
#define EXTENDED  ((uint64_t)UINT32_MAX << 32)

/* A kernel of a hybrid machine: each PMU grants what is asked on its own CPUs only. */
struct hybrid {
	struct fake_tree tree;
	struct event_environment environment;
	bool is_old;  /* knows no PMU's type in a generic event */
	bool is_held; /* someone else holds the counters */
	size_t asked;
	struct perf_event_attr attrs[ASKED_MAX];
	int cpus[ASKED_MAX];
	struct event events[EVENTS_MAX];
	char why[512];
};

static int
open_on_hybrid(void *context, struct perf_event_attr *attr, int cpu)
{
	struct hybrid *machine = context;
	const uint32_t type = cpu < 4 ? 4 : 10;

	assert_true(machine->asked < ASKED_MAX);
	machine->attrs[machine->asked] = *attr;
	machine->cpus[machine->asked++] = cpu;
	if (attr->type == PERF_TYPE_HARDWARE && machine->is_held)
		return -EBUSY;
	if (attr->type == PERF_TYPE_HARDWARE && attr->config & EXTENDED &&
	    (machine->is_old || attr->config >> 32 != type))
		return machine->is_old ? -EINVAL : -ENOENT;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int
make_hybrid(void **state)
{
	struct hybrid *machine = calloc(1, sizeof(*machine));

	assert_non_null(machine);
	fake_tree_init(&machine->tree);
	fake_tree_write(&machine->tree, "devices/system/cpu/online", "0-5\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_atom/type", "10\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_atom/cpus", "4-5\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_core/type", "4\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_core/cpus", "0-3\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_core/events/cpu-cycles", "event=0x3c\n");
	fake_tree_write(&machine->tree, DEVICES "/cpu_core/format/event", "config:0-7\n");
	fake_tree_write(&machine->tree, DEVICES "/uncore/type", "20\n");
	fake_tree_write(&machine->tree, DEVICES "/uncore/cpumask", "2\n");
	fake_tree_write(&machine->tree, DEVICES "/software/type", "1\n");
	machine->environment = (struct event_environment){
		.open = open_on_hybrid,
		.open_context = machine,
		.sysfs = machine->tree.root,
		.procfs = machine->tree.root,
		.cpu = 0,
		.default_rate = 100,
	};
	*state = machine;
	return 0;
}

static int
free_hybrid(void **state)
{
	struct hybrid *machine = *state;

	fake_tree_fini(&machine->tree);
	free(machine);
	return 0;
}

static int
resolve(struct hybrid *machine, const char *name)
{
	struct event_spec spec = {.period = 1000003, .user = true, .kernel = true};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	return event_resolve_kinds(&machine->environment, &spec, machine->events, EVENTS_MAX, machine->why,
	                           sizeof(machine->why));
}

static void
assert_event(const struct event *event, const char *name, uint64_t config)
{
	assert_string_equal(event->name, name);
	assert_string_equal(event->requested, "cycles");
	assert_string_equal(event->note, "");
	assert_string_equal(event->encoding.unit, "cycles");
	assert_true(event->available);
	assert_int_equal(event->encoding.type, PERF_TYPE_HARDWARE);
	assert_true(event->encoding.config == config);
}

static void
a_generic_event_becomes_one_for_each_kind_of_core(void **state)
{
	struct hybrid *machine = *state;

	assert_int_equal(resolve(machine, "cycles"), 2);
	assert_event(&machine->events[0], "cpu_core/cycles/", 4ULL << 32);
	assert_event(&machine->events[1], "cpu_atom/cycles/", 10ULL << 32);
}

static void
each_kind_is_asked_on_its_own_cpus_only(void **state)
{
	struct hybrid *machine = *state;

	assert_int_equal(resolve(machine, "cycles"), 2);
	assert_int_equal(machine->asked, 2);
	assert_int_equal(machine->cpus[0], 0);
	assert_int_equal(machine->cpus[1], 4);
}

static void
a_kind_is_asked_on_a_cpu_that_is_online(void **state)
{
	struct hybrid *machine = *state;

	fake_tree_write(&machine->tree, "devices/system/cpu/online", "0-3,5\n");
	assert_int_equal(resolve(machine, "cycles"), 2);
	assert_int_equal(machine->cpus[1], 5);
}

static void
modifiers_go_with_each_kind(void **state)
{
	struct hybrid *machine = *state;

	assert_int_equal(resolve(machine, "cpu-cycles:u"), 2);
	assert_string_equal(machine->events[0].name, "cpu_core/cycles/:u");
	assert_string_equal(machine->events[1].name, "cpu_atom/cycles/:u");
	assert_false(machine->events[0].kernel);
	assert_true(machine->attrs[1].exclude_kernel);
}

static void
an_older_kernel_finds_the_kind_by_the_cpu(void **state)
{
	struct hybrid *machine = *state;

	machine->is_old = true;
	assert_int_equal(resolve(machine, "cycles"), 2);
	assert_event(&machine->events[0], "cpu_core/cycles/", 0);
	assert_event(&machine->events[1], "cpu_atom/cycles/", 0);
	assert_int_equal(machine->cpus[machine->asked - 1], 4);
}

/* One clock for all, not one for each kind: it would be counted twice. */
static void
one_clock_stands_in_for_all_kinds(void **state)
{
	struct hybrid *machine = *state;

	machine->is_held = true;
	assert_int_equal(resolve(machine, "cycles"), 1);
	assert_string_equal(machine->events[0].name, "cpu-clock");
	assert_string_equal(machine->events[0].requested, "cycles");
	assert_non_null(strstr(machine->events[0].note, "someone else holds"));
}

static void
software_events_are_one_for_all_kinds(void **state)
{
	struct hybrid *machine = *state;

	assert_int_equal(resolve(machine, "page-faults"), 1);
	assert_string_equal(machine->events[0].name, "page-faults");
	assert_int_equal(resolve(machine, "cpu_core/event=0xc0/"), 1);
	assert_string_equal(machine->events[0].name, "cpu_core/event=0xc0/");
	assert_int_equal(machine->events[0].encoding.type, 4);
}

static void
a_machine_of_one_kind_has_one_event(void **state)
{
	struct hybrid *machine = *state;

	fake_tree_write(&machine->tree, DEVICES "/cpu_atom/cpus", "\n"); /* all of them are offline */
	assert_int_equal(resolve(machine, "cycles"), 1);
	assert_string_equal(machine->events[0].name, "cycles");
	assert_true(machine->events[0].encoding.config == PERF_COUNT_HW_CPU_CYCLES);
}

static void
more_events_than_fit_are_refused(void **state)
{
	const struct event_spec spec = {.name = "cycles", .period = 1000003, .user = true, .kernel = true};
	struct hybrid *machine = *state;

	assert_int_equal(event_resolve_kinds(&machine->environment, &spec, machine->events, 0, machine->why,
	                                     sizeof(machine->why)),
	                 -E2BIG);
	assert_string_equal(machine->why, "cycles: there are more than 32 events");
}

static void
assert_cpus(const struct hybrid *machine, const char *name, int count, uint32_t first)
{
	uint32_t *cpus;

	assert_int_equal(event_cpus(machine->tree.root, name, &cpus), count);
	if (count > 0)
		assert_int_equal(cpus[0], first);
	free(cpus);
}

static void
an_event_has_the_cpus_of_its_pmu(void **state)
{
	struct hybrid *machine = *state;

	assert_cpus(machine, "cpu_core/cycles/", 4, 0);
	assert_cpus(machine, "cpu_atom/cycles/:u", 2, 4);
	assert_cpus(machine, "uncore/event=1/", 1, 2);
	assert_cpus(machine, "software/event=1/", 0, 0);
	assert_cpus(machine, "cycles", 0, 0);
	fake_tree_write(&machine->tree, DEVICES "/cpu_atom/cpus", "\n");
	assert_cpus(machine, "cpu_atom/cycles/", -EINVAL, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_hybrid, free_hybrid)

static void
kinds_of_one_request_are_told_from_two_requests(void **state)
{
	const struct event core = {.name = "cpu_core/cycles/", .requested = "cycles"};
	const struct event atom = {.name = "cpu_atom/cycles/", .requested = "cycles"};
	const struct event misses = {.name = "cpu_atom/cache-misses/", .requested = "cache-misses"};
	const struct event timer = {.name = "cpu-clock", .requested = "cycles"};

	(void)state;
	assert_true(event_is_other_kind(&core, &atom));
	assert_false(event_is_other_kind(&core, &core));
	assert_false(event_is_other_kind(&core, &misses));
	assert_false(event_is_other_kind(&core, &timer));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_generic_event_becomes_one_for_each_kind_of_core),
		CASE(each_kind_is_asked_on_its_own_cpus_only),
		CASE(a_kind_is_asked_on_a_cpu_that_is_online),
		CASE(modifiers_go_with_each_kind),
		CASE(an_older_kernel_finds_the_kind_by_the_cpu),
		CASE(one_clock_stands_in_for_all_kinds),
		CASE(software_events_are_one_for_all_kinds),
		CASE(a_machine_of_one_kind_has_one_event),
		CASE(more_events_than_fit_are_refused),
		cmocka_unit_test(kinds_of_one_request_are_told_from_two_requests),
		CASE(an_event_has_the_cpus_of_its_pmu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
