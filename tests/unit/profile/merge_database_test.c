/* Another database becomes part of one: profile/merge_database.h. */
#include "fixture.h"

#include <errno.h>

#include "profile/captured.h"
#include "profile/edges.h"
#include "profile/merge_database.h"
#include "profile/selection.h"

#define START_NS (100 * SECOND_NS)

static const struct database_merge_options plain = {0};

struct pair {
	struct profile *to, *from;
};

static struct pair
open_pair(const struct profile_fixture *fixture)
{
	return (struct pair){.to = open_writer(fixture->directory, 0), .from = open_writer(fixture->other, 0)};
}

static void
close_pair(struct pair *pair)
{
	profile_close(pair->to);
	profile_close(pair->from);
}

/* An epoch of `host` with two samples of gzip at 0x1000 and three of libc at 0x2000, in one slice. */
static void
write_epoch(struct profile *profile, const char *host, bool first)
{
	static const char *const names[] = {"cpu-clock"};
	static const struct tally_entry entries[] = {
		{.offset = 0x1000, .count = 2, .image = 0, .context = 0},
		{.offset = 0x2000, .count = 3, .image = 1, .context = 1},
	};
	uint32_t slice = 0, epoch = begin_epoch_of(profile, host, START_NS, "", names, 1);

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, first, entries, 2), 0);
}

static uint64_t
samples_of(struct profile *profile, const char *host, const char *path)
{
	const struct selection_request request = {.epoch = "all", .host = host};
	struct selection *selection;
	uint64_t sum = 0;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	for (size_t i = 0; i < selection->count_count; i++)
		if (strcmp(selection->images[selection->counts[i].image].image->path, path) == 0)
			sum += selection->counts[i].count;
	selection_free(selection);
	return sum;
}

static void
epochs_of_both_are_there_and_images_meet(void **state)
{
	struct pair pair = open_pair(*state);
	struct profile_stats stats;
	struct database_merge adoption;
	uint64_t contexts;

	write_epoch(pair.to, "alpha", true);
	write_epoch(pair.from, "beta", true);
	contexts = stats_of(pair.to).contexts;
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(adoption.epochs, 1);
	assert_int_equal(adoption.first, 2);
	assert_int_equal(adoption.last, 2);
	assert_int_equal(adoption.slices, 1);
	assert_int_equal(adoption.images, 2);
	assert_int_equal(adoption.new_images, 0);
	stats = stats_of(pair.to);
	assert_int_equal(stats.contexts, contexts);
	assert_int_equal(stats.images, 2);
	assert_int_equal(samples_of(pair.to, NULL, "/usr/bin/gzip"), 4);
	assert_int_equal(samples_of(pair.to, "beta", "/usr/bin/gzip"), 2);
	assert_int_equal(samples_of(pair.to, "beta", "/usr/lib/libc.so.6"), 3);
	assert_clean(pair.to);
	close_pair(&pair);
}

/* Numbers there are not those here: images come in another order. */
static void
numbers_are_translated(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	static const struct image *const swapped[] = {&libc_image, &gzip_image};
	static const struct tally_entry entries[] = {{.offset = 0x1000, .count = 7, .image = 0, .context = 0},
	                                             {.offset = 0x1000, .count = 9, .image = 1, .context = 0}};
	struct pair pair = open_pair(*state);
	struct database_merge adoption;
	struct slice slice = {.start_ns = START_NS, .end_ns = START_NS + SECOND_NS, .event_count = 1};
	const struct profile_batch batch = {
		.entries = entries,
		.entry_count = 2,
		.image_count = 2,
		.images = swapped,
		.context_count = 2,
		.contexts = two_contexts,
		.slice = &slice,
	};

	write_epoch(pair.to, "alpha", true);
	slice.epoch = begin_epoch_of(pair.from, "beta", START_NS, "", names, 1);
	slice.events[0].samples = 16;
	assert_int_equal(profile_flush(pair.from, &batch), 0);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(samples_of(pair.to, "beta", "/usr/lib/libc.so.6"), 7);
	assert_int_equal(samples_of(pair.to, "beta", "/usr/bin/gzip"), 9);
	assert_clean(pair.to);
	close_pair(&pair);
}

