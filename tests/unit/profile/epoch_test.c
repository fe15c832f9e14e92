#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/epoch.h"

static void
fill_epoch(struct epoch *epoch)
{
	memset(epoch, 0, sizeof(*epoch));
	epoch->id = 3;
	epoch->start_ns = UINT64_C(1700000000000000000);
	epoch->end_ns = epoch->start_ns + 10;
	snprintf(epoch->label, sizeof(epoch->label), "before");
	snprintf(epoch->host, sizeof(epoch->host), "alpha");
	snprintf(epoch->kernel, sizeof(epoch->kernel), "6.1.0-18-amd64 #1 SMP x86_64");
	snprintf(epoch->cpu, sizeof(epoch->cpu), "Alpha 21164");
	epoch->cpu_count = 4;
	epoch->overhead_limit_ppm = 10000;
	epoch->start_cpu_ns = 150000000;
	epoch->is_kept = true;
	epoch->is_incoming = true;
	epoch->continues = true;
	epoch->event_count = 2;
	epoch->events[0] = (struct event){
		.name = "cpu-clock",
		.requested = "cycles",
		.note = "no PMU here",
		.encoding = {.type = 1, .config = 2, .config1 = UINT64_MAX, .config2 = 4, .unit = "ns"},
		.period = 1000000,
		.rate = 99,
		.cost_ns = 2500,
		.precise = 3,
		.available = true,
		.user = true,
		.kernel = true,
	};
	epoch->events[1] = (struct event){.name = "cache-misses", .requested = "cache-misses", .idle = true};
}

/* By hand: 20 to 23 ns, four texts, 2 CPUs, one event. */
static void
an_epoch_of_the_first_schema_is_read(void **state)
{
	static const uint8_t value[] = {1,   20, 3, 1, 'l', 0, 0, 0,   2,   1, /* */ 1, 'e', 1,
	                                'r', 0,  1, 2, 0,   0, 1, 'u', 100, 0, 3,       1};
	struct epoch *epoch = malloc(sizeof(*epoch));

	(void)state;
	assert_int_equal(epoch_decode(3, value, sizeof(value), epoch), 0);
	assert_int_equal(epoch->end_ns, 23);
	assert_string_equal(epoch->label, "l");
	assert_int_equal(epoch->cpu_count, 2);
	assert_int_equal(epoch->overhead_limit_ppm, 0);
	assert_int_equal(epoch->start_cpu_ns, 0);
	assert_false(epoch->is_kept);
	assert_false(epoch->continues);
	assert_false(epoch_value_is_kept(value, sizeof(value)));
	assert_string_equal(epoch->events[0].name, "e");
	assert_int_equal(epoch->events[0].period, 100);
	assert_int_equal(epoch->events[0].cost_ns, 0);
	assert_true(epoch->events[0].available);
	free(epoch);
}

static void
an_epoch_comes_back_as_it_was_written(void **state)
{
	struct epoch *epoch = malloc(sizeof(*epoch)), *back = malloc(sizeof(*back));
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	fill_epoch(epoch);
	epoch_encode(epoch, &writer);
	memset(back, 0xff, sizeof(*back));
	assert_int_equal(epoch_decode(3, writer.data, writer.size, back), 0);
	assert_int_equal(back->id, 3);
	assert_int_equal(back->start_ns, epoch->start_ns);
	assert_int_equal(back->end_ns, epoch->end_ns);
	assert_string_equal(back->label, "before");
	assert_string_equal(back->host, "alpha");
	assert_string_equal(back->kernel, epoch->kernel);
	assert_string_equal(back->cpu, "Alpha 21164");
	assert_int_equal(back->cpu_count, 4);
	assert_int_equal(back->overhead_limit_ppm, 10000);
	assert_int_equal(back->start_cpu_ns, 150000000);
	assert_true(back->is_kept);
	assert_false(back->is_imported);
	assert_true(back->continues);
	assert_true(epoch_value_is_kept(writer.data, writer.size));
	assert_true(epoch_value_is_incoming(writer.data, writer.size));
	assert_true(back->is_incoming);
	assert_int_equal(back->events[0].cost_ns, 2500);
	assert_int_equal(back->event_count, 2);
	assert_string_equal(back->events[0].name, "cpu-clock");
	assert_string_equal(back->events[0].requested, "cycles");
	assert_string_equal(back->events[0].note, "no PMU here");
	assert_int_equal(back->events[0].encoding.type, 1);
	assert_int_equal(back->events[0].encoding.config, 2);
	assert_true(back->events[0].encoding.config1 == UINT64_MAX);
	assert_int_equal(back->events[0].encoding.config2, 4);
	assert_string_equal(back->events[0].encoding.unit, "ns");
	assert_int_equal(back->events[0].period, 1000000);
	assert_int_equal(back->events[0].rate, 99);
	assert_int_equal(back->events[0].precise, 3);
	assert_true(back->events[0].available && back->events[0].user && back->events[0].kernel);
	assert_false(back->events[0].idle);
	assert_string_equal(back->events[1].name, "cache-misses");
	assert_true(back->events[1].idle);
	assert_false(back->events[1].available || back->events[1].user || back->events[1].kernel);
	writer_fini(&writer);
	free(epoch);
	free(back);
}

static void
an_epoch_that_ends_before_it_begins_ends_where_it_begins(void **state)
{
	struct epoch *epoch = malloc(sizeof(*epoch)), *back = malloc(sizeof(*back));
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	fill_epoch(epoch);
	epoch->end_ns = epoch->start_ns - 5; /* the clock was set back */
	epoch_encode(epoch, &writer);
	assert_int_equal(epoch_decode(3, writer.data, writer.size, back), 0);
	assert_int_equal(back->end_ns, epoch->start_ns);
	writer_fini(&writer);
	free(epoch);
	free(back);
}

static void
an_epoch_cut_anywhere_or_with_more_behind_it_is_refused(void **state)
{
	struct epoch *epoch = malloc(sizeof(*epoch));
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	fill_epoch(epoch);
	epoch_encode(epoch, &writer);
	for (size_t size = 0; size < writer.size; size++) {
		void *copy = malloc(size ? size : 1);

		memcpy(copy, writer.data, size);
		assert_int_equal(epoch_decode(3, copy, size, epoch), -DCPI_EDAMAGED);
		free(copy);
	}
	write_u8(&writer, 0);
	assert_int_equal(epoch_decode(3, writer.data, writer.size, epoch), -DCPI_EDAMAGED);
	writer_fini(&writer);
	free(epoch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_epoch_of_the_first_schema_is_read),
		cmocka_unit_test(an_epoch_comes_back_as_it_was_written),
		cmocka_unit_test(an_epoch_that_ends_before_it_begins_ends_where_it_begins),
		cmocka_unit_test(an_epoch_cut_anywhere_or_with_more_behind_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
