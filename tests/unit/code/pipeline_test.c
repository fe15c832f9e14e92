#include "code/pipeline.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#include "tests/unit/test.h"

/* The least that a file may say; what a test changes of it comes in between. */
#define HEAD "name = \"small\"; title = \"a small core\"; kind = \"in-order\"; retire_width = 1;\n"
#define CORE "issue_width = 1; mispredict_cycles = 3; write_buffer_entries = 2; cache_line = 32;\n"
#define MEMORY                                                                                                         \
	"{ cache_bytes = 4096; level2_cycles = 9; memory_cycles = 90; tlb_entries = 8; tlb_miss_cycles = 20; };\n"
#define UNITS "units = [ \"ALU\", \"FPU\" ];\n"
#define ALU   "{ latency = 1; uses = ( { units = \"ALU\"; } ); };"
#define FPU   "{ latency = 4; uses = ( { units = \"FPU\"; cycles = 2; } ); };"
#define OPERATIONS                                                                                                     \
	"operations = { integer = " ALU " multiply = " ALU " divide = " ALU " load = " ALU " store = " ALU             \
	" branch = " ALU "\n float_add = " FPU " float_divide = " FPU
#define SMALL HEAD CORE "code = " MEMORY "data = " MEMORY UNITS OPERATIONS "};\n"

static void
assert_refused(const char *text, const char *expected)
{
	struct pipeline pipeline;
	char why[512] = "";

	assert_int_equal(pipeline_parse("small.conf", text, &pipeline, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, expected);
}

static void
parse(const char *text, struct pipeline *pipeline)
{
	char why[512] = "";

	if (pipeline_parse("small.conf", text, pipeline, why, sizeof(why)))
		fail_msg("%s", why);
}

static void
a_small_file_is_a_whole_model(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL, &pipeline);
	assert_string_equal(pipeline.title, "a small core");
	assert_int_equal(pipeline.kind, PIPELINE_KIND_IN_ORDER);
	assert_int_equal(pipeline.unit_count, 2);
	assert_int_equal(pipeline.data_cache_bytes, 4096);
	assert_int_equal(pipeline.code.memory_cycles, 90);
	assert_int_equal(pipeline.data_tlb.miss_cycles, 20);
	assert_int_equal(pipeline.page_bytes, 4096);
	assert_int_equal(pipeline.operations[CLASS_FLOAT_ADD].uses[0].units, 2);
	assert_true(pipeline.operations[CLASS_FLOAT_ADD].uses[0].cycles == 2);
}

/* A multiplication and an addition are most like a multiplication, and that is like an addition. */
static void
an_operation_that_is_not_there_is_like_another(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL, &pipeline);
	assert_int_equal(pipeline.operations[CLASS_FLOAT_FUSED].latency, 4);
	assert_int_equal(pipeline.operations[CLASS_SHIFT].latency, 1);
	assert_int_equal(pipeline.operations[CLASS_NOP].use_count, 0);
	assert_int_equal(pipeline.operations[OPERATION_TRANSFER].latency, 4);
}

static void
what_is_out_of_range_is_refused_with_file_line_and_range(void **state)
{
	(void)state;
	assert_refused(HEAD "issue_width = 33;\n", "small.conf:2: issue_width is 33; it must be from 1 to 32");
	assert_refused(HEAD CORE "timer_skid = \"one\";",
	               "small.conf:3: timer_skid must be a whole number from 0 to 8");
	assert_refused(HEAD CORE "code = { cache_bytes = 1; };",
	               "small.conf:3: cache_bytes is 1; it must be from 512 to 1073741824");
}

static void
what_is_missing_is_named(void **state)
{
	struct pipeline pipeline;
	char why[512];

	(void)state;
	assert_refused(HEAD "issue_width = 1;", "small.conf: mispredict_cycles is missing");
	assert_int_equal(pipeline_parse("small.conf",
	                                HEAD CORE "code = " MEMORY "data = " MEMORY UNITS
	                                          "operations = { integer = " ALU "};",
	                                &pipeline, why, sizeof(why)),
	                 -DCPI_ECONFIG);
	assert_string_equal(why, "small.conf:6: multiply is missing");
}

