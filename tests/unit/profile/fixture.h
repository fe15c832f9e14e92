/*
 * fixture.h - a database in a directory of its own, and short ways to fill it
 */
#ifndef DCPI_TESTS_PROFILE_FIXTURE_H
#define DCPI_TESTS_PROFILE_FIXTURE_H

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/profile.h"
#include "tests/remove_tree.h"

#define UNUSED __attribute__((unused))

#define SECOND_NS UINT64_C(1000000000)

struct profile_fixture {
	char directory[64]; /* not there yet */
	char other[64];     /* of a second database: not there yet, either */
	char parent[48];
};

static UNUSED int
fixture_setup(void **state)
{
	struct profile_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->parent, sizeof(fixture->parent), "/tmp/dcpi-profile-XXXXXX");
	if (!mkdtemp(fixture->parent))
		return -1;
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/db", fixture->parent);
	snprintf(fixture->other, sizeof(fixture->other), "%s/other", fixture->parent);
	*state = fixture;
	return 0;
}

static UNUSED int
fixture_teardown(void **state)
{
	struct profile_fixture *fixture = *state;

	remove_tree(fixture->parent);
	free(fixture);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static UNUSED struct profile *
open_writer(const char *directory, uint64_t size_limit)
{
	const struct profile_options options = {.write = true, .size_limit = size_limit};
	struct profile *profile = NULL;

	assert_int_equal(profile_open(directory, &options, &profile), 0);
	assert_non_null(profile);
	return profile;
}

static UNUSED struct profile *
open_reader(const char *directory)
{
	const struct profile_options options = {.write = false};
	struct profile *profile = NULL;

	assert_int_equal(profile_open(directory, &options, &profile), 0);
	assert_non_null(profile);
	return profile;
}

static UNUSED void
print_complaint(void *context, const char *text)
{
	(void)context;
	print_error("%s\n", text);
}

static UNUSED void
assert_clean(struct profile *profile)
{
	assert_int_equal(profile_check(profile, print_complaint, NULL), 0);
}

static UNUSED struct profile_stats
stats_of(struct profile *profile)
{
	struct profile_stats stats;

	assert_int_equal(profile_stats(profile, &stats), 0);
	return stats;
}

/* An epoch of `count` events that are called after `names`, 10 s long, on 2 CPUs of `host`. */
static UNUSED uint32_t
begin_epoch_of(struct profile *profile, const char *host, uint64_t start_ns, const char *label,
               const char *const *names, size_t count)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	uint32_t id;

	epoch->start_ns = start_ns;
	epoch->end_ns = start_ns;
	epoch->cpu_count = 2;
	snprintf(epoch->label, sizeof(epoch->label), "%s", label);
	snprintf(epoch->host, sizeof(epoch->host), "%s", host);
	epoch->event_count = count;
	for (size_t i = 0; i < count; i++) {
		snprintf(epoch->events[i].name, sizeof(epoch->events[i].name), "%s", names[i]);
		snprintf(epoch->events[i].requested, sizeof(epoch->events[i].requested), "%s", names[i]);
		snprintf(epoch->events[i].encoding.unit, sizeof(epoch->events[i].encoding.unit), "ns");
		if (strstr(names[i], EVENT_STACKS_SUFFIX))
			epoch->events[i].encoding.type = EVENT_TYPE_DCPIX;
		epoch->events[i].period = 1000;
		epoch->events[i].available = true;
	}
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	id = epoch->id;
	free(epoch);
	return id;
}

static UNUSED uint32_t
begin_epoch(struct profile *profile, uint64_t start_ns, const char *label, const char *const *names, size_t count)
{
	return begin_epoch_of(profile, "alpha", start_ns, label, names, count);
}

static UNUSED uint32_t
begin_clock_epoch(struct profile *profile)
{
	static const char *const names[] = {"cpu-clock"};

	return begin_epoch(profile, 100 * SECOND_NS, "", names, 1);
}

static const struct image gzip_image = {
	.kind = IMAGE_USER,
	.build_id = {0xab, 0xcd},
	.build_id_size = 2,
	.path = "/usr/bin/gzip",
};
static const struct image libc_image = {
	.kind = IMAGE_USER,
	.device_major = 8,
	.device_minor = 1,
	.inode = 42,
	.path = "/usr/lib/libc.so.6",
};
static const struct image *const two_images[] UNUSED = {&gzip_image, &libc_image};

static const struct context gzip_context = {.comm = "gzip", .cgroup = "/user.slice", .label = ""};
static const struct context make_context = {
	.comm = "make", .cgroup = "/system.slice/build.service", .label = "nightly"};
static const struct context *const two_contexts[] UNUSED = {&gzip_context, &make_context};

/*
 * Flush `entries`, with their sum as the samples of the slice, into slice *slice of `epoch`. The two images and
 * contexts above go with it when `first` is true.
 */
static UNUSED int
flush_entries(struct profile *profile, uint32_t epoch, size_t event_count, uint32_t *slice, bool first,
              const struct tally_entry *entries, size_t count)
{
	struct slice more = {
		.id = *slice,
		.epoch = epoch,
		.start_ns = 100 * SECOND_NS,
		.end_ns = 110 * SECOND_NS,
		.event_count = event_count,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.first_image = first ? 0 : 2,
		.image_count = first ? 2 : 0,
		.images = two_images,
		.first_context = first ? 0 : 2,
		.context_count = first ? 2 : 0,
		.contexts = two_contexts,
		.slice = &more,
	};
	int err;

	for (size_t i = 0; i < count; i++)
		more.events[entries[i].event].samples += entries[i].count;
	err = profile_flush(profile, &batch);
	*slice = more.id;
	return err;
}

#endif
