#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "code/flow_graph.h"
#include "tests/unit/code/flow_text.h"
#include "tests/unit/code/jump_tables.h"

#define CODE  0x1000
#define TABLE 0x2000

struct jump_table_bytes {
	const uint8_t *table;
	size_t size;
};

static const uint8_t *
data_at(void *argument, uint64_t address, size_t *size)
{
	const struct jump_table_bytes *image = argument;

	if (address < TABLE || address - TABLE >= image->size)
		return NULL;
	*size = image->size - (address - TABLE);
	return image->table + (address - TABLE);
}

static struct flow_graph *
build(enum architecture architecture, const uint8_t *code, size_t code_size, const uint8_t *table, size_t table_size)
{
	const struct code_part part = {.address = CODE, .bytes = code, .size = code_size};
	struct jump_table_bytes image = {table, table_size};
	const struct flow_source source = {
		.architecture = architecture, .parts = &part, .part_count = 1, .argument = &image, .data = data_at};
	struct decoder *decoder = decoder_new(architecture);
	struct flow_graph *graph = NULL;

	assert_non_null(decoder);
	assert_int_equal(flow_graph_build(decoder, &source, &graph), 0);
	assert_null(flow_graph_fault(graph));
	decoder_free(decoder);
	return graph;
}

static void
assert_graph(struct flow_graph *graph, const char *expected)
{
	char *text = flow_text(graph);

	assert_string_equal(text, expected);
	free(text);
	flow_graph_free(graph);
}

#define NAMED(name) name##_code, sizeof(name##_code), name##_table, sizeof(name##_table)

/* Graphs were drawn by hand after the assembly and the tables' entries in jump_tables.h. */

static void
gcc_adds_distances_to_the_table(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_pic)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 7\n"
	             "1 1005 x5: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 1020 x1: exit\n"
	             "3 1028 x1: exit\n"
	             "4 1030 x1: exit\n"
	             "5 1038 x1: exit\n"
	             "6 1040 x1: exit\n"
	             "7 1048 x2: exit\n");
}

static void
gcc_jumps_through_addresses_without_pie(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_absolute)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 7\n"
	             "1 1005 x2: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 1010 x1: exit\n"
	             "3 1018 x1: exit\n"
	             "4 1020 x1: exit\n"
	             "5 1028 x1: exit\n"
	             "6 1030 x1: exit\n"
	             "7 1038 x2: exit\n");
}

static void
gcc_scales_the_index_apart_without_optimization(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_unoptimized)),
	             "in: 0\n"
	             "0 1000 x6: fall 1, taken 12\n"
	             "1 1011 x8: table 2, table 4, table 6, table 8, table 10, table 12\n"
	             "2 1034 x1: fall 3\n"
	             "3 1039 x1: taken 13\n"
	             "4 103b x1: fall 5\n"
	             "5 1040 x1: taken 13\n"
	             "6 1042 x1: fall 7\n"
	             "7 1047 x1: taken 13\n"
	             "8 1049 x1: fall 9\n"
	             "9 104e x1: taken 13\n"
	             "10 1050 x1: fall 11\n"
	             "11 1055 x1: taken 13\n"
	             "12 1057 x1: fall 13\n"
	             "13 105c x2: exit\n");
}

static void
gcc_does_not_track_jumps_through_tables(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_protected)),
	             "in: 0\n"
	             "0 1000 x3: fall 1, taken 7\n"
	             "1 1009 x5: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 1020 x1: exit\n"
	             "3 1028 x1: exit\n"
	             "4 1030 x1: exit\n"
	             "5 1038 x1: exit\n"
	             "6 1040 x1: exit\n"
	             "7 1048 x2: exit\n");
}

static void
a_mask_bounds_a_table(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_mask)),
	             "in: 0\n"
	             "0 1000 x5: table 1, table 2, table 3, table 4, table 5, table 6, table 7, table 8\n"
	             "1 1018 x1: exit\n"
	             "2 1020 x1: exit\n"
	             "3 1028 x1: exit\n"
	             "4 1030 x1: exit\n"
	             "5 1038 x1: exit\n"
	             "6 1040 x1: exit\n"
	             "7 1048 x1: exit\n"
	             "8 104d x1: exit\n");
}

