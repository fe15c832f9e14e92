/* Counts of places in this very program, whose file and offsets /proc/self/maps tells as well. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/x/process_code.h"

static struct counted counted;
static struct process_code code;

static int
setup(void **state)
{
	(void)state;
	return counted_init(&counted) ? -1 : process_code_init(&code, getpid(), 0, &counted);
}

static int
teardown(void **state)
{
	(void)state;
	process_code_fini(&code);
	counted_fini(&counted);
	return 0;
}

/* Where an address of ours is in its file. */
static uint64_t
offset_of(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[4096];
	uint64_t found = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && (uintptr_t)address >= start &&
		    (uintptr_t)address < end)
			found = (uintptr_t)address - start + offset;
	fclose(maps);
	return found;
}

static void
steps_are_counted_where_their_file_has_them(void **state)
{
	const uint64_t from = (uintptr_t)offset_of, to = (uintptr_t)setup, places[] = {from, to, from};

	(void)state;
	assert_int_equal(process_code_count(&code, places, 2), 0);
	assert_int_equal(counted.totals[0], 2);
	assert_int_equal(counted.anonymous[0], 0);
	edge_list_merge(&counted.edges);
	assert_int_equal(counted.edges.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct profile_edge *edge = &counted.edges.edges[i];
		const bool is_forth = edge->from == offset_of((const void *)(uintptr_t)offset_of);

		assert_int_equal(edge->from, offset_of((const void *)(uintptr_t)(is_forth ? from : to)));
		assert_int_equal(edge->to, offset_of((const void *)(uintptr_t)(is_forth ? to : from)));
		assert_int_equal(edge->count, 1);
	}
}

static void
what_is_no_code_has_no_place(void **state)
{
	int on_stack = 0;
	const uint64_t places[] = {(uintptr_t)&on_stack, (uintptr_t)&on_stack + 1};

	(void)state;
	assert_int_equal(process_code_count(&code, places, 1), 0);
	assert_int_equal(counted.anonymous[0], 1);
	assert_int_equal(counted.edges.count, 0);
}

static void
a_step_into_another_file_is_no_edge(void **state)
{
	const uint64_t places[] = {(uintptr_t)setup, (uintptr_t)fopen, (uintptr_t)setup};

	(void)state;
	assert_int_equal(process_code_count(&code, places, 2), 0);
	assert_int_equal(counted.totals[0], 2);
	assert_int_equal(counted.anonymous[0], 0);
	assert_int_equal(counted.edges.count, 0);
}

static void
code_is_known_to_be_there(void **state)
{
	(void)state;
	assert_true(process_code_has(&code, (uintptr_t)setup, (uintptr_t)setup + 1));
	assert_false(process_code_has(&code, 0, 4096));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(steps_are_counted_where_their_file_has_them, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_code_has_no_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_step_into_another_file_is_no_edge, setup, teardown),
		cmocka_unit_test_setup_teardown(code_is_known_to_be_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
