#include "collectord/budget.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/test.h"

#define NO_LIMIT UINT64_MAX

static struct event
clock_event(bool chosen)
{
	struct event event = {
		.name = "cpu-clock",
		.requested = "cycles",
		.encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .unit = "ns"},
		.available = true,
		.chosen = chosen,
		.user = true,
		.kernel = true,
	};

	return event;
}

static struct event
counter(const char *name, uint64_t config)
{
	struct event event = {
		.encoding = {.type = PERF_TYPE_HARDWARE, .config = config, .unit = "events"},
		.rate = 100,
		.available = true,
		.chosen = true,
		.user = true,
		.kernel = true,
	};

	snprintf(event.name, sizeof(event.name), "%s", name);
	return event;
}

/* As if every cost had been measured. */
static struct budget
budget_of(uint64_t limit_ppm, uint64_t max_rate, size_t count, uint64_t cost_ns, uint64_t count_rate)
{
	struct budget budget = {.limit_ppm = limit_ppm, .max_rate = max_rate, .count = count};

	for (size_t i = 0; i < count; i++)
		budget.events[i] =
			(struct budget_event){.cost_ns = cost_ns, .count_rate = count_rate, .is_exact = true};
	return budget;
}

/* 1 % of a second is 10 ms: room for 500 times 16 us, and a quarter of that for dcpid. A clock is 3.1 % slower: 485. */
static void
the_rate_is_what_the_limit_pays_for(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 16000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	assert_true(budget_plan(&budget, NO_LIMIT, &event));
	assert_int_equal(event.period, 2062000);
	assert_int_equal(event.rate, 485);
}

static void
half_the_limit_is_half_the_rate(void **state)
{
	struct budget budget = budget_of(5000, 5200, 1, 16000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	budget_plan(&budget, NO_LIMIT, &event);
	assert_int_equal(event.period, 4124000);
}

static void
cheap_samples_are_taken_at_the_highest_rate_and_no_faster(void **state)
{
	struct budget budget = budget_of(10000, 5200, 2, 500, UINT64_C(2600000000));
	struct event events[2] = {counter("cycles", PERF_COUNT_HW_CPU_CYCLES),
	                          counter("cache-misses", PERF_COUNT_HW_CACHE_MISSES)};

	(void)state;
	budget_plan(&budget, NO_LIMIT, events);
	assert_int_equal(events[0].rate, 2600); /* half of 5200 */
	assert_int_equal(events[0].period, 1000003);
	assert_int_equal(events[1].rate, 2600);
}

static void
the_kernels_limit_holds(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 16000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	budget_plan(&budget, 100, &event);
	assert_int_equal(event.period, 10310000); /* 1.031 / 100 s */
}

/* 200 a second at 20 us are 4 of the 10 ms; 6 ms are left for 300 of the other. */
static void
a_rate_that_is_given_leaves_less_to_the_others(void **state)
{
	struct budget budget = budget_of(10000, 5200, 2, 16000, 1000000000);
	struct event events[2] = {clock_event(false), clock_event(true)};

	(void)state;
	events[0].rate = 200;
	events[0].period = 5000000;
	budget_plan(&budget, NO_LIMIT, events);
	assert_int_equal(events[0].period, 5000000);
	assert_int_equal(events[1].period, 3436666); /* 10^9 / 300 = 3333333, and 31 thousandths of it more: 103333 */
}

static void
a_quarter_of_the_limit_is_always_left(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 20000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	budget.daemon_ppm = 30000;
	budget_plan(&budget, NO_LIMIT, &event);
	assert_int_equal(event.period, 8248000); /* 2.5 ms / 20 us = 125 a second, 8 ms, 3.1 % longer */
}

static void
at_least_one_sample_a_second_is_taken(void **state)
{
	struct budget budget = budget_of(1, 5200, 1, 20000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	budget_plan(&budget, NO_LIMIT, &event);
	assert_int_equal(event.rate, 1);
}

static void
an_event_that_is_not_available_takes_no_share(void **state)
{
	struct budget budget = budget_of(10000, 5200, 2, 16000, 1000000000);
	struct event events[2] = {clock_event(true), counter("cache-misses", PERF_COUNT_HW_CACHE_MISSES)};

	(void)state;
	events[1].available = false;
	budget_plan(&budget, NO_LIMIT, events);
	assert_int_equal(events[0].period, 2062000);
	assert_int_equal(events[1].period, 0);
}

/* A second plan that differs by a tenth or less changes nothing: no epoch for it. */
static void
small_changes_are_not_made(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 16000, 1000000000);
	struct event event = clock_event(true);

	(void)state;
	assert_true(budget_plan(&budget, NO_LIMIT, &event));
	budget.events[0].cost_ns = 17000;
	assert_false(budget_plan(&budget, NO_LIMIT, &event));
	assert_int_equal(event.period, 2062000);
	budget.events[0].cost_ns = 24000;
	assert_true(budget_plan(&budget, NO_LIMIT, &event));
	assert_int_equal(event.rate, 323); /* 10 ms / 30 us = 333, 3.1 % less */
}

static void
a_period_that_is_given_says_its_rate(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 19000, UINT64_C(3000000000));
	struct event event = counter("cycles", PERF_COUNT_HW_CPU_CYCLES);

	(void)state;
	event.chosen = false;
	event.period = 2000003;
	event.rate = 0;
	assert_false(budget_plan(&budget, NO_LIMIT, &event));
	assert_int_equal(event.period, 2000003);
	assert_int_equal(event.rate, 1500);
}

