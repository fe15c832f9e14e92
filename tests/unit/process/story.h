/*
 * story.h - what processes do, as records, and where their samples then belong
 *
 * Times are in milliseconds. Nothing of the machine is read unless a test asks for a scan.
 */
#ifndef DCPI_TESTS_STORY_H
#define DCPI_TESTS_STORY_H

#include <stdbool.h>

#include "process/attribution.h"
#include "tests/scan_proc.h"
#include "tests/unit/process/fake.h"

#define MS UINT64_C(1000000)

struct story {
	struct fake fake; /* stands for /proc, /sys and the cgroup file system */
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct attribution_options options;
};

/* /proc is read before all that happens in a story. */
static inline uint64_t
story_clock(void)
{
	return 0;
}

static inline int
story_setup(void **state)
{
	struct story *story = calloc(1, sizeof(*story));
	struct attribution_options options = {.exit_grace_ns = 1000 * MS, .clock_ns = story_clock};

	fake_init(&story->fake);
	options.procfs = options.sysfs = options.cgroupfs = story->fake.path;
	story->images = image_table_new();
	story->contexts = context_table_new();
	story->options = options;
	story->attribution = attribution_new(&options, story->images, story->contexts);
	assert_non_null(story->attribution);
	*state = story;
	return 0;
}

static inline int
story_teardown(void **state)
{
	struct story *story = *state;

	attribution_free(story->attribution);
	image_table_free(story->images);
	context_table_free(story->contexts);
	fake_fini(&story->fake);
	free(story);
	return 0;
}

/* Read /proc; as scan_proc() or rescan_proc(). */
static inline int
story_scan(struct story *story)
{
	return scan_proc(story->attribution, &story->options);
}

static inline int
story_rescan(struct story *story)
{
	return rescan_proc(story->attribution, &story->options);
}

static inline void
story_apply(struct story *story, const struct record *record)
{
	assert_int_equal(attribution_apply(story->attribution, record), 0);
}

static inline void
story_fork(struct story *story, uint64_t at, uint32_t parent, uint32_t child)
{
	struct record record = {.type = RECORD_FORK, .pid = child, .tid = child, .time = at * MS};

	record.task.parent_pid = parent;
	story_apply(story, &record);
}

static inline void
story_thread(struct story *story, uint64_t at, uint32_t pid, uint32_t tid)
{
	struct record record = {.type = RECORD_FORK, .pid = pid, .tid = tid, .time = at * MS};

	record.task.parent_pid = pid;
	story_apply(story, &record);
}

static inline void
story_exit(struct story *story, uint64_t at, uint32_t pid, uint32_t tid)
{
	struct record record = {.type = RECORD_EXIT, .pid = pid, .tid = tid, .time = at * MS};

	story_apply(story, &record);
}

static inline void
story_exec(struct story *story, uint64_t at, uint32_t pid, const char *comm)
{
	struct record record = {.type = RECORD_COMM, .pid = pid, .tid = pid, .time = at * MS};

	record.comm.name = comm;
	record.comm.is_exec = true;
	story_apply(story, &record);
}

static inline void
story_rename(struct story *story, uint64_t at, uint32_t pid, uint32_t tid, const char *comm)
{
	struct record record = {.type = RECORD_COMM, .pid = pid, .tid = tid, .time = at * MS};

	record.comm.name = comm;
	story_apply(story, &record);
}

/* A mapping of a file whose build-id begins with `build` (0: it has none, and its inode is 77). */
static inline void
story_map(struct story *story, uint64_t at, uint32_t pid, const char *path, uint8_t build, uint64_t start,
          uint64_t length, uint64_t file_offset)
{
	struct record record = {.type = RECORD_MMAP, .pid = pid, .tid = pid, .time = at * MS};

	record.mmap.start = start;
	record.mmap.length = length;
	record.mmap.file_offset = file_offset;
	record.mmap.path = path;
	record.mmap.build_id[0] = build;
	record.mmap.build_id_size = build ? BUILD_ID_SIZE_MAX : 0;
	record.mmap.inode = build ? 0 : 77;
	story_apply(story, &record);
}

/* A mapping of memory without a file. */
static inline void
story_map_memory(struct story *story, uint64_t at, uint32_t pid, const char *name, uint64_t start, uint64_t length)
{
	struct record record = {.type = RECORD_MMAP, .pid = pid, .tid = pid, .time = at * MS};

	record.mmap.start = start;
	record.mmap.length = length;
	record.mmap.file_offset = start; /* what the kernel tells */
	record.mmap.path = name;
	story_apply(story, &record);
}

/* What attribution_sample() says; *key is untouched where it says nothing. */
static inline int
story_sample(struct story *story, uint64_t at, enum cpu_mode mode, uint32_t pid, uint64_t address,
             struct sample_key *key)
{
	struct record record = {.type = RECORD_SAMPLE, .mode = mode, .pid = pid, .tid = pid, .time = at * MS};

	record.sample.address = address;
	return attribution_sample(story->attribution, &record, key);
}

/* A user sample belongs to this image, at this offset. */
static inline void
assert_sample(struct story *story, uint64_t at, uint32_t pid, uint64_t address, const char *path, uint64_t offset)
{
	struct sample_key key = {.event = 42};

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, address, &key), 0);
	assert_string_equal(image_table_get(story->images, key.image)->path, path);
	assert_int_equal(key.offset, offset);
	assert_int_equal(key.event, 42);
}

static inline void
assert_unknown(struct story *story, uint64_t at, uint32_t pid, uint64_t address, enum unknown_cause cause)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, address, &key), 1 + (int)cause);
}

/* A user sample that belongs somewhere belongs to this command. */
static inline void
assert_comm(struct story *story, uint64_t at, uint32_t pid, uint64_t address, const char *comm)
{
	struct sample_key key;

	assert_int_equal(story_sample(story, at, CPU_MODE_USER, pid, address, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, comm);
}

static inline struct attribution_stats
story_stats(struct story *story)
{
	struct attribution_stats stats;

	attribution_stats(story->attribution, &stats);
	return stats;
}

#define STORY_TEST(test) cmocka_unit_test_setup_teardown(test, story_setup, story_teardown)

#endif
