/* Labels among real samples. */
#include "collectord/sampler.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

/* Skips where all-CPU events are refused. */
static struct sampler *
open_sampler(void)
{
	struct config config = {.tally_limit = 4096, .ring_pages = 256, .sideband_pages = 64, .event_count = 1};
	struct sampler *sampler;
	char why[512];
	int err;

	config.events[0] = (struct event_spec){.name = "cpu-clock", .rate = 1000, .user = true, .kernel = true};
	err = sampler_open(&config, NULL, NULL, &sampler, why, sizeof(why));
	if (err == -EACCES || err == -EPERM)
		skip_because(why);
	assert_int_equal(err, 0);
	assert_int_equal(sampler_enable(sampler), 0);
	return sampler;
}

/* Processor time, not time of day: other processes may want the CPUs as well. */
static void
burn(uint64_t duration_ns)
{
	const uint64_t start_ns = machine_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	while (machine_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns < duration_ns)
		;
}

static void
drain_all(struct sampler *sampler)
{
	while (sampler_drain_all(sampler) == -ENOSPC)
		fail_msg("the tally is too small");
}

/* Samples of this program's name, under that label. */
static uint64_t
count_own(struct sampler *sampler, const char *label)
{
	size_t count;
	const struct tally_entry *entries = tally_sort(sampler_tally(sampler), &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct context *context = context_table_get(sampler_contexts(sampler), entries[i].context);

		if (strcmp(context->comm, "sampler_labels_") == 0 && strcmp(context->label, label) == 0)
			sum += entries[i].count;
	}
	return sum;
}

/* Both halves lie in one ring and are read in one run, of which the label takes the one half. */
static void
a_label_takes_what_was_sampled_from_its_moment_on(void **state)
{
	struct sampler *sampler = open_sampler();
	uint64_t before, after;

	(void)state;
	burn(300 * MS);
	assert_int_equal(
		sampler_label(sampler, (uint32_t)getpid(), "half", LABEL_AT_ONCE, machine_clock_ns(CLOCK_MONOTONIC)),
		0);
	burn(300 * MS);
	drain_all(sampler);
	before = count_own(sampler, "");
	after = count_own(sampler, "half");
	print_message("%llu samples before, %llu after\n", (unsigned long long)before, (unsigned long long)after);
	assert_in_range(before, 200, 400);
	assert_in_range(after, 200, 400);
	sampler_close(sampler);
}

static void
work_in_child(uint64_t duration_ns)
{
	const pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		burn(duration_ns);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
a_child_of_after_has_it_one_of_before_has_not(void **state)
{
	struct sampler *sampler = open_sampler();

	(void)state;
	work_in_child(200 * MS);
	assert_int_equal(
		sampler_label(sampler, (uint32_t)getpid(), "tree", LABEL_AT_ONCE, machine_clock_ns(CLOCK_MONOTONIC)),
		0);
	work_in_child(200 * MS);
	drain_all(sampler);
	assert_in_range(count_own(sampler, ""), 120, 280);
	assert_in_range(count_own(sampler, "tree"), 120, 280);
	sampler_close(sampler);
}

static void
the_next_sampler_goes_on_with_the_labels_of_this(void **state)
{
	struct sampler *sampler = open_sampler(), *next;
	struct labelled_processes labelled = {0};

	(void)state;
	assert_int_equal(
		sampler_label(sampler, (uint32_t)getpid(), "kept", LABEL_AT_ONCE, machine_clock_ns(CLOCK_MONOTONIC)),
		0);
	drain_all(sampler);
	assert_int_equal(sampler_labelled(sampler, &labelled), 0);
	assert_int_equal(labelled.count, 1);
	assert_int_equal(labelled.list[0].pid, getpid());
	sampler_close(sampler);
	next = open_sampler();
	assert_int_equal(sampler_label_again(next, &labelled), 0);
	labelled_processes_fini(&labelled);
	work_in_child(100 * MS);
	drain_all(next);
	assert_int_equal(count_own(next, ""), 0);
	assert_true(count_own(next, "kept") >= 60);
	sampler_close(next);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_takes_what_was_sampled_from_its_moment_on),
		cmocka_unit_test(a_child_of_after_has_it_one_of_before_has_not),
		cmocka_unit_test(the_next_sampler_goes_on_with_the_labels_of_this),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
