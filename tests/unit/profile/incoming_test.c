/* An import in pieces: nobody sees a part of it, nobody waits for all of it (profile/merge_database.h). */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "profile/catalog.h"
#include "profile/merge_database.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"
#include "profile/selection.h"

#define START_NS (100 * SECOND_NS)
#define SLICES   20
#define BLOCKS   500 /* of each slice */
#define PIECE    200
#define WAIT_MAX 2 /* pieces that a flush waits for: the one under way, and one if it is slow to wake */

static const char *const clock_name[] = {"cpu-clock"};

static struct profile *
open_beside(const char *directory)
{
	const struct profile_options options = {.write = true, .beside = true};
	struct profile *profile = NULL;

	assert_int_equal(profile_open(directory, &options, &profile), 0);
	return profile;
}

/* SLICES * BLOCKS samples of libc on beta, a block each. */
static void
make_source(const char *directory)
{
	struct profile *profile = open_writer(directory, 0);
	struct tally_entry *entries = calloc(BLOCKS, sizeof(*entries));
	uint32_t epoch = begin_epoch_of(profile, "beta", START_NS, "", clock_name, 1), slice;

	for (uint64_t i = 0; i < BLOCKS; i++)
		entries[i] = (struct tally_entry){.offset = i * 4096, .count = 1, .image = 1, .context = 1};
	for (size_t i = 0; i < SLICES; i++) {
		slice = 0;
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, i == 0, entries, BLOCKS), 0);
	}
	free(entries);
	profile_close(profile);
}

/*
 * What a dcpid had written: an image without counts any more, gzip, and a sample of libc. The number of the epoch.
 */
static uint32_t
make_target(const char *directory)
{
	static const struct tally_entry gzip = {.offset = 0x1000, .count = 2, .image = 0, .context = 0};
	static const struct tally_entry libc = {.offset = 0x1000, .count = 1, .image = 1, .context = 1};
	const struct retention_options options = {.size_limit = 1};
	struct profile *profile = open_writer(directory, 0);
	uint32_t epoch = begin_epoch_of(profile, "alpha", START_NS, "", clock_name, 1), first = 0, second = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &first, true, &gzip, 1), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &second, false, &libc, 1), 0);
	assert_int_equal(profile_drop_old(profile, &options, START_NS), 1);
	profile_close(profile);
	return epoch;
}

/* How many samples a host has, 0 when there is none of it. */
static uint64_t
samples_of(struct profile *profile, const char *host)
{
	const struct selection_request request = {.epoch = "all", .host = host};
	struct selection *selection;
	uint64_t sum = 0;
	char why[256];
	int err = selection_read(profile, &request, &selection, why, sizeof(why));

	if (err == -DCPI_ENOSELECTION)
		return 0;
	assert_int_equal(err, 0);
	for (size_t i = 0; i < selection->count_count; i++)
		sum += selection->counts[i].count;
	selection_free(selection);
	return sum;
}

static size_t
listed(struct profile *profile)
{
	struct epoch_summary *epochs;
	size_t count;

	assert_int_equal(catalog_read_epochs(profile, &epochs, &count), 0);
	free(epochs);
	return count;
}

struct incoming_watch {
	struct profile *profile;
	uint64_t looks, blocks;
};

static int
see_nothing(void *context, uint64_t done, uint64_t all)
{
	struct incoming_watch *watched = context;
	struct profile_stats stats;

	assert_true(done <= all);
	if (watched->looks++ % 10)
		return 0;
	assert_int_equal(samples_of(watched->profile, "beta"), 0);
	assert_int_equal(listed(watched->profile), 1);
	stats = stats_of(watched->profile);
	assert_int_equal(stats.epochs, 1);
	assert_int_equal(stats.kept, 0);
	watched->blocks = stats.blocks;
	assert_clean(watched->profile);
	return 0;
}

static void
nobody_sees_a_part_of_what_comes_in_pieces(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct incoming_watch watched = {0};
	const struct database_merge_options options = {.proceed = see_nothing, .context = &watched, .piece = PIECE};
	struct profile *to, *from;
	struct database_merge adoption;
	struct profile_stats stats;

	make_target(fixture->directory);
	make_source(fixture->other);
	watched.profile = to = open_writer(fixture->directory, 0);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), 0);
	assert_true(adoption.pieces >= SLICES * BLOCKS / PIECE);
	assert_true(watched.blocks > SLICES * BLOCKS / 2); /* they were there, and nobody saw them */
	assert_int_equal(adoption.blocks, SLICES * BLOCKS);
	assert_int_equal(samples_of(to, "beta"), SLICES * BLOCKS);
	assert_int_equal(listed(to), 2);
	stats = stats_of(to);
	assert_int_equal(stats.epochs, 2);
	assert_int_equal(stats.kept, 1);
	assert_int_equal(stats.incoming, 0);
	assert_clean(to);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), 0);
	assert_int_equal(adoption.known, 1);
	assert_int_equal(adoption.epochs + adoption.updated + adoption.blocks, 0);
	profile_close(from);
	profile_close(to);
}

