/* Tests of emulator/model/line_directory.h. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "emulator/model/line_directory.h"

#define THREADS 4
#define ROUNDS  100000

static void
an_entry_is_what_it_was_set_to(void **state)
{
	struct line_directory *directory = line_directory_new(64);
	static const uint64_t lines[] = {0, 1, 65535, 65536, UINT64_C(4094) << 26};
	uint64_t entry;

	(void)state;
	assert_non_null(directory);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t *place = line_directory_lock(directory, lines[i], &entry);

		assert_non_null(place);
		assert_int_equal(entry, 0);
		line_directory_unlock(place, line_directory_with_owner(i | LINE_WRITTEN, 60000 + i));
	}
	for (unsigned i = 0; i < 5; i++) {
		uint64_t *place = line_directory_lock(directory, lines[i], &entry);

		assert_int_equal(line_directory_owner(entry), 60000 + i);
		assert_int_equal(entry & LINE_SHARERS, i);
		assert_true(entry & LINE_WRITTEN);
		assert_int_equal(line_directory_owner(line_directory_with_owner(entry, 0)), 0);
		line_directory_unlock(place, entry);
	}
	line_directory_free(directory);
}

static void *
count(void *data)
{
	struct line_directory *directory = data;
	uint64_t entry;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t *place = line_directory_lock(directory, 5, &entry);

		line_directory_unlock(place, entry + 1);
	}
	return NULL;
}

static void
only_one_thread_has_it_locked(void **state)
{
	struct line_directory *directory = line_directory_new(128);
	pthread_t threads[THREADS];
	uint64_t entry;

	(void)state;
	assert_non_null(directory);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, directory), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	line_directory_unlock(line_directory_lock(directory, 5, &entry), 0);
	assert_int_equal(entry, THREADS * ROUNDS);
	line_directory_free(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_what_it_was_set_to),
		cmocka_unit_test(only_one_thread_has_it_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
