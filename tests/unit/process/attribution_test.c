/* Processes come, change and go; their samples find the map that was valid when they were taken. */
#include "tests/unit/process/story.h"

#include <errno.h>

static void
a_process_that_lived_a_millisecond_is_attributed(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 10, "sh");
	story_map(story, 0, 10, "/bin/sh", 1, 0x400000, 0x1000, 0x1000);
	story_fork(story, 100, 10, 42);
	story_exec(story, 100, 42, "true");
	story_map(story, 100, 42, "/bin/true", 2, 0x400000, 0x1000, 0x2000);
	assert_sample(story, 101, 42, 0x400010, "/bin/true", 0x2010);
	story_exit(story, 101, 42, 42);
	assert_sample(story, 102, 10, 0x400010, "/bin/sh", 0x1010);
}

/* The only thread runs no program any more when its end is told; what it still does in the kernel has its name. */
static void
the_end_of_the_only_thread_takes_the_map_and_leaves_the_name(void **state)
{
	struct story *story = *state;
	struct record record = {.type = RECORD_SAMPLE, .mode = CPU_MODE_KERNEL, .pid = 42, .tid = 42, .time = 102 * MS};
	struct sample_key key;

	fake_text(&story->fake, "kallsyms", "ffffffff81000000 T _stext\nffffffff81100000 T _etext\n");
	assert_int_equal(story_scan(story), 0);
	story_exec(story, 0, 10, "sh");
	story_fork(story, 100, 10, 42);
	story_exec(story, 100, 42, "true");
	story_map(story, 100, 42, "/bin/true", 2, 0x400000, 0x1000, 0x2000);
	story_exit(story, 101, 42, 42);
	assert_int_equal(story_stats(story).mappings, 0);
	record.sample.address = 0xffffffff81000010;
	assert_int_equal(attribution_sample(story->attribution, &record, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "true");
}

static void
a_sample_in_the_grace_is_attributed_one_behind_it_is_not(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "true");
	story_map(story, 0, 42, "/bin/true", 2, 0x400000, 0x1000, 0);
	story_exit(story, 500, 42, 42);
	attribution_expire(story->attribution, 1499 * MS);
	assert_sample(story, 500, 42, 0x400000, "/bin/true", 0);
	attribution_expire(story->attribution, 1500 * MS);
	assert_unknown(story, 500, 42, 0x400000, UNKNOWN_PROCESS);
	assert_int_equal(story_stats(story).processes, 0);
	assert_int_equal(story_stats(story).mappings, 0);
}

static void
exec_in_place_replaces_everything(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "wrapper");
	story_map(story, 0, 42, "/bin/wrapper", 1, 0x400000, 0x1000, 0);
	story_map(story, 0, 42, "/lib/plugin.so", 3, 0x7f0000, 0x1000, 0);
	assert_comm(story, 1, 42, 0x400000, "wrapper");
	story_exec(story, 2, 42, "real");
	story_map(story, 2, 42, "/bin/real", 2, 0x400000, 0x1000, 0);
	assert_sample(story, 3, 42, 0x400123, "/bin/real", 0x123);
	assert_comm(story, 3, 42, 0x400000, "real");
	assert_unknown(story, 3, 42, 0x7f0000, UNKNOWN_ADDRESS);
}

static void
a_fork_without_exec_keeps_its_parents_map_and_name(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 10, "server");
	story_map(story, 0, 10, "/bin/server", 1, 0x400000, 0x1000, 0x1000);
	story_fork(story, 1, 10, 11);
	assert_sample(story, 2, 11, 0x400010, "/bin/server", 0x1010);
	assert_comm(story, 2, 11, 0x400010, "server");
}

static void
what_a_child_maps_is_its_own_and_its_parents_stays_its_parents(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 10, "server");
	story_map(story, 0, 10, "/bin/server", 1, 0x400000, 0x1000, 0);
	story_fork(story, 1, 10, 11);
	story_map(story, 2, 11, "/lib/child.so", 2, 0x700000, 0x1000, 0);
	story_map(story, 2, 10, "/lib/parent.so", 3, 0x700000, 0x1000, 0);
	assert_sample(story, 3, 11, 0x700000, "/lib/child.so", 0);
	assert_sample(story, 3, 10, 0x700000, "/lib/parent.so", 0);
	assert_sample(story, 3, 11, 0x400000, "/bin/server", 0);
	story_exit(story, 4, 10, 10);
	attribution_expire(story->attribution, 5000 * MS);
	assert_sample(story, 5000, 11, 0x400000, "/bin/server", 0); /* outlives its parent */
}

