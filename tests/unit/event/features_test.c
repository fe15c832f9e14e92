#include "tests/unit/test.h"

#include "event/event.h"
#include "tests/unit/event/scripted_kernel.h"

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
		cmocka_unit_test(each_feature_is_found_whatever_the_others_are),
		cmocka_unit_test(a_refusal_of_the_plainest_event_is_an_error),
		cmocka_unit_test(a_lack_of_descriptors_is_not_taken_for_a_lack_of_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
