/*
 * flusher_fixture.h - a flusher on a database of its own, and jobs for it
 */
#ifndef DCPI_TESTS_FLUSHER_FIXTURE_H
#define DCPI_TESTS_FLUSHER_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "collectord/flusher.h"
#include "tests/unit/test.h"

#define WAIT_NS UINT64_C(20000000000)

struct flusher_fixture {
	char directory[64];
	struct profile *profile;
	struct image_table *images;
	struct context_table *contexts;
	struct flusher *flusher;
	struct epoch epoch;
};

static inline int
begin_epoch(struct profile *profile, void *context)
{
	return profile_begin_epoch(profile, context);
}

static inline int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 16 << 20};
	struct flusher_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/flusher_test.XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	if (profile_open(fixture->directory, &options, &fixture->profile))
		return -1;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	fixture->flusher = flusher_new(&(struct flusher_options){.profile = fixture->profile});
	fixture->epoch.start_ns = 1000;
	fixture->epoch.event_count = 1;
	snprintf(fixture->epoch.events[0].name, EVENT_NAME_SIZE, "cpu-clock");
	fixture->epoch.events[0].available = true;
	*state = fixture;
	return flusher_call(fixture->flusher, begin_epoch, &fixture->epoch);
}

static inline int
teardown(void **state)
{
	struct flusher_fixture *fixture = *state;
	char command[128];

	flusher_free(fixture->flusher);
	profile_close(fixture->profile);
	context_table_free(fixture->contexts);
	image_table_free(fixture->images);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

/* A job with `count` samples of one new image. */
static inline struct flush_job
make_job(struct flusher_fixture *fixture, const char *path, uint64_t inode, uint64_t count, uint32_t slice)
{
	const struct image image = {.kind = IMAGE_USER, .inode = inode, .path = path};
	const struct context context = {.comm = "test", .cgroup = "/", .label = ""};
	struct sample_key key = {.offset = 0x1234};
	struct flush_job job = {
		.tally = tally_new(16),
		.slice = {.id = slice, .epoch = fixture->epoch.id, .start_ns = 1000, .end_ns = 2000, .event_count = 1},
	};

	assert_int_equal(image_table_intern(fixture->images, &image, &key.image), 0);
	assert_int_equal(context_table_intern(fixture->contexts, &context, &key.context), 0);
	assert_int_equal(tally_add(job.tally, &key, count), 0);
	job.slice.events[0].samples = count;
	return job;
}

static inline struct flush_result
flush(struct flusher_fixture *fixture, const struct flush_job *job)
{
	struct flush_result result;

	assert_int_equal(flusher_submit(fixture->flusher, job, fixture->images, fixture->contexts, NULL), 0);
	assert_int_equal(flusher_wait(fixture->flusher, WAIT_NS), 0);
	assert_true(flusher_result(fixture->flusher, &result));
	return result;
}

static inline int
check(struct profile *profile, void *context)
{
	(void)context;
	return (int)profile_check(profile, NULL, NULL);
}

static inline int
count_blocks(struct profile *profile, void *context)
{
	struct profile_stats *stats = context;

	return profile_stats(profile, stats);
}

#endif
