#include "profile/compact.h"

#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "profile/retention.h"
#include "profile/selection.h"

#define SLICES  60
#define ENTRIES 4000

/* One sample each at ENTRIES offsets that lie 4 KiB apart: as many blocks. */
static uint32_t
write_slice(struct profile *profile, uint32_t epoch, uint32_t number, bool first)
{
	static struct tally_entry entries[ENTRIES];
	static const struct image *const images[] = {&gzip_image};
	static const struct context *const contexts[] = {&gzip_context};
	struct slice slice = {
		.epoch = epoch,
		.start_ns = number * SECOND_NS,
		.end_ns = (number + 1) * SECOND_NS,
		.event_count = 1,
		.events[0].samples = ENTRIES,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = ENTRIES,
		.first_image = !first,
		.image_count = first,
		.images = images,
		.first_context = !first,
		.context_count = first,
		.contexts = contexts,
		.slice = &slice,
	};

	for (uint64_t i = 0; i < ENTRIES; i++)
		entries[i] = (struct tally_entry){.offset = i << 12, .count = 1};
	assert_int_equal(profile_flush(profile, &batch), 0);
	return slice.id;
}

/* All slices but the newest ones are dropped again: most of the file is free. */
static struct profile *
make_sparse(const char *directory, uint32_t *epoch)
{
	const struct retention_options options = {.size_limit = 2 << 20, .blocks_max = 100000};
	struct profile *profile = open_writer(directory, 0);

	*epoch = begin_clock_epoch(profile);
	for (uint32_t i = 0; i < SLICES; i++)
		write_slice(profile, *epoch, i + 1, i == 0);
	while (profile_drop_old(profile, &options, SECOND_NS) > 0)
		;
	return profile;
}

static uint64_t
samples_of(struct profile *profile)
{
	const struct selection_request request = {.epoch = "all"};
	struct selection *selection;
	uint64_t samples = 0;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	for (size_t i = 0; i < selection->count_count; i++)
		samples += selection->counts[i].count;
	selection_free(selection);
	return samples;
}

static uint64_t
file_size(const char *directory)
{
	struct stat stat_data;
	char path[128];

	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	assert_int_equal(stat(path, &stat_data), 0);
	return (uint64_t)stat_data.st_size;
}

static void
compaction_gives_back_what_is_not_in_use(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct compaction compaction;
	struct profile *profile;
	uint64_t before, samples;
	uint32_t epoch;

	profile = make_sparse(fixture->directory, &epoch);
	before = file_size(fixture->directory);
	samples = samples_of(profile);
	assert_int_equal(profile_compact(profile, &compaction), 0);
	assert_int_equal(compaction.before_bytes, before);
	assert_int_equal(compaction.after_bytes, file_size(fixture->directory));
	assert_true(compaction.after_bytes < before / 2);
	assert_int_equal(samples_of(profile), samples);
	assert_clean(profile);
	write_slice(profile, epoch, SLICES + 1, false); /* the session's numbers hold */
	assert_int_equal(samples_of(profile), samples + ENTRIES);
	assert_clean(profile);
	profile_close(profile);
}

static void
the_new_file_is_as_private_as_the_old_one(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct compaction compaction;
	struct stat stat_data;
	struct profile *profile;
	char path[128];
	uint32_t epoch;

	profile = make_sparse(fixture->directory, &epoch);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(profile_compact(profile, &compaction), 0);
	assert_int_equal(stat(path, &stat_data), 0);
	assert_int_equal(stat_data.st_mode & 07777, 0600);
	profile_close(profile);
}

/* A reader with the database open, in a process of its own: it is told when to look, and says what it saw. */
struct reader {
	pid_t pid;
	int ask, answer;
};