/* ---- what was seen ---- */

static void
what_dcpid_uses_beyond_its_share_is_learnt(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 16000, 1000000000);
	struct budget_observation seen = {.cpu_ns = 1000000000, .busy_ns = 500000000, .daemon_ns = 4000000};
	struct event event = clock_event(true);

	(void)state;
	budget_plan(&budget, NO_LIMIT, &event);
	budget_learn(&budget, &event, &seen);
	assert_int_equal(budget.daemon_ppm, 4000);
	assert_true(budget_plan(&budget, NO_LIMIT, &event));
	assert_int_equal(event.rate, 364); /* 6 ms / 16 us = 375, 3.1 % less */
	seen.daemon_ns = 1400000;          /* 1400 ppm; 364 samples at 4 us are 1456 */
	budget_learn(&budget, &event, &seen);
	assert_int_equal(budget.daemon_ppm, 0);
}

/* A counter that is guessed to count 100 million a second of a busy CPU. */
static uint64_t
learnt(uint64_t samples, uint64_t busy_ns)
{
	struct budget budget = budget_of(10000, 5200, 1, 1000, 100000000);
	struct budget_observation seen = {.cpu_ns = 10000000000, .busy_ns = busy_ns, .samples = {samples}};
	struct event event = counter("cache-misses", PERF_COUNT_HW_CACHE_MISSES);

	budget.events[0].is_exact = false;
	event.period = 10000;
	budget_learn(&budget, &event, &seen);
	return budget.events[0].count_rate;
}

static void
a_counter_that_counts_more_than_was_thought_is_slowed_at_once(void **state)
{
	(void)state;
	assert_int_equal(learnt(100000, 5000000000), 200000000); /* 10^9 in 5 s of work */
	assert_int_equal(learnt(1000000, 500000000), UINT64_C(20000000000));
}

static void
a_counter_that_counts_less_is_sampled_more_often_by_steps(void **state)
{
	(void)state;
	assert_int_equal(learnt(10000, 5000000000), 40000000);  /* 20 million a second were seen: room for twice that */
	assert_int_equal(learnt(0, 5000000000), 25000000);      /* a quarter, and no less */
	assert_int_equal(learnt(20000, 5000000000), 100000000); /* 40 million: the guess is good enough */
}

static void
an_idle_machine_teaches_nothing(void **state)
{
	(void)state;
	assert_int_equal(learnt(10, 1000000000), 100000000);
	assert_int_equal(learnt(0, 0), 100000000);
}

static void
what_is_a_fact_is_not_learnt(void **state)
{
	struct budget budget = budget_of(10000, 5200, 1, 1000, 1000000000);
	struct budget_observation seen = {.cpu_ns = 1000000000, .busy_ns = 1000000000, .samples = {7}};
	struct event event = clock_event(true);

	(void)state;
	event.period = 1000000;
	budget_learn(&budget, &event, &seen);
	assert_int_equal(budget.events[0].count_rate, 1000000000);
}

/* An event that no kernel has: to measure it again is refused. */
static void
a_cost_that_cannot_be_measured_again_is_what_it_was(void **state)
{
	const struct event_features features = {0};
	struct budget budget = budget_of(10000, 5200, 1, 33000, 1000000000);
	struct event event = counter("none", 0xffff);

	(void)state;
	event.cost_ns = 33000;
	budget_measure(&budget, &features, &event, 1, NULL);
	assert_int_equal(event.cost_ns, 33000);
	assert_int_equal(budget.events[0].cost_ns, 33000);
	assert_int_equal(budget.events[0].count_rate, 1000000000);

	event.cost_ns = 0; /* as at the start */
	budget_measure(&budget, &features, &event, 1, NULL);
	assert_int_equal(event.cost_ns, 0);
	assert_int_equal(budget.events[0].cost_ns, BUDGET_COUNTER_COST_NS);
}

/* ---- this machine ---- */

static void
the_cost_of_a_clocks_sample_is_found_here(void **state)
{
	struct event_environment environment = {
		.open = event_open_system, .sysfs = "/sys", .procfs = "/proc", .default_rate = 100};
	const struct event_features features = {0};
	struct config config = {.overhead_limit_ppm = 10000, .max_rate = 5200};
	struct event_spec spec = {.name = "cpu-clock", .user = true, .kernel = true};
	struct event events[2];
	struct budget budget;
	char why[256];
	int err;

	(void)state;
	err = event_resolve(&environment, &spec, &events[0], why, sizeof(why));
	if (err == -EACCES || err == -EPERM)
		skip_because(why);
	assert_int_equal(err, 0);
	events[1] = counter("cache-misses", PERF_COUNT_HW_CACHE_MISSES);
	events[1].available = false;
	budget_init(&budget, &config);
	budget_measure(&budget, &features, events, 2, NULL);
	assert_in_range(events[0].cost_ns, 100, 2000000);
	assert_int_equal(budget.events[0].cost_ns, events[0].cost_ns);
	assert_int_equal(budget.events[1].cost_ns, 0);
}

