#include "tests/unit/profile/raw.h"

#include <errno.h>

#include "profile/captured.h"
#include "profile/counts.h"
#include "profile/ids.h"
#include "profile/selection.h"

static struct selection *
read_all(struct profile *profile)
{
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(
		selection_read(profile, &(struct selection_request){.epoch = "all"}, &selection, why, sizeof(why)), 0);
	return selection;
}

static void
assert_whole(struct profile *profile)
{
	assert_int_equal(profile_check(profile, NULL, NULL), 0);
}

static void
later_flushes_are_added_to_the_blocks_that_are_there(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct tally_entry first[] = {
		{.offset = 0x1000, .count = 1, .image = 0, .context = 0},
		{.offset = 0x1ffc, .count = 2, .image = 0, .context = 0},
		{.offset = 0x2000, .count = 3, .image = 0, .context = 0},
	};
	static const struct tally_entry second[] = {
		{.offset = 0x0800, .count = 10, .image = 0, .context = 0},
		{.offset = 0x1000, .count = 20, .image = 0, .context = 0},
		{.offset = 0x1004, .count = 30, .image = 0, .context = 0},
		{.offset = 0x1000, .count = 40, .image = 1, .context = 1},
	};
	static const uint64_t offsets[] = {0x800, 0x1000, 0x1004, 0x1ffc, 0x2000, 0x1000};
	static const uint64_t counts[] = {10, 21, 30, 2, 3, 40};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct selection *selection;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, first, 3), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, second, 4), 0);
	selection = read_all(profile);
	assert_int_equal(selection->slice_count, 1);
	assert_int_equal(selection->count_count, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(selection->counts[i].offset, offsets[i]);
		assert_int_equal(selection->counts[i].count, counts[i]);
		assert_int_equal(selection->counts[i].image, i < 5 ? 0 : 1);
	}
	assert_whole(profile);
	selection_free(selection);
	profile_close(profile);
}

static void
what_was_flushed_is_counted(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct tally_entry entries[] = {
		{.offset = 0x1000, .count = 5, .image = 0, .context = 0},
		{.offset = 0x1004, .count = 1, .image = 0, .context = 0},
		{.offset = 0x1000, .count = 2, .image = 0, .context = 1},
		{.offset = 0x1000, .count = 2, .image = 1, .context = 1},
	};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct profile_stats stats;

	begin_clock_epoch(profile);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 4), 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.epochs, 2);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 2);
	assert_int_equal(stats.blocks, 3);
	assert_int_equal(stats.size_limit, PROFILE_SIZE_DEFAULT);
	assert_true(stats.used_bytes > 0 && stats.used_bytes <= stats.file_bytes);
	profile_close(profile);
}

static void
an_epoch_ends_with_its_last_flush(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct selection *selection;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, NULL, 0), 0);
	selection = read_all(profile);
	assert_int_equal(selection->epochs[0].start_ns, 100 * SECOND_NS);
	assert_int_equal(selection->epochs[0].end_ns, 110 * SECOND_NS);
	assert_int_equal(selection->count_count, 0);
	selection_free(selection);
	profile_close(profile);
}

static void
an_image_keeps_its_number_in_the_next_session(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct tally_entry entry = {.offset = 0x1000, .count = 1, .image = 0, .context = 0};
	struct profile_stats stats;
	struct selection *selection;

	for (unsigned session = 0; session < 3; session++) {
		struct profile *profile = open_writer(fixture->directory, 0);
		uint32_t epoch = begin_clock_epoch(profile), slice = 0;

		assert_int_equal(epoch, session + 1);
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, &entry, 1), 0);
		assert_int_equal(slice, session + 1);
		profile_close(profile);
	}
	struct profile *profile = open_reader(fixture->directory);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 2);
	selection = read_all(profile);
	assert_int_equal(selection->count_count, 1);
	assert_int_equal(selection->counts[0].count, 3);
	assert_whole(profile);
	selection_free(selection);
	profile_close(profile);
}

/* Flush one image and one sample in it, in a session of its own. */
static void
flush_image(const char *directory, const struct image *image)
{
	const struct tally_entry entry = {.offset = 0x1000, .count = 1};
	struct slice slice = {.event_count = 1, .start_ns = 1, .end_ns = 2, .events[0].samples = 1};
	const struct image *images[] = {image};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct profile *profile = open_writer(directory, 0);

	slice.epoch = begin_clock_epoch(profile);
	assert_int_equal(profile_flush(profile, &batch), 0);
	assert_whole(profile);
	profile_close(profile);
}

