#include "tests/unit/profile/raw.h"

#include "profile/counts.h"

static const struct tally_entry some_entries[] = {
	{.offset = 0x1000, .count = 5, .image = 0, .context = 0, .event = 0},
	{.offset = 0x1004, .count = 1, .image = 0, .context = 0, .event = 0},
	{.offset = 0x2000, .count = 2, .image = 1, .context = 1, .event = 0},
};

/* Epoch 1 and slice 1 with these samples, images 1 and 2, contexts 1 and 2, names for image 1. */
static void
make_database(const char *directory)
{
	static const struct profile_symbol name = {0, "main"};
	struct profile *profile = open_writer(directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some_entries, 3), 0);
	assert_int_equal(profile_put_symbols(profile, 0, &name, 1), 0);
	profile_close(profile);
}

struct complaints {
	char text[4][256];
	size_t count;
};

static void
take_complaint(void *context, const char *text)
{
	struct complaints *complaints = context;

	if (complaints->count < 4)
		snprintf(complaints->text[complaints->count], sizeof(complaints->text[0]), "%s", text);
	complaints->count++;
}

static void
assert_complaints(const char *directory, const char *first, const char *second)
{
	struct complaints complaints = {.count = 0};
	struct profile *profile = open_reader(directory);
	int64_t count = profile_check(profile, take_complaint, &complaints);

	assert_int_equal(count, complaints.count);
	assert_string_equal(complaints.text[0], first);
	assert_string_equal(complaints.text[1], second);
	assert_true(count <= 2);
	profile_close(profile);
}

static void
a_sound_database_has_nothing_to_complain_about(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	assert_complaints(fixture->directory, "", "");
}

static void
an_epoch_that_is_missing_is_missed_by_its_slices(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_delete_once(fixture->directory, "epochs", NUMBER_KEY(1), 4);
	assert_complaints(fixture->directory, "slices: slice 1 is of epoch 1, which is not in epochs", "");
}

static void
a_slice_that_is_missing_is_missed_by_its_counts(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_delete_once(fixture->directory, "slices", NUMBER_KEY(1), 4);
	assert_complaints(fixture->directory, "counts: slice 1 is not in slices", "counts: slice 1 is not in slices");
}

static void
an_image_that_is_missing_is_missed_by_its_identity_and_counts(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_delete_once(fixture->directory, "images", NUMBER_KEY(2), 4);
	assert_complaints(fixture->directory, "image_ids: 2 is not in images", "counts: image 2 is not in images");
}

static void
a_context_that_is_missing_is_missed_by_its_identity_and_counts(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_delete_once(fixture->directory, "contexts", NUMBER_KEY(1), 4);
	assert_complaints(fixture->directory, "context_ids: 1 is not in contexts",
	                  "counts: context 1 is not in contexts");
}

static void
an_identity_that_is_missing_is_missed_by_its_image(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct raw_entry entry = {0};
	char expected[80];
	struct raw raw;

	make_database(fixture->directory);
	raw_open(&raw, fixture->directory);
	assert_true(raw_entry_at(&raw, "image_ids", 0, &entry));
	raw_delete(&raw, "image_ids", entry.key, entry.key_size);
	raw_close(&raw);
	snprintf(expected, sizeof(expected), "images: %u cannot be found in image_ids: No such file or directory",
	         entry.key[11]);
	assert_complaints(fixture->directory, expected, "");
	free(entry.key);
	free(entry.value);
}

static void
an_identity_that_leads_to_another_image_is_found(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const uint8_t wrong[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 2};

	make_database(fixture->directory);
	raw_put_once(fixture->directory, "image_ids", wrong, sizeof(wrong), "\1", 1);
	assert_complaints(fixture->directory, "image_ids: 2 stands under another identity", "");
}

