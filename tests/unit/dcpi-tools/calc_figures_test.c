/* What is printed, compared with the figures of the DCPI paper (ACM TOCS 15(4), 1997). */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/calc/listing.h"
#include "dcpi-tools/common/breakdown.h"

/* To the letter, but for two blanks at the end of the line of 9838. */
static const char figure2[] = "*** Best-case 8/13 =   0.62CPI\n"
			      "*** Actual  140/13 =  10.77CPI\n"
			      "\n"
			      "Addr   Instruction       Samples   CPI  Culprit\n"
			      "    pD   p = branch mispredict\n"
			      "    pD   D = DTB miss\n"
			      "009810 ldq    t4, 0(t1)     3126   2.0cy\n"
			      "009814 addq   t0, 0x4, t0      0   (dual issue)\n"
			      "009818 ldq    t5, 8(t1)     1636   1.0cy\n"
			      "00981c ldq    t6, 16(t1)     390   0.5cy\n"
			      "009820 ldq    a0, 24(t1)    1482   1.0cy\n"
			      "009824 lda    t1, 32(t1)       0   (dual issue)\n"
			      "    dwD  d = D-cache miss\n"
			      "    dwD  ... 18.0cy\n"
			      "    dwD  w = write-buffer overflow\n"
			      "009828 stq    t4, 0(t2)    27766  18.0cy 9810\n"
			      "00982c cmpult t0, v0, t4       0   (dual issue)\n"
			      "009830 stq    t5, 8(t2)     1493   1.0cy\n"
			      "  s      s = slotting hazard\n"
			      "    dwD\n"
			      "    dwD ... 114.5cy\n"
			      "    dwD\n"
			      "009834 stq    t6, 16(t2)  174727 114.5cy 981c\n"
			      "  s\n"
			      "009838 stq    a0, 24(t2)    1548   1.0cy\n"
			      "00983c lda    t2, 32(t2)       0   (dual issue)\n"
			      "009840 bne    t4, 0x009810  1586   1.0cy\n";

static const char figure4[] = " *** Best-case 14686/36016 =   0.41CPI,\n"
			      " *** Actual 35171/36016 =   0.98CPI\n"
			      " *** \n"
			      " ***  I-cache (not ITB)   0.0% to  0.3%\n"
			      " ***   ITB/I-cache miss   0.0% to  0.0%\n"
			      " ***       D-cache miss  27.9% to 27.9%\n"
			      " ***           DTB miss   9.2% to 18.3%\n"
			      " ***       Write buffer   0.0% to  6.3%\n"
			      " ***    Synchronization   0.0% to  0.0%\n"
			      " *** \n"
			      " ***  Branch mispredict   0.0% to  2.6%\n"
			      " ***          IMUL busy   0.0% to  0.0%\n"
			      " ***          FDIV busy   0.0% to  0.0%\n"
			      " ***              Other   0.0% to  0.0%\n"
			      " *** \n"
			      " ***  Unexplained stall   2.3% to  2.3%\n"
			      " ***   Unexplained gain  -4.3% to -4.3%\n"
			      " *** ----------------------------------------\n"
			      " ***   Subtotal dynamic                 44.1%\n"
			      " *** \n"
			      " ***           Slotting       1.8%\n"
			      " ***      Ra dependency       2.0%\n"
			      " ***      Rb dependency       1.0%\n"
			      " ***      Rc dependency       0.0%\n"
			      " ***      FU dependency       0.0%\n"
			      " *** ----------------------------------------\n"
			      " ***    Subtotal static                  4.8%\n"
			      " *** ----------------------------------------\n"
			      " ***        Total stall                 48.9%\n"
			      " ***          Execution                 51.2%\n"
			      " *** Net sampling error                 -0.1%\n"
			      " *** ----------------------------------------\n"
			      " ***      Total tallied                100.0%\n"
			      " *** (35171, 93.1% of all samples)\n";

static struct listing_bubble start_bubble[] = {{.letters = "pD", .half_cycles = 2}};
static struct listing_bubble load_bubble[] = {{.letters = "dwD", .half_cycles = 34}};
static struct listing_bubble store_bubbles[] = {{.letters = "s", .is_static = true, .half_cycles = 1},
                                                {.letters = "dwD", .half_cycles = 227}};
