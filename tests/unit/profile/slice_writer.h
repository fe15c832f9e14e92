/*
 * slice_writer.h - slices as a daemon writes them for days, and what is left of them
 */
#ifndef DCPI_TESTS_SLICE_WRITER_H
#define DCPI_TESTS_SLICE_WRITER_H

#include "profile/retention.h"
#include "profile/selection.h"
#include "tests/unit/profile/fixture.h"

#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS   (60 * MINUTE_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (1000 * DAY_NS) /* midnight */

#define IMAGES 3

static const struct image awk_image = {
	.kind = IMAGE_KERNEL, .build_id = {0x11, 0x22}, .build_id_size = 2, .path = "[kernel]"};
static const struct context awk_context = {.comm = "awk", .cgroup = "/", .label = ""};

/* Writes slices; the images and contexts of a session go with its first, unless it has none. */
struct writer {
	struct profile *profile;
	uint32_t epoch;
	bool known;
	bool bare;
};

static inline uint32_t
write_slice(struct writer *writer, uint64_t start_ns, uint64_t length_ns, const struct tally_entry *entries,
            size_t count)
{
	static const struct image *const images[] = {&gzip_image, &libc_image, &awk_image};
	static const struct context *const contexts[] = {&gzip_context, &make_context, &awk_context};
	struct slice_cpu cpus[] = {{.cpu = 1, .event = 0, .lost = 2}};
	struct slice slice = {
		.epoch = writer->epoch,
		.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.daemon_cpu_ns = 5,
		.event_count = 1,
		.events[0] = {.samples = 1, .lost = 2, .unknown[UNKNOWN_ADDRESS] = 1},
		.cpu_count = 1,
		.cpus = cpus,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.first_image = writer->known && !writer->bare ? IMAGES : 0,
		.image_count = writer->known || writer->bare ? 0 : IMAGES,
		.images = images,
		.first_context = writer->known && !writer->bare ? IMAGES : 0,
		.context_count = writer->known || writer->bare ? 0 : IMAGES,
		.contexts = contexts,
		.slice = &slice,
	};

	for (size_t i = 0; i < count; i++)
		slice.events[0].samples += entries[i].count;
	assert_int_equal(profile_flush(writer->profile, &batch), 0);
	writer->known = true;
	return slice.id;
}

/* A slice with one sample at offset 16 of gzip, two at 8192 of libc, and one that is unknown. */
static inline uint32_t
write_plain_slice(struct writer *writer, uint64_t start_ns, uint64_t length_ns)
{
	static const struct tally_entry entries[] = {
		{.image = 0, .context = 0, .offset = 16, .count = 1},
		{.image = 1, .context = 1, .offset = 8192, .count = 2},
	};

	return write_slice(writer, start_ns, length_ns, entries, 2);
}

static inline struct writer
make_writer(const char *directory)
{
	static const char *const names[] = {"cpu-clock"};
	struct writer writer = {.profile = open_writer(directory, 0)};

	writer.epoch = begin_epoch(writer.profile, START_NS, "", names, 1);
	return writer;
}

static inline uint64_t
slice_count(struct profile *profile)
{
	return stats_of(profile).slices;
}

static inline struct selection *
select_time(struct profile *profile, uint64_t since_ns, uint64_t until_ns)
{
	const struct selection_request request = {.epoch = "all", .since_ns = since_ns, .until_ns = until_ns};
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	return selection;
}

/* All that `slices` plain slices hold, however they were merged. */
static inline void
assert_plain_totals(struct profile *profile, uint64_t slices, uint64_t covered_ns)
{
	struct selection *selection = select_time(profile, 0, 0);

	assert_int_equal(selection->events[0].totals.samples, 4 * slices);
	assert_int_equal(selection->events[0].totals.lost, 2 * slices);
	assert_int_equal(selection->events[0].totals.unknown[UNKNOWN_ADDRESS], slices);
	assert_int_equal(selection->overhead.daemon_ns, 5 * slices);
	assert_int_equal(selection->covered_ns, covered_ns);
	assert_int_equal(selection->count_count, 2);
	assert_int_equal(selection->counts[0].count + selection->counts[1].count, 3 * slices);
	selection_free(selection);
}

static const struct retention_options merge_options = {
	.hour_after_ns = DAY_NS, .day_after_ns = 7 * DAY_NS, .blocks_max = 1};

/* Merge until nothing is left to do; how many steps. */
static inline int
merge_all(struct profile *profile, uint64_t now_ns)
{
	int steps = 0, result;

	while ((result = profile_merge_slices(profile, &merge_options, now_ns)) > 0)
		steps++;
	assert_int_equal(result, 0);
	return steps;
}

/* Sweep until it ends. */
static inline void
sweep_all(struct profile *profile)
{
	const struct retention_options options = {.blocks_max = 1};
	int result;

	while ((result = profile_collect_garbage(profile, &options)) > 0)
		assert_clean(profile);
	assert_int_equal(result, 0);
}

#endif
