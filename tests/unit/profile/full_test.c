#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profile/selection.h"

#define ENTRIES    2000
#define ROUNDS_MAX 200
#define KIB        UINT64_C(1024)

/* Flush `round` brings an image and a context of its own, and samples only them, so that the database grows. */
struct rounds {
	struct tally_entry entries[ENTRIES];
	char names[ROUNDS_MAX][COMM_SIZE];
	struct image images[ROUNDS_MAX];
	const struct image *image_list[ROUNDS_MAX];
	struct context contexts[ROUNDS_MAX];
	const struct context *context_list[ROUNDS_MAX];
	struct slice slice;
	struct profile_batch batch;
};

static void
prepare_names(struct rounds *rounds, unsigned round)
{
	snprintf(rounds->names[round], sizeof(rounds->names[round]), "/bin/%u", round);
	rounds->images[round] = (struct image){.kind = IMAGE_USER, .inode = 1, .path = rounds->names[round]};
	rounds->image_list[round] = &rounds->images[round];
	rounds->contexts[round] = (struct context){rounds->names[round], "/", ""};
	rounds->context_list[round] = &rounds->contexts[round];
}

static void
prepare_round(struct rounds *rounds, unsigned round)
{
	prepare_names(rounds, round);
	for (unsigned i = 0; i < ENTRIES; i++)
		rounds->entries[i] = (struct tally_entry){
			.offset = (uint64_t)i * 0x1000,
			.count = round + 1,
			.image = round,
			.context = round,
		};
	rounds->slice = (struct slice){
		.id = rounds->slice.id,
		.epoch = 1,
		.start_ns = 1,
		.end_ns = 2,
		.event_count = 1,
		.events[0].samples = (uint64_t)ENTRIES * (round + 1),
	};
	rounds->batch = (struct profile_batch){
		.entries = rounds->entries,
		.entry_count = ENTRIES,
		.first_image = round,
		.image_count = 1,
		.images = &rounds->image_list[round],
		.first_context = round,
		.context_count = 1,
		.contexts = &rounds->context_list[round],
		.slice = &rounds->slice,
	};
}

/* The batch as it is given to a session that has seen nothing yet. */
static void
begin_session(struct rounds *rounds)
{
	rounds->batch.image_count += rounds->batch.first_image;
	rounds->batch.context_count += rounds->batch.first_context;
	rounds->batch.first_image = rounds->batch.first_context = 0;
	rounds->batch.images = rounds->image_list;
	rounds->batch.contexts = rounds->context_list;
}

/* Flush rounds from *round on until one fails: its error, with *round being the one that failed. */
static int
flush_until_full(struct profile *profile, struct rounds *rounds, unsigned *round)
{
	for (; *round < ROUNDS_MAX; ++*round) {
		int err;

		prepare_round(rounds, *round);
		err = profile_flush(profile, &rounds->batch);
		if (err)
			return err;
	}
	return 0;
}

/* Rounds 0 to `last` are there, each once, and nothing else. */
static bool
holds_rounds(struct profile *profile, unsigned last)
{
	struct selection *selection = NULL;
	char why[256];
	bool holds;

	if (profile_check(profile, NULL, NULL) != 0 ||
	    selection_read(profile, &(struct selection_request){.epoch = "all"}, &selection, why, sizeof(why)))
		return false;
	holds = selection->count_count == (size_t)ENTRIES * (last + 1);
	for (size_t i = 0; holds && i < selection->count_count; i++)
		holds = selection->counts[i].count == i / ENTRIES + 1 && selection->counts[i].image == i / ENTRIES;
	selection_free(selection);
	return holds;
}

static void
a_full_map_takes_nothing_and_the_batch_again_when_there_is_room(void **state)
{
	const struct profile_fixture *fixture = *state;
	const uint64_t limit = 512 * KIB;
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	struct profile *profile = open_writer(fixture->directory, limit);
	struct profile_stats stats;
	unsigned round = 0, failed;

	begin_clock_epoch(profile);
	assert_int_equal(flush_until_full(profile, rounds, &round), -DCPI_EFULL);
	assert_true(round > 0);
	assert_int_equal(profile_flush(profile, &rounds->batch), -DCPI_EFULL); /* again and again */
	assert_true(holds_rounds(profile, round - 1));
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_true(stats.file_bytes <= limit && stats.used_bytes <= limit);
	assert_int_equal(stats.size_limit, limit);
	profile_close(profile);

	profile = open_writer(fixture->directory, 16 * limit);
	failed = round;
	begin_session(rounds);
	assert_int_equal(profile_flush(profile, &rounds->batch), 0);
	assert_true(holds_rounds(profile, failed));
	profile_close(profile);
	free(rounds);
}