static void
an_index_may_be_compared_in_memory(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_memory)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 13\n"
	             "1 1005 x6: table 2, table 4, table 6, table 8, table 10, table 12\n"
	             "2 101b x1: fall 3\n"
	             "3 1020 x2: exit\n"
	             "4 1025 x1: fall 5\n"
	             "5 102a x1: taken 3\n"
	             "6 102c x1: fall 7\n"
	             "7 1031 x1: taken 3\n"
	             "8 1033 x1: fall 9\n"
	             "9 1038 x1: taken 3\n"
	             "10 103a x1: fall 11\n"
	             "11 103f x1: taken 3\n"
	             "12 1041 x2: taken 3\n"
	             "13 1048 x2: exit\n");
}

static void
gcc_dispatches_gotos_from_many_places(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(gcc_goto)), "in: 0\n"
	                                                          "0 1000 x6: table 1, table 2, table 3\n"
	                                                          "1 1020 x1: exit\n"
	                                                          "2 1028 x5: table 1, table 2, table 3\n"
	                                                          "3 1040 x5: table 1, table 2, table 3\n");
}

static void
clang_adds_distances_to_the_table(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(clang_pic)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 6\n"
	             "1 1005 x5: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 1017 x1: exit\n"
	             "3 101c x1: exit\n"
	             "4 1021 x1: exit\n"
	             "5 1026 x1: exit\n"
	             "6 102b x2: exit\n"
	             "7 1031 x1: exit\n");
}

static void
clang_jumps_through_addresses_without_pie(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(clang_absolute)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 6\n"
	             "1 1005 x2: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 100e x1: exit\n"
	             "3 1013 x1: exit\n"
	             "4 1018 x1: exit\n"
	             "5 101d x1: exit\n"
	             "6 1022 x2: exit\n"
	             "7 1028 x1: exit\n");
}

static void
a_table_s_address_may_be_made_outside_the_loop(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(clang_hoisted)),
	             "in: 0\n"
	             "0 1000 x7: taken 4\n"
	             "1 1012 x1: fall 2\n"
	             "2 1015 x2: fall 3\n"
	             "3 101c x1: fall 4\n"
	             "4 1020 x4: fall 5, taken 4\n"
	             "5 102d x3: table 1, table 2, table 6, table 7, table 8\n"
	             "6 1036 x2: taken 2\n"
	             "7 103b x2: taken 2\n"
	             "8 1040 x4: exit\n");
}

static void
gcc_has_tables_of_signed_bytes_on_aarch64(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_gcc)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 2\n"
	             "1 1008 x2: exit\n"
	             "2 1010 x6: table 1, table 3, table 4, table 5, table 6, table 7\n"
	             "3 1028 x1: exit\n"
	             "4 102c x1: exit\n"
	             "5 1030 x1: exit\n"
	             "6 1034 x1: exit\n"
	             "7 1038 x1: exit\n");
}

static void
gcc_has_tables_of_words_on_aarch64_without_optimization(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_gcc_unoptimized)),
	             "in: 0\n"
	             "0 1000 x6: fall 1, taken 12\n"
	             "1 1018 x6: table 2, table 4, table 6, table 8, table 10, table 12\n"
	             "2 1030 x1: fall 3\n"
	             "3 1034 x1: taken 13\n"
	             "4 1038 x1: fall 5\n"
	             "5 103c x1: taken 13\n"
	             "6 1040 x1: fall 7\n"
	             "7 1044 x1: taken 13\n"
	             "8 1048 x1: fall 9\n"
	             "9 104c x1: taken 13\n"
	             "10 1050 x1: fall 11\n"
	             "11 1054 x1: taken 13\n"
	             "12 1058 x1: fall 13\n"
	             "13 105c x2: exit\n");
}

static void
gcc_has_landing_pads_on_aarch64(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_gcc_protected)),
	             "in: 0\n"
	             "0 1000 x3: fall 1, taken 2\n"
	             "1 100c x3: exit\n"
	             "2 1018 x6: table 1, table 3, table 4, table 5, table 6, table 7\n"
	             "3 1030 x2: exit\n"
	             "4 1038 x2: exit\n"
	             "5 1040 x2: exit\n"
	             "6 1048 x2: exit\n"
	             "7 1050 x2: exit\n");
}

static void
gcc_dispatches_gotos_on_aarch64(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_gcc_goto)), "in: 0\n"
	                                                               "0 1000 x7: table 1, table 2, table 3\n"
	                                                               "1 101c x1: exit\n"
	                                                               "2 1020 x5: table 1, table 2, table 3\n"
	                                                               "3 1034 x5: table 1, table 2, table 3\n");
}