static void
assert_paths(const char *directory, const char *const *paths, size_t count)
{
	struct profile *profile = open_reader(directory);
	struct selection *selection = read_all(profile);

	assert_int_equal(selection->image_count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(selection->images[i].image->path, paths[i]);
	selection_free(selection);
	profile_close(profile);
}

static void
an_image_of_the_same_build_id_is_the_same_wherever_it_lies(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const paths[] = {"/opt/gzip"};
	struct image moved = gzip_image, deleted = gzip_image;

	moved.path = "/opt/gzip";
	deleted.path = "/tmp/gzip";
	deleted.deleted = true;
	flush_image(fixture->directory, &gzip_image);
	flush_image(fixture->directory, &moved);
	flush_image(fixture->directory, &deleted); /* tells no better place */
	assert_paths(fixture->directory, paths, 1);
}

/* Who makes a file with the build-id of root's does not say where that is. */
static void
the_path_of_roots_file_is_kept_and_preferred(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const forged[] = {"/home/m/gzip"}, *const roots[] = {"/usr/bin/gzip"},
				 *const moved[] = {"/usr/local/bin/gzip"};
	struct image theirs = gzip_image, ours = gzip_image, elsewhere = gzip_image;

	theirs.path = forged[0];
	ours.is_roots = elsewhere.is_roots = true;
	elsewhere.path = moved[0];
	flush_image(fixture->directory, &theirs);
	assert_paths(fixture->directory, forged, 1);
	flush_image(fixture->directory, &ours);
	assert_paths(fixture->directory, roots, 1);
	flush_image(fixture->directory, &theirs);
	assert_paths(fixture->directory, roots, 1);
	flush_image(fixture->directory, &elsewhere);
	assert_paths(fixture->directory, moved, 1);
}

static void
an_image_of_another_build_kind_or_inode_is_another(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const paths[] = {"/usr/bin/gzip",      "/usr/bin/gzip",      "/usr/bin/gzip",
	                                    "/usr/lib/libc.so.6", "/usr/lib/libc.so.6", "/usr/lib/libm.so.6"};
	struct image build = gzip_image, kind = gzip_image, inode = libc_image, path = libc_image;

	build.build_id[1]++;
	kind.kind = IMAGE_MODULE;
	inode.inode++;
	path.path = "/usr/lib/libm.so.6";
	flush_image(fixture->directory, &gzip_image);
	flush_image(fixture->directory, &build);
	flush_image(fixture->directory, &kind);
	flush_image(fixture->directory, &libc_image);
	flush_image(fixture->directory, &inode);
	flush_image(fixture->directory, &path);
	assert_paths(fixture->directory, paths, 6);
}

static void
a_file_that_tells_its_build_id_later_is_the_same_image(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const paths[] = {"/usr/lib/libc.so.6"};
	struct image known = libc_image;

	known.build_id[0] = 0xcc;
	known.build_id_size = 20;
	flush_image(fixture->directory, &libc_image);
	flush_image(fixture->directory, &known);
	flush_image(fixture->directory, &libc_image); /* which does not take the build-id away */
	flush_image(fixture->directory, &known);
	assert_paths(fixture->directory, paths, 1);
	struct profile *profile = open_reader(fixture->directory);
	struct selection *selection = read_all(profile);

	assert_int_equal(selection->images[0].image->build_id_size, 20);
	assert_int_equal(selection->counts[0].count, 4);
	selection_free(selection);
	profile_close(profile);
}

static void
a_file_that_was_written_to_in_place_is_the_later_build(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const paths[] = {"/usr/lib/libc.so.6", "/usr/lib/libc.so.6"};
	struct image before = libc_image, after = libc_image;

	before.build_id[0] = 0xbb;
	after.build_id[0] = 0xaa;
	before.build_id_size = after.build_id_size = 20;
	flush_image(fixture->directory, &before);
	flush_image(fixture->directory, &after);
	flush_image(fixture->directory, &libc_image); /* could not be read: it is what was there last */
	assert_paths(fixture->directory, paths, 2);
	struct profile *profile = open_reader(fixture->directory);
	struct selection *selection = read_all(profile);

	assert_int_equal(selection->counts[0].count, 1);
	assert_int_equal(selection->counts[1].count, 2);
	assert_int_equal(selection->images[0].image->inode, 0);
	assert_int_equal(selection->images[1].image->inode, 42);
	selection_free(selection);
	profile_close(profile);
}

/* In one session, when the worker that reads files answers after the flush. */
static void
an_image_of_a_session_is_identified_later(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct tally_entry entries[] = {{.image = 0, .offset = 0x1000, .count = 1},
	                                      {.image = 1, .offset = 0x1000, .count = 2}};
	struct profile *profile = open_writer(fixture->directory, 0);
	struct image known = libc_image, elsewhere = gzip_image;
	uint32_t slice = 0, epoch = begin_clock_epoch(profile);
	struct selection *selection;

	known.build_id[0] = 0xcc;
	known.build_id_size = 20;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 2), 0);
	assert_int_equal(profile_identify_image(profile, 1, &known), 0);
	assert_int_equal(profile_identify_image(profile, 2, &known), -EINVAL);
	assert_whole(profile);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, entries, 2), 0);
	selection = read_all(profile);
	assert_int_equal(selection->image_count, 2);
	assert_int_equal(selection->images[1].image->build_id[0], 0xcc);
	assert_int_equal(selection->counts[1].count, 4);
	selection_free(selection);
	/* when there is one of that build already, its number is the session's from then on */
	elsewhere.inode = 77;
	assert_int_equal(profile_identify_image(profile, 1, &elsewhere), 0);
	assert_whole(profile);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, entries, 2), 0);
	selection = read_all(profile);
	assert_int_equal(selection->counts[0].count, 3 + 2);
	assert_int_equal(selection->counts[1].count, 4);
	selection_free(selection);
	profile_close(profile);
}