static void
fork_shares_the_mappings(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 10, "server");
	for (uint64_t i = 0; i < 100; i++)
		story_map(story, 0, 10, "/bin/server", 1, 0x400000 + i * 0x2000, 0x1000, i * 0x10000);
	assert_int_equal(story_stats(story).mappings, 100);
	for (uint32_t child = 100; child < 200; child++)
		story_fork(story, 1, 10, child);
	assert_int_equal(story_stats(story).processes, 101);
	assert_int_equal(story_stats(story).mappings, 100);
}

static void
a_pid_that_is_used_again_is_a_fresh_process(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 10, "sh");
	story_map(story, 0, 10, "/bin/sh", 1, 0x400000, 0x1000, 0);
	story_fork(story, 1, 10, 42);
	story_exec(story, 1, 42, "old");
	story_map(story, 1, 42, "/bin/old", 2, 0x400000, 0x1000, 0);
	story_map(story, 1, 42, "/lib/old.so", 3, 0x700000, 0x1000, 0);
	story_exit(story, 2, 42, 42);
	story_fork(story, 3, 10, 42);
	assert_sample(story, 4, 42, 0x400000, "/bin/sh", 0);
	assert_unknown(story, 4, 42, 0x700000, UNKNOWN_ADDRESS);
	attribution_expire(story->attribution, 5000 * MS);
	assert_sample(story, 5000, 42, 0x400000, "/bin/sh", 0); /* the old one's end does not end the new one */
}

static void
the_end_of_a_thread_is_not_the_end_of_its_process(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "server");
	story_map(story, 0, 42, "/bin/server", 1, 0x400000, 0x1000, 0);
	story_thread(story, 1, 42, 43);
	story_exit(story, 2, 42, 43);
	attribution_expire(story->attribution, 60000 * MS);
	assert_sample(story, 60000, 42, 0x400000, "/bin/server", 0);
	assert_int_equal(story_stats(story).processes, 1);
}

static void
threads_that_outlive_the_main_one_keep_the_map(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "server");
	story_map(story, 0, 42, "/bin/server", 1, 0x400000, 0x1000, 0);
	story_thread(story, 1, 42, 43);
	story_exit(story, 2, 42, 42); /* pthread_exit() in main */
	assert_sample(story, 3, 42, 0x400000, "/bin/server", 0);
	story_thread(story, 500, 42, 44); /* a sign of life */
	attribution_expire(story->attribution, 60000 * MS);
	assert_sample(story, 60000, 42, 0x400000, "/bin/server", 0);
}

static void
user_samples_after_the_main_threads_end_keep_the_map(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 42, "server");
	story_map(story, 0, 42, "/bin/server", 1, 0x400000, 0x1000, 0);
	story_thread(story, 1, 42, 43);
	story_exit(story, 2, 42, 42);
	for (uint64_t at = 700; at < 60000; at += 700) {
		attribution_expire(story->attribution, at * MS);
		assert_sample(story, at, 42, 0x400000, "/bin/server", 0);
	}
	attribution_expire(story->attribution, 70000 * MS);
	assert_int_equal(story_stats(story).processes, 0);
}

static void
a_thread_that_names_itself_does_not_rename_the_process(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 1, "firefox");
	story_map(story, 0, 1, "/bin/firefox", 1, 0x400000, 0x1000, 0);
	story_thread(story, 1, 1, 2);
	story_rename(story, 1, 1, 2, "Socket Thread");
	assert_comm(story, 2, 1, 0x400000, "firefox");
	story_rename(story, 3, 1, 1, "renamed");
	assert_comm(story, 4, 1, 0x400000, "renamed");
}

static void
a_process_whose_fork_was_lost_is_made_by_what_it_does(void **state)
{
	struct story *story = *state;

	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0x1000, 0);
	assert_sample(story, 1, 5, 0x400000, "/bin/five", 0);
	assert_comm(story, 1, 5, 0x400000, "");
	story_rename(story, 2, 6, 6, "six");
	assert_unknown(story, 3, 6, 0x400000, UNKNOWN_ADDRESS);
	story_fork(story, 4, 777, 7); /* by a parent never seen */
	assert_unknown(story, 5, 7, 0x400000, UNKNOWN_ADDRESS);
}

