#include "tests/unit/test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/kernel_names.h"

struct fixture {
	char directory[64];
	struct profile *profile;
	struct image kernel;
};

static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 64 << 20};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct image *images[] = {&fixture->kernel};
	struct epoch epoch = {.start_ns = 1000, .event_count = 1};
	struct slice slice = {.start_ns = 1000, .end_ns = 2000, .event_count = 1};
	struct profile_batch batch = {.image_count = 1, .images = images, .slice = &slice};

	fixture->kernel = (struct image){.kind = IMAGE_KERNEL, .path = "[kernel]"};
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/names_test.XXXXXX");
	if (!mkdtemp(fixture->directory) || profile_open(fixture->directory, &options, &fixture->profile))
		return -1;
	if (profile_begin_epoch(fixture->profile, &epoch))
		return -1;
	slice.epoch = epoch.id;
	*state = fixture;
	return profile_flush(fixture->profile, &batch);
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	profile_close(fixture->profile);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

static int
store(struct fixture *fixture)
{
	int err = kernel_names_store(fixture->profile, 0, &fixture->kernel);

	if (err == -EACCES)
		skip_because("the kernel hides its addresses (kptr_restrict)");
	return err;
}

/* Every function's distance is its address in /proc/kallsyms less that of _stext, here taken with awk and sort. */
static void
distances_are_those_of_kallsyms(void **state)
{
	struct fixture *fixture = *state;
	struct profile_symbol *symbols;
	char name[512];
	uint64_t address, stext;
	size_t count, found = 0;
	FILE *pipe;

	assert_int_equal(store(fixture), 0);
	assert_int_equal(profile_get_symbols(fixture->profile, 1, &symbols, &count), 0);
	assert_true(count > 1000);
	assert_int_equal(symbols[0].offset, 0);
	pipe = popen("awk '$3 == \"_stext\" { print $1 }' /proc/kallsyms; "
	             "awk 'NF == 3 && $2 == \"T\" && /schedule|vfs_/ { print $1, $3 }' /proc/kallsyms",
	             "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%" SCNx64, &stext), 1);
	while (fscanf(pipe, "%" SCNx64 " %511s", &address, name) == 2) {
		for (size_t i = 0; i < count; i++)
			if (symbols[i].offset == address - stext && !strcmp(symbols[i].name, name))
				found++;
		if (found == 20)
			break;
	}
	pclose(pipe);
	assert_int_equal(found, 20);
	profile_free_symbols(symbols);
}

static void
names_are_ascending_and_no_address(void **state)
{
	struct fixture *fixture = *state;
	struct profile_symbol *symbols;
	size_t count;

	assert_int_equal(store(fixture), 0);
	assert_int_equal(profile_get_symbols(fixture->profile, 1, &symbols, &count), 0);
	for (size_t i = 1; i < count; i++)
		assert_true(symbols[i - 1].offset <= symbols[i].offset);
	assert_true(symbols[count - 1].offset < UINT64_C(1) << 32);
	profile_free_symbols(symbols);
}

static void
a_module_that_is_not_loaded_has_no_names(void **state)
{
	struct fixture *fixture = *state;
	const struct image module = {.kind = IMAGE_MODULE, .path = "[no_such_module]"};

	assert_int_equal(kernel_names_store(fixture->profile, 0, &module), -ENOENT);
	assert_false(profile_has_symbols(fixture->profile, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(distances_are_those_of_kallsyms, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_ascending_and_no_address, setup, teardown),
		cmocka_unit_test_setup_teardown(a_module_that_is_not_loaded_has_no_names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