/* What a dcpid beside the import did, in memory that both have. */
struct beside {
	atomic_bool stop, goes;
	atomic_uint flushes, between; /* those while an import was under way */
	atomic_uint_fast64_t waited;  /* the most pieces for one flush */
	atomic_int error;
};

static size_t
last_transaction(struct profile *profile)
{
	MDB_envinfo info;

	return mdb_env_info(profile->store.env, &info) ? 0 : info.me_last_txnid;
}

/* Flush a sample of libc, and retain, again and again. */
static void
write_beside(const char *directory, uint32_t epoch, struct beside *beside)
{
	static const struct tally_entry libc = {.offset = 0x1000, .count = 1, .image = 0, .context = 0};
	static const struct image *const image[] = {&libc_image};
	static const struct context *const context[] = {&make_context};
	const struct profile_options writer = {.write = true};
	const struct retention_options options = {.day_after_ns = 1, .blocks_max = 100};
	const struct timespec moment = {.tv_nsec = 1000000};
	struct slice slice = {
		.epoch = epoch, .start_ns = START_NS, .end_ns = START_NS + 1, .event_count = 1, .events[0].samples = 1};
	struct profile_batch batch = {.entries = &libc,
	                              .entry_count = 1,
	                              .image_count = 1,
	                              .images = image,
	                              .context_count = 1,
	                              .contexts = context,
	                              .slice = &slice};
	struct profile_stats stats;
	struct profile *profile;
	int err = profile_open(directory, &writer, &profile);

	while (!err && !beside->stop) {
		const size_t before = last_transaction(profile);

		err = profile_flush(profile, &batch);
		if (!err) {
			const uint64_t pieces = last_transaction(profile) - before - 1;

			beside->waited = pieces > beside->waited ? pieces : beside->waited;
			err = profile_stats(profile, &stats);
		}
		beside->flushes++;
		beside->between += stats.incoming > 0;
		batch.first_image = batch.first_context = 1;
		batch.image_count = batch.context_count = 0;
		if (!err && profile_retain(profile, &options, START_NS + 3 * 86400 * SECOND_NS) < 0)
			err = -EIO;
		beside->goes = true;
		nanosleep(&moment, NULL);
	}
	beside->error = err;
	if (!err)
		profile_close(profile);
	_exit(0);
}

/* It merges, sweeps and flushes meanwhile: nothing of the import is touched, and each flush waits for few pieces. */
static void
a_dcpid_writes_between_two_pieces(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options options = {.piece = PIECE};
	const uint32_t epoch = make_target(fixture->directory);
	struct beside *beside = mmap(NULL, sizeof(*beside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct profile *to, *from;
	struct database_merge adoption;
	pid_t child;
	int status;

	assert_true(beside != MAP_FAILED);
	make_source(fixture->other);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_beside(fixture->directory, epoch, beside);
	}
	while (!beside->goes && !beside->error)
		usleep(1000);
	to = open_beside(fixture->directory);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), 0);
	beside->stop = true;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(beside->error, 0);
	print_message("%u flushes, %u of them during an import of %u pieces; the longest waited for %u\n",
	              beside->flushes, beside->between, (unsigned)adoption.pieces, (unsigned)beside->waited);
	assert_true(beside->between >= adoption.pieces / 4);
	assert_in_range(beside->waited, 0, WAIT_MAX);
	assert_int_equal(samples_of(to, "beta"), SLICES * BLOCKS);
	assert_int_equal(samples_of(to, "alpha"), 1 + beside->flushes);
	assert_clean(to);
	munmap(beside, sizeof(*beside));
	profile_close(from);
	profile_close(to);
}

static int
die_after(void *context, uint64_t done, uint64_t all)
{
	unsigned *left = context;

	(void)done;
	(void)all;
	if ((*left)-- == 0)
		raise(SIGKILL);
	return 0;
}

