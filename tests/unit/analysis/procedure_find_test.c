/* The images are made by the compiler, in a folder that goes away; addresses are nm's. */
#include "tests/unit/image/elf_fixture.h"

#include "analysis/procedure.h"
#include "analysis/procedure_find.h"
#include "base/error.h"
#include "tests/unit/code/flow_graph_check.h"

#define SOURCE                                                                                                         \
	"__attribute__((noinline)) int busy(int n) { int s = 0; while (n--) s += n * n; return s; }\n"                 \
	"__attribute__((noinline)) int idle(int n) { return n + 1; }\n"                                                \
	"int main(int c, char **v) { (void)v; return busy(c) + idle(c); }\n"

/* A selection of one image with one event, cycles, whose samples are all at the beginning of `busy`. */
struct procedure_find_stage {
	struct selection selection;
	struct selection_event event;
	struct selection_image selected;
	struct selection_count count;
	struct image image;
	char path[PATH_MAX];
};

static void
set_stage(const struct folder *folder, struct procedure_find_stage *stage)
{
	struct elf_layout layout;

	memset(stage, 0, sizeof(*stage));
	write_file(folder, "program.c", "%s", SOURCE);
	assert_true(run_in(folder, "gcc -O1 -Wl,--build-id -o program program.c"));
	stage->image = image_of(path_in(folder, "program", stage->path));
	stage->selected = (struct selection_image){.number = 1, .image = &stage->image};
	snprintf(stage->event.name, sizeof(stage->event.name), "cycles");
	snprintf(stage->event.unit, sizeof(stage->event.unit), "cycles");
	stage->event.available = true;
	stage->event.period = 1000;
	layout = layout_of(stage->path);
	stage->count = (struct selection_count){.offset = code_offset(&layout, nm_address_of(stage->path, "busy")),
	                                        .count = 500};
	stage->selection = (struct selection){
		.event_count = 1,
		.events = &stage->event,
		.image_count = 1,
		.images = &stage->selected,
		.count_count = 1,
		.counts = &stage->count,
	};
}

static int
find(const struct procedure_find_stage *stage, const char *name, struct procedure_found *found, char why[256])
{
	const struct procedure_query query = {.selection = &stage->selection, .name = name};

	return procedure_find(&query, found, why, 256);
}

static void
assert_refused(const struct procedure_find_stage *stage, const char *name, int error, const char *sentence)
{
	struct procedure_found found;
	char why[256];

	assert_int_equal(find(stage, name, &found, why), error);
	assert_string_equal(why, sentence);
}

static void
a_procedure_is_found_by_its_name_and_by_an_address_in_it(void **state)
{
	struct procedure_found found;
	char why[256], address[32];
	struct procedure_find_stage stage;

	need_tool("gcc");
	set_stage(*state, &stage);
	assert_int_equal(find(&stage, "busy", &found, why), 0);
	assert_string_equal(found.symbol->name, "busy");
	assert_int_equal(found.samples, 500);
	code_image_close(&found.code);
	snprintf(address, sizeof(address), "0x%" PRIx64, nm_address_of(stage.path, "busy") + 1);
	assert_int_equal(find(&stage, address, &found, why), 0);
	assert_string_equal(found.symbol->name, "busy");
	code_image_close(&found.code);
}

/* As of an OpenMP loop, whose samples are all in what gcc made of it. */
static void
a_procedure_without_samples_is_the_clone_that_has_them(void **state)
{
	struct procedure_found found;
	struct procedure_find_stage stage;
	char why[256];

	need_tool("objcopy");
	set_stage(*state, &stage);
	assert_true(run_in(*state, "objcopy --redefine-sym busy=idle._omp_fn.0 program"));
	assert_int_equal(find(&stage, "idle", &found, why), 0);
	assert_string_equal(found.symbol->name, "idle._omp_fn.0");
	assert_int_equal(found.samples, 500);
	code_image_close(&found.code);
	assert_refused(&stage, "idl", -DCPI_ENOSELECTION, "no procedure is called that; did you mean idle?");
	assert_refused(&stage, "main", -DCPI_ENOSELECTION,
	               "it has no samples of cycles in what was selected; 'dcpiprof' shows which have");
}

/* Of its 500 samples, and `own` of the procedure itself, which only starts the loop. */
static void
assert_meant(struct procedure_find_stage *stage, uint64_t own, const char *name)
{
	const struct elf_layout layout = layout_of(stage->path);
	struct selection_count counts[2] = {
		stage->count, {.offset = code_offset(&layout, nm_address_of(stage->path, "idle")), .count = own}};
	struct procedure_found found;
	char why[256];

	if (counts[0].offset > counts[1].offset) {
		counts[0] = counts[1];
		counts[1] = stage->count;
	}
	stage->selection.counts = counts;
	stage->selection.count_count = 2;
	assert_int_equal(find(stage, "idle", &found, why), 0);
	assert_string_equal(found.symbol->name, name);
	code_image_close(&found.code);
}

static void
a_clone_is_meant_when_it_has_nearly_all_samples(void **state)
{
	struct procedure_find_stage stage;

	need_tool("objcopy");
	set_stage(*state, &stage);
	assert_true(run_in(*state, "objcopy --redefine-sym busy=idle._omp_fn.0 program"));
	assert_meant(&stage, 49, "idle._omp_fn.0");
	assert_meant(&stage, 50, "idle");
}

