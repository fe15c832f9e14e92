#include "machine/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/model_file.h"

#include "tests/unit/test.h"

/* Every machine that is described is sound, has the name of its file, and a pipeline; there are those of the poster. */
static void
all_described_machines_are_sound(void **state)
{
	static const char *const wanted[] = {"e5-2603v1", "e5-2690v4", "e5-2699v3", "in-order-2"};
	char directory[PATH_MAX];
	char **names;
	size_t found = 0;
	int count;

	(void)state;
	machine_directory(directory, sizeof(directory));
	count = model_file_list(directory, &names);
	assert_true(count >= 4);
	for (int i = 0; i < count; i++) {
		char why[1024] = "";
		struct pipeline pipeline;
		struct machine machine;

		if (machine_choose(names[i], &machine, &pipeline, why, sizeof(why)))
			fail_msg("%s", why);
		assert_string_equal(machine.name, names[i]);
		assert_string_equal(machine.pipeline_name, pipeline.name);
		for (size_t w = 0; w < 4; w++)
			found += strcmp(names[i], wanted[w]) == 0;
	}
	assert_int_equal(found, 4);
	model_file_list_free(names, count);
}

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
a_machine_that_is_none_is_refused_with_those_near(void **state)
{
	char why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	assert_int_equal(machine_choose("in-order2", &machine, &pipeline, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, "there is no machine \"in-order2\"; did you mean \"in-order-2\"?");
	assert_int_equal(machine_choose("./none.conf", &machine, &pipeline, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "./none.conf: cannot read the description of a machine: No such file or directory");
}

static void
make_directory(char *path, size_t size, const char *home, const char *below)
{
	assert_true((size_t)snprintf(path, size, "%s%s", home, below) < size);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The described machine, with twice the cores, in a home of its own. */
static void
ones_own_machine_comes_first(void **state)
{
	char home[] = "/tmp/dcpi-machine-XXXXXX", path[PATH_MAX + 32], directory[PATH_MAX], why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;
	char *text;

	(void)state;
	machine_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/in-order-2.conf", directory);
	assert_int_equal(model_file_read(path, "it", &text, why, sizeof(why)), 0);
	memcpy(strstr(text, "cores = 4"), "cores = 8", 9);
	assert_non_null(mkdtemp(home));
	assert_int_equal(setenv("XDG_CONFIG_HOME", home, 1), 0);
	make_directory(directory, sizeof(directory), home, "/dcpi");
	make_directory(directory, sizeof(directory), home, "/dcpi/machines");
	assert_int_equal(machine_own_directory(path, sizeof(path)), 0);
	assert_string_equal(path, directory);
	assert_true((size_t)snprintf(path, sizeof(path), "%s/dcpi/machines/in-order-2.conf", home) < sizeof(path));
	write_file(path, text);
	free(text);
	if (machine_choose("in-order-2", &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(machine.cores, 8);
	assert_int_equal(unlink(path), 0);
	for (int up = 0; up < 3; up++) {
		*strrchr(path, '/') = '\0';
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

/* The two-wide machine with `change` in the place of `what`, which is as long, in a file of its own. */
static void
write_changed(char *path, const char *what, const char *change)
{
	char directory[PATH_MAX], from[PATH_MAX + 32], why[1024] = "";
	char *text, *at;
	int fd;

	machine_directory(directory, sizeof(directory));
	snprintf(from, sizeof(from), "%s/in-order-2.conf", directory);
	assert_int_equal(model_file_read(from, "it", &text, why, sizeof(why)), 0);
	at = strstr(text, what);
	assert_non_null(at);
	memcpy(at, change, strlen(change));
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	write_file(path, text);
	free(text);
}

static void
a_pipeline_that_is_none_is_refused_with_the_file(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "", expected[1024];
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "pipeline = \"in-order-2", "pipeline = \"in-order-3");
	assert_int_equal(machine_choose(path, &machine, &pipeline, why, sizeof(why)), -DCPI_ECONFIG);
	snprintf(expected, sizeof(expected),
	         "%s: pipeline: there is no model of a CPU \"in-order-3\"; did you mean \"in-order-2\"?", path);
	assert_string_equal(why, expected);
	assert_int_equal(unlink(path), 0);
}

/* The model of the CPU has 3 cycles, and its vectors the same. */
static void
a_load_takes_what_the_machine_says(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "level1 = { bytes = 32768; ways = 4; latency_cycles = 3",
	              "level1 = { bytes = 32768; ways = 4; latency_cycles = 5");
	if (machine_choose(path, &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(pipeline.operations[CLASS_LOAD].latency, 5);
	assert_int_equal(pipeline.operations[OPERATION_LOAD_VECTOR].latency, 5);
	assert_int_equal(unlink(path), 0);
}

/* The model of the CPU has 64 bytes. */
static void
lines_are_as_long_as_the_machine_says(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "line_bytes = 64", "line_bytes = 32");
	if (machine_choose(path, &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(pipeline.cache_line, 32);
	assert_int_equal(unlink(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_described_machines_are_sound),
		cmocka_unit_test(a_machine_that_is_none_is_refused_with_those_near),
		cmocka_unit_test(ones_own_machine_comes_first),
		cmocka_unit_test(a_pipeline_that_is_none_is_refused_with_the_file),
		cmocka_unit_test(a_load_takes_what_the_machine_says),
		cmocka_unit_test(lines_are_as_long_as_the_machine_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