static void
unknown_names_are_refused(void **state)
{
	(void)state;
	assert_refused(HEAD CORE "issue_with = 2;\n",
	               "small.conf:3: there is no option issue_with (did you mean issue_width?)");
	assert_refused(HEAD CORE "code = " MEMORY "data = " MEMORY UNITS OPERATIONS
	                         " shift = { latency = 1; uses = ( { units = \"ALV\"; } ); }; };",
	               "small.conf:7: there is no unit \"ALV\"");
}

static void
a_kind_is_one_of_two(void **state)
{
	(void)state;
	assert_refused("name = \"a\"; title = \"b\";\nkind = \"sideways\";",
	               "small.conf:2: kind must be \"in-order\" or \"out-of-order\"");
}

static void
every_use_needs_a_unit(void **state)
{
	(void)state;
	assert_refused(HEAD CORE "code = " MEMORY "data = " MEMORY UNITS OPERATIONS
	                         "\nshift = { latency = 1; uses = ( { cycles = 2; } ); }; };",
	               "small.conf:8: uses must name units");
}

static void
a_unit_has_one_name_of_its_own(void **state)
{
	(void)state;
	assert_refused(HEAD CORE "code = " MEMORY "data = " MEMORY "units = [ \"A\", \"A\" ];",
	               "small.conf:5: units has \"A\" twice");
}

static void
x86_is_told_by_vendor_family_and_model(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL "match = ( { vendor = \"GenuineIntel\"; family = 6; models = [ 78, 94 ]; } );", &pipeline);
	assert_true(pipeline_is_for(&pipeline, "Intel(R) Core(TM) i7-6700K CPU (GenuineIntel family 6 model 94)"));
	assert_false(pipeline_is_for(&pipeline, "Intel(R) Core(TM) i7-6700K CPU (GenuineIntel family 6 model 95)"));
	assert_false(pipeline_is_for(&pipeline, "AMD EPYC (AuthenticAMD family 6 model 94)"));
	assert_false(pipeline_is_for(&pipeline, "Intel(R) Core(TM) i7-6700K CPU"));
	assert_false(pipeline_is_for(&pipeline, ""));
}

/* Under a hypervisor: the numbers are another's. */
static void
x86_is_told_by_a_flag_too(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL "match = ( { vendor = \"GenuineIntel\"; has = \"amx_tile\"; } );", &pipeline);
	assert_true(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167 with amx_tile)"));
	assert_true(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 85 with avx amx_tile)"));
	assert_false(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167 with amx_tile2 amx)"));
	assert_false(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167)"));
	assert_false(pipeline_is_for(&pipeline, "Xeon with amx_tile (GenuineIntel family 6 model 167)"));
	assert_false(pipeline_is_for(&pipeline, "EPYC (AuthenticAMD family 6 model 167 with amx_tile)"));
	parse(SMALL "match = ( { vendor = \"GenuineIntel\"; family = 6; lacks = \"amx_tile\"; } );", &pipeline);
	assert_true(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167)"));
	assert_true(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167 with amx_til)"));
	assert_false(pipeline_is_for(&pipeline, "Xeon (R) (GenuineIntel family 6 model 167 with amx_tile)"));
	assert_refused(SMALL "match = ( { text = \"*Xeon*\"; has = \"amx_tile\"; } );",
	               "small.conf:8: a match by a flag must have a vendor");
}

static void
arm_is_told_by_implementer_and_part(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL "match = ( { implementer = 0x41; part = 0xd03; } );", &pipeline);
	assert_true(pipeline_is_for(&pipeline, "ARM implementer 0x41, part 0xd03"));
	assert_false(pipeline_is_for(&pipeline, "ARM implementer 0x41, part 0xd0c"));
	assert_false(pipeline_is_for(&pipeline, "ARM implementer 0x51, part 0xd03"));
}