static void
names_far_longer_than_an_lmdb_key_are_kept_apart(void **state)
{
	const struct profile_fixture *fixture = *state;
	char first[4001], second[4001];
	const char *const paths[] = {first, second};
	struct image image = libc_image;

	memset(first, 'a', 4000);
	first[4000] = '\0';
	memcpy(second, first, sizeof(first));
	second[3999] = 'b';
	image.path = first;
	flush_image(fixture->directory, &image);
	image.path = second;
	flush_image(fixture->directory, &image);
	image.path = first;
	flush_image(fixture->directory, &image);
	assert_paths(fixture->directory, paths, 2);
}

/* An entry under gzip's hash that leads to libc, as if both had one hash. */
static void
identities_with_one_hash_are_kept_apart(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const paths[] = {"/usr/lib/libc.so.6", "/usr/bin/gzip"};
	struct byte_writer identity = BYTE_WRITER_INIT;
	uint8_t key[RECORD_ID_SIZE];
	struct profile *profile;

	flush_image(fixture->directory, &libc_image); /* number 1 */
	image_record_identity(&gzip_image, &identity);
	record_id_encode(record_identity_hash(identity.data, identity.size), 1, key);
	writer_fini(&identity);
	raw_put_once(fixture->directory, "image_ids", key, sizeof(key), "\1", 1);

	for (unsigned i = 0; i < 2; i++) {
		static const struct tally_entry entry = {.offset = 0x1000, .count = 1};
		struct slice slice = {.event_count = 1, .start_ns = 1, .end_ns = 2, .events[0].samples = 1};
		struct profile_batch batch = {.entries = &entry,
		                              .entry_count = 1,
		                              .image_count = 1,
		                              .images = two_images,
		                              .context_count = 1,
		                              .contexts = two_contexts,
		                              .slice = &slice};

		profile = open_writer(fixture->directory, 0);
		slice.epoch = begin_clock_epoch(profile);
		assert_int_equal(profile_flush(profile, &batch), 0);
		profile_close(profile);
	}
	assert_paths(fixture->directory, paths, 2);
}

static void
two_numbers_of_a_session_for_one_image_are_added_up(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct image *const twice[] = {&gzip_image, &gzip_image};
	static const struct tally_entry entries[] = {
		{.offset = 0x1000, .count = 1, .image = 0},
		{.offset = 0x3000, .count = 5, .image = 0},
		{.offset = 0x1000, .count = 2, .image = 1},
		{.offset = 0x2000, .count = 4, .image = 1},
	};
	static const uint64_t counts[] = {3, 4, 5};
	struct slice slice = {.epoch = 1, .event_count = 1, .start_ns = 1, .end_ns = 2, .events[0].samples = 12};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 4,
		.image_count = 2,
		.images = twice,
		.context_count = 1,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	begin_clock_epoch(profile);
	assert_int_equal(profile_flush(profile, &batch), 0);
	selection = read_all(profile);
	assert_int_equal(selection->image_count, 1);
	assert_int_equal(selection->count_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(selection->counts[i].count, counts[i]);
	assert_whole(profile);
	selection_free(selection);
	profile_close(profile);
}

static void
a_sample_too_far_away_for_a_block_is_counted_as_unknown(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct tally_entry entries[] = {
		{.offset = COUNTS_OFFSET_MAX, .count = 1, .image = 0},
		{.offset = COUNTS_OFFSET_MAX + 1, .count = 2, .image = 0},
		{.offset = UINT64_MAX, .count = 4, .image = 0},
	};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct selection *selection;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 3), 0);
	selection = read_all(profile);
	assert_int_equal(selection->count_count, 1);
	assert_true(selection->counts[0].offset == COUNTS_OFFSET_MAX);
	assert_int_equal(selection->events[0].totals.samples, 7);
	assert_int_equal(selection->events[0].totals.unknown[UNKNOWN_ADDRESS], 6);
	assert_whole(profile);
	selection_free(selection);
	profile_close(profile);
}

