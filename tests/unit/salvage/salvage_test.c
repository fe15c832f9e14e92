#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "profile/edges.h"
#include "profile/selection.h"
#include "salvage/salvage.h"

#define PAGE    4096
#define BLOCKS  1500
#define FLUSHES 3
#define EDGES   700 /* blocks of them */
#define TOTAL   ((uint64_t)BLOCKS * FLUSHES)

/* Edges of the first image into a slice that is there. */
static void
flush_edges(struct profile *profile, uint32_t epoch, uint32_t id, const struct profile_edge *edges, size_t count)
{
	struct slice slice = {.id = id, .epoch = epoch, .start_ns = 100 * SECOND_NS, .end_ns = 110 * SECOND_NS};
	const struct profile_batch batch = {
		.first_image = 2,
		.first_context = 2,
		.edges = edges,
		.edge_count = count,
		.slice = &slice,
	};

	slice.event_count = 1;
	assert_int_equal(profile_flush(profile, &batch), 0);
}

/* An epoch, a slice, two images, two contexts, names of one image, and blocks of samples and edges that several flushes
 * added to. */
static void
make_database(const char *directory)
{
	static struct profile_edge edges[EDGES];
	static struct tally_entry entries[BLOCKS];
	const struct profile_symbol symbols[] = {{0x100, "one"}, {0x200, "two"}};
	struct profile *profile = open_writer(directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		entries[i] = (struct tally_entry){
			.image = i >= BLOCKS / 2, .context = i >= BLOCKS / 2, .offset = i * PAGE, .count = 1};
	for (size_t i = 0; i < EDGES; i++)
		edges[i] = (struct profile_edge){.from = i * PAGE + 5, .to = i * PAGE, .count = 1 + i};
	for (size_t i = 0; i < FLUSHES; i++)
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, i == 0, entries, BLOCKS), 0);
	flush_edges(profile, epoch, slice, edges, EDGES);
	flush_edges(profile, epoch, slice, edges, EDGES);
	assert_int_equal(profile_put_symbols(profile, 0, symbols, 2), 0);
	profile_close(profile);
}

struct database_file {
	uint8_t *data;
	size_t size;
	char path[128];
};

static struct database_file
load(const char *directory)
{
	struct database_file file;
	struct stat stat;
	int fd;

	snprintf(file.path, sizeof(file.path), "%s/data.mdb", directory);
	fd = open(file.path, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &stat) == 0);
	file.size = (size_t)stat.st_size;
	file.data = malloc(file.size);
	assert_int_equal(read(fd, file.data, file.size), file.size);
	close(fd);
	return file;
}

/* Make `size` bytes of it the database. */
static void
store(const struct database_file *file, size_t size)
{
	int fd = open(file->path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file->data, size), size);
	close(fd);
}

