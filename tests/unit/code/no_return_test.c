#include "tests/unit/test.h"

#include "code/no_return.h"

static void
functions_of_the_c_library_that_end_the_program_do_not_return(void **state)
{
	(void)state;
	assert_false(symbol_returns("abort"));
	assert_false(symbol_returns("_exit"));
	assert_false(symbol_returns("__stack_chk_fail"));
	assert_false(symbol_returns("pthread_exit"));
	assert_false(symbol_returns("_Unwind_Resume"));
}

static void
versions_and_stubs_have_the_name_of_their_function(void **state)
{
	(void)state;
	assert_false(symbol_returns("exit@plt"));
	assert_false(symbol_returns("longjmp@GLIBC_2.2.5"));
	assert_false(symbol_returns("__cxa_throw@@CXXABI_1.3"));
}

static void
families_are_known_by_how_they_begin(void **state)
{
	(void)state;
	assert_false(symbol_returns("_ZSt20__throw_length_errorPKc"));
	assert_false(symbol_returns("_ZN4core9panicking5panic17h0123456789abcdefE"));
	assert_false(symbol_returns("__asan_report_load8"));
	assert_true(symbol_returns("__asan_report_load8_noabort"));
}

static void
others_return(void **state)
{
	(void)state;
	assert_true(symbol_returns(NULL));
	assert_true(symbol_returns(""));
	assert_true(symbol_returns("exit_group_later"));
	assert_true(symbol_returns("atexit"));
	assert_true(symbol_returns("_ZSt4sortIPiEvT_S1_"));
	assert_true(symbol_returns("a_name_that_is_longer_than_any_of_those_that_are_known_to_end_the_program_exit"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_c_library_that_end_the_program_do_not_return),
		cmocka_unit_test(versions_and_stubs_have_the_name_of_their_function),
		cmocka_unit_test(families_are_known_by_how_they_begin),
		cmocka_unit_test(others_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