static void
what_was_adopted_is_not_adopted_again(void **state)
{
	struct pair pair = open_pair(*state);
	struct database_merge adoption;

	write_epoch(pair.from, "beta", true);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(adoption.epochs, 0);
	assert_int_equal(adoption.known, 1);
	assert_int_equal(adoption.known_epoch, 1);
	assert_int_equal(adoption.first, 0);
	assert_int_equal(samples_of(pair.to, NULL, "/usr/bin/gzip"), 2);
	close_pair(&pair);
}

static void
an_epoch_that_went_on_takes_the_place_of_what_was_there(void **state)
{
	static const struct tally_entry more[] = {{.offset = 0x1000, .count = 10, .image = 0, .context = 0}};
	struct slice slice = {.epoch = 1, .start_ns = START_NS, .end_ns = START_NS + 60 * SECOND_NS, .event_count = 1};
	const struct profile_batch batch = {
		.entries = more, .entry_count = 1, .first_image = 2, .first_context = 2, .slice = &slice};
	struct pair pair = open_pair(*state);
	struct profile_stats stats;
	struct database_merge adoption;

	write_epoch(pair.from, "beta", true);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	slice.events[0].samples = 10;
	assert_int_equal(profile_flush(pair.from, &batch), 0);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(adoption.updated, 1);
	assert_int_equal(adoption.epochs, 0);
	assert_int_equal(adoption.first, 2);
	assert_int_equal(adoption.last, 2);
	stats = stats_of(pair.to);
	assert_int_equal(stats.epochs, 1);
	assert_int_equal(stats.incoming, 0);
	assert_int_equal(stats.slices, 2);
	assert_int_equal(samples_of(pair.to, NULL, "/usr/bin/gzip"), 12);
	assert_clean(pair.to);
	close_pair(&pair);
}

static void
another_host_may_be_named(void **state)
{
	const struct database_merge_options options = {.host = "gamma"};
	struct pair pair = open_pair(*state);
	struct database_merge adoption;

	write_epoch(pair.from, "beta", true);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &options, &adoption), 0);
	assert_int_equal(samples_of(pair.to, "gamma", "/usr/bin/gzip"), 2);
	close_pair(&pair);
}

static int
refuse(void *context, uint64_t done, uint64_t all)
{
	(void)context;
	assert_true(done <= all);
	return -EINTR;
}

static void
what_is_broken_off_leaves_nothing(void **state)
{
	const struct database_merge_options options = {.proceed = refuse};
	struct pair pair = open_pair(*state);
	struct profile_stats stats;
	struct database_merge adoption;

	write_epoch(pair.from, "beta", true);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &options, &adoption), -EINTR);
	stats = stats_of(pair.to);
	assert_int_equal(stats.epochs + stats.slices + stats.images + stats.contexts + stats.blocks, 0);
	assert_clean(pair.to);
	close_pair(&pair);
}

