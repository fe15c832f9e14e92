#include "code/no_return.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE_MAX 64

/* In byte order, for bsearch(): C's and C++'s libraries, GLib, Python, Perl, Rust, Go, Linux. */
static const char *const names[] = {
	"Perl_croak",
	"Perl_croak_memory_wrap",
	"Perl_croak_no_modify",
	"Perl_croak_nocontext",
	"Perl_my_exit",
	"Perl_my_failure_exit",
	"Py_Exit",
	"Py_FatalError",
	"_Exit",
	"_Py_FatalErrorFormat",
	"_Py_FatalErrorFunc",
	"_Unwind_Resume",
	"_ZN10__cxxabiv111__terminateEPFvvE",
	"_ZSt10unexpectedv",
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt21__glibcxx_assert_failPKciS0_S0_",
	"_ZSt9terminatev",
	"____longjmp_chk",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__assert_rtn",
	"__chk_fail",
	"__clang_call_terminate",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_call_unexpected",
	"__cxa_deleted_virtual",
	"__cxa_pure_virtual",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_length",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__libc_fatal",
	"__libc_longjmp",
	"__libc_message_impl",
	"__libc_siglongjmp",
	"__libc_start_call_main",
	"__libc_start_main",
	"__longjmp",
	"__longjmp_chk",
	"__module_put_and_kthread_exit",
	"__pthread_exit",
	"__pthread_unwind",
	"__pthread_unwind_next",
	"__rust_alloc_error_handler",
	"__rust_drop_panic",
	"__rust_foreign_exception",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"_exit",
	"_longjmp",
	"abort",
	"cpu_startup_entry",
	"do_exit",
	"do_group_exit",
	"do_task_dead",
	"err",
	"errx",
	"exit",
	"fortify_panic",
	"g_abort",
	"g_assertion_message",
	"g_assertion_message_cmpnum",
	"g_assertion_message_cmpstr",
	"g_assertion_message_expr",
	"kthread_complete_and_exit",
	"kthread_exit",
	"longjmp",
	"machine_real_restart",
	"make_task_dead",
	"nmi_panic_self_stop",
	"panic",
	"pthread_exit",
	"quick_exit",
	"rewind_stack_and_make_dead",
	"rewind_stack_do_exit",
	"runtime.abort",
	"runtime.fatal",
	"runtime.fatalthrow",
	"runtime.goexit",
	"runtime.gopanic",
	"runtime.throw",
	"rust_begin_unwind",
	"rust_oom",
	"rust_panic",
	"sev_es_terminate",
	"siglongjmp",
	"snp_abort",
	"stop_this_cpu",
	"thrd_exit",
	"usercopy_abort",
	"verr",
	"verrx",
	"xalloc_die",
};

/* Families of functions. */
static const char *const prefixes[] = {
	"_ZN4core9panicking",
	"_ZN4core6option13expect_failed",
	"_ZN4core6option13unwrap_failed",
	"_ZN4core6result13unwrap_failed",
	"_ZN5alloc5alloc18handle_alloc_error",
	"_ZN5alloc7raw_vec17capacity_overflow",
	"_ZN5alloc7raw_vec12handle_error",
	"_ZN3std9panicking11begin_panic",
	"_ZN4core5slice5index26slice_start_index_len_fail",
	"_ZN4core5slice5index24slice_end_index_len_fail",
	"_ZN4core5slice5index22slice_index_order_fail",
	"_ZN4core3str16slice_error_fail",
	"_ZN3std7process4exit",
	"_ZN3std7process5abort",
	"runtime.panic",
	"runtime.goPanic",
};

static int
name_compare(const void *key, const void *entry)
{
	return strcmp(key, *(const char *const *)entry);
}

bool
symbol_returns(const char *name)
{
	char base[NAME_SIZE_MAX]; /* without the version */
	size_t length;

	if (!name)
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return false;
	}
	/* std::__throw_length_error(char const*) and the like: `_ZSt`, a length, `__throw_` */
	if (strncmp(name, "_ZSt", 4) == 0 && strncmp(name + 4 + strspn(name + 4, "0123456789"), "__throw_", 8) == 0)
		return false;
	/* AddressSanitizer's reports end the program unless their names say otherwise */
	if (strncmp(name, "__asan_report_", 14) == 0 && !strstr(name, "noabort"))
		return false;
	length = strcspn(name, "@");
	if (length >= sizeof(base))
		return true;
	memcpy(base, name, length);
	base[length] = 0;
	return !bsearch(base, names, sizeof(names) / sizeof(*names), sizeof(*names), name_compare);
}