static struct listing_bubble slotting_bubble[] = {{.letters = "s", .is_static = true, .half_cycles = 1}};

static struct listing_line copy_loop[] = {
	{.address = 0x9810,
         .text = "ldq    t4, 0(t1)",
         .samples = 3126,
         .cycles = 2,
         .bubbles = start_bubble,
         .bubble_count = 1},
	{.address = 0x9814, .text = "addq   t0, 0x4, t0", .issue = LISTING_DUAL},
	{.address = 0x9818, .text = "ldq    t5, 8(t1)", .samples = 1636, .cycles = 1},
	{.address = 0x981c, .text = "ldq    t6, 16(t1)", .samples = 390, .cycles = 0.5},
	{.address = 0x9820, .text = "ldq    a0, 24(t1)", .samples = 1482, .cycles = 1},
	{.address = 0x9824, .text = "lda    t1, 32(t1)", .issue = LISTING_DUAL},
	{.address = 0x9828,
         .text = "stq    t4, 0(t2)",
         .samples = 27766,
         .cycles = 18,
         .bubbles = load_bubble,
         .bubble_count = 1,
         .culprits = {0x9810},
         .culprit_count = 1},
	{.address = 0x982c, .text = "cmpult t0, v0, t4", .issue = LISTING_DUAL},
	{.address = 0x9830, .text = "stq    t5, 8(t2)", .samples = 1493, .cycles = 1},
	{.address = 0x9834,
         .text = "stq    t6, 16(t2)",
         .samples = 174727,
         .cycles = 114.5,
         .bubbles = store_bubbles,
         .bubble_count = 2,
         .culprits = {0x981c},
         .culprit_count = 1},
	{.address = 0x9838,
         .text = "stq    a0, 24(t2)",
         .samples = 1548,
         .cycles = 1,
         .bubbles = slotting_bubble,
         .bubble_count = 1},
	{.address = 0x983c, .text = "lda    t2, 32(t2)", .issue = LISTING_DUAL},
	{.address = 0x9840, .text = "bne    t4, 0x009810", .samples = 1586, .cycles = 1},
};

struct page {
	char *text;
	size_t size;
	struct output output;
};

static void
page_open(struct page *page, bool color)
{
	*page = (struct page){.output = {.color = color}};
	page->output.stream = open_memstream(&page->text, &page->size);
	assert_non_null(page->output.stream);
}

static void
assert_page(struct page *page, const char *expected)
{
	fclose(page->output.stream);
	assert_string_equal(page->text, expected);
	free(page->text);
}

static void
the_copy_loop_looks_as_in_the_paper(void **state)
{
	struct listing_block block = {.best_cycles = 8, .actual_cycles = 140, .lines = copy_loop, .line_count = 13};
	const struct listing listing = {.blocks = &block, .block_count = 1};
	struct page page;

	(void)state;
	page_open(&page, false);
	listing_print(&listing, &page.output);
	assert_page(&page, figure2);
}

static void
the_summary_of_smooth_looks_as_in_the_paper(void **state)
{
	const struct breakdown breakdown = {
		.best_cycles = 14686,
		.actual_cycles = 35171,
		.instructions = 36016,
		.low = {[CAUSE_DATA_CACHE] = 27.9,
	                [CAUSE_DATA_TLB] = 9.2,
	                [DYNAMIC_UNEXPLAINED] = 2.3,
	                [DYNAMIC_GAIN] = -4.3},
		.high = {[CAUSE_CODE_CACHE] = 0.3,
	                 [CAUSE_DATA_CACHE] = 27.9,
	                 [CAUSE_DATA_TLB] = 18.3,
	                 [CAUSE_WRITE_BUFFER] = 6.3,
	                 [CAUSE_MISPREDICT] = 2.6,
	                 [DYNAMIC_UNEXPLAINED] = 2.3,
	                 [DYNAMIC_GAIN] = -4.3},
		.dynamic = 44.1,
		.fixed = {1.8, 2.0, 1.0},
		.execution = 51.2,
		.sampling_error = -0.1,
		.tallied = 100,
		.tallied_percent = 93.1,
	};
	struct page page;

	(void)state;
	page_open(&page, false);
	breakdown_print(&breakdown, &page.output);
	assert_page(&page, figure4);
}