static void
clang_has_tables_of_bytes_on_aarch64(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_clang)),
	             "in: 0\n"
	             "0 1000 x2: fall 1, taken 6\n"
	             "1 1008 x7: table 2, table 3, table 4, table 5, table 6, table 7\n"
	             "2 1024 x1: exit\n"
	             "3 1028 x1: exit\n"
	             "4 102c x1: exit\n"
	             "5 1030 x1: exit\n"
	             "6 1034 x2: exit\n"
	             "7 103c x1: exit\n");
}

static void
clang_compares_by_subtracting_on_aarch64_without_optimization(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, NAMED(arm_clang_unoptimized)),
	             "in: 0\n"
	             "0 1000 x9: fall 1, taken 12\n"
	             "1 1024 x7: table 2, table 4, table 6, table 8, table 10, table 12\n"
	             "2 1040 x1: fall 3\n"
	             "3 1044 x2: taken 13\n"
	             "4 104c x1: fall 5\n"
	             "5 1050 x2: taken 13\n"
	             "6 1058 x1: fall 7\n"
	             "7 105c x2: taken 13\n"
	             "8 1064 x1: fall 9\n"
	             "9 1068 x2: taken 13\n"
	             "10 1070 x1: fall 11\n"
	             "11 1074 x2: taken 13\n"
	             "12 107c x3: taken 13\n"
	             "13 1088 x4: exit\n");
}

/* What follows the table would lead to the procedure's first instruction, were it read. */
static void
assert_bounded(enum architecture architecture, const uint8_t *code, size_t code_size, const uint8_t *table,
               size_t table_size, const uint8_t *tail, size_t tail_size)
{
	struct flow_graph *short_graph = build(architecture, code, code_size, table, table_size);
	char *expected = flow_text(short_graph);
	uint8_t longer[256];

	assert_true(table_size + tail_size <= sizeof(longer));
	memcpy(longer, table, table_size);
	memcpy(longer + table_size, tail, tail_size);
	assert_graph(build(architecture, code, code_size, longer, table_size + tail_size), expected);
	flow_graph_free(short_graph);
	free(expected);
}

static void
what_follows_a_table_is_not_read(void **state)
{
	static const uint8_t distance[] = {0x00, 0xf0, 0xff, 0xff}; /* 0x1000 - 0x2000 */
	static const uint8_t address[] = {0x00, 0x10, 0, 0, 0, 0, 0, 0};
	static const uint8_t byte[] = {0xf6};                    /* -10 words from 0x1028 */
	static const uint8_t words[] = {0xf4, 0xff, 0xff, 0xff}; /* -12 words from 0x1030 */
	static const uint8_t bytes[] = {0xd0, 0xff, 0xff, 0xff}; /* -48 bytes from 0x1030 */

	(void)state;
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_pic), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_absolute), address, sizeof(address));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_unoptimized), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_protected), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_mask), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_memory), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(clang_pic), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(clang_absolute), address, sizeof(address));
	assert_bounded(ARCHITECTURE_X86_64, NAMED(clang_hoisted), distance, sizeof(distance));
	assert_bounded(ARCHITECTURE_AARCH64, NAMED(arm_gcc), byte, sizeof(byte));
	assert_bounded(ARCHITECTURE_AARCH64, NAMED(arm_gcc_unoptimized), words, sizeof(words));
	assert_bounded(ARCHITECTURE_AARCH64, NAMED(arm_clang), (const uint8_t[]){5}, 1);
	assert_bounded(ARCHITECTURE_AARCH64, NAMED(arm_clang_unoptimized), bytes, sizeof(bytes));
}

static void
a_table_without_a_bound_ends_where_an_entry_leads_elsewhere(void **state)
{
	static const uint8_t elsewhere[] = {0x00, 0x90, 0, 0, 0, 0, 0, 0, 0x00, 0x10, 0, 0, 0, 0, 0, 0};

	(void)state;
	assert_bounded(ARCHITECTURE_X86_64, NAMED(gcc_goto), elsewhere, sizeof(elsewhere));
	assert_bounded(ARCHITECTURE_AARCH64, NAMED(arm_gcc_goto), elsewhere, sizeof(elsewhere));
}

