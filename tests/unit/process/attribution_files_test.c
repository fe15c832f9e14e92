/* Which files somebody is asked about, for the kernel tells no build-id of theirs. */
#include "tests/unit/process/story.h"

#include <stdio.h>

/* Scans a /proc with the process 42, which has a file mapped at 0x401000. */
static void
begin_live(struct story *story)
{
	fake_text(&story->fake, "42/comm", "gzip\n");
	fake_text(&story->fake, "42/maps", "00401000-00404000 r-xp 00001000 08:01 70 /usr/bin/gzip\n");
	assert_int_equal(story_scan(story), 0);
}

static void
assert_nobody_is_asked(struct story *story)
{
	struct sampled_file file;

	assert_false(attribution_take_file(story->attribution, &file));
}

static void
a_file_is_asked_about_with_its_first_sample(void **state)
{
	struct story *story = *state;
	struct sampled_file file;

	begin_live(story);
	assert_nobody_is_asked(story);
	assert_sample(story, 1, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	assert_true(attribution_take_file(story->attribution, &file));
	assert_string_equal(file.image->path, "/usr/bin/gzip");
	assert_int_equal(file.image->inode, 70);
	assert_int_equal(file.place.pid, 42);
	assert_int_equal(file.place.start, 0x401000);
	assert_int_equal(file.place.end, 0x404000);
	assert_sample(story, 2, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	assert_nobody_is_asked(story);
}

static void
a_file_mapped_again_is_asked_about_once_a_second(void **state)
{
	struct story *story = *state;
	struct sampled_file file;

	begin_live(story);
	story_exec(story, 100, 43, "app");
	story_map(story, 100, 43, "/bin/app", 0, 0x400000, 0x1000, 0);
	assert_sample(story, 101, 43, 0x400000, "/bin/app", 0);
	assert_true(attribution_take_file(story->attribution, &file));
	for (uint32_t at = 200; at <= 1100; at += 300) {
		story_map(story, at, 43, "/bin/app", 0, 0x400000, 0x1000, 0);
		assert_sample(story, at, 43, 0x400000, "/bin/app", 0);
		assert_nobody_is_asked(story);
	}
	story_map(story, 1101, 43, "/bin/app", 0, 0x400000, 0x1000, 0);
	assert_sample(story, 1102, 43, 0x400000, "/bin/app", 0);
	assert_true(attribution_take_file(story->attribution, &file));
	assert_string_equal(file.image->path, "/bin/app");
	assert_nobody_is_asked(story);
}

static void
what_has_a_build_id_or_no_file_is_not_asked_about(void **state)
{
	struct story *story = *state;

	begin_live(story);
	story_exec(story, 1, 43, "app");
	story_map(story, 1, 43, "/bin/app", 3, 0x400000, 0x1000, 0);
	story_map_memory(story, 1, 43, "//anon", 0x500000, 0x1000);
	assert_sample(story, 2, 43, 0x400000, "/bin/app", 0);
	assert_sample(story, 2, 43, 0x500000, "[anon]", 0);
	assert_nobody_is_asked(story);
}

/* The processes of a recording are not here any more, or never were. */
static void
nobody_is_asked_about_a_recording(void **state)
{
	struct story *story = *state;

	story_exec(story, 0, 43, "app");
	story_map(story, 0, 43, "/bin/app", 0, 0x400000, 0x1000, 0);
	assert_sample(story, 1, 43, 0x400000, "/bin/app", 0);
	assert_nobody_is_asked(story);
}

/* 1,024 can wait. */
static void
a_file_that_had_to_wait_for_room_is_met_with_its_next_sample(void **state)
{
	struct story *story = *state;
	struct sampled_file file;
	char path[32];
	unsigned taken = 0;

	begin_live(story);
	story_exec(story, 1, 43, "app");
	for (uint32_t i = 0; i < 1025; i++) {
		struct record record = {.type = RECORD_MMAP, .pid = 43, .tid = 43, .time = MS};

		snprintf(path, sizeof(path), "/lib/%u.so", (unsigned)i);
		record.mmap.start = 0x10000 * (uint64_t)(1 + i);
		record.mmap.length = 0x1000;
		record.mmap.path = path;
		record.mmap.inode = 1000 + i;
		story_apply(story, &record);
		assert_sample(story, 2, 43, record.mmap.start, path, 0);
	}
	while (attribution_take_file(story->attribution, &file)) {
		assert_string_not_equal(file.image->path, "/lib/1024.so");
		taken++;
	}
	assert_int_equal(taken, 1024);
	assert_sample(story, 3, 43, 0x10000 * UINT64_C(1025), "/lib/1024.so", 0);
	assert_true(attribution_take_file(story->attribution, &file));
	assert_string_equal(file.image->path, "/lib/1024.so");
	assert_nobody_is_asked(story);
}

/* With new tables, numbers that wait are of no image any more; their owner has to ask for the image again. */
static void
new_tables_ask_anew(void **state)
{
	struct story *story = *state;
	struct image_table *images = image_table_new();
	struct context_table *contexts = context_table_new();
	struct sampled_file file;

	begin_live(story);
	assert_sample(story, 1, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	attribution_reset_ids(story->attribution, images, contexts);
	image_table_free(story->images);
	context_table_free(story->contexts);
	story->images = images;
	story->contexts = contexts;
	assert_nobody_is_asked(story);
	assert_sample(story, 2, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	assert_true(attribution_take_file(story->attribution, &file));
	assert_string_equal(file.image->path, "/usr/bin/gzip");
	assert_nobody_is_asked(story);
}

/* What it held before keeps its samples, and somebody is asked whether it changed once more. */
static void
a_file_that_was_written_to_is_another_image(void **state)
{
	struct story *story = *state;
	struct sample_key before, after;
	struct sampled_file file;

	begin_live(story);
	assert_int_equal(story_sample(story, 1, CPU_MODE_USER, 42, 0x401010, &before), 0);
	assert_true(attribution_take_file(story->attribution, &file));
	assert_int_equal(attribution_change_file(story->attribution, file.image, 1), 0);
	assert_int_equal(story_sample(story, 2, CPU_MODE_USER, 42, 0x401010, &after), 0);
	assert_int_not_equal(before.image, after.image);
	assert_int_equal(image_table_get(story->images, before.image)->content, 0);
	assert_int_equal(image_table_get(story->images, after.image)->content, 1);
	assert_string_equal(image_table_get(story->images, after.image)->path, "/usr/bin/gzip");
	assert_true(attribution_take_file(story->attribution, &file));
	assert_int_equal(file.image->content, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(a_file_is_asked_about_with_its_first_sample),
		STORY_TEST(a_file_mapped_again_is_asked_about_once_a_second),
		STORY_TEST(what_has_a_build_id_or_no_file_is_not_asked_about),
		STORY_TEST(nobody_is_asked_about_a_recording),
		STORY_TEST(a_file_that_had_to_wait_for_room_is_met_with_its_next_sample),
		STORY_TEST(new_tables_ask_anew),
		STORY_TEST(a_file_that_was_written_to_is_another_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
