/* A compaction that is broken off while it writes, while it waits for the disk, and before it began. */
#include "tests/unit/profile/fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "profile/compact.h"
#include "profile/selection.h"

#define ENTRIES 120000 /* as many blocks: more than LMDB writes at once */

/* Where the compaction of `breaking` is broken off; NULL: it is not. */
static struct profile *breaking;
static enum { AT_WRITE, AT_SYNC } where;
static unsigned writes, syncs;

static bool
is_copy(int fd)
{
	char link[64], path[256];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return strstr(path, "/data.mdb.compact") != NULL;
}

/* In the place of the C library's, for LMDB as well. */
ssize_t
write(int fd, const void *data, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (is_copy(fd) && ++writes == 2 && breaking && where == AT_WRITE)
		profile_break_compaction(breaking);
	return next(fd, data, size);
}

int
sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	static int (*next)(int, off64_t, off64_t, unsigned);

	if (!next)
		next = (int (*)(int, off64_t, off64_t, unsigned))dlsym(RTLD_NEXT, "sync_file_range");
	syncs++;
	if (breaking && where == AT_SYNC)
		profile_break_compaction(breaking);
	return next(fd, offset, bytes, flags);
}

static struct profile *
make_database(const struct profile_fixture *fixture, uint32_t *epoch)
{
	static struct tally_entry entries[ENTRIES];
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t slice = 0;

	breaking = NULL;
	writes = syncs = 0;
	for (uint64_t i = 0; i < ENTRIES; i++)
		entries[i] = (struct tally_entry){.offset = i << 12, .count = 1};
	*epoch = begin_clock_epoch(profile);
	assert_int_equal(flush_entries(profile, *epoch, 1, &slice, true, entries, ENTRIES), 0);
	return profile;
}

static ino_t
inode_of_data(const struct profile_fixture *fixture)
{
	struct stat stat_data;
	char path[128];

	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(stat(path, &stat_data), 0);
	return stat_data.st_ino;
}

static void
assert_samples(struct profile *profile, uint64_t expected)
{
	const struct selection_request request = {.epoch = "all"};
	struct selection *selection;
	uint64_t samples = 0;
	char why[256];

	assert_int_equal(profile_check(profile, NULL, NULL), 0);
	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	for (size_t i = 0; i < selection->count_count; i++)
		samples += selection->counts[i].count;
	selection_free(selection);
	assert_int_equal(samples, expected);
}

/* The old file is what it was, nothing lies beside it, and it goes on. */
static void
assert_broken_off(const struct profile_fixture *fixture, struct profile *profile, uint32_t epoch)
{
	static const struct tally_entry more[] = {{.offset = 8, .count = 2}};
	const ino_t inode = inode_of_data(fixture);
	struct compaction compaction;
	uint32_t slice = 0;
	char path[128], why[256];

	assert_int_equal(profile_compact(profile, &compaction), -ECANCELED);
	compaction_explain(&compaction, -ECANCELED, why, sizeof(why));
	assert_string_equal(why, "dcpid is ending; the database is as it was");
	assert_int_equal(inode_of_data(fixture), inode);
	snprintf(path, sizeof(path), "%s/data.mdb.compact", fixture->directory);
	assert_int_equal(access(path, F_OK), -1);
	assert_samples(profile, ENTRIES);
	assert_int_equal(profile_recover(profile, false), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, more, 1), 0);
	assert_samples(profile, ENTRIES + 2);
	profile_close(profile);
}

static void
a_compaction_is_broken_off_while_it_writes(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint32_t epoch;
	struct profile *profile = make_database(fixture, &epoch);

	breaking = profile;
	where = AT_WRITE;
	assert_broken_off(fixture, profile, epoch);
	assert_int_equal(writes, 2);
	assert_int_equal(syncs, 0);
}

static void
a_compaction_is_broken_off_while_it_waits_for_the_disk(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint32_t epoch;
	struct profile *profile = make_database(fixture, &epoch);

	breaking = profile;
	where = AT_SYNC;
	assert_broken_off(fixture, profile, epoch);
	assert_int_equal(syncs, 1);
}

static void
a_compaction_after_the_end_does_not_begin(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint32_t epoch;
	struct profile *profile = make_database(fixture, &epoch);

	profile_break_compaction(profile);
	assert_broken_off(fixture, profile, epoch);
	assert_int_equal(writes, 0);
}

/* It shows that the others had something to break off. */
static void
a_compaction_that_nobody_breaks_off_is_done_in_several_steps(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct compaction compaction;
	uint32_t epoch;
	struct profile *profile = make_database(fixture, &epoch);
	const ino_t inode = inode_of_data(fixture);

	assert_int_equal(profile_compact(profile, &compaction), 0);
	assert_int_not_equal(inode_of_data(fixture), inode);
	assert_true(writes > 2);
	assert_true(syncs >= 1);
	assert_samples(profile, ENTRIES);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_compaction_is_broken_off_while_it_writes),
		CASE(a_compaction_is_broken_off_while_it_waits_for_the_disk),
		CASE(a_compaction_after_the_end_does_not_begin),
		CASE(a_compaction_that_nobody_breaks_off_is_done_in_several_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