static void
a_table_that_is_cut_off_is_not_resolved(void **state)
{
	struct flow_graph *graph = build(ARCHITECTURE_X86_64, gcc_pic_code, sizeof(gcc_pic_code), gcc_pic_table,
	                                 sizeof(gcc_pic_table) - 1);

	(void)state;
	assert_false(graph->is_complete);
	assert_int_equal(graph->unresolved_jumps, 1);
	flow_graph_free(graph);
}

static void
a_table_with_an_entry_into_an_instruction_is_not_resolved(void **state)
{
	uint8_t table[sizeof(gcc_pic_table)];
	struct flow_graph *graph;

	(void)state;
	memcpy(table, gcc_pic_table, sizeof(table));
	table[8] += 1;
	graph = build(ARCHITECTURE_X86_64, gcc_pic_code, sizeof(gcc_pic_code), table, sizeof(table));
	assert_false(graph->is_complete);
	assert_int_equal(graph->unresolved_jumps, 1);
	flow_graph_free(graph);
}

static void
an_entry_out_of_the_procedure_is_a_way_out(void **state)
{
	uint8_t table[sizeof(clang_absolute_table)];

	(void)state;
	memcpy(table, clang_absolute_table, sizeof(table));
	table[9] = 0x90; /* 0x9013 for 0x1013 */
	assert_graph(build(ARCHITECTURE_X86_64, clang_absolute_code, sizeof(clang_absolute_code), table, sizeof(table)),
	             "in: 0 3\n"
	             "0 1000 x2: fall 1, taken 6\n"
	             "1 1005 x2: exit, table 2, table 4, table 5, table 6, table 7\n"
	             "2 100e x1: exit\n"
	             "3 1013 x1: exit\n"
	             "4 1018 x1: exit\n"
	             "5 101d x1: exit\n"
	             "6 1022 x2: exit\n"
	             "7 1028 x1: exit\n");
}

static void
a_table_s_address_may_lie_on_the_stack(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x05, 0xf9, 0x0f, 0x00, 0x00, /* 1000: lea 0xff9(%rip),%rax */
		0x48, 0x89, 0x44, 0x24, 0x08,             /* 1007: mov %rax,0x8(%rsp) */
		0xe8, 0xef, 0x7f, 0x00, 0x00,             /* 100c: call 9000 */
		0x83, 0xfb, 0x02,                         /* 1011: cmp $0x2,%ebx */
		0x77, 0x10,                               /* 1014: ja 1026 */
		0x48, 0x8b, 0x54, 0x24, 0x08,             /* 1016: mov 0x8(%rsp),%rdx */
		0x48, 0x63, 0x04, 0x9a,                   /* 101b: movslq (%rdx,%rbx,4),%rax */
		0x48, 0x01, 0xd0,                         /* 101f: add %rdx,%rax */
		0xff, 0xe0,                               /* 1022: jmp *%rax */
		0xc3,                                     /* 1024: ret */
		0x90,                                     /* 1025: nop */
		0xc3,                                     /* 1026: ret */
	};
	static const uint8_t table[] = {0x24, 0xf0, 0xff, 0xff, 0x26, 0xf0, 0xff, 0xff,
	                                0x25, 0xf0, 0xff, 0xff, 0x00, 0xf0, 0xff, 0xff};

	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, code, sizeof(code), table, sizeof(table)),
	             "in: 0\n"
	             "0 1000 x3: fall 1\n"
	             "1 1011 x2: fall 2, taken 5\n"
	             "2 1016 x4: table 3, table 4, table 5\n"
	             "3 1024 x1: exit\n"
	             "4 1025 x1: fall 5\n"
	             "5 1026 x1: exit\n");
}

/* A procedure that only jumps: *jumps is the graph's count that must be 1. */
static void
assert_jump(const uint8_t *code, size_t size, bool is_pointer)
{
	struct flow_graph *graph = build(ARCHITECTURE_X86_64, code, size, NULL, 0);

	assert_int_equal(graph->pointer_jumps, is_pointer);
	assert_int_equal(graph->unresolved_jumps, !is_pointer);
	assert_int_equal(graph->is_complete, is_pointer);
	assert_graph(graph, is_pointer ? "in: 0\n0 1000 x1: exit\n" : "in: 0 (incomplete)\n0 1000 x2: exit\n");
}