static void
x86_instructions_have_the_room_they_need(void **state)
{
	static struct listing_bubble bubble[] = {{.half_cycles = 3}};
	static struct listing_line lines[] = {
		{.address = 0x401136,
	         .text = "vfmadd231pd 0x20(%rdi,%rax,8),%ymm1,%ymm2",
	         .samples = 1234567,
	         .cycles = 1234.5},
		{.address = 0x40113f, .text = "add    $0x20,%rax", .issue = LISTING_SHADOW},
		{.address = 0x401143,
	         .text = "ret",
	         .samples = 8,
	         .cycles = 2.25,
	         .bubbles = bubble,
	         .bubble_count = 1},
	};
	struct listing_block block = {.best_cycles = 1.25,
	                              .actual_cycles = 1236.75,
	                              .note = "Frequency 1000",
	                              .lines = lines,
	                              .line_count = 3};
	const struct listing listing = {.blocks = &block, .block_count = 1};
	struct page page;

	(void)state;
	page_open(&page, false);
	listing_print(&listing, &page.output);
	assert_page(&page, "*** Best-case 1.3/3 =   0.42CPI\n"
	                   "*** Actual 1236.8/3 = 412.25CPI\n"
	                   "*** Frequency 1000\n"
	                   "\n"
	                   "Addr   Instruction                                Samples    CPI  Culprit\n"
	                   "401136 vfmadd231pd 0x20(%rdi,%rax,8),%ymm1,%ymm2  1234567 1234.5cy\n"
	                   "40113f add    $0x20,%rax                                0   (in shadow)\n"
	                   "    .\n"
	                   "    .\n"
	                   "    .\n"
	                   "401143 ret                                              8    2.2cy\n");
}

static void
a_block_that_nothing_is_known_of_has_no_cycles(void **state)
{
	static struct listing_line line = {.address = 0x10, .text = "ret", .samples = 3, .cycles = LISTING_UNKNOWN};
	struct listing_block blocks[] = {
		{.best_cycles = 1, .actual_cycles = LISTING_UNKNOWN, .lines = &line, .line_count = 1},
		{.best_cycles = 1, .actual_cycles = LISTING_UNKNOWN, .lines = &line, .line_count = 1},
	};
	const struct listing listing = {.blocks = blocks, .block_count = 2};
	struct page page;

	(void)state;
	page_open(&page, false);
	listing_print(&listing, &page.output);
	assert_page(&page, "*** Best-case 1/1 =   1.00CPI\n"
	                   "\n"
	                   "Addr   Instruction       Samples   CPI  Culprit\n"
	                   "000010 ret                     3\n"
	                   "\n"
	                   "*** Best-case 1/1 =   1.00CPI\n"
	                   "\n"
	                   "000010 ret                     3\n");
}

static void
colours_are_for_a_terminal(void **state)
{
	static struct listing_line line = {.address = 0x10, .text = "ret", .samples = 3, .cycles = 20};
	struct listing_block block = {
		.best_cycles = 1, .actual_cycles = LISTING_UNKNOWN, .lines = &line, .line_count = 1};
	const struct listing listing = {.blocks = &block, .block_count = 1};
	struct page page;

	(void)state;
	page_open(&page, true);
	listing_print(&listing, &page.output);
	assert_page(&page, "\033[1m*** Best-case 1/1 =   1.00CPI\033[0m\n"
	                   "\n"
	                   "Addr   Instruction       Samples   CPI  Culprit\n"
	                   "000010 ret                     3\033[31m  20.0cy\033[0m\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_loop_looks_as_in_the_paper),
		cmocka_unit_test(the_summary_of_smooth_looks_as_in_the_paper),
		cmocka_unit_test(x86_instructions_have_the_room_they_need),
		cmocka_unit_test(a_block_that_nothing_is_known_of_has_no_cycles),
		cmocka_unit_test(colours_are_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
