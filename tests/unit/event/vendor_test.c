/* Vendors' names of events, with libpfm4 believing that it runs on the CPU that LIBPFM_FORCE_PMU names. */
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/vendor.h"

#define SKYLAKE "skl"

/* Libraries for other architectures have tables of other CPUs. */
static void
need_skylake(void)
{
	void *library = dlopen("libpfm.so.4", RTLD_LAZY);

#ifndef __x86_64__
	skip_because("libpfm4 knows Skylake on x86-64 only");
#endif
	if (!library)
		skip_because("libpfm4 is not installed");
	dlclose(library);
	assert_int_equal(setenv("LIBPFM_FORCE_PMU", SKYLAKE, 1), 0);
}

static int
forget_cpu(void **state)
{
	(void)state;
	return unsetenv("LIBPFM_FORCE_PMU");
}

static void
assert_config(const char *name, uint64_t config, uint64_t config1)
{
	struct event_encoding encoding;
	char why[512] = "";

	memset(&encoding, 0xff, sizeof(encoding));
	assert_int_equal(vendor_event_encode(name, &encoding), 0);
	assert_int_equal(encoding.type, PERF_TYPE_RAW);
	assert_int_equal(encoding.config, config);
	assert_int_equal(encoding.config1, config1);
	assert_int_equal(encoding.config2, 0);
	memset(&encoding, 0xff, sizeof(encoding));
	assert_int_equal(event_encode("/nonexistent", name, &encoding, why, sizeof(why)), 0);
	assert_int_equal(encoding.type, PERF_TYPE_RAW);
	assert_int_equal(encoding.config, config);
	assert_int_equal(encoding.config1, config1);
	assert_string_equal(encoding.unit, "events");
}

/* Event, umask and counter mask as in Intel's SDM, volume 3B, 19.2 (Skylake); the latency's threshold is at least 3. */
static void
names_of_intels_manual_are_encoded(void **state)
{
	(void)state;
	need_skylake();
	assert_config("UOPS_ISSUED.ANY", 0x10e, 0);
	assert_config("MEM_LOAD_RETIRED.L3_MISS", 0x20d1, 0);
	assert_config("mem_load_retired.l3_miss", 0x20d1, 0);
	assert_config("UOPS_ISSUED.ANY.c=2", 0x200010e, 0);
	assert_config("MEM_TRANS_RETIRED.LOAD_LATENCY", 0x1cd, 3);
}

static void
modifiers_may_follow(void **state)
{
	struct event_encoding encoding;
	char why[512] = "";

	(void)state;
	need_skylake();
	assert_int_equal(event_encode("/nonexistent", "UOPS_ISSUED.ANY:upp", &encoding, why, sizeof(why)), 0);
	assert_int_equal(encoding.config, 0x10e);
}

static void
other_names_are_not_found(void **state)
{
	static const char *const names[] = {"UOPS_ISSUED.NONE",
	                                    "UOPS_ISSUED.",
	                                    "skl::UOPS_ISSUED.ANY",
	                                    "RETIRED_INSTRUCTIONS",
	                                    "r0x1",
	                                    "x",
	                                    "",
	                                    "UOPS_ISSUED.ANY.k",
	                                    "%s"};
	const struct event_encoding before = {.type = 7};
	struct event_encoding encoding = before;
	char why[512] = "";

	(void)state;
	need_skylake();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(vendor_event_encode(names[i], &encoding), -ENOENT);
	assert_memory_equal(&encoding, &before, sizeof(before));
	assert_int_equal(event_encode("/nonexistent", "UOPS_ISSUED.NONE", &encoding, why, sizeof(why)), -DCPI_ENOEVENT);
	assert_null(strstr(why, "libpfm4"));
}

/* Neither the kernel's own events nor raw ones are the vendor's, on whatever CPU this is. */
static void
perfs_names_are_not_the_vendors(void **state)
{
	static const char *const names[] = {"cycles", "PERF_COUNT_HW_CPU_CYCLES", "PERF_COUNT_SW_CPU_CLOCK", "r0x1",
	                                    "r1g"};
	struct event_encoding encoding;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(vendor_event_encode(names[i], &encoding) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_of_intels_manual_are_encoded, forget_cpu),
		cmocka_unit_test_teardown(modifiers_may_follow, forget_cpu),
		cmocka_unit_test_teardown(other_names_are_not_found, forget_cpu),
		cmocka_unit_test(perfs_names_are_not_the_vendors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