static struct reader
start_reader(const char *directory)
{
	int ask[2], answer[2];
	struct reader reader;
	char word;

	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	reader = (struct reader){.pid = fork(), .ask = ask[1], .answer = answer[0]};
	assert_true(reader.pid >= 0);
	if (reader.pid == 0) {
		struct profile *profile;

		close(ask[1]);
		profile = open_reader(directory);
		do {
			uint64_t samples = samples_of(profile);

			if (write(answer[1], &samples, sizeof(samples)) != sizeof(samples))
				_exit(1);
		} while (read(ask[0], &word, 1) == 1);
		profile_close(profile);
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	return reader;
}

static uint64_t
answer_of(const struct reader *reader)
{
	uint64_t samples = 0;

	assert_int_equal(read(reader->answer, &samples, sizeof(samples)), sizeof(samples));
	return samples;
}

static void
end_reader(const struct reader *reader)
{
	int status;

	close(reader->ask);
	close(reader->answer);
	assert_int_equal(waitpid(reader->pid, &status, 0), reader->pid);
	assert_int_equal(status, 0);
}

/*
 * Whoever has the old file open keeps what it was; the writer and new readers share the lock file with it, whether the
 * last transaction had an even or an odd number.
 */
static void
readers_of_the_old_file_go_on_and_new_ones_see_the_new(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct compaction compaction;
	struct profile *profile;
	uint64_t samples;
	uint32_t epoch;

	profile = make_sparse(fixture->directory, &epoch);
	samples = samples_of(profile);
	for (uint32_t i = 1; i <= 5; i++) {
		struct reader old = start_reader(fixture->directory), new;
		uint64_t seen;

		assert_int_equal(answer_of(&old), samples);
		assert_int_equal(profile_compact(profile, &compaction), 0);
		new = start_reader(fixture->directory);
		assert_int_equal(answer_of(&new), samples);
		end_reader(&new);
		write_slice(profile, epoch, SLICES + i, false);
		assert_clean(profile);
		assert_int_equal(samples_of(profile), samples + ENTRIES);
		new = start_reader(fixture->directory);
		assert_int_equal(answer_of(&new), samples + ENTRIES);
		end_reader(&new);
		assert_int_equal(write(old.ask, "?", 1), 1);
		seen = answer_of(&old);
		/* the last or the last but one state of its file; before the first compaction that was a drop */
		assert_true(seen == samples || seen == samples - ENTRIES || (i == 1 && seen == samples + ENTRIES));
		end_reader(&old);
		samples += ENTRIES;
		if (i % 2 == 0) {
			write_slice(profile, epoch, SLICES + 10 + i, false);
			samples += ENTRIES;
		}
	}
	profile_close(profile);
}

static void
compact_until_killed(const char *directory)
{
	const struct profile_options options = {.write = true};
	struct compaction compaction;
	struct profile *profile;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (profile_open(directory, &options, &profile))
		_exit(1);
	while (profile_compact(profile, &compaction) == 0)
		;
	_exit(2);
}

static void
a_kill_leaves_the_old_or_the_new_file_and_nothing_else(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile;
	unsigned leftovers = 0;
	uint64_t samples;
	uint32_t epoch;
	char path[128];

	profile = make_sparse(fixture->directory, &epoch);
	samples = samples_of(profile);
	profile_close(profile);
	snprintf(path, sizeof(path), "%s/data.mdb.compact", fixture->directory);
	for (long i = 0; i < 40; i++) {
		struct timespec pause = {.tv_nsec = 3000000 + i * 271000};
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			compact_until_killed(fixture->directory);
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		leftovers += access(path, F_OK) == 0;
		profile = open_writer(fixture->directory, 0);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(samples_of(profile), samples);
		assert_clean(profile);
		profile_close(profile);
	}
	print_message("%u of 40 kills left an unfinished file\n", leftovers);
}

static void
what_a_killed_compaction_left_is_removed_by_the_next_writer(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile;
	uint32_t epoch;
	char path[128];
	int fd;

	profile = make_sparse(fixture->directory, &epoch);
	profile_close(profile);
	snprintf(path, sizeof(path), "%s/data.mdb.compact", fixture->directory);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	profile = open_reader(fixture->directory);
	assert_int_equal(access(path, F_OK), 0);
	profile_close(profile);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(access(path, F_OK), -1);
	profile_close(profile);
}

static void
a_reader_cannot_compact(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct compaction compaction;
	struct profile *profile;
	uint32_t epoch;

	profile = make_sparse(fixture->directory, &epoch);
	profile_close(profile);
	profile = open_reader(fixture->directory);
	assert_int_equal(profile_compact(profile, &compaction), -EINVAL);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(compaction_gives_back_what_is_not_in_use),
		CASE(the_new_file_is_as_private_as_the_old_one),
		CASE(readers_of_the_old_file_go_on_and_new_ones_see_the_new),
		CASE(a_kill_leaves_the_old_or_the_new_file_and_nothing_else),
		CASE(what_a_killed_compaction_left_is_removed_by_the_next_writer),
		CASE(a_reader_cannot_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