/* A process that imports and is killed at the `calls`th look; false when it came to its end. */
static bool
kill_import(const struct profile_fixture *fixture, unsigned calls)
{
	const struct database_merge_options options = {.proceed = die_after, .context = &calls, .piece = PIECE};
	struct profile *to = NULL, *from = NULL;
	struct database_merge adoption;
	pid_t child = fork();
	int status;

	if (child == 0) {
		const struct profile_options beside = {.write = true, .beside = true}, reader = {.write = false};

		if (profile_open(fixture->directory, &beside, &to) || profile_open(fixture->other, &reader, &from) ||
		    profile_merge_database(to, from, &options, &adoption))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

/* As after an import that never was: what it left is dropped in steps, each of which leaves a sound database. */
static void
assert_removed(const char *directory, const struct profile_stats *before)
{
	const struct retention_options options = {.blocks_max = 700};
	struct profile *profile = open_writer(directory, 0);
	struct profile_stats after;
	int result;

	while ((result = profile_retain(profile, &options, START_NS)) > 0) {
		assert_int_equal(samples_of(profile, "beta"), 0);
		assert_clean(profile);
	}
	assert_int_equal(result, 0);
	after = stats_of(profile);
	assert_int_equal(after.incoming, 0);
	assert_int_equal(after.epochs, before->epochs);
	assert_int_equal(after.slices, before->slices);
	assert_int_equal(after.blocks, before->blocks);
	assert_in_range(after.images, 1, before->images + 1); /* a sweep leaves the highest number */
	/* LMDB's list of what is free is longer */
	assert_in_range(after.used_bytes, 0, before->used_bytes + (64 << 10));
	profile_close(profile);
}

static void
what_a_kill_leaves_nobody_sees_and_the_next_writer_removes(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile_stats before;
	struct profile *profile;
	uint64_t most = 0;

	make_target(fixture->directory);
	make_source(fixture->other);
	profile = open_writer(fixture->directory, 0);
	before = stats_of(profile);
	profile_close(profile);
	for (unsigned calls = 1; kill_import(fixture, calls); calls += 1 + calls / 3) {
		struct profile_stats left;

		profile = open_reader(fixture->directory);
		assert_int_equal(samples_of(profile, "beta"), 0);
		assert_int_equal(samples_of(profile, "alpha"), 1);
		assert_int_equal(listed(profile), 1);
		assert_clean(profile);
		left = stats_of(profile);
		assert_int_equal(left.epochs, 1);
		most = left.blocks > most ? left.blocks : most;
		profile_close(profile);
		assert_removed(fixture->directory, &before);
	}
	assert_true(most > SLICES * BLOCKS / 2);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(samples_of(profile, "beta"), SLICES * BLOCKS);
	assert_int_equal(stats_of(profile).incoming, 0);
	assert_clean(profile);
	profile_close(profile);
}

static void
the_next_import_removes_it_as_well(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_target(fixture->directory);
	make_source(fixture->other);
	for (unsigned calls = 10; calls <= 40; calls += 10) {
		struct profile *profile;

		assert_true(kill_import(fixture, calls));
		profile = open_reader(fixture->directory);
		assert_in_range(stats_of(profile).blocks, 1, 1 + calls * PIECE); /* no more than of one */
		assert_int_equal(stats_of(profile).incoming, 1);
		profile_close(profile);
	}
}

static int
refuse_later(void *context, uint64_t done, uint64_t all)
{
	unsigned *calls = context;

	(void)all;
	(void)done;
	return ++*calls > 20 ? -EINTR : 0;
}

static void
an_import_that_is_broken_off_removes_what_it_brought(void **state)
{
	const struct profile_fixture *fixture = *state;
	unsigned calls = 0;
	const struct database_merge_options options = {.proceed = refuse_later, .context = &calls, .piece = PIECE};
	struct profile *to, *from;
	struct database_merge adoption;

	make_target(fixture->directory);
	make_source(fixture->other);
	to = open_beside(fixture->directory);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), -EINTR);
	assert_true(adoption.pieces > 10);
	assert_int_equal(stats_of(to).incoming, 0);
	assert_int_equal(stats_of(to).slices, 1);
	assert_int_equal(stats_of(to).blocks, 1);
	assert_clean(to);
	profile_close(from);
	profile_close(to);
}

static int
lock_imports(const char *directory)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/imports.lock", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
	return fd;
}

