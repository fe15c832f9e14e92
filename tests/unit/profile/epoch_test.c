#include "tests/unit/test.h"

#include <errno.h>
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
	assert_false(epoch_value_is_incoming(value, sizeof(value)));
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

static void
fill_slice(struct slice *slice, const struct slice_cpu *cpus, size_t cpu_count)
{
	memset(slice, 0, sizeof(*slice));
	slice->id = 7;
	slice->epoch = 3;
	slice->start_ns = 1000;
	slice->end_ns = 2000;
	slice->daemon_cpu_ns = 30;
	slice->sideband_lost = 4;
	slice->skipped = 5;
	slice->event_count = 2;
	slice->events[0].samples = 100;
	slice->events[0].lost = 6;
	slice->events[0].throttled = 7;
	slice->events[0].dropped = 12;
	slice->events[0].enabled_ns = 4000;
	slice->events[0].running_ns = 3000;
	slice->events[0].unknown[UNKNOWN_PROCESS] = 8;
	slice->events[0].unknown[UNKNOWN_MEMORY] = 9;
	slice->events[1].samples = 200;
	slice->cpus = calloc(cpu_count ? cpu_count : 1, sizeof(*cpus));
	memcpy(slice->cpus, cpus, cpu_count * sizeof(*cpus));
	slice->cpu_count = cpu_count;
}

static const struct slice_cpu some_cpus[] = {
	{.cpu = 0, .event = 0, .lost = 6},
	{.cpu = 1, .event = 0, .skipped = 5},
	{.cpu = 1, .event = 1, .throttled = 3},
	{.cpu = 1, .event = SLICE_SIDEBAND, .lost = 4},
};

static void
a_slice_comes_back_as_it_was_written(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct slice slice, back;

	(void)state;
	fill_slice(&slice, some_cpus, 4);
	slice_encode(&slice, &writer);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(slice_decode(7, writer.data, writer.size, &back), 0);
	assert_int_equal(back.id, 7);
	assert_int_equal(back.epoch, 3);
	assert_int_equal(back.start_ns, 1000);
	assert_int_equal(back.end_ns, 2000);
	assert_int_equal(back.daemon_cpu_ns, 30);
	assert_int_equal(back.sideband_lost, 4);
	assert_int_equal(back.skipped, 5);
	assert_int_equal(back.event_count, 2);
	assert_memory_equal(back.events, slice.events, 2 * sizeof(slice.events[0]));
	assert_int_equal(back.cpu_count, 4);
	assert_int_equal(back.cpus[0].lost, 6);
	assert_int_equal(back.cpus[1].skipped, 5);
	assert_int_equal(back.cpus[2].throttled, 3);
	assert_int_equal(back.cpus[3].event, SLICE_SIDEBAND);
	slice_fini(&slice);
	slice_fini(&back);
	writer_fini(&writer);
}

static void
cpus_without_losses_are_not_kept(void **state)
{
	static const struct slice_cpu cpus[] = {{.cpu = 0}, {.cpu = 2, .lost = 1}, {.cpu = 3}};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct slice slice, back;

	(void)state;
	fill_slice(&slice, cpus, 3);
	slice_encode(&slice, &writer);
	assert_int_equal(slice_decode(7, writer.data, writer.size, &back), 0);
	assert_int_equal(back.cpu_count, 1);
	assert_int_equal(back.cpus[0].cpu, 2);
	slice_fini(&slice);
	slice_fini(&back);
	writer_fini(&writer);
}

static void
a_slice_cut_anywhere_or_with_more_behind_it_is_refused(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct slice slice, back;

	(void)state;
	fill_slice(&slice, some_cpus, 4);
	slice_encode(&slice, &writer);
	for (size_t size = 0; size < writer.size; size++) {
		void *copy = malloc(size ? size : 1);

		memcpy(copy, writer.data, size);
		assert_int_equal(slice_decode(7, copy, size, &back), -DCPI_EDAMAGED);
		free(copy);
	}
	write_u8(&writer, 0);
	assert_int_equal(slice_decode(7, writer.data, writer.size, &back), -DCPI_EDAMAGED);
	slice_fini(&slice);
	writer_fini(&writer);
}

static void
cpus_out_of_order_are_refused(void **state)
{
	static const struct slice_cpu cpus[] = {{.cpu = 2, .lost = 1}, {.cpu = 1, .lost = 1}};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct slice slice, back;

	(void)state;
	fill_slice(&slice, cpus, 2);
	slice_encode(&slice, &writer);
	assert_int_equal(slice_decode(7, writer.data, writer.size, &back), -DCPI_EDAMAGED);
	slice_fini(&slice);
	writer_fini(&writer);
}

