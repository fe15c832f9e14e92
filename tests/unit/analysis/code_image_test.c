/* Tests of analysis/code_image.h: images whose file is gone, in a database. */
#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/code_image.h"
#include "base/error.h"
#include "tests/unit/code/captured.h"
#include "tests/unit/image/elf_fixture.h"
#include "tests/unit/profile/fixture.h"

static const char source[] = "int f(int n) { return n * 3; }\n"
			     "int g(int n) { return n ? f(n) + g(n - 1) : 1; }\n";

struct code_image_stage {
	struct folder *folder;
	struct profile_fixture *fixture;
	struct image image;
	char path[PATH_MAX];
	struct profile *profile;
	struct selection *selection;
};

static int
set_up(void **state)
{
	static struct code_image_stage stage;
	void *made;

	memset(&stage, 0, sizeof(stage));
	if (folder_setup(&made))
		return -1;
	stage.folder = made;
	if (fixture_setup(&made))
		return -1;
	stage.fixture = made;
	*state = &stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct code_image_stage *stage = *state;
	void *made = stage->folder;

	selection_free(stage->selection);
	profile_close(stage->profile);
	folder_teardown(&made);
	made = stage->fixture;
	return fixture_teardown(&made);
}

/* A library with one sample in a database, and the file gone after what `take` says was taken. */
static void
play(struct code_image_stage *stage, bool take)
{
	static const struct tally_entry entry = {.offset = 0x1000, .count = 1};
	const struct capture_place place = {.block = 1, .granules = 1};
	const struct capture_wish wish = {.places = &place, .place_count = 1, .names = true};
	const struct selection_request request = {.epoch = "all"};
	const struct image *images[] = {&stage->image};
	struct slice slice = {.start_ns = 1, .end_ns = 2, .event_count = 1};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = two_contexts,
		.slice = &slice,
	};
	struct captured_value parcels[KEPT_PARCELS_MAX];
	struct kept_capture kept = {0};
	struct image_file *file;
	char why[128];

	write_file(stage->folder, "small.c", "%s", source);
	assert_true(run_in(stage->folder, "gcc -O1 -shared -fPIC -Wl,--build-id -o small.so small.c"));
	stage->image = image_of(path_in(stage->folder, "small.so", stage->path));
	stage->profile = open_writer(stage->fixture->directory, 0);
	slice.epoch = begin_clock_epoch(stage->profile);
	slice.events[0].samples = 1;
	assert_int_equal(profile_flush(stage->profile, &batch), 0);
	assert_int_equal(image_file_open(&stage->image, &file), 0);
	assert_int_equal(capture_take(file, &wish, keep_value, &kept), 0);
	image_file_close(file);
	for (size_t i = 0; i < kept.parcel_count; i++) {
		uint32_t numbers[CAPTURED_PARCEL_MAX];

		assert_true(captured_parcel_blocks(kept.parcels[i].data, kept.parcels[i].size, numbers) > 0);
		parcels[i] = (struct captured_value){numbers[0], kept.parcels[i].data, kept.parcels[i].size};
	}
	if (take)
		assert_int_equal(
			profile_put_captured(stage->profile, 1,
		                             &(struct captured){.symbols = {0, kept.symbols.data, kept.symbols.size},
		                                                .layout = {0, kept.layout.data, kept.layout.size},
		                                                .parcels = parcels,
		                                                .parcel_count = kept.parcel_count},
		                             0),
			0);
	kept_fini(&kept);
	assert_int_equal(unlink(stage->path), 0);
	assert_int_equal(selection_read(stage->profile, &request, &stage->selection, why, sizeof(why)), 0);
}

static const struct symbol *
find_named(const struct symbol_table *table, const char *name)
{
	for (size_t i = 0; i < symbol_table_size(table); i++) {
		const struct symbol *symbol = symbol_table_at(table, i);

		if (symbol->name && strcmp(symbol->name, name) == 0)
			return symbol;
	}
	return NULL;
}

