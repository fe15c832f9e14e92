/* Indirect jumps whose register may hold the address of a label, beside a table's entry or alone. */
#include "tests/unit/test.h"

#include <string.h>

#include "tests/unit/code/jump_graph.h"

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
		cmocka_unit_test(a_label_may_stand_beside_a_table),
		cmocka_unit_test(a_value_beside_a_table_that_is_no_label_leaves_the_jump_unresolved),
		cmocka_unit_test(a_table_beside_a_label_that_cannot_be_read_leaves_the_jump_unresolved),
		cmocka_unit_test(a_jump_may_have_labels_alone),
		cmocka_unit_test(a_label_may_come_through_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