static void
a_full_map_takes_the_batch_when_the_limit_is_raised(void **state)
{
	const struct profile_fixture *fixture = *state;
	const uint64_t limit = 512 * KIB;
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	struct profile *profile = open_writer(fixture->directory, limit);
	struct profile_stats stats;
	unsigned round = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_until_full(profile, rounds, &round), -DCPI_EFULL);
	assert_int_equal(profile_set_size_limit(profile, 16 * limit), 0);
	assert_int_equal(profile_flush(profile, &rounds->batch), 0);
	assert_true(holds_rounds(profile, round));
	assert_int_equal(profile_set_size_limit(profile, 1), 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.size_limit, stats.file_bytes);
	round++;
	assert_int_equal(flush_until_full(profile, rounds, &round), -DCPI_EFULL);
	assert_true(holds_rounds(profile, round - 1));
	profile_close(profile);
	free(rounds);
}

static void
a_limit_below_the_size_of_the_file_still_opens_it(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	struct profile *profile = open_writer(fixture->directory, 4096 * KIB);
	struct profile_stats stats;
	uint64_t size;

	begin_clock_epoch(profile);
	for (unsigned round = 0; round < 20; round++) {
		prepare_round(rounds, round);
		assert_int_equal(profile_flush(profile, &rounds->batch), 0);
	}
	assert_int_equal(profile_stats(profile, &stats), 0);
	size = stats.file_bytes;
	assert_true(size > 256 * KIB);
	profile_close(profile);

	profile = open_writer(fixture->directory, 256 * KIB);
	assert_true(holds_rounds(profile, 19));
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.size_limit, size); /* it cannot shrink, and may not grow */
	profile_close(profile);
	free(rounds);
}

static void
a_limit_is_rounded_up_to_pages(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 4096 * KIB + 1);
	struct profile_stats stats;

	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.size_limit, 4096 * KIB + (uint64_t)sysconf(_SC_PAGESIZE));
	profile_close(profile);
}

static void
a_limit_too_small_for_anything_is_full_at_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct profile_options options = {.write = true, .size_limit = 1};
	struct profile *profile;

	assert_int_equal(profile_open(fixture->directory, &options, &profile), -DCPI_EFULL);
}

enum full_disk {
	FULL_DISK_OK,
	FULL_DISK_CANNOT_MOUNT,
	FULL_DISK_WRONG_ERROR,
	FULL_DISK_NOT_GROWN,
	FULL_DISK_TORN,
	FULL_DISK_STILL_FULL,
	FULL_DISK_COUNTED_WRONG,
};

/* In a mount namespace of its own, so that nothing stays behind: fill a small disk, give it room, go on. */
static enum full_disk
fill_disk(const char *directory)
{
	const struct profile_options options = {.write = true};
	struct epoch epoch = {.event_count = 1, .events[0].name = "cpu-clock"};
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	struct profile *profile;
	unsigned round = 0;
	int err;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir(directory, 0700) ||
	    mount("tmpfs", directory, "tmpfs", 0, "size=1m,mode=700"))
		return FULL_DISK_CANNOT_MOUNT;
	if (!rounds || profile_open(directory, &options, &profile) || profile_begin_epoch(profile, &epoch))
		return FULL_DISK_NOT_GROWN;
	err = flush_until_full(profile, rounds, &round);
	if (err != -ENOSPC || profile_flush(profile, &rounds->batch) != -ENOSPC) {
		fprintf(stderr, "flush on a full disk: %d (%s)\n", err, error_text(err));
		return FULL_DISK_WRONG_ERROR;
	}
	if (round == 0)
		return FULL_DISK_NOT_GROWN;
	if (!holds_rounds(profile, round - 1))
		return FULL_DISK_TORN;
	if (mount("tmpfs", directory, "tmpfs", MS_REMOUNT, "size=64m") || profile_flush(profile, &rounds->batch))
		return FULL_DISK_STILL_FULL;
	if (!holds_rounds(profile, round))
		return FULL_DISK_COUNTED_WRONG;
	profile_close(profile);
	free(rounds);
	return FULL_DISK_OK;
}

static void
a_full_disk_takes_nothing_and_the_batch_again_when_there_is_room(void **state)
{
	const struct profile_fixture *fixture = *state;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(fill_disk(fixture->directory));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == FULL_DISK_CANNOT_MOUNT)
		skip_because("mounting is not permitted");
	assert_int_equal(WEXITSTATUS(status), FULL_DISK_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_map_takes_nothing_and_the_batch_again_when_there_is_room),
		TEST(a_full_map_takes_the_batch_when_the_limit_is_raised),
		TEST(a_limit_below_the_size_of_the_file_still_opens_it),
		TEST(a_limit_is_rounded_up_to_pages),
		TEST(a_limit_too_small_for_anything_is_full_at_once),
		TEST(a_full_disk_takes_nothing_and_the_batch_again_when_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
