#include "code/procedures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COLD_SUFFIX ".cold"

#define NAME_SIZE_MAX 64

/* Functions that never come back to their caller, in byte order for bsearch(): C's and C++'s libraries, GLib, Python,
 * Perl, Rust, Go, Linux. */
static const char *const no_return_names[] = {
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
static const char *const no_return_prefixes[] = {
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
procedures_symbol_returns(const char *name)
{
	char base[NAME_SIZE_MAX]; /* without the version */
	size_t length;

	if (!name)
		return true;
	for (size_t i = 0; i < ARRAY_COUNT(no_return_prefixes); i++) {
		if (strncmp(name, no_return_prefixes[i], strlen(no_return_prefixes[i])) == 0)
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
	return !bsearch(base, no_return_names, ARRAY_COUNT(no_return_names), sizeof(*no_return_names), name_compare);
}

struct procedures {
	const struct image_file *file;
	const struct symbol_table *symbols;
	const struct image_contents *contents;
	enum architecture architecture;
	struct decoder *decoder;
	const struct symbol **colds; /* parts that were split off, ascending by name */
	size_t cold_count;
	bool has_unnamed; /* parts without a symbol, known from .eh_frame */
};

/* The length of the name of the procedure that `name` was split off from ("f.cold", "f.cold.3"); 0 for other names. */
static size_t
cold_stem(const char *name)
{
	const char *suffix = name ? strstr(name, COLD_SUFFIX) : NULL;
	const char *rest = suffix ? suffix + strlen(COLD_SUFFIX) : NULL;

	if (!rest || (*rest && *rest != '.'))
		return 0;
	return (size_t)(suffix - name);
}

static int
cold_compare(const void *a, const void *b)
{
	const struct symbol *left = *(const struct symbol *const *)a, *right = *(const struct symbol *const *)b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left->offset > right->offset) - (left->offset < right->offset);
}

static int
colds_find(struct procedures *procedures)
{
	size_t count = symbol_table_size(procedures->symbols);

	for (size_t i = 0; i < count; i++)
		procedures->cold_count += cold_stem(symbol_table_at(procedures->symbols, i)->name) != 0;
	procedures->colds = calloc(procedures->cold_count + 1, sizeof(struct symbol *));
	if (!procedures->colds)
		return -ENOMEM;
	procedures->cold_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(procedures->symbols, i);

		procedures->has_unnamed |= !symbol->name;
		if (cold_stem(symbol->name))
			procedures->colds[procedures->cold_count++] = symbol;
	}
	if (procedures->cold_count)
		qsort(procedures->colds, procedures->cold_count, sizeof(struct symbol *), cold_compare);
	return 0;
}

void
procedures_free(struct procedures *procedures)
{
	if (!procedures)
		return;
	decoder_free(procedures->decoder);
	free(procedures->colds);
	free(procedures);
}

struct procedures *
procedures_new(const struct image_file *file, const struct symbol_table *symbols, const struct image_contents *contents)
{
	struct procedures *procedures = calloc(1, sizeof(*procedures));
	int err;

	if (!procedures)
		return NULL;
	procedures->file = file;
	procedures->symbols = symbols;
	procedures->contents = contents;
	err = architecture_of_machine(image_contents_machine(contents), &procedures->architecture);
	if (err)
		goto fail;
	err = colds_find(procedures);
	if (err)
		goto fail;
	procedures->decoder = decoder_new(procedures->architecture);
	if (procedures->decoder)
		return procedures;
	err = -errno;
fail:
	procedures_free(procedures);
	errno = -err;
	return NULL;
}

struct decoder *
procedures_decoder(const struct procedures *procedures)
{
	return procedures->decoder;
}

static bool
part_find(const struct procedures *procedures, const struct symbol *symbol, struct code_part *part)
{
	size_t rest;

	if (image_file_address(procedures->file, symbol->offset, &part->address))
		return false;
	part->bytes = image_contents_code(procedures->contents, part->address, &rest);
	if (!part->bytes || !symbol->size)
		return false;
	if (symbol->size > rest && image_contents_is_partial(procedures->contents))
		return false;
	part->size = symbol->size < rest ? (size_t)symbol->size : rest;
	return true;
}

/* The first cold part whose name begins with the `length` bytes at `name`. */
static size_t
colds_begin(const struct procedures *procedures, const char *name, size_t length)
{
	size_t low = 0, high = procedures->cold_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *other = procedures->colds[middle]->name;
		int order = strncmp(other, name, length);

		if (order < 0 || (!order && strcmp(other + length, COLD_SUFFIX) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Static functions of different files may share a name, and so may their cold parts: a jump shows which function a part
 * belongs to.
 */
static bool
jumps_to(const struct procedures *procedures, const struct code_part *from, const struct code_part *to)
{
	for (size_t at = 0; at < from->size;) {
		struct instruction instruction;
		size_t size = decoder_decode_one(procedures->decoder, from->bytes + at, from->size - at,
		                                 from->address + at, &instruction);

		if (!size)
			return false;
		if ((instruction.flow == FLOW_BRANCH || instruction.flow == FLOW_JUMP) &&
		    instruction.target - to->address < to->size)
			return true;
		at += size;
	}
	return false;
}

/*
 * The parts of programs without symbols are known from .eh_frame, without names. A branch into the middle of one, or a
 * conditional branch to its beginning, shows that it belongs to the procedure that branches: other procedures are
 * called or jumped to at their beginnings.
 */
static const struct symbol *
unnamed_part(const struct procedures *procedures, const struct instruction *instruction)
{
	const struct symbol *symbol;
	uint64_t offset;

	if ((instruction->flow != FLOW_BRANCH && instruction->flow != FLOW_JUMP) ||
	    image_file_offset(procedures->file, instruction->target, &offset))
		return NULL;
	symbol = symbol_table_find(procedures->symbols, offset);
	if (!symbol || symbol->name || (symbol->offset == offset && instruction->flow != FLOW_BRANCH))
		return NULL;
	return symbol;
}

/* Append the parts without names that the first part, with the instructions of `list`, branches to. The new count. */
static size_t
unnamed_parts(const struct procedures *procedures, const struct instruction_list *list,
              struct code_part parts[FLOW_PARTS_MAX], size_t count)
{
	for (size_t at = 0; at < list->count && count < FLOW_PARTS_MAX; at++) {
		const struct instruction *instruction = &list->instructions[at];
		struct code_part unnamed = {.is_cold = true};
		const struct symbol *symbol;
		bool is_known = false;

		if (instruction->target - parts[0].address < parts[0].size)
			continue;
		symbol = unnamed_part(procedures, instruction);
		if (!symbol || !part_find(procedures, symbol, &unnamed))
			continue;
		for (size_t i = 0; i < count; i++)
			is_known |= code_parts_overlap(&unnamed, &parts[i]);
		if (!is_known)
			parts[count++] = unnamed;
	}
	return count;
}

/* Append the cold parts of `name`. The new count. */
static size_t
named_parts(const struct procedures *procedures, const char *name, struct code_part parts[FLOW_PARTS_MAX], size_t count)
{
	size_t length = strlen(name), first = colds_begin(procedures, name, length), last = first;

	while (last < procedures->cold_count && strncmp(procedures->colds[last]->name, name, length) == 0 &&
	       cold_stem(procedures->colds[last]->name) == length)
		last++;
	for (size_t i = first; i < last && count < FLOW_PARTS_MAX; i++) {
		struct code_part part = {.is_cold = true};

		if (!part_find(procedures, procedures->colds[i], &part) || code_parts_overlap(&part, &parts[0]))
			continue;
		if (last - first == 1 || jumps_to(procedures, &parts[0], &part))
			parts[count++] = part;
	}
	return count;
}

int
procedures_decode_parts(const struct procedures *procedures, const struct symbol *symbol,
                        struct code_part parts[FLOW_PARTS_MAX], struct instruction_list *list)
{
	size_t count = 1;
	int err;

	parts[0] = (struct code_part){.is_cold = cold_stem(symbol->name) != 0};
	if (!part_find(procedures, symbol, &parts[0]))
		return -ENOENT;
	if (parts[0].is_cold)
		return 1;
	if (symbol->name)
		count = named_parts(procedures, symbol->name, parts, count);
	if (!procedures->has_unnamed)
		return (int)count;
	err = flow_parts_decode(procedures->decoder, parts, 1, list);
	return err ? err : (int)unnamed_parts(procedures, list, parts, count);
}

int
procedures_parts(const struct procedures *procedures, const struct symbol *symbol,
                 struct code_part parts[FLOW_PARTS_MAX])
{
	struct instruction_list list = {0};
	const int count = procedures_decode_parts(procedures, symbol, parts, &list);

	instruction_list_free(&list);
	return count;
}

static const uint8_t *
constants_at(void *argument, uint64_t address, size_t *size)
{
	const struct procedures *procedures = argument;

	return image_contents_constants(procedures->contents, address, size);
}

static bool
returns_at(void *argument, uint64_t address)
{
	const struct procedures *procedures = argument;
	const struct symbol *symbol;
	uint64_t offset;

	if (image_file_offset(procedures->file, address, &offset))
		return true;
	symbol = symbol_table_find(procedures->symbols, offset);
	return !symbol || symbol->offset != offset || procedures_symbol_returns(symbol->name);
}

bool
procedures_is_split_off(const struct symbol *symbol)
{
	return cold_stem(symbol->name) != 0;
}

struct flow_source
procedures_source(struct procedures *procedures, const struct code_part *parts, size_t count)
{
	return (struct flow_source){
		.architecture = procedures->architecture,
		.parts = parts,
		.part_count = count,
		.argument = procedures,
		.data = constants_at,
		.returns = returns_at,
	};
}

int
procedures_graph_from(const struct procedures *procedures, struct instruction_list *list,
                      const struct flow_source *source, struct flow_graph **graph)
{
	const size_t done = list->count ? 1 : 0;
	int err;

	err = flow_parts_decode(procedures->decoder, source->parts + done, source->part_count - done, list);
	if (err) {
		instruction_list_free(list);
		return err;
	}
	return flow_graph_build_from(list, procedures->decoder, source, graph);
}

int
procedures_graph_of(struct procedures *procedures, const struct code_part *parts, size_t count,
                    struct flow_graph **graph)
{
	const struct flow_source source = procedures_source(procedures, parts, count);
	struct instruction_list list = {0};

	return procedures_graph_from(procedures, &list, &source, graph);
}

int
procedures_graph(struct procedures *procedures, const struct symbol *symbol, struct flow_graph **graph)
{
	struct instruction_list list = {0};
	struct code_part parts[FLOW_PARTS_MAX];
	const int count = procedures_decode_parts(procedures, symbol, parts, &list);
	struct flow_source source;

	if (count < 0) {
		instruction_list_free(&list);
		return count;
	}
	source = procedures_source(procedures, parts, (size_t)count);
	return procedures_graph_from(procedures, &list, &source, graph);
}
