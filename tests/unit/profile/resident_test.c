#include "tests/unit/profile/fixture.h"

#include <stdio.h>

#define ENTRIES 4000

/* One sample each at ENTRIES offsets that lie 4 KiB apart: as many blocks, of 50 bytes and more. */
static void
write_blocks(struct profile *profile, uint32_t epoch)
{
	static struct tally_entry entries[ENTRIES];
	const struct image *const images[] = {&gzip_image};
	const struct context *const contexts[] = {&gzip_context};
	struct slice slice = {.epoch = epoch, .end_ns = 1, .event_count = 1, .events[0].samples = ENTRIES};
	const struct profile_batch batch = {
		.entries = entries,
		.entry_count = ENTRIES,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.slice = &slice,
	};

	for (uint64_t i = 0; i < ENTRIES; i++)
		entries[i] = (struct tally_entry){.offset = i << 12, .count = 1};
	assert_int_equal(profile_flush(profile, &batch), 0);
}

static uint64_t
blocks_of(struct profile *profile)
{
	struct profile_stats stats;

	assert_int_equal(profile_stats(profile, &stats), 0);
	return stats.blocks;
}

/* Of data.mdb, in KiB, as the kernel tells it. */
static unsigned long
resident_kib(const char *directory)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	unsigned long kib = 0, more;
	bool is_ours = false;
	char line[4096];

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%*x-%lx", &more) == 1)
			is_ours = strstr(line, directory) && strstr(line, "data.mdb");
		else if (is_ours && sscanf(line, "Rss: %lu kB", &more) == 1)
			kib += more;
	}
	fclose(smaps);
	return kib;
}

static void
pages_that_are_forgotten_are_not_resident_and_come_again(void **state)
{
	struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	write_blocks(profile, begin_clock_epoch(profile));
	profile_close(profile);
	profile = open_writer(fixture->directory, 0);
	write_blocks(profile, begin_clock_epoch(profile)); /* goes through the file */
	assert_true(resident_kib(fixture->directory) >= 64);
	assert_int_equal(profile_forget_pages(profile), 0);
	assert_int_equal(resident_kib(fixture->directory), 0);
	assert_int_equal(blocks_of(profile), 2 * ENTRIES);
	assert_true(resident_kib(fixture->directory) > 0);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_that_are_forgotten_are_not_resident_and_come_again, fixture_setup,
	                                        fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
