/* Samples that come again are counted once they are settled, and what changes their meaning is noticed. */
#include "collectord/recent.h"
#include "tests/unit/test.h"

static struct recent recent;

static struct record
sample_of(uint32_t pid, uint64_t address)
{
	return (struct record){
		.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = pid, .sample = {.address = address, .cgroup = 7}};
}

/* As the sampler does: what is not there is attributed (to an offset) and added. True when it was there. */
static bool
take(struct tally *tally, const struct record *sample, uint64_t offset)
{
	const struct sample_key key = {.offset = offset, .image = 3, .context = sample->pid};
	struct recent_slot *slot = recent_slot(&recent, sample, 0);

	if (recent_matches(&recent, slot, sample, 0)) {
		slot->count++;
		return true;
	}
	assert_int_equal(tally_add(tally, &key, 1), 0);
	recent_put(&recent, slot, sample, &key, tally);
	return false;
}

static uint64_t
count_of(struct tally *tally, uint32_t pid, uint64_t offset)
{
	size_t count;
	const struct tally_entry *entries = tally_sort(tally, &count);

	for (size_t i = 0; i < count; i++)
		if (entries[i].context == pid && entries[i].offset == offset)
			return entries[i].count;
	return 0;
}

static void
a_sample_that_comes_again_is_looked_up_once_and_counted_each_time(void **state)
{
	struct tally *tally = tally_new(100);
	const struct record sample = sample_of(10, 0x1000), other = sample_of(11, 0x1000);

	(void)state;
	assert_false(take(tally, &sample, 1));
	assert_true(take(tally, &sample, 1));
	assert_false(take(tally, &other, 1));
	assert_true(take(tally, &sample, 1));
	recent_flush(&recent, tally);
	assert_int_equal(count_of(tally, 10, 1), 3);
	assert_int_equal(count_of(tally, 11, 1), 1);
	tally_free(tally);
}

static void
after_a_record_about_its_process_a_sample_is_looked_up_again(void **state)
{
	struct tally *tally = tally_new(100);
	const struct record sample = sample_of(10, 0x1000), other = sample_of(11, 0x2000);

	(void)state;
	take(tally, &sample, 1);
	take(tally, &sample, 1);
	take(tally, &other, 1);
	recent_invalidate(&recent, 10); /* another program is mapped there */
	assert_false(take(tally, &sample, 2));
	assert_true(take(tally, &other, 1));
	recent_flush(&recent, tally);
	assert_int_equal(count_of(tally, 10, 1), 2);
	assert_int_equal(count_of(tally, 10, 2), 1);
	assert_int_equal(count_of(tally, 11, 1), 2);
	tally_free(tally);
}

static void
what_is_settled_is_forgotten_and_what_is_pushed_out_is_kept(void **state)
{
	struct tally *tally = tally_new(10000);
	const struct record sample = sample_of(10, 0x1000);

	(void)state;
	for (uint64_t round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 5000; i++) {
			const struct record one = sample_of(12, 0x4000 + i);

			take(tally, &one, i);
			take(tally, &one, i);
		}
	take(tally, &sample, 1);
	recent_flush(&recent, tally);
	assert_false(take(tally, &sample, 1));
	recent_flush(&recent, tally);
	for (uint64_t i = 0; i < 5000; i++)
		if (i % 1000 == 0)
			assert_int_equal(count_of(tally, 12, i), 6);
	assert_int_equal(count_of(tally, 10, 1), 2);
	tally_free(tally);
}

/* One of the mode, the cgroup and the event is another. */
static void
samples_that_differ_in_anything_are_not_the_same(void **state)
{
	struct tally *tally = tally_new(100);
	const struct record sample = sample_of(10, 0x1000);
	struct record kernel = sample, moved = sample;

	(void)state;
	kernel.mode = CPU_MODE_KERNEL;
	moved.sample.cgroup = 8;
	take(tally, &sample, 1);
	assert_false(recent_matches(&recent, recent_slot(&recent, &kernel, 0), &kernel, 0));
	assert_false(recent_matches(&recent, recent_slot(&recent, &moved, 0), &moved, 0));
	assert_false(recent_matches(&recent, recent_slot(&recent, &sample, 1), &sample, 1));
	recent_flush(&recent, tally);
	tally_free(tally);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_that_comes_again_is_looked_up_once_and_counted_each_time),
		cmocka_unit_test(after_a_record_about_its_process_a_sample_is_looked_up_again),
		cmocka_unit_test(what_is_settled_is_forgotten_and_what_is_pushed_out_is_kept),
		cmocka_unit_test(samples_that_differ_in_anything_are_not_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
