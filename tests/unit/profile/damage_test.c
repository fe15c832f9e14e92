#include "tests/unit/profile/raw.h"

#include <errno.h>

#include "profile/selection.h"

static const char *const tables[] = {"meta",     "epochs",      "slices", "images", "image_ids",
                                     "contexts", "context_ids", "counts", "symbols"};

static void
make_database(const char *directory)
{
	static const struct profile_symbol names[] = {{0, "main"}, {16, "exit"}};
	static const struct tally_entry entries[] = {
		{.offset = 0x1000, .count = 5, .image = 0, .context = 0, .event = 0},
		{.offset = 0x1004, .count = 300, .image = 0, .context = 0, .event = 0},
		{.offset = 0x2000, .count = 2, .image = 1, .context = 1, .event = 0},
	};
	struct slice slice = {
		.start_ns = 1000,
		.end_ns = 2000,
		.event_count = 1,
		.events[0].samples = 307,
		.cpu_count = 1,
		.cpus = &(struct slice_cpu){.cpu = 1, .lost = 3},
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 3,
		.image_count = 2,
		.images = two_images,
		.context_count = 2,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct profile *profile = open_writer(directory, 0);

	slice.epoch = begin_clock_epoch(profile);
	assert_int_equal(profile_flush(profile, &batch), 0);
	assert_int_equal(profile_put_symbols(profile, 0, names, 2), 0);
	profile_close(profile);
}

/* What a damaged value may lead to: anything but a crash, a hang or another error. */
static void
assert_survived(int err)
{
	if (err != 0 && err != -DCPI_EDAMAGED && err != -DCPI_ENOSELECTION && err != -DCPI_ENEWER)
		fail_msg("unexpected error %d: %s", err, error_text(err));
}

/* Use everything that reads; the number of complaints, 1 when it cannot even be opened. */
static int64_t
read_everything(const char *directory)
{
	const struct profile_options options = {.write = false};
	struct selection_request request = {.epoch = "all", .comm = "*"};
	struct selection *selection = NULL;
	struct profile_symbol *symbols;
	struct profile_stats stats;
	struct profile *profile;
	int64_t complaints;
	char why[256];
	size_t count;
	int err;

	err = profile_open(directory, &options, &profile);
	assert_survived(err);
	if (err)
		return 1;
	err = selection_read(profile, &request, &selection, why, sizeof(why));
	assert_survived(err);
	if (!err)
		selection_free(selection);
	request.comm = NULL;
	err = selection_read(profile, &request, &selection, why, sizeof(why));
	assert_survived(err);
	if (!err)
		selection_free(selection);
	err = profile_get_symbols(profile, 1, &symbols, &count);
	if (!err)
		profile_free_symbols(symbols);
	else if (err != -ENOENT)
		assert_survived(err);
	assert_int_equal(profile_stats(profile, &stats), 0);
	complaints = profile_check(profile, NULL, NULL);
	assert_true(complaints >= 0);
	profile_close(profile);
	return complaints;
}

static void
replace(const char *directory, const char *table, const struct raw_entry *entry, const uint8_t *key,
        const uint8_t *value, size_t size)
{
	struct raw raw;

	raw_open(&raw, directory);
	raw_delete(&raw, table, entry->key, entry->key_size);
	raw_put(&raw, table, key, entry->key_size, value, size);
	raw_close(&raw);
}

static void
restore(const char *directory, const char *table, const struct raw_entry *entry, const uint8_t *key)
{
	struct raw raw;

	raw_open(&raw, directory);
	raw_delete(&raw, table, key, entry->key_size);
	raw_put(&raw, table, entry->key, entry->key_size, entry->value, entry->size);
	raw_close(&raw);
}

struct outcome {
	unsigned damaged;
	unsigned noticed;
};

/* Change one byte of key or value, read all, change it back. */
static void
damage_byte(const char *directory, const char *table, const struct raw_entry *entry, size_t at, uint8_t mask,
            struct outcome *outcome)
{
	uint8_t *key = memcpy(malloc(entry->key_size), entry->key, entry->key_size);
	uint8_t *value = memcpy(malloc(entry->size), entry->value, entry->size);

	if (at < entry->key_size)
		key[at] ^= mask;
	else
		value[at - entry->key_size] ^= mask;
	replace(directory, table, entry, key, value, entry->size);
	outcome->damaged++;
	outcome->noticed += read_everything(directory) > 0;
	restore(directory, table, entry, key);
	free(key);
	free(value);
}

static void
damage_table(const char *directory, const char *table, struct outcome *outcome)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};

	for (size_t index = 0;; index++) {
		struct raw_entry entry = {0};
		struct raw raw;
		bool found;

		raw_open(&raw, directory);
		found = raw_entry_at(&raw, table, index, &entry);
		raw_close(&raw);
		if (!found)
			return;
		for (size_t at = 0; at < entry.key_size + entry.size; at++)
			for (size_t i = 0; i < sizeof(masks); i++)
				damage_byte(directory, table, &entry, at, masks[i], outcome);
		free(entry.key);
		free(entry.value);
	}
}

static void
no_damaged_byte_crashes_a_reader(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	assert_int_equal(read_everything(fixture->directory), 0);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct outcome outcome = {0};

		damage_table(fixture->directory, tables[i], &outcome);
		assert_true(outcome.damaged > 0);
		assert_true(outcome.noticed > 0);
		/* A hash, and nothing else, stands there. */
		if (strstr(tables[i], "_ids"))
			assert_int_equal(outcome.noticed, outcome.damaged);
	}
	assert_int_equal(read_everything(fixture->directory), 0);
}

static void
no_cut_value_is_taken_for_a_whole_one(void **state)
{
	const struct profile_fixture *fixture = *state;

	make_database(fixture->directory);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct raw_entry entry = {0};
		struct raw raw;

		raw_open(&raw, fixture->directory);
		assert_true(raw_entry_at(&raw, tables[i], 0, &entry));
		raw_close(&raw);
		for (size_t size = 0; size < entry.size; size++) {
			replace(fixture->directory, tables[i], &entry, entry.key, entry.value, size);
			assert_true(read_everything(fixture->directory) > 0);
			restore(fixture->directory, tables[i], &entry, entry.key);
		}
		free(entry.key);
		free(entry.value);
	}
}

/* The writer meets damage, too: it says so, writes nothing, and goes on when the damage is gone. */
static void
a_flush_into_a_damaged_block_is_refused_whole(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct slice slice = {.epoch = 1, .id = 1, .event_count = 1, .events[0].samples = 1};
	static const struct tally_entry entry = {.offset = 0x1000, .count = 1};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 2,
		.images = two_images,
		.context_count = 2,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct raw_entry block = {0};
	struct profile *profile;
	struct raw raw;

	make_database(fixture->directory);
	raw_open(&raw, fixture->directory);
	assert_true(raw_entry_at(&raw, "counts", 0, &block));
	raw_put(&raw, "counts", block.key, block.key_size, "\1\1", 2);
	raw_close(&raw);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(profile_flush(profile, &batch), -DCPI_EDAMAGED);
	profile_close(profile);
	restore(fixture->directory, "counts", &block, block.key);
	assert_int_equal(read_everything(fixture->directory), 0);
	profile = open_writer(fixture->directory, 0);
	assert_int_equal(profile_flush(profile, &batch), 0);
	profile_close(profile);
	assert_int_equal(read_everything(fixture->directory), 0);
	free(block.key);
	free(block.value);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_damaged_byte_crashes_a_reader),
		TEST(no_cut_value_is_taken_for_a_whole_one),
		TEST(a_flush_into_a_damaged_block_is_refused_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