static void
a_process_never_seen_is_unknown(void **state)
{
	struct story *story = *state;

	assert_unknown(story, 1, 5, 0x400000, UNKNOWN_PROCESS);
	story_exit(story, 2, 5, 5);
	assert_int_equal(story_stats(story).processes, 0);
}

static void
a_process_of_another_namespace_is_told_so(void **state)
{
	struct story *story = *state;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t pid = i ? UINT32_MAX : 0;

		story_fork(story, 0, 1, pid);
		story_exec(story, 0, pid, "elsewhere");
		story_map(story, 0, pid, "/bin/elsewhere", 1, 0x400000, 0x1000, 0);
		story_exit(story, 0, pid, pid);
		assert_unknown(story, 1, pid, 0x400000, UNKNOWN_NAMESPACE);
	}
	assert_int_equal(story_stats(story).processes, 0);
}

static void
guests_and_unrecorded_modes_are_told_so(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0x1000, 0);
	assert_int_equal(story_sample(story, 1, CPU_MODE_GUEST_USER, 5, 0x400000, &key), 1 + UNKNOWN_GUEST);
	assert_int_equal(story_sample(story, 1, CPU_MODE_GUEST_KERNEL, 5, 0x400000, &key), 1 + UNKNOWN_GUEST);
	assert_int_equal(story_sample(story, 1, CPU_MODE_HYPERVISOR, 5, 0x400000, &key), 1 + UNKNOWN_GUEST);
	assert_int_equal(story_sample(story, 1, CPU_MODE_UNKNOWN, 5, 0x400000, &key), 1 + UNKNOWN_MODE);
}

static void
an_offset_beyond_what_the_database_holds_is_unknown(void **state)
{
	struct story *story = *state;

	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0x2000, (UINT64_C(1) << 44) - 0x1000);
	assert_sample(story, 1, 5, 0x400fff, "/bin/five", (UINT64_C(1) << 44) - 1);
	assert_unknown(story, 1, 5, 0x401000, UNKNOWN_ADDRESS);
}

static void
mappings_that_cannot_be_are_ignored(void **state)
{
	struct story *story = *state;

	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0, 0);
	story_map(story, 0, 5, "/bin/five", 1, UINT64_MAX - 10, 0x1000, 0);
	assert_int_equal(story_stats(story).mappings, 0);
}