static void
a_batch_that_contradicts_itself_or_the_database_is_refused_whole(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct tally_entry good = {.offset = 1, .count = 1};
	static const struct tally_entry bad[] = {
		{.offset = 1, .count = 1, .image = 7},
		{.offset = 1, .count = 1, .context = 7},
		{.offset = 1, .count = 1, .event = 1},
	};
	static const struct tally_entry unsorted[] = {{.offset = 2, .count = 1}, {.offset = 1, .count = 1}};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct profile_stats stats;

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, &bad[i], 1), -EINVAL);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, unsorted, 2), -EINVAL);
	assert_int_equal(flush_entries(profile, epoch + 1, 1, &slice, true, &good, 1), -ENOENT);
	assert_int_equal(flush_entries(profile, epoch, 2, &slice, true, &good, 1), -EINVAL);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, &good, 1), -EINVAL); /* images skipped */
	assert_int_equal(slice, 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.images + stats.contexts + stats.slices + stats.blocks, 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, &good, 1), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, &good, 1), -EINVAL); /* given twice */
	assert_whole(profile);
	profile_close(profile);
}

static void
a_reader_cannot_write(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile_symbol symbol = {.offset = 0, .name = "main"};
	struct epoch epoch = {.event_count = 0};
	uint32_t slice = 0;
	struct profile *profile;

	profile_close(open_writer(fixture->directory, 0));
	profile = open_reader(fixture->directory);
	assert_int_equal(profile_begin_epoch(profile, &epoch), -EINVAL);
	assert_int_equal(flush_entries(profile, 1, 1, &slice, true, NULL, 0), -EINVAL);
	assert_int_equal(profile_put_symbols(profile, 0, &symbol, 1), -EINVAL);
	profile_close(profile);
}

static void
captured_symbols_come_back_by_the_databases_number(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct profile_symbol names[] = {{0, "_stext"}, {16, "schedule"}, {16, "__schedule"}};
	static const struct tally_entry entries[] = {{.offset = 20, .count = 1, .image = 1}};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct profile_symbol *found;
	struct selection *selection;
	size_t count;

	assert_int_equal(profile_put_symbols(profile, 1, names, 3), -EINVAL); /* not flushed yet */
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 1), 0);
	assert_false(profile_has_symbols(profile, 1));
	assert_int_equal(profile_put_symbols(profile, 1, names, 3), 0);
	assert_true(profile_has_symbols(profile, 1));
	assert_false(profile_has_symbols(profile, 0));
	assert_int_equal(profile_put_symbols(profile, 1, names, 3), -EEXIST);
	assert_whole(profile);
	profile_close(profile);

	profile = open_reader(fixture->directory);
	selection = read_all(profile);
	assert_int_equal(selection->image_count, 1);
	assert_int_equal(profile_get_symbols(profile, selection->images[0].number, &found, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(found[0].offset, 0);
	assert_string_equal(found[0].name, "_stext");
	assert_int_equal(found[2].offset, 16);
	assert_string_equal(found[2].name, "__schedule");
	profile_free_symbols(found);
	assert_int_equal(profile_get_symbols(profile, 99, &found, &count), -ENOENT);
	selection_free(selection);
	profile_close(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(later_flushes_are_added_to_the_blocks_that_are_there),
		TEST(what_was_flushed_is_counted),
		TEST(an_epoch_ends_with_its_last_flush),
		TEST(an_image_keeps_its_number_in_the_next_session),
		TEST(an_image_of_the_same_build_id_is_the_same_wherever_it_lies),
		TEST(the_path_of_roots_file_is_kept_and_preferred),
		TEST(an_image_of_another_build_kind_or_inode_is_another),
		TEST(a_file_that_tells_its_build_id_later_is_the_same_image),
		TEST(a_file_that_was_written_to_in_place_is_the_later_build),
		TEST(an_image_of_a_session_is_identified_later),
		TEST(names_far_longer_than_an_lmdb_key_are_kept_apart),
		TEST(identities_with_one_hash_are_kept_apart),
		TEST(two_numbers_of_a_session_for_one_image_are_added_up),
		TEST(a_sample_too_far_away_for_a_block_is_counted_as_unknown),
		TEST(a_batch_that_contradicts_itself_or_the_database_is_refused_whole),
		TEST(a_reader_cannot_write),
		TEST(captured_symbols_come_back_by_the_databases_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