/* By hand: epoch 3, from 10 for 5 ns, 6 ns of dcpid, 1 record lost, 0 skipped, 1 event, 1 cause, no CPUs. */
static void
a_slice_of_the_first_schema_is_read(void **state)
{
	static const uint8_t value[] = {1, 3, 10, 5, 6, 1, 0, 1, /* */ 100, 7, 8, 1, 9, /* */ 0};
	struct slice slice;

	(void)state;
	assert_int_equal(slice_decode(7, value, sizeof(value), &slice), 0);
	assert_int_equal(slice.end_ns, 15);
	assert_int_equal(slice.events[0].samples, 100);
	assert_int_equal(slice.events[0].throttled, 8);
	assert_int_equal(slice.events[0].dropped, 0);
	assert_int_equal(slice.events[0].unknown[0], 9);
	slice_fini(&slice);
}

static void
slices_add_up(void **state)
{
	static const struct slice_cpu more_cpus[] = {
		{.cpu = 0, .event = 0, .lost = 10, .throttled = 1},
		{.cpu = 0, .event = 1, .lost = 11},
		{.cpu = 9, .event = 0, .lost = 12},
	};
	struct slice slice, more;

	(void)state;
	fill_slice(&slice, some_cpus, 4);
	fill_slice(&more, more_cpus, 3);
	more.start_ns = 2000;
	more.end_ns = 3000;
	more.events[1].samples = UINT64_MAX; /* stays there */
	assert_int_equal(slice_add(&slice, &more), 0);
	assert_int_equal(slice.start_ns, 1000);
	assert_int_equal(slice.end_ns, 3000);
	assert_int_equal(slice.daemon_cpu_ns, 60);
	assert_int_equal(slice.sideband_lost, 8);
	assert_int_equal(slice.skipped, 10);
	assert_int_equal(slice.events[0].samples, 200);
	assert_int_equal(slice.events[0].lost, 12);
	assert_int_equal(slice.events[0].throttled, 14);
	assert_int_equal(slice.events[0].dropped, 24);
	assert_int_equal(slice.events[0].enabled_ns, 8000);
	assert_int_equal(slice.events[0].running_ns, 6000);
	assert_int_equal(slice.events[0].unknown[UNKNOWN_PROCESS], 16);
	assert_int_equal(slice.events[0].unknown[UNKNOWN_MEMORY], 18);
	assert_true(slice.events[1].samples == UINT64_MAX);
	assert_int_equal(slice.cpu_count, 6);
	assert_int_equal(slice.cpus[0].lost, 16);
	assert_int_equal(slice.cpus[0].throttled, 1);
	assert_int_equal(slice.cpus[1].event, 1);
	assert_int_equal(slice.cpus[1].lost, 11);
	assert_int_equal(slice.cpus[2].skipped, 5);
	assert_int_equal(slice.cpus[5].cpu, 9);
	slice_fini(&slice);
	slice_fini(&more);
}

static void
slices_of_different_epochs_do_not_add_up(void **state)
{
	struct slice slice, more;

	(void)state;
	fill_slice(&slice, some_cpus, 4);
	fill_slice(&more, some_cpus, 4);
	more.epoch = 4;
	assert_int_equal(slice_add(&slice, &more), -EINVAL);
	more.epoch = 3;
	more.event_count = 1;
	assert_int_equal(slice_add(&slice, &more), -EINVAL);
	slice_fini(&slice);
	slice_fini(&more);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_epoch_of_the_first_schema_is_read),
		cmocka_unit_test(an_epoch_comes_back_as_it_was_written),
		cmocka_unit_test(an_epoch_that_ends_before_it_begins_ends_where_it_begins),
		cmocka_unit_test(an_epoch_cut_anywhere_or_with_more_behind_it_is_refused),
		cmocka_unit_test(a_slice_comes_back_as_it_was_written),
		cmocka_unit_test(cpus_without_losses_are_not_kept),
		cmocka_unit_test(a_slice_cut_anywhere_or_with_more_behind_it_is_refused),
		cmocka_unit_test(cpus_out_of_order_are_refused),
		cmocka_unit_test(a_slice_of_the_first_schema_is_read),
		cmocka_unit_test(slices_add_up),
		cmocka_unit_test(slices_of_different_epochs_do_not_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
