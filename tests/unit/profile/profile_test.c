/* Tests of profile/profile.h: snapshots and resident pages. */
#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "profile/profile.h"
#include "profile/selection.h"

static const struct tally_entry entries[] = {
	{.image = 0, .context = 0, .offset = 0x10, .event = 0, .count = 30},
	{.image = 1, .context = 1, .offset = 0x20, .event = 0, .count = 12},
};

/* data.mdb of a new directory `name` in the fixture's. */
static void
take(const struct profile_fixture *fixture, struct profile *profile, const char *name, char *directory, size_t size)
{
	char path[128];
	int fd;

	snprintf(directory, size, "%s/%s", fixture->parent, name);
	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(profile_snapshot(profile, fd), 0);
	close(fd);
}

static uint64_t
samples_in(const char *directory)
{
	struct profile *profile = open_reader(directory);
	struct selection *selection;
	uint64_t sum = 0;
	char why[100];

	assert_int_equal(
		selection_read(profile, &(struct selection_request){.epoch = "all"}, &selection, why, sizeof(why)), 0);
	for (size_t i = 0; i < selection->count_count; i++)
		sum += selection->counts[i].count;
	selection_free(selection);
	profile_close(profile);
	return sum;
}

static void
a_copy_is_the_database_as_it_was(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t slice = 0, epoch = begin_clock_epoch(profile);
	char directory[64];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 2), 0);
	take(fixture, profile, "copy", directory, sizeof(directory));
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, entries, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(directory), 42);
	assert_int_equal(samples_in(fixture->directory), 84);
}

static void
a_reader_copies_too(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t slice = 0, epoch = begin_clock_epoch(profile);
	char directory[64];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 2), 0);
	profile_close(profile);
	profile = open_reader(fixture->directory);
	take(fixture, profile, "copy", directory, sizeof(directory));
	profile_close(profile);
	assert_int_equal(samples_in(directory), 42);
}

static void
what_cannot_be_written_is_told(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(profile_snapshot(profile, full), -ENOSPC);
	close(full);
	profile_close(profile);
}

#define ENTRIES 4000

/* One sample each at ENTRIES offsets that lie 4 KiB apart: as many blocks, of 50 bytes and more. */
static void
write_blocks(struct profile *profile, uint32_t epoch)
{
	static struct tally_entry blocks[ENTRIES];
	const struct image *const images[] = {&gzip_image};
	const struct context *const contexts[] = {&gzip_context};
	struct slice slice = {.epoch = epoch, .end_ns = 1, .event_count = 1, .events[0].samples = ENTRIES};
	const struct profile_batch batch = {
		.entries = blocks,
		.entry_count = ENTRIES,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.slice = &slice,
	};

	for (uint64_t i = 0; i < ENTRIES; i++)
		blocks[i] = (struct tally_entry){.offset = i << 12, .count = 1};
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
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	write_blocks(profile, begin_clock_epoch(profile));
	profile_close(profile);
	profile = open_writer(fixture->directory, 0);
	write_blocks(profile, begin_clock_epoch(profile)); /* goes through the file */
	assert_true(resident_kib(fixture->directory) >= 64);
	assert_int_equal(profile_drop_pages(profile), 0);
	assert_int_equal(resident_kib(fixture->directory), 0);
	assert_int_equal(blocks_of(profile), 2 * ENTRIES);
	assert_true(resident_kib(fixture->directory) > 0);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_copy_is_the_database_as_it_was, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_reader_copies_too, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(pages_that_are_forgotten_are_not_resident_and_come_again, fixture_setup,
	                                        fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