static void
others_are_told_by_their_names(void **state)
{
	struct pipeline pipeline;

	(void)state;
	parse(SMALL "match = ( { text = \"*Skylake*\"; } );", &pipeline);
	assert_true(pipeline_is_for(&pipeline, "Intel Xeon Processor (Skylake, IBRS)"));
	assert_false(pipeline_is_for(&pipeline, "Intel Xeon Processor (Icelake)"));
}

static void
assert_chosen(const char *choice, const char *cpu, const char *expected, const char *expected_note)
{
	char directory[PATH_MAX], note[1024];
	struct pipeline pipeline;

	pipeline_directory(directory, sizeof(directory));
	if (pipeline_choose(directory, choice, cpu, &pipeline, note, sizeof(note)))
		fail_msg("%s", note);
	assert_string_equal(pipeline.name, expected);
	assert_string_equal(note, expected_note);
}

static void
the_model_of_a_cpu_is_found(void **state)
{
	(void)state;
	assert_chosen(NULL, "AMD EPYC (AuthenticAMD family 25 model 17)", "amd-zen4", "");
	assert_chosen(NULL, "AMD EPYC (AuthenticAMD family 25 model 1)", "amd-zen3", "");
	assert_chosen(NULL, "AMD EPYC 7763 64-Core Processor", "amd-zen3", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) Platinum 8175M (GenuineIntel family 6 model 85)", "intel-skylake", "");
	assert_chosen(NULL, "Intel Xeon Processor (Icelake)", "intel-icelake", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) CPU E5-2603 0 @ 1.80GHz (GenuineIntel family 6 model 45)",
	              "intel-sandybridge", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz (GenuineIntel family 6 model 63)",
	              "intel-haswell", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz (GenuineIntel family 6 model 79)",
	              "intel-broadwell", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) Platinum 8488C (GenuineIntel family 6 model 143)", "intel-goldencove",
	              "");
	assert_chosen(NULL, "Intel(R) Xeon(R) Processor (GenuineIntel family 6 model 167 with amx_tile)",
	              "intel-goldencove", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) Processor (GenuineIntel family 6 model 79 with amx_tile)",
	              "intel-goldencove", "");
	assert_chosen(NULL, "Intel(R) Xeon(R) Processor (GenuineIntel family 6 model 167)", "intel-icelake", "");
	assert_chosen(NULL, "ARM implementer 0x41, part 0xd03", "arm-cortex-a53", "");
	assert_chosen(NULL, "ARM implementer 0x41, part 0xd0c", "arm-neoverse-n1", "");
	assert_chosen(NULL, "ARM implementer 0x41, part 0xd40", "arm-neoverse-v1", "");
}

static void
other_cpus_get_the_generic_model_and_a_note(void **state)
{
	(void)state;
	assert_chosen(NULL, "Zilog Z80", "generic",
	              "no model is for the CPU \"Zilog Z80\": the generic one is used; --cpu chooses another");
	assert_chosen(NULL, "", "generic",
	              "no model is for the CPU \"unknown\": the generic one is used; --cpu chooses another");
}

static void
a_model_can_be_chosen_by_name(void **state)
{
	(void)state;
	assert_chosen("in-order-2", "AMD EPYC (AuthenticAMD family 25 model 17)", "in-order-2", "");
}

static void
a_name_that_is_none_gets_a_suggestion(void **state)
{
	char directory[PATH_MAX], note[1024];
	struct pipeline pipeline;

	(void)state;
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, "amd-zen33", "", &pipeline, note, sizeof(note)), -DCPI_ECONFIG);
	assert_string_equal(note, "there is no model of a CPU \"amd-zen33\"; did you mean \"amd-zen3\"?");
	assert_int_equal(pipeline_choose(directory, "vax", "", &pipeline, note, sizeof(note)), -DCPI_ECONFIG);
	assert_non_null(strstr(note, "; there are: alpha-21164 amd-zen3 amd-zen4 "));
}