static void
a_sample_knows_the_cgroup_it_was_taken_in(void **state)
{
	struct story *story = *state;
	struct record made = {.type = RECORD_CGROUP, .cgroup = {.id = 700, .path = "/user.slice"}};
	struct record sample = {.type = RECORD_SAMPLE, .mode = CPU_MODE_USER, .pid = 5, .tid = 5};
	struct sample_key key;

	story_apply(story, &made);
	story_rename(story, 0, 5, 5, "five");
	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0x1000, 0);
	sample.sample.address = 0x400000;
	sample.sample.cgroup = 700;
	assert_int_equal(attribution_sample(story->attribution, &sample, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->cgroup, "/user.slice");
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "five");
	sample.sample.cgroup = 701; /* moved to one never told */
	assert_int_equal(attribution_sample(story->attribution, &sample, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->cgroup, "");
	sample.sample.cgroup = 700;
	assert_int_equal(attribution_sample(story->attribution, &sample, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->cgroup, "/user.slice");
	assert_int_equal(story_stats(story).contexts, 2);
}

/* 200000 processes that each live a millisecond: what is remembered is what the grace holds. */
static void
a_storm_of_forks_leaves_memory_flat(void **state)
{
	struct story *story = *state;
	size_t most = 0;

	story_exec(story, 0, 10, "sh");
	story_map(story, 0, 10, "/bin/sh", 1, 0x400000, 0x1000, 0);
	for (uint64_t at = 1; at <= 200000; at++) {
		uint32_t pid = 1000 + (uint32_t)(at % 30000);

		story_fork(story, at, 10, pid);
		story_exec(story, at, pid, "true");
		story_map(story, at, pid, "/bin/true", 2, 0x400000, 0x1000, 0);
		story_exit(story, at, pid, pid);
		attribution_expire(story->attribution, at * MS);
		if (story_stats(story).processes > most)
			most = story_stats(story).processes;
	}
	assert_int_equal(most, 1001);                     /* a second's worth, and the shell */
	assert_int_equal(story_stats(story).mappings, 1); /* the shell's */
	assert_int_equal(story_stats(story).images, 0);   /* none was sampled */
}

/* All mappings together are bounded; what no longer fits is distinguished from what was never reported. */
static void
mappings_beyond_the_limit_are_told_so(void **state)
{
	struct story *story = *state;
	struct record record = {.type = RECORD_MMAP, .pid = 1, .tid = 1};
	uint32_t full = 0;

	record.mmap.path = "/bin/many";
	record.mmap.inode = 1;
	record.mmap.length = 0x1000;
	for (uint32_t pid = 100; !full && pid < 300; pid++) {
		record.pid = record.tid = pid;
		for (uint64_t i = 0; !full && i < 16000; i++) {
			record.mmap.start = i * 0x2000;
			if (attribution_apply(story->attribution, &record) == -ENOSPC)
				full = pid;
		}
	}
	assert_int_not_equal(full, 0);
	assert_unknown(story, 1, full, 16000 * 0x2000, UNKNOWN_MEMORY);
	assert_unknown(story, 1, 100, 16000 * 0x2000, UNKNOWN_ADDRESS); /* this one has all it asked for */
	story_exit(story, 1, 100, 100);
	attribution_expire(story->attribution, 5000 * MS);
	story_exec(story, 5000, full, "again");
	story_map(story, 5000, full, "/bin/again", 1, 0x400000, 0x1000, 0);
	assert_sample(story, 5000, full, 0x400000, "/bin/again", 0);
	assert_unknown(story, 5000, full, 0x500000, UNKNOWN_ADDRESS);
}

static void
before_a_scan_nothing_is_read(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	fake_text(&story->fake, "modules", "ext4 1048576 1 jbd2, Live 0xffffffffc0201000 (E)\n");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 1, 0xffffffffc0201000, &key),
	                 1 + UNKNOWN_KERNEL_ADDRESS);
}

static void
an_image_is_told_of_when_it_is_first_sampled(void **state)
{
	struct story *story = *state;

	story_map(story, 0, 5, "/bin/five", 1, 0x400000, 0x1000, 0);
	story_map(story, 0, 5, "/lib/libc.so", 2, 0x700000, 0x1000, 0);
	assert_int_equal(story_stats(story).images, 0);
	assert_sample(story, 1, 5, 0x700000, "/lib/libc.so", 0);
	assert_int_equal(story_stats(story).images, 1);
}

/* Numbers begin again, whoever had one; what runs where is still known. */
static void
new_tables_get_new_numbers_of_the_same_things(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	story_exec(story, 0, 10, "make");
	story_map(story, 0, 10, "/bin/make", 1, 0x400000, 0x1000, 0);
	story_exec(story, 0, 11, "cc");
	story_map(story, 0, 11, "/bin/cc", 2, 0x400000, 0x1000, 0);
	assert_sample(story, 1, 10, 0x400010, "/bin/make", 0x10);
	assert_sample(story, 1, 11, 0x400010, "/bin/cc", 0x10);
	image_table_free(story->images);
	context_table_free(story->contexts);
	story->images = image_table_new();
	story->contexts = context_table_new();
	attribution_reset_ids(story->attribution, story->images, story->contexts);
	assert_int_equal(story_stats(story).images, 0);
	assert_int_equal(story_stats(story).contexts, 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 11, 0x400010, &key), 0);
	assert_int_equal(key.image, 0);
	assert_int_equal(key.context, 0);
	assert_sample(story, 2, 11, 0x400010, "/bin/cc", 0x10);
	assert_comm(story, 2, 11, 0x400010, "cc");
	assert_sample(story, 2, 10, 0x400010, "/bin/make", 0x10);
	assert_comm(story, 2, 10, 0x400010, "make");
	assert_int_equal(story_stats(story).images, 2);
}

/* Rename `pid` and sample it until its names have no room. */
static void
fill_contexts(struct story *story, uint32_t pid)
{
	struct sample_key key;
	char comm[COMM_SIZE];

	for (unsigned i = 0; !context_table_is_full(story->contexts); i++) {
		snprintf(comm, sizeof(comm), "c%u", i);
		story_rename(story, 2, pid, pid, comm);
		assert_int_equal(story_sample(story, 2, CPU_MODE_USER, pid, 0x400000, &key), 0);
	}
}

