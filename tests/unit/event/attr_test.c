#include "tests/unit/test.h"

#include <time.h>

#include "event/event.h"

#include "tests/unit/event/scripted_kernel.h"

static const struct event_features none = {0};
static const struct event_features all = {.cgroup = true, .ksymbol = true, .read_lost = true};

static struct event
cycles_at_rate(uint64_t rate)
{
	return (struct event){.encoding = {.type = PERF_TYPE_HARDWARE}, .rate = rate, .user = true, .kernel = true};
}

static struct perf_event_attr
sample_attr(const struct event *event, const struct event_features *features)
{
	struct perf_event_attr attr;

	event_sample_attr(event, features, &attr);
	return attr;
}

static void
a_rate_is_left_to_the_kernel_and_a_period_is_fixed(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr = sample_attr(&event, &none);

	(void)state;
	assert_true(attr.freq);
	assert_int_equal(attr.sample_freq, 997);
	event.period = 62000;
	attr = sample_attr(&event, &none);
	assert_false(attr.freq);
	assert_int_equal(attr.sample_period, 62000);
}

static void
samples_carry_what_attribution_needs(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr = sample_attr(&event, &none);

	(void)state;
	assert_int_equal(attr.sample_type,
	                 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	assert_true(attr.sample_id_all);
	assert_true(attr.use_clockid);
	assert_int_equal(attr.clockid, CLOCK_MONOTONIC);
	assert_int_equal(attr.read_format,
	                 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID);
	assert_int_equal(attr.size, sizeof(attr));
	attr = sample_attr(&event, &all);
	assert_true(attr.sample_type & PERF_SAMPLE_CGROUP);
	assert_true(attr.read_format & PERF_FORMAT_LOST);
}

static void
an_event_begins_disabled_and_wakes_nobody(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr = sample_attr(&event, &all);

	(void)state;
	assert_true(attr.disabled);
	assert_false(attr.watermark);
	assert_int_equal(attr.wakeup_events, 0);
	assert_false(attr.inherit);
}

static void
nothing_is_excluded_that_need_not_be(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr;

	(void)state;
	event.precise = 2;
	attr = sample_attr(&event, &all);
	assert_int_equal(attr.precise_ip, 2);
	assert_false(attr.exclude_user);
	assert_false(attr.exclude_kernel);
	assert_false(attr.exclude_hv);
	assert_false(attr.exclude_idle);
	assert_false(attr.exclude_guest);
	assert_false(attr.exclude_host);
}

static void
a_mode_that_is_not_wanted_is_excluded(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr;

	(void)state;
	event.kernel = false;
	attr = sample_attr(&event, &none);
	assert_true(attr.exclude_kernel);
	assert_true(attr.exclude_hv);
	assert_false(attr.exclude_user);
	event.kernel = true;
	event.user = false;
	attr = sample_attr(&event, &none);
	assert_false(attr.exclude_kernel);
	assert_true(attr.exclude_hv);
	assert_true(attr.exclude_user);
}

static void
only_clocks_exclude_the_idle_task(void **state)
{
	struct event event = cycles_at_rate(997);

	(void)state;
	assert_false(sample_attr(&event, &none).exclude_idle);
	event.encoding = (struct event_encoding){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
	assert_true(sample_attr(&event, &none).exclude_idle);
	event.idle = true;
	assert_false(sample_attr(&event, &none).exclude_idle);
}

static void
all_configs_reach_the_kernel(void **state)
{
	struct event event = cycles_at_rate(997);
	struct perf_event_attr attr;

	(void)state;
	event.encoding = (struct event_encoding){.type = 8, .config = 1, .config1 = 2, .config2 = 3};
	attr = sample_attr(&event, &none);
	assert_int_equal(attr.type, 8);
	assert_int_equal(attr.config, 1);
	assert_int_equal(attr.config1, 2);
	assert_int_equal(attr.config2, 3);
}

static void
the_sideband_carries_every_change_of_a_map(void **state)
{
	struct perf_event_attr attr;

	(void)state;
	event_sideband_attr(&none, &attr);
	assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
	assert_true(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task);
	assert_false(attr.cgroup || attr.ksymbol);
	assert_false(attr.exclude_kernel);
	event_sideband_attr(&all, &attr);
	assert_true(attr.cgroup && attr.ksymbol);
	assert_false(attr.build_id); /* it would change the records of other listeners */
}

/* Both kinds may share one ring: what ends their records must be the same. */
static void
both_kinds_have_the_same_trailer(void **state)
{
	uint64_t trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	struct event event = cycles_at_rate(997);
	struct perf_event_attr sample = sample_attr(&event, &all);
	struct perf_event_attr sideband;

	(void)state;
	event_sideband_attr(&all, &sideband);
	assert_int_equal(sample.sample_type & trailer, sideband.sample_type & trailer);
	assert_true(sideband.sample_id_all);
	assert_int_equal(sample.clockid, sideband.clockid);
	assert_false(sample.sample_type & ~(trailer | PERF_SAMPLE_IP | PERF_SAMPLE_CGROUP));
}

/* A kernel that knows the features `known`, and refuses everything with `refusal` once it was asked `refuse_at` times.
 */
struct feature_kernel {
	struct event_features known;
	int refusal;
	int refuse_at;
	int asked;
};

static int
feature_open(void *context, struct perf_event_attr *attr, int cpu)
{
	struct feature_kernel *kernel = context;
	const struct event_features *known = &kernel->known;

	assert_int_equal(cpu, 5);
	assert_int_equal(attr->type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr->config, PERF_COUNT_SW_DUMMY);
	if (kernel->refusal && kernel->asked++ >= kernel->refuse_at)
		return kernel->refusal;
	if (attr->build_id || (attr->ksymbol && !known->ksymbol) ||
	    ((attr->cgroup || attr->sample_type & PERF_SAMPLE_CGROUP) && !known->cgroup) ||
	    (attr->read_format & PERF_FORMAT_LOST && !known->read_lost))
		return -EINVAL;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int
probe(struct feature_kernel *kernel, struct event_features *features)
{
	struct event_environment environment = {.open = feature_open, .open_context = kernel, .cpu = 5};
	unsigned before = open_descriptors();
	int err = event_features_probe(&environment, features);

	assert_int_equal(open_descriptors(), before);
	return err;
}

static void
each_feature_is_found_whatever_the_others_are(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 8; known++) {
		struct feature_kernel kernel = {.known = {known & 1, known & 2, known & 4}};
		struct event_features features;

		assert_int_equal(probe(&kernel, &features), 0);
		assert_int_equal(features.cgroup, kernel.known.cgroup);
		assert_int_equal(features.ksymbol, kernel.known.ksymbol);
		assert_int_equal(features.read_lost, kernel.known.read_lost);
	}
}

static void
a_refusal_of_the_plainest_event_is_an_error(void **state)
{
	struct feature_kernel kernel = {.refusal = -EACCES};
	struct event_features features;

	(void)state;
	assert_int_equal(probe(&kernel, &features), -EACCES);
}

static void
a_lack_of_descriptors_is_not_taken_for_a_lack_of_features(void **state)
{
	(void)state;
	for (int at = 0; at < 4; at++) {
		struct feature_kernel kernel = {.known = {true, true, true}, .refusal = -EMFILE, .refuse_at = at};
		struct event_features features;

		assert_int_equal(probe(&kernel, &features), -EMFILE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_left_to_the_kernel_and_a_period_is_fixed),
		cmocka_unit_test(samples_carry_what_attribution_needs),
		cmocka_unit_test(an_event_begins_disabled_and_wakes_nobody),
		cmocka_unit_test(nothing_is_excluded_that_need_not_be),
		cmocka_unit_test(a_mode_that_is_not_wanted_is_excluded),
		cmocka_unit_test(only_clocks_exclude_the_idle_task),
		cmocka_unit_test(all_configs_reach_the_kernel),
		cmocka_unit_test(the_sideband_carries_every_change_of_a_map),
		cmocka_unit_test(both_kinds_have_the_same_trailer),
		cmocka_unit_test(each_feature_is_found_whatever_the_others_are),
		cmocka_unit_test(a_refusal_of_the_plainest_event_is_an_error),
		cmocka_unit_test(a_lack_of_descriptors_is_not_taken_for_a_lack_of_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