static void
pointers_from_the_caller_and_out_of_memory_are_tail_calls(void **state)
{
	static const uint8_t argument[] = {0xff, 0xe7};                   /* jmp *%rdi */
	static const uint8_t member[] = {0xff, 0x67, 0x18};               /* jmp *0x18(%rdi) */
	static const uint8_t slot[] = {0xff, 0x25, 0xfa, 0x1f, 0, 0};     /* jmp *0x1ffa(%rip) */
	static const uint8_t computed[] = {0x48, 0x01, 0xf8, 0xff, 0xe0}; /* add %rdi,%rax; jmp *%rax */

	(void)state;
	assert_jump(argument, sizeof(argument), true);
	assert_jump(member, sizeof(member), true);
	assert_jump(slot, sizeof(slot), true);
	assert_jump(computed, sizeof(computed), false);
}

static void
a_table_of_other_functions_is_a_tail_call(void **state)
{
	static const uint8_t code[] = {0xff, 0x24, 0xfd, 0x00, 0x20, 0, 0}; /* jmp *0x2000(,%rdi,8) */
	static const uint8_t table[] = {0x00, 0x90, 0, 0, 0, 0, 0, 0, 0x00, 0xa0, 0, 0, 0, 0, 0, 0};
	struct flow_graph *graph = build(ARCHITECTURE_X86_64, code, sizeof(code), table, sizeof(table));

	(void)state;
	assert_int_equal(graph->pointer_jumps, 1);
	assert_graph(graph, "in: 0\n0 1000 x1: exit\n");
}

static void
a_pointer_beside_its_argument_is_a_tail_call_on_aarch64(void **state)
{
	static const uint8_t code[] = {
		0x01, 0x00, 0x40, 0xa9, /* ldp x1, x0, [x0] */
		0x20, 0x00, 0x1f, 0xd6, /* br x1 */
	};

	(void)state;
	assert_graph(build(ARCHITECTURE_AARCH64, code, sizeof(code), NULL, 0), "in: 0\n0 1000 x2: exit\n");
}

static void
a_jump_behind_an_epilogue_is_a_tail_call(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x01, 0xf8, /* add %rdi,%rax */
		0x5b,             /* pop %rbx */
		0xff, 0xe0,       /* jmp *%rax */
	};

	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, code, sizeof(code), NULL, 0), "in: 0\n0 1000 x3: exit\n");
}

static bool
slot_returns(void *argument, uint64_t address)
{
	(void)argument;
	return address != 0x3000;
}

static void
calls_and_jumps_through_the_got_return_or_do_not(void **state)
{
	static const uint8_t code[] = {
		0xff, 0x15, 0xfa, 0x1f, 0x00, 0x00, /* 1000: call *0x1ffa(%rip): 3000 */
		0xff, 0x25, 0xf4, 0x1f, 0x00, 0x00, /* 1006: jmp *0x1ff4(%rip): 3000 */
		0xff, 0x15, 0xf6, 0x1f, 0x00, 0x00, /* 100c: call *0x1ff6(%rip): 3008 */
		0xc3,                               /* 1012: ret */
	};
	const struct code_part part = {.address = CODE, .bytes = code, .size = sizeof(code)};
	const struct flow_source source = {
		.architecture = ARCHITECTURE_X86_64, .parts = &part, .part_count = 1, .returns = slot_returns};
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct flow_graph *graph = NULL;

	(void)state;
	assert_non_null(decoder);
	assert_int_equal(flow_graph_build(decoder, &source, &graph), 0);
	assert_graph(graph, "in: 0 1 2\n"
	                    "0 1000 x1: noreturn\n"
	                    "1 1006 x1: noreturn\n"
	                    "2 100c x1: fall 3\n"
	                    "3 1012 x1: exit\n");
	decoder_free(decoder);
}

/* Registers that may hold the address of a label, beside a table's entry or alone. */

/* As glibc's vfprintf has it: an entry of a table when the index is small, and otherwise a label. */
static const uint8_t label_code[] = {
	0x83, 0xff, 0x03,                         /* 1000: cmp $0x3,%edi */
	0x48, 0x8d, 0x05, 0x15, 0x00, 0x00, 0x00, /* 1003: lea 0x15(%rip),%rax: 101f */
	0x77, 0x0e,                               /* 100a: ja 101a */
	0x48, 0x8d, 0x15, 0xed, 0x0f, 0x00, 0x00, /* 100c: lea 0xfed(%rip),%rdx: 2000 */
	0x48, 0x63, 0x04, 0xba,                   /* 1013: movslq (%rdx,%rdi,4),%rax */
	0x48, 0x01, 0xd0,                         /* 1017: add %rdx,%rax */
	0xff, 0xe0,                               /* 101a: jmp *%rax */
	0xc3,                                     /* 101c: ret */
	0xc3,                                     /* 101d: ret */
	0xc3,                                     /* 101e: ret */
	0xc3,                                     /* 101f: ret */
};