static void
a_demangled_name_is_its_clones_too(void **state)
{
	struct procedure_found found;
	struct procedure_find_stage stage;
	char why[256];

	need_tool("objcopy");
	set_stage(*state, &stage);
	assert_true(run_in(*state, "objcopy --redefine-sym busy=_Z3fooi.constprop.0 program"));
	assert_int_equal(find(&stage, "foo", &found, why), 0);
	assert_string_equal(found.symbol->name, "_Z3fooi.constprop.0");
	code_image_close(&found.code);
}

static void
what_is_not_there_is_refused_with_what_is_near(void **state)
{
	struct procedure_find_stage stage;

	need_tool("gcc");
	set_stage(*state, &stage);
	assert_refused(&stage, "bussy", -DCPI_ENOSELECTION, "no procedure is called that; did you mean busy?");
	assert_refused(&stage, "0x7fffffffffff", -DCPI_ENOSELECTION, "no procedure holds that address");
	assert_refused(&stage, "idle", -DCPI_ENOSELECTION,
	               "it has no samples of cycles in what was selected; 'dcpiprof' shows which have");
	assert_refused(&stage, "usy", -DCPI_ENOSELECTION, "no procedure is called that; did you mean busy?");
	assert_refused(&stage, "001139", -DCPI_ENOSELECTION,
	               "no procedure is called that; an address is written 0x001139");
}

static void
a_place_in_a_file_stands_for_its_procedure(void **state)
{
	struct procedure_found found;
	struct procedure_find_stage stage;
	char why[256], place[64];

	need_tool("gcc");
	set_stage(*state, &stage);
	snprintf(place, sizeof(place), "program+0x%" PRIx64, stage.count.offset + 1);
	assert_int_equal(find(&stage, place, &found, why), 0);
	assert_string_equal(found.symbol->name, "busy");
	code_image_close(&found.code);
	snprintf(place, sizeof(place), "program2+0x%" PRIx64, stage.count.offset);
	assert_int_equal(find(&stage, place, &found, why), -DCPI_ENOSELECTION);
}

static void
another_build_is_refused(void **state)
{
	struct procedure_found found;
	struct procedure_find_stage stage;
	char why[256];

	need_tool("gcc");
	set_stage(*state, &stage);
	stage.image.build_id[0] ^= 1;
	assert_int_equal(find(&stage, "busy", &found, why), -DCPI_EBUILDID);
	assert_non_null(strstr(why, "is not the build that was sampled (its build-id differs)"));
}

static void
samples_are_on_their_instructions(void **state)
{
	struct procedure_found found;
	struct procedure_analysis *analysis;
	struct procedure_input input = {0};
	struct procedure_find_stage stage;
	char why[256];

	need_tool("gcc");
	set_stage(*state, &stage);
	assert_int_equal(find(&stage, "busy", &found, why), 0);
	input.selection = &stage.selection;
	input.code = &found.code;
	input.symbol = found.symbol;
	assert_int_equal(procedure_analyze(&input, &analysis), 0);
	assert_int_equal(analysis->time_samples, 500);
	assert_int_equal(analysis->samples[0], 500);
	assert_int_equal(analysis->graph->instructions[0].address, nm_address_of(stage.path, "busy"));
	assert_null(flow_graph_fault(analysis->graph));
	assert_null(analysis->executions);
	procedure_analysis_free(analysis);
	code_image_close(&found.code);
}

static void
cycles_are_time_before_a_clock_is(void **state)
{
	struct selection_event events[3] = {{.name = "page-faults", .unit = "faults", .available = true},
	                                    {.name = "cpu-clock", .unit = "ns", .available = true},
	                                    {.name = "cycles", .unit = "cycles", .available = true}};
	struct selection selection = {.event_count = 3, .events = events};
	char why[256];

	(void)state;
	assert_int_equal(procedure_choose_time_event(&selection, NULL, why, sizeof(why)), 2);
	events[2].available = false;
	assert_int_equal(procedure_choose_time_event(&selection, NULL, why, sizeof(why)), 1);
	assert_int_equal(procedure_choose_time_event(&selection, "page-faults", why, sizeof(why)), 0);
	assert_int_equal(procedure_choose_time_event(&selection, "cycles", why, sizeof(why)), -DCPI_ENOEVENT);
	assert_string_equal(why, "cycles was not counted in what was selected");
	events[1].available = false;
	assert_int_equal(procedure_choose_time_event(&selection, NULL, why, sizeof(why)), -DCPI_ENOEVENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_procedure_is_found_by_its_name_and_by_an_address_in_it, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_procedure_without_samples_is_the_clone_that_has_them, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_clone_is_meant_when_it_has_nearly_all_samples, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_demangled_name_is_its_clones_too, folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_there_is_refused_with_what_is_near, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_place_in_a_file_stands_for_its_procedure, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(another_build_is_refused, folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(samples_are_on_their_instructions, folder_setup, folder_teardown),
		cmocka_unit_test(cycles_are_time_before_a_clock_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