static void
edges_and_what_was_captured_come_along(void **state)
{
	static const struct profile_symbol symbols[] = {{.offset = 0x1000, .name = "deflate"}};
	static const struct profile_edge edge = {.from = 0x1010, .to = 0x1000, .count = 9, .image = 0};
	static const char *const names[] = {"executions"};
	static const struct tally_entry entries[] = {{.offset = 0x1000, .count = 1, .image = 0, .context = 0}};
	struct pair pair = open_pair(*state);
	struct slice slice = {.start_ns = START_NS, .end_ns = START_NS + SECOND_NS, .event_count = 1};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = 1,
		.edges = &edge,
		.edge_count = 1,
		.image_count = 2,
		.images = two_images,
		.context_count = 2,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct profile_symbol *read;
	struct database_merge adoption;
	struct edge_set set;
	size_t count;

	slice.epoch = begin_epoch_of(pair.from, "beta", START_NS, "", names, 1);
	slice.events[0].samples = 1;
	assert_int_equal(profile_flush(pair.from, &batch), 0);
	assert_int_equal(profile_put_symbols(pair.from, 0, symbols, 1), 0);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(edges_read(pair.to, 1, "executions", &set), 0);
	assert_int_equal(set.count, 1);
	assert_int_equal(set.edges[0].count, 9);
	edge_set_fini(&set);
	assert_int_equal(profile_get_symbols(pair.to, 1, &read, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(read[0].name, "deflate");
	profile_free_symbols(read);
	assert_clean(pair.to);
	close_pair(&pair);
}

static void
put_value(struct profile *profile, const struct captured *captured)
{
	assert_int_equal(profile_put_captured(profile, 1, captured, 0), 0);
}

/* An image that has nothing but an unwind table here gets its text from there. */
static void
an_unwind_table_does_not_stand_in_for_text(void **state)
{
	static const char *const names[] = {"cycles"};
	static const struct tally_entry entries[] = {{.offset = 0x1000, .count = 1, .image = 0, .context = 0}};
	static uint8_t page[CAPTURED_BLOCK_SIZE];
	const struct captured_block block = {3, page};
	struct byte_writer parcel = BYTE_WRITER_INIT;
	const struct captured_value table = {.data = "table", .size = 5};
	struct pair pair = open_pair(*state);
	struct database_merge adoption;
	struct captured_text text;

	assert_int_equal(captured_parcel_encode(&block, 1, &parcel), 0);
	for (size_t i = 0; i < 2; i++) {
		struct profile *profile = i ? pair.from : pair.to;
		struct slice slice = {.start_ns = START_NS, .end_ns = START_NS + SECOND_NS, .event_count = 1};
		struct profile_batch batch = {
			.entries = entries,
			.entry_count = 1,
			.image_count = 2,
			.images = two_images,
			.context_count = 2,
			.contexts = two_contexts,
			.slice = &slice,
		};

		slice.epoch = begin_epoch_of(profile, i ? "beta" : "alpha", START_NS, "", names, 1);
		slice.events[0].samples = 1;
		assert_int_equal(profile_flush(profile, &batch), 0);
		put_value(profile, &(struct captured){.unwind = table});
	}
	put_value(pair.from, &(struct captured){.parcels = &(struct captured_value){3, parcel.data, parcel.size},
	                                        .parcel_count = 1});
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), 0);
	assert_int_equal(profile_get_text(pair.to, 1, &text), 0);
	assert_int_equal(text.count, 1);
	captured_text_fini(&text);
	writer_fini(&parcel);
	close_pair(&pair);
}

static void
a_database_without_room_takes_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct tally_entry *entries = calloc(20000, sizeof(*entries));
	static const char *const names[] = {"cpu-clock"};
	struct profile_stats stats;
	struct database_merge adoption;
	struct pair pair = {0};
	uint32_t slice = 0, epoch;

	for (uint64_t i = 0; i < 20000; i++)
		entries[i] = (struct tally_entry){.offset = i * 4096, .count = 1};
	pair.from = open_writer(fixture->other, 0);
	epoch = begin_epoch_of(pair.from, "beta", START_NS, "", names, 1);
	assert_int_equal(flush_entries(pair.from, epoch, 1, &slice, true, entries, 20000), 0);
	pair.to = open_writer(fixture->directory, (uint64_t)256 << 10);
	assert_int_equal(profile_merge_database(pair.to, pair.from, &plain, &adoption), -DCPI_EFULL);
	stats = stats_of(pair.to);
	assert_int_equal(stats.epochs + stats.slices + stats.images + stats.blocks, 0);
	assert_clean(pair.to);
	free(entries);
	close_pair(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(epochs_of_both_are_there_and_images_meet),
		CASE(numbers_are_translated),
		CASE(what_was_adopted_is_not_adopted_again),
		CASE(an_epoch_that_went_on_takes_the_place_of_what_was_there),
		CASE(another_host_may_be_named),
		CASE(what_is_broken_off_leaves_nothing),
		CASE(edges_and_what_was_captured_come_along),
		CASE(an_unwind_table_does_not_stand_in_for_text),
		CASE(a_database_without_room_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
