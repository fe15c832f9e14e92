/* Tests of emulator/model/directory.h. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "emulator/model/directory.h"

#define THREADS 4
#define ROUNDS  100000

static void
an_entry_is_what_it_was_set_to(void **state)
{
	struct directory *directory = directory_new(64);
	static const uint64_t lines[] = {0, 1, 65535, 65536, UINT64_C(4094) << 26};
	uint64_t entry;

	(void)state;
	assert_non_null(directory);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t *place = directory_lock(directory, lines[i], &entry);

		assert_non_null(place);
		assert_int_equal(entry, 0);
		directory_unlock(place, directory_with_owner(i | DIRECTORY_WRITTEN, 60000 + i));
	}
	for (unsigned i = 0; i < 5; i++) {
		uint64_t *place = directory_lock(directory, lines[i], &entry);

		assert_int_equal(directory_owner(entry), 60000 + i);
		assert_int_equal(entry & DIRECTORY_SHARERS, i);
		assert_true(entry & DIRECTORY_WRITTEN);
		assert_int_equal(directory_owner(directory_with_owner(entry, 0)), 0);
		directory_unlock(place, entry);
	}
	directory_free(directory);
}

static void *
count(void *data)
{
	struct directory *directory = data;
	uint64_t entry;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t *place = directory_lock(directory, 5, &entry);

		directory_unlock(place, entry + 1);
	}
	return NULL;
}

static void
only_one_thread_has_it_locked(void **state)
{
	struct directory *directory = directory_new(128);
	pthread_t threads[THREADS];
	uint64_t entry;

	(void)state;
	assert_non_null(directory);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, directory), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	directory_unlock(directory_lock(directory, 5, &entry), 0);
	assert_int_equal(entry, THREADS * ROUNDS);
	directory_free(directory);
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
