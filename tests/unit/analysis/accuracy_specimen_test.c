#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/accuracy/specimen.h"

/*
 * 1000: test %edi,%edi; jz 1008; call 2000; 1009: ret. A block of two, one of the call, one of the return.
 * What is called comes back, or not.
 */
#define HEADING "procedure f of p.i retires 4 skid 1\n"
#define CODE    "code 1000 85ff7405e8f70f\ncode 1007 0000c3\n"
#define COUNTS  "samples 7 2x0 5\nblocks 10 4 10\n"

static int
read_text(const char *text, struct specimen *specimen)
{
	char copy[512];
	FILE *file;
	int err;

	assert_true(strlen(text) < sizeof(copy));
	memcpy(copy, text, strlen(text) + 1);
	file = fmemopen(copy, strlen(copy), "r");
	assert_non_null(file);
	err = specimen_read(file, specimen);
	fclose(file);
	return err;
}

static void
assert_refused(const char *text)
{
	struct specimen specimen;

	assert_int_equal(read_text(text, &specimen), -EINVAL);
	specimen_fini(&specimen);
}

static void
code_becomes_the_graph_that_counts_are_of(void **state)
{
	struct specimen specimen;

	(void)state;
	assert_int_equal(read_text("# a remark\n\n" HEADING CODE COUNTS "edges 5x2\nbursts 1 3x0 9\n\n", &specimen), 1);
	assert_string_equal(specimen.procedure, "f");
	assert_string_equal(specimen.program, "p.i");
	assert_int_equal(specimen.width, 4);
	assert_int_equal(specimen.graph->block_count, 3);
	assert_int_equal(specimen.graph->edge_count, 5); /* entry, fall, taken, return of the call, exit */
	assert_int_equal(specimen.samples[0], 7);
	assert_int_equal(specimen.samples[2], 0);
	assert_int_equal(specimen.samples[3], 5);
	assert_int_equal(specimen.block_counts[1], 4);
	assert_int_equal(specimen_input(&specimen).width, 4);
	assert_int_equal(specimen.burst_edges[4], 9);
	specimen_fini(&specimen);
}

static void
calls_that_end_it_do_not_come_back(void **state)
{
	struct specimen specimen;

	(void)state;
	assert_int_equal(read_text(HEADING CODE "ends 2000\n" COUNTS "edges 5x1\n", &specimen), 1);
	assert_int_equal(specimen.graph->blocks[1].out_count, 1);
	assert_int_equal(specimen.graph->edges[specimen.graph->outs[specimen.graph->blocks[1].out]].kind,
	                 EDGE_NORETURN);
	specimen_fini(&specimen);
}

static void
the_end_of_a_file_is_told(void **state)
{
	struct specimen specimen;

	(void)state;
	assert_int_equal(read_text("# nothing\n", &specimen), 0);
	specimen_fini(&specimen);
}

static void
what_is_no_specimen_is_refused(void **state)
{
	(void)state;
	assert_refused("procedure f\n");
	assert_refused(HEADING CODE);
	assert_refused(HEADING "code 1000 8\n" COUNTS "edges 5x1\n");
	assert_refused(HEADING "code 1000 zz\n" COUNTS "edges 5x1\n");
	assert_refused(HEADING CODE "samples 7 2x0\nblocks 10 4 10\nedges 5x1\n");
	assert_refused(HEADING CODE "samples 7 2x0 5 6\nblocks 10 4 10\nedges 5x1\n");
	assert_refused(HEADING CODE "samples 99999999999x1\nblocks 10 4 10\nedges 5x1\n");
	assert_refused(HEADING CODE "samples 4x1\nsamples 4x1\nblocks 10 4 10\nedges 5x1\n");
	assert_refused(HEADING CODE COUNTS);
	assert_refused(HEADING COUNTS "edges 5x1\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_becomes_the_graph_that_counts_are_of),
		cmocka_unit_test(calls_that_end_it_do_not_come_back),
		cmocka_unit_test(the_end_of_a_file_is_told),
		cmocka_unit_test(what_is_no_specimen_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