static const uint8_t label_table[] = {
	0x1c, 0xf0, 0xff, 0xff, 0x1d, 0xf0, 0xff, 0xff, 0x1e, 0xf0, 0xff, 0xff, 0x1d, 0xf0, 0xff, 0xff,
};

#define LABEL_AT     3 /* of the lea */
#define LABEL_LENGTH 7

static void
a_label_may_stand_beside_a_table(void **state)
{
	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, NAMED(label)), "in: 0\n"
	                                                       "0 1000 x3: fall 1, taken 2\n"
	                                                       "1 100c x3: fall 2\n"
	                                                       "2 101a x1: table 3, table 4, table 5, table 6\n"
	                                                       "3 101c x1: exit\n"
	                                                       "4 101d x1: exit\n"
	                                                       "5 101e x1: exit\n"
	                                                       "6 101f x1: exit\n");
}

/* label_code with another instruction for its lea. */
static void
assert_unresolved_with(const uint8_t lea[LABEL_LENGTH], size_t table_size)
{
	uint8_t code[sizeof(label_code)];
	struct flow_graph *graph;

	memcpy(code, label_code, sizeof(code));
	memcpy(code + LABEL_AT, lea, LABEL_LENGTH);
	graph = build(ARCHITECTURE_X86_64, code, sizeof(code), label_table, table_size);
	assert_int_equal(graph->unresolved_jumps, 1);
	assert_int_equal(graph->table_jumps, 0);
	assert_false(graph->is_complete);
	flow_graph_free(graph);
}

static void
a_value_beside_a_table_that_is_no_label_leaves_the_jump_unresolved(void **state)
{
	static const uint8_t function[] = {0x48, 0x8d, 0x05, 0xf6, 0x7f, 0x00, 0x00}; /* lea 0x7ff6(%rip),%rax: 9000 */
	static const uint8_t inside[] = {0x48, 0x8d, 0x05, 0xf7, 0xff, 0xff, 0xff};   /* lea -0x9(%rip),%rax: 1001 */
	static const uint8_t argument[] = {0x48, 0x8d, 0x86, 0x1f, 0x10, 0x00, 0x00}; /* lea 0x101f(%rsi),%rax */
	static const uint8_t unset[] = {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00};    /* nopl 0x0(%rax) */
	static const uint8_t pointer[] = {0x48, 0x8b, 0x86, 0x00, 0x00, 0x00, 0x00};  /* mov 0x0(%rsi),%rax */

	(void)state;
	assert_unresolved_with(function, sizeof(label_table));
	assert_unresolved_with(inside, sizeof(label_table));
	assert_unresolved_with(argument, sizeof(label_table));
	assert_unresolved_with(unset, sizeof(label_table));
	assert_unresolved_with(pointer, sizeof(label_table));
}

static void
a_table_beside_a_label_that_cannot_be_read_leaves_the_jump_unresolved(void **state)
{
	(void)state;
	assert_unresolved_with(label_code + LABEL_AT, sizeof(label_table) - 1);
}

static void
a_jump_may_have_labels_alone(void **state)
{
	static const uint8_t code[] = {
		0x85, 0xff,                               /* 1000: test %edi,%edi */
		0x48, 0x8d, 0x05, 0x0b, 0x00, 0x00, 0x00, /* 1002: lea 0xb(%rip),%rax: 1014 */
		0x74, 0x07,                               /* 1009: je 1012 */
		0x48, 0x8d, 0x05, 0x03, 0x00, 0x00, 0x00, /* 100b: lea 0x3(%rip),%rax: 1015 */
		0xff, 0xe0,                               /* 1012: jmp *%rax */
		0xc3,                                     /* 1014: ret */
		0xc3,                                     /* 1015: ret */
	};

	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, code, sizeof(code), NULL, 0), "in: 0\n"
	                                                                      "0 1000 x3: fall 1, taken 2\n"
	                                                                      "1 100b x1: fall 2\n"
	                                                                      "2 1012 x1: table 3, table 4\n"
	                                                                      "3 1014 x1: exit\n"
	                                                                      "4 1015 x1: exit\n");
}