/* A CPU counts cycles of its own kind of core: 10 ms pay for 2000 of the dearer, of 4 us and one for dcpid. */
static void
kinds_of_core_do_not_share_what_each_has_for_itself(void **state)
{
	struct budget budget = budget_of(10000, 5200, 2, 1000, UINT64_C(2000000000));
	struct event events[2] = {counter("cpu_core/cycles/", PERF_COUNT_HW_CPU_CYCLES),
	                          counter("cpu_atom/cycles/", PERF_COUNT_HW_CPU_CYCLES)};

	(void)state;
	snprintf(events[0].requested, sizeof(events[0].requested), "cycles");
	snprintf(events[1].requested, sizeof(events[1].requested), "cycles");
	budget.events[1].cost_ns = 4000;
	budget_plan(&budget, NO_LIMIT, events);
	assert_int_equal(events[0].period, 1000003); /* a prime */
	assert_int_equal(events[1].period, 1000003);
	budget.max_rate = 1000;
	budget_plan(&budget, NO_LIMIT, events);
	assert_int_equal(events[1].rate, 1000);
}

#define TEN_SECONDS UINT64_C(10000000000)

static void
what_costs_too_much_once_or_twice_is_let_be(void **state)
{
	struct budget_watch pace = {0};

	(void)state;
	assert_int_equal(budget_check(&pace, 3, 1, TEN_SECONDS), BUDGET_KEEP);
	assert_int_equal(budget_check(&pace, 3, 1, TEN_SECONDS), BUDGET_KEEP);
	assert_int_equal(budget_check(&pace, 0.5, 1, TEN_SECONDS), BUDGET_KEEP);
	assert_int_equal(budget_check(&pace, 3, 1, TEN_SECONDS), BUDGET_KEEP);
}

static void
what_costs_too_much_all_the_time_is_slowed_down(void **state)
{
	struct budget_watch pace = {0};

	(void)state;
	assert_int_equal(budget_check(&pace, 1.21, 1, TEN_SECONDS), BUDGET_KEEP);
	assert_int_equal(budget_check(&pace, 1.21, 1, TEN_SECONDS), BUDGET_KEEP);
	assert_int_equal(budget_check(&pace, 1.21, 1, TEN_SECONDS), BUDGET_SLOW_DOWN);
	assert_int_equal(budget_check(&pace, 1.21, 1, TEN_SECONDS), BUDGET_KEEP);
}

static void
a_little_more_than_the_limit_is_no_reason(void **state)
{
	struct budget_watch pace = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(budget_check(&pace, 1.19, 1, TEN_SECONDS), BUDGET_KEEP);
}

static void
every_ten_minutes_there_is_a_review(void **state)
{
	struct budget_watch pace = {0};

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 59; i++)
			assert_int_equal(budget_check(&pace, 0.1, 1, TEN_SECONDS), BUDGET_KEEP);
		assert_int_equal(budget_check(&pace, 0.1, 1, TEN_SECONDS), BUDGET_REVIEW);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_what_the_limit_pays_for),
		cmocka_unit_test(half_the_limit_is_half_the_rate),
		cmocka_unit_test(cheap_samples_are_taken_at_the_highest_rate_and_no_faster),
		cmocka_unit_test(the_kernels_limit_holds),
		cmocka_unit_test(a_rate_that_is_given_leaves_less_to_the_others),
		cmocka_unit_test(a_quarter_of_the_limit_is_always_left),
		cmocka_unit_test(at_least_one_sample_a_second_is_taken),
		cmocka_unit_test(an_event_that_is_not_available_takes_no_share),
		cmocka_unit_test(kinds_of_core_do_not_share_what_each_has_for_itself),
		cmocka_unit_test(small_changes_are_not_made),
		cmocka_unit_test(a_period_that_is_given_says_its_rate),
		cmocka_unit_test(what_dcpid_uses_beyond_its_share_is_learnt),
		cmocka_unit_test(a_counter_that_counts_more_than_was_thought_is_slowed_at_once),
		cmocka_unit_test(a_counter_that_counts_less_is_sampled_more_often_by_steps),
		cmocka_unit_test(an_idle_machine_teaches_nothing),
		cmocka_unit_test(what_is_a_fact_is_not_learnt),
		cmocka_unit_test(a_cost_that_cannot_be_measured_again_is_what_it_was),
		cmocka_unit_test(the_cost_of_a_clocks_sample_is_found_here),
		cmocka_unit_test(what_costs_too_much_once_or_twice_is_let_be),
		cmocka_unit_test(what_costs_too_much_all_the_time_is_slowed_down),
		cmocka_unit_test(a_little_more_than_the_limit_is_no_reason),
		cmocka_unit_test(every_ten_minutes_there_is_a_review),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
