#include "tests/unit/test.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "code/procedures.h"
#include "tests/unit/code/flow_text.h"

/*
 * The image is this program; its procedures are written in assembly, so that any compiler leaves them as they are:
 * `split` has a cold part that ends the program, `lone.cold` belongs to nobody, `joined` has a part
 * without a name.
 */
#ifdef __x86_64__
__asm__(".text\n"
        ".type split, @function\n"
        "split: test %edi, %edi\n"
        " jne split.cold\n"
        " ret\n"
        ".size split, . - split\n"
        ".type splitter, @function\n"
        "splitter: jmp 1f\n"
        "1: call abort@PLT\n"
        ".size splitter, . - splitter\n"
        ".type joined, @function\n"
        "joined: .cfi_startproc\n"
        " test %edi, %edi\n"
        " je .Lhidden\n"
        " ret\n"
        " .cfi_endproc\n"
        ".size joined, . - joined\n"
        ".section .text.unlikely, \"ax\"\n"
        " .cfi_startproc\n"
        " nop\n"
        ".Lhidden: nop\n"
        " ret\n"
        " .cfi_endproc\n"
        ".type split.cold, @function\n"
        "split.cold: nop\n"
        " call abort@PLT\n"
        " ret\n"
        ".size split.cold, . - split.cold\n"
        ".type lone.cold, @function\n"
        "lone.cold: ret\n"
        ".size lone.cold, . - lone.cold\n"
        ".text\n");
#endif

struct opened_program {
	struct image_file *file;
	struct image_contents *contents;
	struct symbol_table *symbols;
	struct procedures *procedures;
};

static int
program_open(void **state)
{
	static struct opened_program program;
	static char path[PATH_MAX];
	struct image image = {.kind = IMAGE_USER};
	struct stat status;

	if (!realpath("/proc/self/exe", path) || stat(path, &status))
		return -1;
	image.path = path;
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	if (image_file_open(&image, &program.file) || image_contents_new(program.file, &program.contents) ||
	    symbol_table_from_file(program.file, &program.symbols))
		return -1;
	program.procedures = procedures_new(program.file, program.symbols, program.contents);
	*state = &program;
	return program.procedures ? 0 : -1;
}

static int
program_close(void **state)
{
	struct opened_program *program = *state;

	procedures_free(program->procedures);
	symbol_table_free(program->symbols);
	image_contents_free(program->contents);
	image_file_close(program->file);
	return 0;
}

static const struct symbol *
symbol_named(const struct opened_program *program, const char *name)
{
	for (size_t i = 0; i < symbol_table_size(program->symbols); i++) {
		const struct symbol *symbol = symbol_table_at(program->symbols, i);

		if (symbol->name && strcmp(symbol->name, name) == 0)
			return symbol;
	}
	skip_because("the procedures are written for x86-64, and need the symbols of this program");
	return NULL;
}

static struct flow_graph *
graph_named(const struct opened_program *program, const char *name)
{
	struct flow_graph *graph = NULL;

	assert_int_equal(procedures_graph(program->procedures, symbol_named(program, name), &graph), 0);
	assert_null(flow_graph_fault(graph));
	return graph;
}

/* flow_text() without its addresses, which are the linker's: in each line the second word, up to the next space. */
static void
assert_flow(const struct flow_graph *graph, const char *expected)
{
	char *text = flow_text(graph), *line, *rest = NULL, plain[512];
	size_t length = 0;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *address = strchr(line, ' '), *count = address ? strchr(address + 1, ' ') : NULL;

		if (line[0] == 'i' || !count)
			length += (size_t)snprintf(plain + length, sizeof(plain) - length, "%s\n", line);
		else
			length += (size_t)snprintf(plain + length, sizeof(plain) - length, "%.*s%s\n",
			                           (int)(address - line), line, count);
	}
	assert_string_equal(plain, expected);
	free(text);
}

