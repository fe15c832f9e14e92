#include "dcpi-tools/emu/machines.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define CACHE "{ bytes = 8192; ways = 2; latency_cycles = 3; }"

static char root[] = "/tmp/dcpi-machines-XXXXXX";

static void
make_directory(const char *below)
{
	char path[256];

	assert_true((size_t)snprintf(path, sizeof(path), "%s%s", root, below) < sizeof(path));
	assert_int_equal(mkdir(path, 0700), 0);
}

/* Two nodes of two cores, two controllers each, that move 10 GB/s. */
static void
put(const char *below, const char *name, const char *title)
{
	char path[256];
	FILE *file;

	assert_true((size_t)snprintf(path, sizeof(path), "%s%s/%s.conf", root, below, name) < sizeof(path));
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file,
	                    "name = \"%s\"; title = \"%s\"; pipeline = \"in-order-2\"; clock_mhz = 1500; nodes = 2; "
	                    "cores = 4;"
	                    "line_bytes = 64; page_bytes = 4096; misses_in_flight = 4; write_buffer_entries = 4;"
	                    "call_cycles = 9; caches = { code = " CACHE "; level1 = " CACHE
	                    "; level2 = { bytes = 3145728; ways = 3; latency_cycles = 9; }; };"
	                    "branches = { predictor = \"static\"; };"
	                    "memory = { controllers = 2; remote_latency_ns = 50; curve = ( { gb_s = 10; latency_ns = "
	                    "80; } ); };",
	                    name, title) > 0);
	assert_int_equal(fclose(file), 0);
}

static int
make_machines(void **state)
{
	(void)state;
	memcpy(strrchr(root, '-'), "-XXXXXX", 7);
	if (!mkdtemp(root) || setenv("XDG_CONFIG_HOME", root, 1) || setenv("DCPI_MACHINES", root, 1))
		return -1;
	put("", "beta", "described");
	put("", "alpha", "described");
	return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int
remove_machines(void **state)
{
	(void)state;
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("DCPI_MACHINES");
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *
print(const struct machine_list *list, bool header)
{
	struct output output = {0};
	size_t size;
	char *text = NULL;

	output.stream = open_memstream(&text, &size);
	assert_non_null(output.stream);
	assert_int_equal(machine_list_print_text(list, &output, header), 0);
	assert_int_equal(fclose(output.stream), 0);
	return text;
}

static void
all_are_listed_with_what_they_can(void **state)
{
	struct machine_list list;
	char *text;

	(void)state;
	assert_int_equal(machine_list_read(&list), 0);
	text = print(&list, false);
	assert_string_equal(text, "alpha      2x2  1500   8K 3M   80 ns    40  in-order-2  described\n"
	                          "beta       2x2  1500   8K 3M   80 ns    40  in-order-2  described\n");
	free(text);
	text = print(&list, true);
	assert_int_equal(strncmp(text, "machine  cores   MHz  caches  memory  GB/s  pipeline    title\n", 60), 0);
	assert_non_null(strstr(text, root));
	free(text);
	machine_list_fini(&list);
}

static void
ones_own_comes_first_and_hides_the_other(void **state)
{
	struct machine_list list;

	(void)state;
	make_directory("/dcpi");
	make_directory("/dcpi/machines");
	put("/dcpi/machines", "beta", "my own");
	assert_int_equal(machine_list_read(&list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.machines[0].machine.title, "my own");
	assert_string_equal(list.machines[1].machine.name, "alpha");
	machine_list_fini(&list);
}

static void
one_that_is_wrong_is_kept_with_the_reason(void **state)
{
	struct machine_list list;
	char expected[256], *text;

	(void)state;
	put("", "gamma", "a title\\\" of \" two parts");
	assert_int_equal(machine_list_read(&list), 0);
	assert_int_equal(list.count, 3);
	snprintf(expected, sizeof(expected), "%s/gamma.conf:1: syntax error", root);
	assert_string_equal(list.machines[2].why, expected);
	text = print(&list, false);
	assert_null(strstr(text, "gamma"));
	free(text);
	machine_list_fini(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_are_listed_with_what_they_can, make_machines, remove_machines),
		cmocka_unit_test_setup_teardown(ones_own_comes_first_and_hides_the_other, make_machines,
	                                        remove_machines),
		cmocka_unit_test_setup_teardown(one_that_is_wrong_is_kept_with_the_reason, make_machines,
	                                        remove_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
