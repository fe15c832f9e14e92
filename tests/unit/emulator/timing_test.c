/* Tests of emulator/timing/timing.c. */
#include "tests/unit/emulator/timing_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static void
a_setup_is_found_as_it_was_written(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct setup *setup_file;

	fixture->setup.seed = 42;
	assert_int_equal(setup_write(&fixture->setup, fixture->directory), 0);
	setup_file = timing_map_setup(fixture->directory);
	assert_non_null(setup_file);
	assert_memory_equal(setup_file, &fixture->setup, sizeof(*setup_file));
	munmap((void *)(uintptr_t)setup_file, sizeof(*setup_file));
}

static void
no_setup_is_an_error(void **state)
{
	struct timing_fixture *fixture = *state;

	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, ENOENT);
}

static void
a_setup_of_another_build_is_refused(void **state)
{
	struct timing_fixture *fixture = *state;
	char path[128];

	fixture->setup.magic++;
	assert_int_equal(setup_write(&fixture->setup, fixture->directory), 0);
	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, EPROTO);
	snprintf(path, sizeof(path), "%s/" SETUP_NAME, fixture->directory);
	assert_int_equal(truncate(path, sizeof(fixture->setup) - 1), 0);
	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, EPROTO);
}

static void
code_that_is_translated_again_is_the_same(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct code *code = CODE_OF(fixture, "90");

	assert_ptr_equal(timing_add_code(&fixture->timing, code->block), code);
}

/* A library that was unloaded and comes back elsewhere has the same number; what was translated stays what it was. */
static void
code_at_another_address_is_another(void **state)
{
	static const uint8_t bytes[] = {0x90}, sizes[] = {1};
	struct timing_fixture *fixture = *state;
	struct blocks *blocks = fixture->timing.blocks;
	const struct code *here, *there;

	here = timing_add_code(&fixture->timing, blocks_add(blocks, 0x10000, bytes, sizes, 1, 1, 1));
	there = timing_add_code(&fixture->timing, blocks_add(blocks, 0x20000, bytes, sizes, 1, 1, 1));
	assert_int_equal(here->address, 0x10000);
	assert_int_equal(there->address, 0x20000);
	assert_int_equal(here->number, there->number);
	assert_ptr_equal(timing_add_code(&fixture->timing, here->block), here);
}

static void
a_thread_too_many_is_refused(void **state)
{
	struct timing_fixture *fixture = *state;

	assert_int_equal(thread_begin(&fixture->timing, RECORD_VCPUS_MAX), -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, timing_in_order, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_setup_is_found_as_it_was_written),  TEST(no_setup_is_an_error),
		TEST(a_setup_of_another_build_is_refused), TEST(code_that_is_translated_again_is_the_same),
		TEST(code_at_another_address_is_another),  TEST(a_thread_too_many_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