static void
a_cold_part_belongs_to_its_procedure(void **state)
{
	struct flow_graph *graph = graph_named(*state, "split");

	assert_flow(graph, "in: 0 3\n" /* what follows abort() is reached by nothing that is known */
	                   "0 x2: fall 1, taken 2\n"
	                   "1 x1: exit\n"
	                   "2 x2 cold: noreturn\n"
	                   "3 x1 cold: exit\n");
	flow_graph_free(graph);
}

static void
a_part_without_a_name_belongs_to_who_branches_into_it(void **state)
{
	struct flow_graph *graph = graph_named(*state, "joined");

	assert_flow(graph, "in: 0\n"
	                   "0 x2: fall 1, taken 2\n"
	                   "1 x1: exit\n"
	                   "2 x2 cold: exit\n");
	flow_graph_free(graph);
}

static void
a_cold_part_alone_is_a_procedure_of_its_own(void **state)
{
	struct flow_graph *graph = graph_named(*state, "lone.cold");

	assert_flow(graph, "in: 0\n0 x1 cold: exit\n");
	flow_graph_free(graph);
}

static void
a_name_that_only_begins_alike_has_no_part_in_it(void **state)
{
	struct flow_graph *graph = graph_named(*state, "splitter");

	assert_flow(graph, "in: 0\n"
	                   "0 x1: taken 1\n"
	                   "1 x1: noreturn\n");
	flow_graph_free(graph);
}

static void
what_is_not_in_the_image_has_no_graph(void **state)
{
	const struct opened_program *program = *state;
	const struct symbol symbol = {.offset = UINT64_C(1) << 40, .size = 16, .name = "elsewhere"};
	struct flow_graph *graph = NULL;

	assert_int_equal(procedures_graph(program->procedures, &symbol, &graph), -ENOENT);
}

static void
functions_of_the_c_library_that_end_the_program_do_not_return(void **state)
{
	(void)state;
	assert_false(procedures_symbol_returns("abort"));
	assert_false(procedures_symbol_returns("_exit"));
	assert_false(procedures_symbol_returns("__stack_chk_fail"));
	assert_false(procedures_symbol_returns("pthread_exit"));
	assert_false(procedures_symbol_returns("_Unwind_Resume"));
}

static void
versions_and_stubs_have_the_name_of_their_function(void **state)
{
	(void)state;
	assert_false(procedures_symbol_returns("exit@plt"));
	assert_false(procedures_symbol_returns("longjmp@GLIBC_2.2.5"));
	assert_false(procedures_symbol_returns("__cxa_throw@@CXXABI_1.3"));
}

static void
families_are_known_by_how_they_begin(void **state)
{
	(void)state;
	assert_false(procedures_symbol_returns("_ZSt20__throw_length_errorPKc"));
	assert_false(procedures_symbol_returns("_ZN4core9panicking5panic17h0123456789abcdefE"));
	assert_false(procedures_symbol_returns("__asan_report_load8"));
	assert_true(procedures_symbol_returns("__asan_report_load8_noabort"));
}

static void
others_return(void **state)
{
	(void)state;
	assert_true(procedures_symbol_returns(NULL));
	assert_true(procedures_symbol_returns(""));
	assert_true(procedures_symbol_returns("exit_group_later"));
	assert_true(procedures_symbol_returns("atexit"));
	assert_true(procedures_symbol_returns("_ZSt4sortIPiEvT_S1_"));
	assert_true(procedures_symbol_returns(
		"a_name_that_is_longer_than_any_of_those_that_are_known_to_end_the_program_exit"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_part_belongs_to_its_procedure),
		cmocka_unit_test(a_part_without_a_name_belongs_to_who_branches_into_it),
		cmocka_unit_test(a_cold_part_alone_is_a_procedure_of_its_own),
		cmocka_unit_test(a_name_that_only_begins_alike_has_no_part_in_it),
		cmocka_unit_test(what_is_not_in_the_image_has_no_graph),
		cmocka_unit_test(functions_of_the_c_library_that_end_the_program_do_not_return),
		cmocka_unit_test(versions_and_stubs_have_the_name_of_their_function),
		cmocka_unit_test(families_are_known_by_how_they_begin),
		cmocka_unit_test(others_return),
	};

	return cmocka_run_group_tests(tests, program_open, program_close);
}