static void
counts_of_an_event_the_slice_has_not_are_found(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct counts_key key = {.slice = 1, .event = 1, .image = 1, .context = 1};
	uint8_t data[COUNTS_KEY_SIZE];

	make_database(fixture->directory);
	counts_key_encode(&key, data);
	raw_put_once(fixture->directory, "counts", data, sizeof(data), "\1\0\1", 3);
	assert_complaints(fixture->directory, "counts: slice 1 has no event 1", "");
}

static void
totals_that_do_not_add_up_are_found(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct counts_key key = {.slice = 1, .event = 0, .image = 1, .context = 1, .block = 9};
	uint8_t data[COUNTS_KEY_SIZE];

	make_database(fixture->directory);
	counts_key_encode(&key, data);
	raw_put_once(fixture->directory, "counts", data, sizeof(data), "\1\0\1", 3);
	assert_complaints(fixture->directory, "slices: slice 1, event 0 has 8 samples, but 9 are counted and 0 unknown",
	                  "");
}

static void
a_block_that_cannot_be_read_is_named(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct counts_key key = {.slice = 1, .event = 0, .image = 2, .context = 2, .block = 2};
	uint8_t data[COUNTS_KEY_SIZE];

	make_database(fixture->directory);
	counts_key_encode(&key, data);
	raw_put_once(fixture->directory, "counts", data, sizeof(data), "\1\5\1\0\1", 5); /* one offset twice */
	assert_complaints(fixture->directory, "counts: slice 1, event 0, image 2, context 2, block 2 cannot be read",
	                  "slices: slice 1, event 0 has 8 samples, but 6 are counted and 0 unknown");
}

static void
values_that_cannot_be_read_are_named(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_put_once(fixture->directory, "symbols", NUMBER_KEY(1), 4, "\1\5junk!", 7);
	raw_put_once(fixture->directory, "epochs", NUMBER_KEY(9), 4, "\1", 1);
	assert_complaints(fixture->directory, "epochs: epoch 9 cannot be read",
	                  "symbols: those of image 1 cannot be read");
	raw_delete_once(fixture->directory, "epochs", NUMBER_KEY(9), 4);
	raw_put_once(fixture->directory, "symbols", NUMBER_KEY(1), 4, "", 0);
	raw_put_once(fixture->directory, "meta", "mood\033", 5, "good", 4);
	assert_complaints(fixture->directory, "meta: mood\\x1b means nothing",
	                  "symbols: those of image 1 cannot be read");
}

static void
captured_text_that_cannot_be_read_is_named(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_put_once(fixture->directory, "text", "\0\0\0\1\0\0\0\7", 8, "\1\1\7junk", 7);
	raw_put_once(fixture->directory, "text", "\0\0\0\1\377\377\377\377", 8, "junk", 4);
	assert_complaints(fixture->directory, "text: block 7 of image 1 cannot be read",
	                  "text: the layout of image 1 cannot be read");
}

static void
keys_of_a_wrong_size_are_named(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	raw_put_once(fixture->directory, "slices", "x", 1, "\1", 1);
	raw_put_once(fixture->directory, "counts", "xyz", 3, "\1", 1);
	assert_complaints(fixture->directory, "slices: a key of 1 bytes", "counts: a key of 3 bytes");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sound_database_has_nothing_to_complain_about),
		TEST(an_epoch_that_is_missing_is_missed_by_its_slices),
		TEST(a_slice_that_is_missing_is_missed_by_its_counts),
		TEST(an_image_that_is_missing_is_missed_by_its_identity_and_counts),
		TEST(a_context_that_is_missing_is_missed_by_its_identity_and_counts),
		TEST(an_identity_that_is_missing_is_missed_by_its_image),
		TEST(an_identity_that_leads_to_another_image_is_found),
		TEST(counts_of_an_event_the_slice_has_not_are_found),
		TEST(totals_that_do_not_add_up_are_found),
		TEST(a_block_that_cannot_be_read_is_named),
		TEST(values_that_cannot_be_read_are_named),
		TEST(captured_text_that_cannot_be_read_is_named),
		TEST(keys_of_a_wrong_size_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