/* Map and sample one thing after the other, until they have no room. */
static void
fill_images(struct story *story, uint32_t pid)
{
	struct sample_key key;
	char name[256];

	for (unsigned i = 0; !image_table_is_full(story->images); i++) {
		snprintf(name, sizeof(name), "/memfd:%0200u", i);
		story_map_memory(story, 2, pid, name, 0x800000, 0x1000);
		story_sample(story, 2, CPU_MODE_USER, pid, 0x800000, &key);
	}
}

/* While nobody writes them down, what is known is still counted, and what is new in two sums. */
static void
names_without_end_have_an_end(void **state)
{
	struct story *story = *state;
	struct image_table *images = story->images;
	struct context_table *contexts = story->contexts;

	story_exec(story, 0, 42, "gzip");
	story_map(story, 0, 42, "/bin/gzip", 1, 0x400000, 0x1000, 0);
	story_exec(story, 0, 43, "maker");
	story_map(story, 0, 43, "/bin/maker", 2, 0x400000, 0x1000, 0);
	assert_comm(story, 1, 42, 0x400000, "gzip");
	assert_comm(story, 1, 43, 0x400000, "maker");
	assert_false(story_stats(story).is_full);
	fill_contexts(story, 43);
	assert_true(story_stats(story).is_full);
	fill_images(story, 43);
	assert_comm(story, 3, 42, 0x400000, "gzip");
	assert_sample(story, 3, 43, 0x400000, "/bin/maker", 0);
	assert_comm(story, 3, 43, 0x400000, CONTEXT_OTHER);
	assert_unknown(story, 3, 43, 0x800000, UNKNOWN_MEMORY);
	/* It can be written again. */
	story->images = image_table_new();
	story->contexts = context_table_new();
	attribution_reset_ids(story->attribution, story->images, story->contexts);
	image_table_free(images);
	context_table_free(contexts);
	assert_false(story_stats(story).is_full);
	story_rename(story, 4, 43, 43, "maker");
	assert_comm(story, 4, 43, 0x400000, "maker");
	assert_int_equal(story_sample(story, 4, CPU_MODE_USER, 43, 0x800000, &(struct sample_key){0}), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_process_that_lived_a_millisecond_is_attributed),
		STORY_TEST(the_end_of_the_only_thread_takes_the_map_and_leaves_the_name),
		STORY_TEST(a_sample_in_the_grace_is_attributed_one_behind_it_is_not),
		STORY_TEST(exec_in_place_replaces_everything),
		STORY_TEST(a_fork_without_exec_keeps_its_parents_map_and_name),
		STORY_TEST(what_a_child_maps_is_its_own_and_its_parents_stays_its_parents),
		STORY_TEST(fork_shares_the_mappings),
		STORY_TEST(a_pid_that_is_used_again_is_a_fresh_process),
		STORY_TEST(the_end_of_a_thread_is_not_the_end_of_its_process),
		STORY_TEST(threads_that_outlive_the_main_one_keep_the_map),
		STORY_TEST(user_samples_after_the_main_threads_end_keep_the_map),
		STORY_TEST(a_thread_that_names_itself_does_not_rename_the_process),
		STORY_TEST(a_process_whose_fork_was_lost_is_made_by_what_it_does),
		STORY_TEST(a_process_never_seen_is_unknown),
		STORY_TEST(a_process_of_another_namespace_is_told_so),
		STORY_TEST(guests_and_unrecorded_modes_are_told_so),
		STORY_TEST(an_offset_beyond_what_the_database_holds_is_unknown),
		STORY_TEST(mappings_that_cannot_be_are_ignored),
		STORY_TEST(a_sample_knows_the_cgroup_it_was_taken_in),
		STORY_TEST(a_storm_of_forks_leaves_memory_flat),
		STORY_TEST(mappings_beyond_the_limit_are_told_so),
		STORY_TEST(before_a_scan_nothing_is_read),
		STORY_TEST(an_image_is_told_of_when_it_is_first_sampled),
		STORY_TEST(new_tables_get_new_numbers_of_the_same_things),
		STORY_TEST(names_without_end_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