static void
imports_wait_for_each_other(void **state)
{
	const struct profile_fixture *fixture = *state;
	unsigned calls = 0;
	const struct database_merge_options options = {.proceed = refuse_later, .context = &calls, .piece = PIECE};
	struct profile *to, *from;
	struct database_merge adoption;
	int lock;

	make_target(fixture->directory);
	make_source(fixture->other);
	to = open_beside(fixture->directory);
	from = open_reader(fixture->other);
	lock = lock_imports(fixture->directory);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), -EINTR);
	assert_int_equal(calls, 21);
	assert_int_equal(adoption.pieces, 0);
	close(lock);
	profile_close(from);
	profile_close(to);
}

/* What an import brings in is not dropped or merged, and no image is removed: the import may have its number. */
static void
what_an_import_brings_is_dropped_only_when_it_has_ended(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct retention_options options = {.max_age_ns = 1, .day_after_ns = 1};
	struct profile *profile;
	uint64_t blocks;
	int lock;

	make_target(fixture->directory);
	make_source(fixture->other);
	assert_true(kill_import(fixture, 20));
	lock = lock_imports(fixture->directory);
	profile = open_writer(fixture->directory, 0);
	blocks = stats_of(profile).blocks;
	while (profile_retain(profile, &options, UINT64_MAX) > 0)
		;
	assert_int_equal(stats_of(profile).incoming, 1);
	assert_in_range(stats_of(profile).blocks, blocks - 1, blocks);
	assert_in_range(stats_of(profile).slices, SLICES, 1 + SLICES); /* that of alpha is old */
	assert_int_equal(stats_of(profile).images, 2);
	close(lock);
	while (profile_retain(profile, &options, UINT64_MAX) > 0)
		;
	assert_int_equal(stats_of(profile).incoming, 0);
	assert_in_range(stats_of(profile).blocks, 0, 1);
	assert_int_equal(stats_of(profile).images, 1);
	assert_clean(profile);
	profile_close(profile);
}

static int
remove_lock(void *context, uint64_t done, uint64_t all)
{
	char path[96];

	(void)all;
	snprintf(path, sizeof(path), "%s/imports.lock", (const char *)context);
	if (done > SLICES * BLOCKS / 2)
		(void)unlink(path);
	return 0;
}

/* Then others may have taken what it brought for what was left: it begins again. */
static void
an_import_whose_lock_was_removed_shows_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options options = {
		.proceed = remove_lock, .context = (void *)fixture->directory, .piece = PIECE};
	const struct database_merge_options plain = {0};
	struct profile *to, *from;
	struct database_merge adoption;

	make_target(fixture->directory);
	make_source(fixture->other);
	to = open_beside(fixture->directory);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), -ESTALE);
	assert_int_equal(samples_of(to, "beta"), 0);
	assert_int_equal(profile_merge_database(to, from, &plain, &adoption), 0);
	assert_int_equal(samples_of(to, "beta"), SLICES * BLOCKS);
	assert_int_equal(stats_of(to).incoming, 0);
	profile_close(from);
	profile_close(to);
}

static void
what_cannot_fit_is_not_begun(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options options = {.piece = PIECE};
	struct profile *to, *from;
	struct database_merge adoption;

	make_source(fixture->other);
	to = open_writer(fixture->directory, 256 << 10);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), -DCPI_EFULL);
	assert_int_equal(adoption.blocks, 0);
	assert_int_equal(stats_of(to).images, 0);
	assert_int_equal(stats_of(to).epochs + stats_of(to).incoming, 0);
	profile_close(from);
	profile_close(to);
}

static void
the_lock_is_for_writers_only(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct database_merge_options options = {0};
	struct profile *to, *from;
	struct database_merge adoption;
	struct stat status;
	char path[96];
	mode_t mask = umask(0);

	make_source(fixture->other);
	to = open_writer(fixture->directory, 0);
	from = open_reader(fixture->other);
	assert_int_equal(profile_merge_database(to, from, &options, &adoption), 0);
	umask(mask);
	snprintf(path, sizeof(path), "%s/imports.lock", fixture->directory);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	profile_close(from);
	profile_close(to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(nobody_sees_a_part_of_what_comes_in_pieces),
		CASE(a_dcpid_writes_between_two_pieces),
		CASE(what_a_kill_leaves_nobody_sees_and_the_next_writer_removes),
		CASE(the_next_import_removes_it_as_well),
		CASE(an_import_that_is_broken_off_removes_what_it_brought),
		CASE(imports_wait_for_each_other),
		CASE(what_an_import_brings_is_dropped_only_when_it_has_ended),
		CASE(an_import_whose_lock_was_removed_shows_nothing),
		CASE(what_cannot_fit_is_not_begun),
		CASE(the_lock_is_for_writers_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