static void
remove_database(const char *directory)
{
	static const char *const names[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};
	char path[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void
fail_on_complaint(void *context, const char *text)
{
	(void)context;
	print_error("%s\n", text);
}

/* Salvage: the new database is sound, holds what the result says, and never more than there was. */
static struct salvage_result
salvage(const struct profile_fixture *fixture)
{
	struct salvage_result result;
	struct profile_stats stats;
	struct profile *profile;
	char target[80];

	snprintf(target, sizeof(target), "%s/new", fixture->parent);
	assert_int_equal(profile_salvage(fixture->directory, target, NULL, &result), 0);
	profile = open_reader(target);
	assert_int_equal(profile_check(profile, fail_on_complaint, NULL), 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.blocks, result.blocks.kept);
	assert_int_equal(stats.slices, result.slices.kept);
	assert_true(stats.images >= result.images.kept);
	profile_close(profile);
	remove_database(target);
	assert_in_range(result.samples, 0, TOTAL);
	return result;
}

static void
a_sound_database_is_kept_whole(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;

	make_database(fixture->directory);
	result = salvage(fixture);
	assert_true(result.is_known);
	assert_false(result.scanned);
	assert_int_equal(result.damaged_pages, 0);
	assert_int_equal(result.samples, TOTAL);
	assert_int_equal(result.samples_lost, 0);
	assert_int_equal(result.epochs.kept, 1);
	assert_int_equal(result.slices.kept, 1);
	assert_int_equal(result.images.kept, 2);
	assert_int_equal(result.contexts.kept, 2);
	assert_int_equal(result.blocks.kept, BLOCKS);
	assert_int_equal(result.blocks.expected, BLOCKS);
	assert_int_equal(result.symbols.kept, 1);
	assert_int_equal(result.edges.kept, EDGES);
	assert_int_equal(result.edges.expected, EDGES);
}

/* They are read as they were counted, the second flush added to the first. */
static void
edges_are_those_that_were_counted(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	struct profile *profile;
	struct edge_set set;
	char target[80];

	make_database(fixture->directory);
	snprintf(target, sizeof(target), "%s/new", fixture->parent);
	assert_int_equal(profile_salvage(fixture->directory, target, NULL, &result), 0);
	profile = open_reader(target);
	assert_int_equal(edges_read(profile, 1, "cpu-clock", &set), 0);
	assert_int_equal(set.count, EDGES);
	for (size_t i = 0; i < EDGES; i++) {
		assert_int_equal(set.edges[i].from, i * PAGE + 5);
		assert_int_equal(set.edges[i].to, i * PAGE);
		assert_int_equal(set.edges[i].count, 2 * (1 + i));
	}
	edge_set_fini(&set);
	profile_close(profile);
	remove_database(target);
}

/* Whichever page is overwritten: little is lost, and what was counted is kept or known to be lost. */
static void
one_page_costs_little(void **state)
{
	const struct profile_fixture *fixture = *state;
	uint8_t before[PAGE];
	struct database_file file;

	make_database(fixture->directory);
	file = load(fixture->directory);
	for (size_t page = 0; page < file.size / PAGE; page++) {
		struct salvage_result result;

		memcpy(before, file.data + page * PAGE, PAGE);
		memset(file.data + page * PAGE, 0xa5, PAGE);
		store(&file, file.size);
		memcpy(file.data + page * PAGE, before, PAGE);
		result = salvage(fixture);
		/* without the newest meta page: as before the last transaction, which wrote names */
		assert_int_equal(result.epochs.kept, 1);
		assert_int_equal(result.slices.kept, 1);
		assert_int_equal(result.samples + result.samples_lost, TOTAL);
		assert_true(result.samples >= TOTAL * 9 / 10);
		assert_true(result.edges.kept >= EDGES * 8 / 10);
	}
	free(file.data);
}

static void
without_meta_pages_single_pages_are_found(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	struct database_file file;

	make_database(fixture->directory);
	file = load(fixture->directory);
	memset(file.data, 0, 2 * PAGE);
	store(&file, file.size);
	result = salvage(fixture);
	assert_true(result.scanned);
	assert_false(result.is_known);
	assert_int_equal(result.epochs.kept, 1);
	assert_int_equal(result.images.kept, 2);
	assert_int_equal(result.contexts.kept, 2);
	assert_int_equal(result.samples, TOTAL);
	assert_int_equal(result.edges.kept, EDGES);
	free(file.data);
}

static void
a_file_cut_short_gives_what_is_before_the_cut(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	struct database_file file;
	size_t some = 0;

	make_database(fixture->directory);
	file = load(fixture->directory);
	for (size_t size = 1; size < file.size; size += 3 * PAGE + 1001) {
		store(&file, size);
		result = salvage(fixture);
		some += result.samples > 0;
	}
	assert_true(some > 0);
	free(file.data);
}

static void
flipped_bits_do_no_harm(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct database_file file;

	make_database(fixture->directory);
	file = load(fixture->directory);
	srand(1997);
	for (size_t round = 0; round < 150; round++) {
		size_t at[8];

		for (size_t i = 0; i < 8; i++) {
			at[i] = (size_t)rand() % (file.size * 8);
			if (i == 0) /* one where it hurts: headers and first nodes */
				at[i] = at[i] / (PAGE * 8) * (PAGE * 8) + at[i] % (256 * 8);
			file.data[at[i] / 8] ^= (uint8_t)(1 << at[i] % 8);
		}
		store(&file, file.size);
		for (size_t i = 0; i < 8; i++)
			file.data[at[i] / 8] ^= (uint8_t)(1 << at[i] % 8);
		salvage(fixture);
	}
	free(file.data);
}

/* A slice's record that is lost cannot be guessed; an epoch's can, but for the names of its events. */
static void
a_lost_epoch_gets_another(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	struct database_file file;
	size_t found = 0;

	make_database(fixture->directory);
	file = load(fixture->directory);
	/* its host's name is on every copy of the page */
	for (size_t at = 0; at + 5 < file.size; at++) {
		if (memcmp(file.data + at, "alpha", 5) != 0)
			continue;
		memset(file.data + at / PAGE * PAGE, 0, PAGE);
		found++;
	}
	assert_true(found > 0);
	store(&file, file.size);
	result = salvage(fixture);
	assert_int_equal(result.epochs.kept, 0);
	assert_int_equal(result.slices.kept, 1);
	assert_int_equal(result.samples, TOTAL);
	free(file.data);
}

/* So that it can take the place of the damaged one, and be read by whom that was read by. */
static void
what_root_salvages_is_its_owners(void **state)
{
	static const char *const names[] = {"", "/data.mdb", "/lock.mdb", "/dcpid.lock", "/readers.lock"};
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	char target[80], path[160];
	struct stat stat;

	if (geteuid() != 0)
		skip(); /* only root may give files away */
	make_database(fixture->directory);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(chown(path, 4711, 4712), 0);
	snprintf(target, sizeof(target), "%s/new", fixture->parent);
	assert_int_equal(profile_salvage(fixture->directory, target, NULL, &result), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", target, names[i]);
		assert_int_equal(lstat(path, &stat), 0);
		assert_int_equal(stat.st_uid, 4711);
		assert_int_equal(stat.st_gid, 4712);
	}
	remove_database(target);
}

static void
a_target_that_is_not_empty_is_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;

	make_database(fixture->directory);
	assert_int_equal(profile_salvage(fixture->directory, fixture->directory, NULL, &result), -EEXIST);
	assert_int_equal(profile_salvage(fixture->directory, fixture->parent, NULL, &result), -EEXIST);
}

static void
a_database_in_use_is_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct salvage_result result;
	struct profile *profile;
	char target[80];

	snprintf(target, sizeof(target), "%s/new", fixture->parent);
	assert_int_equal(profile_salvage(fixture->directory, target, NULL, &result), -DCPI_ENODATABASE);
	make_database(fixture->directory);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(profile_salvage(fixture->directory, target, NULL, &result), -DCPI_ERUNNING);
	profile_close(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sound_database_is_kept_whole),
		TEST(edges_are_those_that_were_counted),
		TEST(one_page_costs_little),
		TEST(without_meta_pages_single_pages_are_found),
		TEST(a_file_cut_short_gives_what_is_before_the_cut),
		TEST(flipped_bits_do_no_harm),
		TEST(a_lost_epoch_gets_another),
		TEST(what_root_salvages_is_its_owners),
		TEST(a_target_that_is_not_empty_is_left_alone),
		TEST(a_database_in_use_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
