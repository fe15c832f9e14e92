#include "tests/unit/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/emu/sweep.h"

static const struct machine small = {.name = "small", .title = "A small one", .cores = 2};
static const struct machine large = {.name = "large", .title = "A large one", .cores = 8};
static char *const command[] = {(char[]){"/usr/bin/work"}, (char[]){"5%"}, NULL};

/* 1 and 2 threads on the one, 2 and 8 on the other, where each ran three times. */
static void
fill(struct sweep *sweep, struct sweep_point points[4])
{
	const struct sweep_point given[4] = {
		{.machine = &small, .threads = 1, .runs = 1, .seconds = {4}, .cores_busy = 1, .host_seconds = 10},
		{.machine = &small, .threads = 2, .runs = 1, .seconds = {2}, .bandwidth = 3, .limit = 12},
		{.machine = &large,
	         .threads = 2,
	         .runs = 3,
	         .seconds = {3, 1, 2},
	         .epoch = 4,
	         .label = "a\xff/large/2"},
		{.machine = &large, .threads = 8, .runs = 2, .seconds = {1.5, 0.5}},
	};

	memcpy(points, given, sizeof(given));
	*sweep = (struct sweep){.points = points, .count = 4, .command = command};
	sweep_summarize(sweep);
}

static void
throughput_is_relative_to_the_first_of_a_machine(void **state)
{
	static const char expected[] =
		"threads     seconds  spread throughput perfect   busy    GB/s  limit s here  machine\n"
		"      1    4.000000       -      1.000  100.0%   1.00    0.00   0.0%   10.0  small\n"
		"      2    2.000000       -      2.000  100.0%   0.00    3.00  25.0%    0.0  small\n"
		"      2    2.000000 100.00%      1.000  100.0%   0.00    0.00   0.0%    0.0  large\n"
		"      8    1.000000 100.00%      2.000   50.0%   0.00    0.00   0.0%    0.0  large\n";
	struct sweep_point points[4];
	struct sweep sweep;
	char *text = NULL;
	size_t size = 0;
	struct output output = {.stream = open_memstream(&text, &size)};

	(void)state;
	fill(&sweep, points);
	assert_int_equal(sweep_print_text(&sweep, &output, true), 0);
	fclose(output.stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
csv_and_json_have_the_same(void **state)
{
	static const char expected[] = "small,1,4.000000000,4.000000000,4.000000000,1.000000,1.000,0.000,0.000,10.000\n"
				       "small,2,2.000000000,2.000000000,2.000000000,2.000000,0.000,3.000,12.000,0.000\n"
				       "large,2,2.000000000,1.000000000,3.000000000,1.000000,0.000,0.000,0.000,0.000\n"
				       "large,8,1.000000000,0.500000000,1.500000000,2.000000,0.000,0.000,0.000,0.000\n";
	struct sweep_point points[4];
	struct sweep sweep;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	json_t *root, *point;

	(void)state;
	fill(&sweep, points);
	assert_int_equal(sweep_print_csv(&sweep, stream, false), 0);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
	stream = open_memstream(&text, &size);
	assert_int_equal(sweep_print_json(&sweep, stream), 0);
	fclose(stream);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	point = json_array_get(json_object_get(root, "points"), 2);
	assert_string_equal(json_text(point, "label"), "a\\xff/large/2");
	assert_int_equal(json_array_size(json_object_get(point, "runs_seconds")), 3);
	assert_true(json_real_value(json_object_get(point, "seconds")) == 2.0);
	json_decref(root);
	free(text);
}

/* As gnuplot is given it: a name in the title is no format and no command. */
static void
curves_are_drawn_from_the_points(void **state)
{
	char path[] = "/tmp/dcpi-sweep-test.XXXXXX.gnuplot", text[4096];
	struct sweep_point points[4];
	struct sweep sweep;
	FILE *stream;
	size_t size;
	int fd = mkstemps(path, 8);

	(void)state;
	close(fd);
	fill(&sweep, points);
	sweep.plot = path;
	assert_int_equal(sweep_plot(&sweep), 0);
	stream = fopen(path, "re");
	size = fread(text, 1, sizeof(text) - 1, stream);
	text[size] = '\0';
	fclose(stream);
	unlink(path);
	assert_non_null(strstr(text, "$machine0 << END\n1 1 1 1\n2 2 2 2\nEND\n"));
	assert_non_null(strstr(text, "$machine1 << END\n2 1 0.666667 2\n8 2 1.33333 4\nEND\n"));
	assert_non_null(strstr(text, "set title 'work 5%'"));
	assert_non_null(strstr(text, "title 'A large one'"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(throughput_is_relative_to_the_first_of_a_machine),
		cmocka_unit_test(csv_and_json_have_the_same),
		cmocka_unit_test(curves_are_drawn_from_the_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