/* Only when the first jump is resolved it is known that the label it brings along is the second one's, too. */
static void
a_label_may_come_through_a_table(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x05, 0x1f, 0x00, 0x00, 0x00, /* 1000: lea 0x1f(%rip),%rax: 1026 */
		0x83, 0xff, 0x01,                         /* 1007: cmp $0x1,%edi */
		0x77, 0x10,                               /* 100a: ja 101c */
		0x48, 0x8d, 0x15, 0xed, 0x0f, 0x00, 0x00, /* 100c: lea 0xfed(%rip),%rdx: 2000 */
		0x48, 0x63, 0x0c, 0xba,                   /* 1013: movslq (%rdx,%rdi,4),%rcx */
		0x48, 0x01, 0xd1,                         /* 1017: add %rdx,%rcx */
		0xff, 0xe1,                               /* 101a: jmp *%rcx */
		0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00, /* 101c: lea 0x2(%rip),%rax: 1025 */
		0xff, 0xe0,                               /* 1023: jmp *%rax */
		0xc3,                                     /* 1025: ret */
		0xc3,                                     /* 1026: ret */
	};
	static const uint8_t table[] = {0x23, 0xf0, 0xff, 0xff, 0x25, 0xf0, 0xff, 0xff};

	(void)state;
	assert_graph(build(ARCHITECTURE_X86_64, code, sizeof(code), table, sizeof(table)),
	             "in: 0\n"
	             "0 1000 x3: fall 1, taken 2\n"
	             "1 100c x4: table 3, table 4\n"
	             "2 101c x1: fall 3\n"
	             "3 1023 x1: table 4, table 5\n"
	             "4 1025 x1: exit\n"
	             "5 1026 x1: exit\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcc_adds_distances_to_the_table),
		cmocka_unit_test(gcc_jumps_through_addresses_without_pie),
		cmocka_unit_test(gcc_scales_the_index_apart_without_optimization),
		cmocka_unit_test(gcc_does_not_track_jumps_through_tables),
		cmocka_unit_test(a_mask_bounds_a_table),
		cmocka_unit_test(an_index_may_be_compared_in_memory),
		cmocka_unit_test(gcc_dispatches_gotos_from_many_places),
		cmocka_unit_test(clang_adds_distances_to_the_table),
		cmocka_unit_test(clang_jumps_through_addresses_without_pie),
		cmocka_unit_test(a_table_s_address_may_be_made_outside_the_loop),
		cmocka_unit_test(gcc_has_tables_of_signed_bytes_on_aarch64),
		cmocka_unit_test(gcc_has_tables_of_words_on_aarch64_without_optimization),
		cmocka_unit_test(gcc_has_landing_pads_on_aarch64),
		cmocka_unit_test(gcc_dispatches_gotos_on_aarch64),
		cmocka_unit_test(clang_has_tables_of_bytes_on_aarch64),
		cmocka_unit_test(clang_compares_by_subtracting_on_aarch64_without_optimization),
		cmocka_unit_test(what_follows_a_table_is_not_read),
		cmocka_unit_test(a_table_without_a_bound_ends_where_an_entry_leads_elsewhere),
		cmocka_unit_test(a_table_that_is_cut_off_is_not_resolved),
		cmocka_unit_test(a_table_with_an_entry_into_an_instruction_is_not_resolved),
		cmocka_unit_test(an_entry_out_of_the_procedure_is_a_way_out),
		cmocka_unit_test(a_table_s_address_may_lie_on_the_stack),
		cmocka_unit_test(pointers_from_the_caller_and_out_of_memory_are_tail_calls),
		cmocka_unit_test(a_table_of_other_functions_is_a_tail_call),
		cmocka_unit_test(a_pointer_beside_its_argument_is_a_tail_call_on_aarch64),
		cmocka_unit_test(a_jump_behind_an_epilogue_is_a_tail_call),
		cmocka_unit_test(calls_and_jumps_through_the_got_return_or_do_not),
		cmocka_unit_test(a_label_may_stand_beside_a_table),
		cmocka_unit_test(a_value_beside_a_table_that_is_no_label_leaves_the_jump_unresolved),
		cmocka_unit_test(a_table_beside_a_label_that_cannot_be_read_leaves_the_jump_unresolved),
		cmocka_unit_test(a_jump_may_have_labels_alone),
		cmocka_unit_test(a_label_may_come_through_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
