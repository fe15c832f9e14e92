#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/modules.h"

struct seen {
	size_t count;
	char name[4][MODULE_NAME_SIZE];
	uint64_t address[4], size[4];
};

static int
see(void *context, const struct module *module)
{
	struct seen *seen = context;

	assert_true(seen->count < 4);
	snprintf(seen->name[seen->count], MODULE_NAME_SIZE, "%s", module->name);
	seen->address[seen->count] = module->address;
	seen->size[seen->count] = module->size;
	seen->count++;
	return 0;
}

static int
stop_at_once(void *context, const struct module *module)
{
	(void)context;
	(void)module;
	return 7;
}

/* What modules_read() makes of a file with this text. */
static int
read_text(const char *text, modules_visit *visit, struct seen *seen)
{
	char directory[] = "/tmp/modules_test.XXXXXX";
	char path[64];
	FILE *file;
	int result;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/modules", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	result = modules_read(directory, visit, seen);
	unlink(path);
	rmdir(directory);
	return result;
}

static void
name_size_and_address_are_read(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(read_text("ext4 1048576 2 - Live 0xffffffffc0201000\n"
	                           "nf_tables 380928 3 nft_ct,nft_chain_nat, Live 0xffffffffc0800000 (E)\n",
	                           see, &seen),
	                 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.name[0], "ext4");
	assert_int_equal(seen.size[0], 1048576);
	assert_int_equal(seen.address[0], 0xffffffffc0201000);
	assert_string_equal(seen.name[1], "nf_tables");
	assert_int_equal(seen.address[1], 0xffffffffc0800000);
}

static void
hidden_addresses_are_said(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(read_text("ext4 1048576 2 - Live 0x0000000000000000\n", see, &seen), -EACCES);
	assert_int_equal(seen.count, 0);
}

static void
a_kernel_without_modules_has_none(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(modules_read("/nonexistent", see, &seen), 0);
	assert_int_equal(read_text("", see, &seen), 0);
	assert_int_equal(seen.count, 0);
}

static void
lines_of_another_form_are_left_out(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(read_text("ext4\next4 x 2 - Live 0xffffffffc0201000\n 12 0x1\nxfs 4096 0 - Live\n"
	                           "loop 40960 0 - Live 0xffffffffc0300000\n",
	                           see, &seen),
	                 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.name[0], "loop");
}

static void
the_visitor_may_end_the_pass(void **state)
{
	(void)state;
	assert_int_equal(read_text("ext4 1048576 2 - Live 0xffffffffc0201000\n", stop_at_once, NULL), 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_size_and_address_are_read),
		cmocka_unit_test(hidden_addresses_are_said),
		cmocka_unit_test(a_kernel_without_modules_has_none),
		cmocka_unit_test(lines_of_another_form_are_left_out),
		cmocka_unit_test(the_visitor_may_end_the_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