static void
a_model_can_be_chosen_by_file(void **state)
{
	char directory[PATH_MAX], path[PATH_MAX + 32], note[1024];
	struct pipeline pipeline;

	(void)state;
	pipeline_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/alpha-21164.conf", directory);
	assert_int_equal(pipeline_choose("/nowhere", path, "", &pipeline, note, sizeof(note)), 0);
	assert_string_equal(pipeline.name, "alpha-21164");
	assert_int_not_equal(pipeline_choose("/nowhere", "/nowhere/x.conf", "", &pipeline, note, sizeof(note)), 0);
	assert_string_equal(note, "/nowhere/x.conf: cannot read the model of a CPU: No such file or directory");
}

static void
the_environment_says_where_models_are(void **state)
{
	char directory[PATH_MAX];

	(void)state;
	assert_int_equal(setenv("DCPI_CPUS", "/my/models", 1), 0);
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(unsetenv("DCPI_CPUS"), 0);
	assert_string_equal(directory, "/my/models");
}

/* A model that is wrong is not passed over in silence: which CPU it is for is not known. */
static void
a_wrong_model_among_others_is_told(void **state)
{
	char directory[] = "/tmp/pipeline-test-XXXXXX", path[PATH_MAX], note[1024];
	struct pipeline pipeline;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/mine.conf", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("name = 3;\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(pipeline_choose(directory, NULL, "any", &pipeline, note, sizeof(note)), -DCPI_ECONFIG);
	assert_non_null(strstr(note, "/mine.conf:1: name must be a string"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* A file that is there is one that is right, and has its name inside. */
static void
every_file_that_comes_along_can_be_read(void **state)
{
	char directory[PATH_MAX], note[1024];
	struct dirent *entry;
	unsigned count = 0;
	DIR *files;

	(void)state;
	pipeline_directory(directory, sizeof(directory));
	files = opendir(directory);
	assert_non_null(files);
	while ((entry = readdir(files))) {
		char *end = strstr(entry->d_name, ".conf");
		struct pipeline pipeline;

		if (!end)
			continue;
		*end = '\0';
		if (pipeline_choose(directory, entry->d_name, "", &pipeline, note, sizeof(note)))
			fail_msg("%s", note);
		assert_string_equal(pipeline.name, entry->d_name);
		count++;
	}
	closedir(files);
	assert_true(count >= 8);
}

static void
an_operation_between_files_of_registers_is_a_transfer(void **state)
{
	const struct instruction to_vector = {.class = CLASS_FLOAT_MOVE,
	                                      .reads = {0},
	                                      .read_count = 1,
	                                      .writes = {REGISTER_VECTOR},
	                                      .write_count = 1};
	const struct instruction back = {.class = CLASS_FLOAT_MOVE,
	                                 .reads = {REGISTER_VECTOR},
	                                 .read_count = 1,
	                                 .writes = {0},
	                                 .write_count = 1};
	const struct instruction within = {.class = CLASS_FLOAT_MOVE,
	                                   .reads = {REGISTER_VECTOR + 1},
	                                   .read_count = 1,
	                                   .writes = {REGISTER_VECTOR},
	                                   .write_count = 1};
	struct pipeline pipeline;

	(void)state;
	parse(SMALL, &pipeline);
	assert_ptr_equal(pipeline_operation(&pipeline, &to_vector), &pipeline.operations[OPERATION_TRANSFER]);
	assert_ptr_equal(pipeline_operation(&pipeline, &back), &pipeline.operations[OPERATION_TRANSFER_BACK]);
	assert_ptr_equal(pipeline_operation(&pipeline, &within), &pipeline.operations[CLASS_FLOAT_MOVE]);
}

/* imul %rcx,%rax and mul %rcx; shl $3,%rax and shl %cl,%rax; lea of two parts and of three; div %ecx and div %rcx. */
static void
instructions_of_one_class_may_be_several_operations(void **state)
{
	static const struct {
		struct instruction instruction;
		unsigned operation;
	} cases[] = {
		{{.class = CLASS_MULTIPLY,
	          .reads = {0, 1},
	          .read_count = 2,
	          .writes = {0, REGISTER_FLAGS},
	          .write_count = 2},
	         CLASS_MULTIPLY},
		{{.class = CLASS_MULTIPLY,
	          .reads = {0, 1},
	          .read_count = 2,
	          .writes = {0, 2, REGISTER_FLAGS},
	          .write_count = 3},
	         OPERATION_MULTIPLY_TWO},
		{{.class = CLASS_SHIFT, .reads = {0}, .read_count = 1, .writes = {0, REGISTER_FLAGS}, .write_count = 2},
	         CLASS_SHIFT},
		{{.class = CLASS_SHIFT,
	          .reads = {0, 1},
	          .read_count = 2,
	          .writes = {0, REGISTER_FLAGS},
	          .write_count = 2},
	         OPERATION_SHIFT_BY_REGISTER},
		{{.class = CLASS_SHIFT, .reads = {0, 1}, .read_count = 2, .writes = {0}, .write_count = 1},
	         CLASS_SHIFT},
		{{.class = CLASS_ADDRESS, .reads = {0, 1}, .read_count = 2, .writes = {0}, .write_count = 1},
	         CLASS_ADDRESS},
		{{.class = CLASS_ADDRESS, .is_wide = true}, OPERATION_ADDRESS_THREE},
		{{.class = CLASS_DIVIDE}, CLASS_DIVIDE},
		{{.class = CLASS_DIVIDE, .is_wide = true}, OPERATION_DIVIDE_WIDE},
	};
	struct pipeline pipeline;

	(void)state;
	parse(SMALL, &pipeline);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_ptr_equal(pipeline_operation(&pipeline, &cases[i].instruction),
		                 &pipeline.operations[cases[i].operation]);
}

static void
a_load_into_a_vector_is_another_than_one_through_it(void **state)
{
	const struct instruction vector = {.class = CLASS_LOAD,
	                                   .loads = true,
	                                   .reads = {1},
	                                   .read_count = 1,
	                                   .address_reads = 1,
	                                   .writes = {REGISTER_VECTOR},
	                                   .write_count = 1};
	const struct instruction gathered = {.class = CLASS_LOAD,
	                                     .loads = true,
	                                     .reads = {REGISTER_VECTOR},
	                                     .read_count = 1,
	                                     .address_reads = 1,
	                                     .writes = {1},
	                                     .write_count = 1};
	struct pipeline pipeline;
	struct uops uops;

	(void)state;
	parse(SMALL, &pipeline);
	pipeline.operations[CLASS_LOAD].latency = 4;
	pipeline.operations[OPERATION_LOAD_VECTOR].latency = 6;
	uops_of(&pipeline, &vector, NULL, &uops);
	assert_int_equal(uops.load_latency, 6);
	uops_of(&pipeline, &gathered, NULL, &uops);
	assert_int_equal(uops.load_latency, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_file_is_a_whole_model),
		cmocka_unit_test(an_operation_that_is_not_there_is_like_another),
		cmocka_unit_test(what_is_out_of_range_is_refused_with_file_line_and_range),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(unknown_names_are_refused),
		cmocka_unit_test(a_kind_is_one_of_two),
		cmocka_unit_test(every_use_needs_a_unit),
		cmocka_unit_test(a_unit_has_one_name_of_its_own),
		cmocka_unit_test(x86_is_told_by_vendor_family_and_model),
		cmocka_unit_test(x86_is_told_by_a_flag_too),
		cmocka_unit_test(arm_is_told_by_implementer_and_part),
		cmocka_unit_test(others_are_told_by_their_names),
		cmocka_unit_test(the_model_of_a_cpu_is_found),
		cmocka_unit_test(other_cpus_get_the_generic_model_and_a_note),
		cmocka_unit_test(a_model_can_be_chosen_by_name),
		cmocka_unit_test(a_name_that_is_none_gets_a_suggestion),
		cmocka_unit_test(a_model_can_be_chosen_by_file),
		cmocka_unit_test(the_environment_says_where_models_are),
		cmocka_unit_test(a_wrong_model_among_others_is_told),
		cmocka_unit_test(every_file_that_comes_along_can_be_read),
		cmocka_unit_test(an_operation_between_files_of_registers_is_a_transfer),
		cmocka_unit_test(instructions_of_one_class_may_be_several_operations),
		cmocka_unit_test(a_load_into_a_vector_is_another_than_one_through_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
