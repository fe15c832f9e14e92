/* How late samples are; tests/system/precise.sh has what dcpicalc makes of it. */
#include "tests/unit/test.h"

#include <string.h>

#include "analysis/skid.h"

#define INTEL "Intel(R) Core(TM) i7 (GenuineIntel family 6 model 186)"
#define AMD   "AMD EPYC 9R14 (AuthenticAMD family 25 model 17)"
#define HYGON "Hygon C86 7185 (HygonGenuine family 24 model 0)"
#define ARM   "ARM implementer 0x41, part 0xd40"

static const struct pipeline measured = {.timer_skid = 1, .pmu_skid = 3};
static const struct pipeline unknown = {.timer_skid = 2, .pmu_skid = PIPELINE_SKID_UNKNOWN};

static struct event
event_made(const char *name, const char *unit, uint32_t type, uint64_t config, uint8_t precise)
{
	struct event event = {.encoding = {.type = type, .config = config}, .precise = precise, .available = true};

	snprintf(event.name, sizeof(event.name), "%s", name);
	snprintf(event.encoding.unit, sizeof(event.encoding.unit), "%s", unit);
	return event;
}

static void
assert_skid(struct skid skid, unsigned instructions, enum skid_source source)
{
	assert_int_equal(skid.instructions, instructions);
	assert_int_equal(skid.source, source);
}

static struct skid
cycles_on(const char *cpu, uint8_t precise, const struct pipeline *pipeline)
{
	const struct event cycles =
		event_made("cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, precise);

	return skid_of_event(&cycles, cpu, pipeline);
}

static void
a_counter_without_precision_is_as_late_as_the_model_says(void **state)
{
	(void)state;
	assert_skid(cycles_on(INTEL, 0, &measured), 3, SKID_PMU);
	assert_skid(cycles_on(AMD, 0, &measured), 3, SKID_PMU);
	assert_skid(cycles_on(ARM, 0, &measured), 3, SKID_PMU);
	assert_skid(cycles_on(INTEL, 0, &unknown), 2, SKID_ASSUMED);
}

static void
levels_of_precision_mean_what_they_do_on_that_cpu(void **state)
{
	(void)state;
	assert_skid(cycles_on(INTEL, 1, &measured), 1, SKID_PRECISE);
	assert_skid(cycles_on("a recording without its CPU", 1, &measured), 1, SKID_PRECISE);
	for (uint8_t precise = 2; precise <= EVENT_PRECISE_MAX; precise++)
		assert_skid(cycles_on(INTEL, precise, &measured), 0, SKID_PRECISE);
	for (uint8_t precise = 1; precise <= EVENT_PRECISE_MAX; precise++) {
		assert_skid(cycles_on(AMD, precise, &measured), 0, SKID_PRECISE);
		assert_skid(cycles_on(HYGON, precise, &measured), 0, SKID_PRECISE);
		assert_skid(cycles_on(ARM, precise, &measured), 3, SKID_PMU);
	}
}

static void
what_the_kernel_samples_itself_has_no_level(void **state)
{
	const struct event clock = event_made("cpu-clock", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 3);
	const struct event faults =
		event_made("page-faults", "events", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0);

	(void)state;
	assert_skid(skid_of_event(&clock, INTEL, &measured), 1, SKID_TIMER);
	assert_skid(skid_of_event(&faults, INTEL, &measured), 0, SKID_NONE);
}

static void
what_was_counted_or_emulated_lies_where_it_is(void **state)
{
	static const uint32_t types[] = {EVENT_TYPE_DCPIX, EVENT_TYPE_EMULATED, EVENT_TYPE_TRUTH};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct event event = event_made("cycles", "cycles", types[i], 0, 0);

		assert_skid(skid_of_event(&event, INTEL, &measured), 0, SKID_NONE);
	}
}

/* Samples of the selection end with epoch 2: how epoch 3 samples does not matter. */
static void
the_newest_epoch_with_samples_decides_and_others_are_told(void **state)
{
	struct epoch epochs[3] = {
		{.id = 1, .event_count = 1}, {.id = 2, .event_count = 1}, {.id = 3, .event_count = 1}};
	const struct selection selection = {.epochs = epochs, .epoch_count = 3, .match = {.last_epoch = 2}};
	struct skid skid;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		snprintf(epochs[i].cpu, sizeof(epochs[i].cpu), "%s", INTEL);
	epochs[0].events[0] = epochs[1].events[0] = event_made("cycles", "cycles", PERF_TYPE_HARDWARE, 0, 2);
	epochs[2].events[0] = event_made("cycles", "cycles", PERF_TYPE_HARDWARE, 0, 0);
	skid = skid_of_selection(&selection, "cycles", &measured);
	assert_skid(skid, 0, SKID_PRECISE);
	assert_false(skid.differs);
	epochs[0].events[0].precise = 0;
	skid = skid_of_selection(&selection, "cycles", &measured);
	assert_skid(skid, 0, SKID_PRECISE);
	assert_true(skid.differs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_without_precision_is_as_late_as_the_model_says),
		cmocka_unit_test(levels_of_precision_mean_what_they_do_on_that_cpu),
		cmocka_unit_test(what_the_kernel_samples_itself_has_no_level),
		cmocka_unit_test(what_was_counted_or_emulated_lies_where_it_is),
		cmocka_unit_test(the_newest_epoch_with_samples_decides_and_others_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
