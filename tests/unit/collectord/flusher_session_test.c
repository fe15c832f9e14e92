/* Sessions of images and contexts, and their end. */
#include "tests/unit/collectord/flusher_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "collectord/machine.h"

/* A job with tables of its own is the session's last: the flusher frees them, and the next job counts from 0. */
static void
a_session_ends_with_the_job_that_has_its_tables(void **state)
{
	struct flusher_fixture *fixture = *state;
	struct flush_job job = make_job(fixture, "/bin/a", 1, 7, 0);
	struct flush_result result = flush(fixture, &job);
	struct profile_stats stats;

	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	job.images = fixture->images;
	job.contexts = fixture->contexts;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	result = flush(fixture, &job);
	assert_int_equal(result.error, 0);
	assert_null(result.job.images);
	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 1, result.job.slice.id);
	result = flush(fixture, &job);
	assert_int_equal(result.error, 0);
	tally_free(result.job.tally);
	assert_int_equal(flusher_call(fixture->flusher, check, NULL), 0);
	assert_int_equal(flusher_call(fixture->flusher, count_blocks, &stats), 0);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 1);
	assert_int_equal(stats.blocks, 2);
}

#define TABLE_IMAGES 1000
#define KEPT_EVERY   8

/* Fill the session's table with 3 MB of images; among them lies what stays. */
static void
fill_images(struct flusher_fixture *fixture, void *kept[TABLE_IMAGES / KEPT_EVERY])
{
	char path[3000];
	struct image image = {.kind = IMAGE_USER, .path = path};
	uint32_t number;

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i < TABLE_IMAGES; i++) {
		image.inode = 100 + i;
		assert_int_equal(image_table_intern(fixture->images, &image, &number), 0);
		if (i % KEPT_EVERY == 0)
			kept[i / KEPT_EVERY] = malloc(16);
	}
}

static void
what_a_session_knew_is_given_back_at_its_end(void **state)
{
	struct flusher_fixture *fixture = *state;
	void *kept[TABLE_IMAGES / KEPT_EVERY];
	struct machine_memory before, after;
	struct flush_result result;
	struct flush_job job;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip_because("the sanitizer has an allocator of its own");
#endif
	fill_images(fixture, kept);
	job = make_job(fixture, "/bin/a", 1, 7, 0);
	result = flush(fixture, &job);
	tally_free(result.job.tally);
	job = make_job(fixture, "/bin/b", 2, 5, result.job.slice.id);
	job.images = fixture->images;
	job.contexts = fixture->contexts;
	fixture->images = image_table_new();
	fixture->contexts = context_table_new();
	machine_memory(&before);
	result = flush(fixture, &job);
	machine_memory(&after);
	assert_int_equal(result.error, 0);
	tally_free(result.job.tally);
	assert_true(before.own_bytes >= after.own_bytes + (1 << 20));
	for (size_t i = 0; i < TABLE_IMAGES / KEPT_EVERY; i++)
		free(kept[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_session_ends_with_the_job_that_has_its_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_session_knew_is_given_back_at_its_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
