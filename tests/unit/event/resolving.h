/*
 * resolving.h - an event that is resolved on a machine of files, by a kernel whose answers are written down
 */
#ifndef DCPI_TESTS_RESOLVING_H
#define DCPI_TESTS_RESOLVING_H

#include "tests/unit/test.h"

#include <string.h>

#include "event/event.h"
#include "tests/unit/event/fake_tree.h"
#include "tests/unit/event/scripted_kernel.h"

#define HARDWARE PERF_TYPE_HARDWARE
#define SOFTWARE PERF_TYPE_SOFTWARE
#define CYCLES   PERF_COUNT_HW_CPU_CYCLES
#define MISSES   PERF_COUNT_HW_CACHE_MISSES

struct resolving_fixture {
	struct fake_tree tree;
	struct scripted_kernel kernel;
	struct event_environment environment;
	struct event event;
	char why[1024];
};

static inline int
setup(void **state)
{
	struct resolving_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fake_tree_init(&fixture->tree);
	fake_tree_add_cpu_pmu(&fixture->tree);
	fake_tree_write(&fixture->tree, "sys/kernel/perf_event_paranoid", "2\n");
	fake_tree_write(&fixture->tree, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	fixture->environment = (struct event_environment){
		.open = scripted_open,
		.open_context = &fixture->kernel,
		.sysfs = fixture->tree.root,
		.procfs = fixture->tree.root,
		.cpu = 2,
		.default_rate = 250,
	};
	*state = fixture;
	return 0;
}

static inline int
teardown(void **state)
{
	struct resolving_fixture *fixture = *state;

	fake_tree_fini(&fixture->tree);
	free(fixture);
	return 0;
}

static inline struct event_spec
spec_of(const char *name)
{
	struct event_spec spec = {.rate = 4000, .precise = 3, .user = true, .kernel = true};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	return spec;
}

static inline int
resolve(struct resolving_fixture *fixture, const struct event_spec *spec, const struct answer *answers, size_t count)
{
	unsigned before = open_descriptors();
	int err;

	fixture->kernel.answers = answers;
	fixture->kernel.count = count;
	fixture->kernel.asked = 0;
	err = event_resolve(&fixture->environment, spec, &fixture->event, fixture->why, sizeof(fixture->why));
	assert_int_equal(open_descriptors(), before); /* nothing is left open */
	return err;
}

/* Resolve `name` by the answers that follow, if any; else by a machine without a PMU. */
#define RESOLVE(fixture, name, ...)                                                                                    \
	({                                                                                                             \
		const struct answer answers_[] = {__VA_ARGS__};                                                        \
		struct event_spec spec_ = spec_of(name);                                                               \
		resolve(fixture, &spec_, answers_, sizeof(answers_) / sizeof(answers_[0]));                            \
	})

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
