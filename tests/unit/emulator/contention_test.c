/* Tests of emulator/model/contention.h: what threads pay for a line does not depend on the order in which they run. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/model/contention.h"

#define LINE     UINT64_C(77)
#define TRANSFER 50
#define FAR      150
#define QUANTUM  UINT64_C(100000)
#define CORES    16
#define BEGIN    UINT64_C(800000) /* of what is counted: by then each core has met the others */
#define END      UINT64_C(3000000)

struct stage {
	struct contention *contention;
	struct contended_line *line;
	unsigned cores, nodes;
	uint64_t clocks[CORES];
	uint64_t accesses[CORES], waited[CORES], far[CORES]; /* from BEGIN on */
};

static void
begin(struct stage *stage, unsigned cores, unsigned nodes)
{
	*stage = (struct stage){.cores = cores, .nodes = nodes};
	stage->contention = contention_new(cores, nodes, TRANSFER, FAR, QUANTUM);
	assert_non_null(stage->contention);
	assert_null(contention_find(stage->contention, LINE));
	for (unsigned i = 0; i < 3; i++)
		assert_false(contention_handed_over(stage->contention, LINE, i * QUANTUM));
	assert_true(contention_handed_over(stage->contention, LINE, 3 * QUANTUM));
	stage->line = contention_find(stage->contention, LINE);
	assert_non_null(stage->line);
	for (unsigned i = 0; i < cores; i++)
		stage->clocks[i] = 3 * QUANTUM;
}

static void
use(struct stage *stage, unsigned core, bool writes)
{
	const unsigned in_node = stage->cores / stage->nodes;
	const struct contender contender = {core, core / in_node, stage->clocks[core], stage->clocks[core], writes};
	bool is_far = false;
	const uint32_t wait = contention_access(stage->contention, stage->line, &contender, &is_far);

	stage->clocks[core] += wait;
	if (stage->clocks[core] < BEGIN)
		return;
	stage->waited[core] += wait;
	stage->far[core] += wait && is_far;
	stage->accesses[core]++;
}

static unsigned
slowest(const struct stage *stage)
{
	unsigned least = 0;

	for (unsigned i = 1; i < stage->cores; i++)
		least = stage->clocks[i] < stage->clocks[least] ? i : least;
	return least;
}

/*
 * All cores write, with `work` cycles in between, up to END; each runs `ahead` cycles before another one does. Returns
 * the cycles between two writes of a core.
 */
static double
write_by_all(struct stage *stage, uint64_t work, uint64_t ahead)
{
	uint64_t accesses = 0;

	while (stage->clocks[slowest(stage)] < END) {
		const unsigned core = slowest(stage);
		const uint64_t until = stage->clocks[core] + ahead;

		do {
			stage->clocks[core] += work;
			use(stage, core, true);
		} while (stage->clocks[core] < until);
	}
	for (unsigned i = 0; i < stage->cores; i++)
		accesses += stage->accesses[i];
	return (double)(END - BEGIN) * stage->cores / (double)accesses;
}

static void
end(struct stage *stage)
{
	contention_free(stage->contention);
}

static void
assert_near(double value, double expected, double part)
{
	if (value < expected * (1 - part) || value > expected * (1 + part))
		print_error("%g, not %g\n", value, expected);
	assert_true(value >= expected * (1 - part) && value <= expected * (1 + part));
}

/* A line that all want all the time goes from one to the next: a core has it again after all others. */
static void
a_counter_of_several_threads_is_handed_over_each_time(void **state)
{
	static const uint64_t orders[] = {1, 1000, QUANTUM};
	struct stage stage;

	(void)state;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (unsigned cores = 2; cores <= CORES; cores *= 2) {
			begin(&stage, cores, 1);
			assert_near(write_by_all(&stage, 10, orders[i]), cores * TRANSFER, 0.02);
			end(&stage);
		}
	}
}

static void
between_nodes_it_takes_longer(void **state)
{
	static const uint64_t orders[] = {1, 1000, QUANTUM};
	struct stage stage;

	(void)state;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		begin(&stage, 4, 2);
		/* one of three others is of the same node */
		assert_near(write_by_all(&stage, 10, orders[i]), 4 * (TRANSFER + 2 * FAR) / 3.0, 0.02);
		assert_true(stage.far[0] > 0);
		end(&stage);
	}
}

/* Who wants it seldom waits for it once each time, and for nobody else. */
static void
a_line_that_is_wanted_seldom_is_fetched_each_time(void **state)
{
	static const uint64_t orders[] = {1, 10000, QUANTUM};
	struct stage stage;

	(void)state;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		begin(&stage, 4, 1);
		assert_near(write_by_all(&stage, 2000, orders[i]), 2000 + TRANSFER, 0.05);
		end(&stage);
	}
}

/* One writes every 1000 cycles, and the other looks every 20: of 50 looks, one fetches the line. */
static void
who_reads_more_often_than_others_write_waits_once_for_each_write(void **state)
{
	static const uint64_t orders[] = {1, QUANTUM};
	struct stage stage;

	(void)state;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		begin(&stage, 2, 1);
		while (stage.clocks[0] < END || stage.clocks[1] < END) {
			const uint64_t until = stage.clocks[slowest(&stage)] + orders[i];

			while (stage.clocks[0] < until) {
				stage.clocks[0] += 1000;
				use(&stage, 0, true);
			}
			while (stage.clocks[1] < until) {
				stage.clocks[1] += 20;
				use(&stage, 1, false);
			}
		}
		assert_near((double)stage.waited[1] / TRANSFER, (double)stage.accesses[0], 0.1);
		assert_near((double)stage.waited[0] / TRANSFER, (double)stage.accesses[0], 0.1);
		end(&stage);
	}
}

static void
readers_do_not_wait_for_each_other(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, 4, 1);
	for (unsigned i = 0; i < 100000; i++) {
		stage.clocks[i % 4] += 20;
		use(&stage, i % 4, false);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(stage.waited[i], 0);
	end(&stage);
}

static void
a_line_that_only_one_uses_is_contended_no_longer(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, 2, 1);
	write_by_all(&stage, 10, 1000);
	assert_non_null(contention_find(stage.contention, LINE));
	for (unsigned i = 0; i < 100000 && contention_find(stage.contention, LINE); i++) {
		stage.clocks[0] += 10;
		use(&stage, 0, true);
	}
	assert_null(contention_find(stage.contention, LINE));
	end(&stage);
}

static void
handovers_far_apart_are_no_contention(void **state)
{
	struct stage stage = {.contention = contention_new(2, 1, TRANSFER, FAR, QUANTUM)};

	(void)state;
	assert_non_null(stage.contention);
	for (unsigned i = 0; i < 100; i++)
		assert_false(contention_handed_over(stage.contention, LINE, i * 5 * QUANTUM));
	assert_null(contention_find(stage.contention, LINE));
	end(&stage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_of_several_threads_is_handed_over_each_time),
		cmocka_unit_test(between_nodes_it_takes_longer),
		cmocka_unit_test(a_line_that_is_wanted_seldom_is_fetched_each_time),
		cmocka_unit_test(who_reads_more_often_than_others_write_waits_once_for_each_write),
		cmocka_unit_test(readers_do_not_wait_for_each_other),
		cmocka_unit_test(a_line_that_only_one_uses_is_contended_no_longer),
		cmocka_unit_test(handovers_far_apart_are_no_contention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
