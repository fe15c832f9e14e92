#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "image/symbols.h"

static void
assert_demangled(const char *name, const char *expected)
{
	char *text = symbol_demangle(name);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void
a_cplusplus_name_loses_its_parameters(void **state)
{
	(void)state;
	assert_demangled("_ZN3foo3barEv", "foo::bar");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back");
	assert_demangled("_ZplRK1AS1_", "operator+");
	assert_demangled("_ZZN3foo3barEvENKUlvE_clEv", "foo::bar()::{lambda()#1}::operator()");
}

static void
a_rust_name_loses_its_hash(void **state)
{
	(void)state;
	assert_demangled("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	assert_demangled("_ZN4core3fmt5write17h0123456789abcdefE.llvm.99", "core::fmt::write");
	assert_demangled("_RNvC3foo3bar", "foo::bar");
	assert_demangled("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
}

static void
a_d_name_loses_its_parameters_but_not_its_template_arguments(void **state)
{
	(void)state;
	assert_demangled("_D8demangle4testFaZv", "demangle.test");
	assert_demangled("_D3std5stdio__T7writelnTAyaZQnFNfQiZv", "std.stdio.writeln!(immutable(char)[]).writeln");
}

static void
the_copies_a_compiler_makes_stay_apart(void **state)
{
	(void)state;
	assert_demangled("_ZN3foo3barEv.cold", "foo::bar [clone .cold]");
	assert_demangled("_Z3fooi.constprop.0", "foo [clone .constprop.0]");
	assert_demangled("_Z3foov.llvm.123", "foo");
}

static void
an_entry_of_the_plt_stays_one(void **state)
{
	(void)state;
	assert_demangled("_ZN3foo3barEv@plt", "foo::bar@plt");
	assert_demangled("_RNvC3foo3bar@plt", "foo::bar@plt");
}

static void
what_is_not_mangled_is_left_alone(void **state)
{
	static const char *const names[] = {"main", "", "_", "_Z", "_R", "_D", "_Zebra", "_Read", "malloc@plt", "__ZN"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(symbol_demangle(names[i]));
}

/* Twenty levels of A<X, X>: 230 bytes that stand for 35 MB of text; each level more doubles that. */
static void
a_name_that_stands_for_megabytes_stays_mangled(void **state)
{
	(void)state;
	assert_null(symbol_demangle(
		"_Z1fI1AIiiES0_IS1_S1_ES0_IS2_S2_ES0_IS3_S3_ES0_IS4_S4_ES0_IS5_S5_ES0_IS6_S6_ES0_IS7_S7_ES0_IS8_S8_E"
		"S0_IS9_S9_ES0_ISA_SA_ES0_ISB_SB_ES0_ISC_SC_ES0_ISD_SD_ES0_ISE_SE_ES0_ISF_SF_ES0_ISG_SG_ES0_ISH_SH_E"
		"S0_ISI_SI_ES0_ISJ_SJ_ES0_ISK_SK_EEvv"));
	assert_null(
		symbol_demangle("_RINvC1a1fTllETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_"
	                        "B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_E"
	                        "TB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_EE"));
	assert_null(
		symbol_demangle("_D1fFB2iiB2QgQiB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2"
	                        "QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkB2QiQkZv"));
}

/* Found by fuzzing: a function type that binds 62^11 lifetimes, each of which libiberty counts. */
static void
a_name_that_binds_a_myriad_of_lifetimes_stays_mangled(void **state)
{
	(void)state;
	assert_null(symbol_demangle("_RINvC3foo3barFGzzzzzzzzzzz_EuE"));
	assert_demangled("_RINvC3foo3barFG_RL0_eEuE", "foo::bar::<for<'a> fn(&'a str)>");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cplusplus_name_loses_its_parameters),
		cmocka_unit_test(a_rust_name_loses_its_hash),
		cmocka_unit_test(a_d_name_loses_its_parameters_but_not_its_template_arguments),
		cmocka_unit_test(the_copies_a_compiler_makes_stay_apart),
		cmocka_unit_test(an_entry_of_the_plt_stays_one),
		cmocka_unit_test(what_is_not_mangled_is_left_alone),
		cmocka_unit_test(a_name_that_stands_for_megabytes_stays_mangled),
		cmocka_unit_test(a_name_that_binds_a_myriad_of_lifetimes_stays_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