static void
a_deleted_file_is_analysed_as_it_was_captured(void **state)
{
	struct code_image_stage *stage = *state;
	struct code_image code;
	struct flow_graph *graph;
	const struct symbol *symbol;

	play(stage, true);
	assert_int_equal(code_image_open(&code, stage->selection, 0), 0);
	symbol = find_named(code.symbols, "g");
	assert_non_null(symbol);
	assert_int_equal(code_image_read(&code), 0);
	assert_int_equal(procedures_graph(code.procedures, symbol, &graph), 0);
	assert_true(graph->is_complete);
	assert_true(graph->block_count >= 3); /* the test, both ways, and calls that end blocks */
	flow_graph_free(graph);
	code_image_close(&code);
}

static void
a_deleted_file_that_was_not_captured_is_missed(void **state)
{
	struct code_image_stage *stage = *state;
	struct code_image code;

	play(stage, false);
	assert_int_equal(code_image_open(&code, stage->selection, 0), -ENOENT);
	code_image_close(&code);
}

static void
another_build_in_its_place_is_not_taken_for_it(void **state)
{
	struct code_image_stage *stage = *state;
	struct code_image code;

	play(stage, true);
	write_file(stage->folder, "other.c", "int h(void) { return 1; }\n");
	assert_true(run_in(stage->folder, "gcc -O1 -shared -fPIC -Wl,--build-id -o small.so other.c"));
	assert_int_equal(code_image_open(&code, stage->selection, 0), 0);
	assert_non_null(find_named(code.symbols, "f"));
	assert_null(find_named(code.symbols, "h"));
	code_image_close(&code);
	stage->selection->profile = NULL;
	assert_int_equal(code_image_open(&code, stage->selection, 0), -DCPI_EBUILDID);
	code_image_close(&code);
}

/* Names without a layout: those of the kernel, and of code that was made at run time. */
static void
names_alone_are_nothing_to_analyse(void **state)
{
	static const struct profile_symbol name = {0x1000, "f", 16};
	struct byte_writer symbols = BYTE_WRITER_INIT;
	struct code_image_stage *stage = *state;
	struct code_image code;

	play(stage, false);
	assert_int_equal(captured_symbols_encode(&name, 1, &symbols), 0);
	assert_int_equal(profile_put_captured(stage->profile, 1,
	                                      &(struct captured){.symbols = {0, symbols.data, symbols.size}}, 0),
	                 0);
	writer_fini(&symbols);
	assert_int_equal(code_image_open(&code, stage->selection, 0), -ENOENT);
	code_image_close(&code);
}

/* An image that is of `machine` by its ELF header alone. */
static const char *
trouble_with(struct code_image_stage *stage, uint16_t machine)
{
	FILE *file;

	write_file(stage->folder, "small.c", "%s", source);
	assert_true(run_in(stage->folder, "gcc -O1 -shared -fPIC -Wl,--build-id -o small.so small.c"));
	stage->image = image_of(path_in(stage->folder, "small.so", stage->path));
	file = fopen(stage->path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, offsetof(Elf64_Ehdr, e_machine), SEEK_SET), 0);
	assert_int_equal(fwrite(&machine, sizeof(machine), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	return code_image_trouble(&stage->image, -ENOTSUP);
}

static void
advice_about_riscv64_is_given_where_it_may_be_riscv64(void **state)
{
	const struct image gone = {.kind = IMAGE_USER, .path = "/nowhere/a.out"};

	assert_null(strstr(trouble_with(*state, EM_SPARCV9), "Debian"));
	assert_non_null(strstr(trouble_with(*state, EM_SPARCV9), "an architecture other than x86-64"));
	if (architecture_trouble(ARCHITECTURE_RISCV64))
		assert_non_null(strstr(trouble_with(*state, EM_RISCV), "riscv64, which is decoded with capstone 5"));
	if (architecture_trouble(ARCHITECTURE_RISCV64)) /* captured, and its file is gone */
		assert_non_null(
			strstr(code_image_trouble(&gone, -ENOTSUP), "if it is riscv64, look at it on Debian 13"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_deleted_file_is_analysed_as_it_was_captured),
		TEST(a_deleted_file_that_was_not_captured_is_missed),
		TEST(another_build_in_its_place_is_not_taken_for_it),
		TEST(names_alone_are_nothing_to_analyse),
		TEST(advice_about_riscv64_is_given_where_it_may_be_riscv64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
