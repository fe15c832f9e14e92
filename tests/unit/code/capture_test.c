/*
 * What is captured is compared with what the file itself says: the C library, which has large procedures, jump tables
 * and names in .dynsym only, and this program, which is small and has a symbol table.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "code/procedures.h"
#include "tests/unit/code/captured.h"
#include "tests/unit/code/flow_text.h"
#include "tests/unit/image/elf_fixture.h"

#define CHOSEN_MAX 60

struct opened_image {
	struct image_file *file;
	struct symbol_table *symbols;
	struct image_contents *contents;
	struct procedures *procedures;
};

static int
find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	return realpath(info->dlpi_name, context) != NULL;
}

static struct image_file *
open_file(const char *path)
{
	struct image image = image_of(path);
	struct image_file *file;

	assert_int_equal(image_file_open(&image, &file), 0);
	return file;
}

static void
open_original(const char *path, struct opened_image *opened)
{
	opened->file = open_file(path);
	assert_int_equal(symbol_table_from_file(opened->file, &opened->symbols), 0);
	assert_int_equal(image_contents_new(opened->file, &opened->contents), 0);
	opened->procedures = procedures_new(opened->file, opened->symbols, opened->contents);
	assert_non_null(opened->procedures);
}

static void
open_kept(const struct kept_capture *kept, struct opened_image *opened)
{
	struct captured_text text = kept_text(kept);
	struct captured_layout *layout;
	struct profile_symbol *symbols;
	size_t count;

	assert_int_equal(captured_layout_decode(kept->layout.data, kept->layout.size, &layout), 0);
	assert_int_equal(captured_symbols_decode(kept->symbols.data, kept->symbols.size, &symbols, &count), 0);
	assert_int_equal(image_file_from_captured(layout, &opened->file), 0);
	assert_int_equal(symbol_table_from_captured(symbols, count, &opened->symbols), 0);
	assert_int_equal(image_contents_from_captured(layout, &text, &opened->contents), 0);
	opened->procedures = procedures_new(opened->file, opened->symbols, opened->contents);
	assert_non_null(opened->procedures);
	captured_text_fini(&text);
	free(symbols);
	free(layout);
}

static void
close_all(struct opened_image *opened)
{
	procedures_free(opened->procedures);
	image_contents_free(opened->contents);
	symbol_table_free(opened->symbols);
	image_file_close(opened->file);
}

static char *
graph_of(struct opened_image *opened, uint64_t offset)
{
	const struct symbol *symbol = symbol_table_find(opened->symbols, offset);
	struct flow_graph *graph;
	char *text;

	assert_non_null(symbol);
	assert_int_equal(symbol->offset, offset);
	assert_int_equal(procedures_graph(opened->procedures, symbol, &graph), 0);
	text = flow_text(graph);
	flow_graph_free(graph);
	return text;
}

/* Every so many of the larger procedures, ascending. */
static size_t
choose(const struct opened_image *opened, const struct symbol *chosen[CHOSEN_MAX])
{
	size_t count = 0, seen = 0;

	for (size_t i = 0; i < symbol_table_size(opened->symbols) && count < CHOSEN_MAX; i++) {
		const struct symbol *symbol = symbol_table_at(opened->symbols, i);

		if (symbol->name && symbol->size >= 200 && symbol->size < 100000 && seen++ % 7 == 0 &&
		    (count == 0 || symbol->offset > chosen[count - 1]->offset))
			chosen[count++] = symbol;
	}
	return count;
}

static void
take_chosen(const char *path, const struct symbol *const *chosen, size_t count, const uint32_t *known,
            size_t known_count, struct kept_capture *kept)
{
	struct capture_place places[CHOSEN_MAX];
	struct capture_wish wish = {.places = places, .known = known, .known_count = known_count, .names = true};
	struct image_file *file = open_file(path);

	for (size_t i = 0; i < count; i++) {
		const uint32_t block = (uint32_t)(chosen[i]->offset / CAPTURED_BLOCK_SIZE);
		const uint64_t granule = UINT64_C(1) << (chosen[i]->offset % CAPTURED_BLOCK_SIZE / CAPTURE_GRANULE);

		if (wish.place_count > 0 && places[wish.place_count - 1].block == block)
			places[wish.place_count - 1].granules |= granule;
		else
			places[wish.place_count++] = (struct capture_place){block, granule};
	}
	memset(kept, 0, sizeof(*kept));
	assert_int_equal(capture_take(file, &wish, keep_value, kept), 0);
	image_file_close(file);
}

static void
sampled_procedures_have_the_graphs_of_the_file(void **state)
{
	const struct symbol *chosen[CHOSEN_MAX];
	struct opened_image original, captured;
	char path[PATH_MAX] = "";
	struct kept_capture kept;
	size_t count, tables = 0;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	if (!path[0])
		skip(); /* linked statically */
	open_original(path, &original);
	count = choose(&original, chosen);
	assert_int_equal(count, CHOSEN_MAX);
	take_chosen(path, chosen, count, NULL, 0, &kept);
	open_kept(&kept, &captured);
	assert_int_equal(symbol_table_size(captured.symbols), symbol_table_size(original.symbols));
	for (size_t i = 0; i < count; i++) {
		char *expected = graph_of(&original, chosen[i]->offset), *text = graph_of(&captured, chosen[i]->offset);

		assert_string_equal(text, expected);
		tables += strstr(expected, "table") != NULL;
		free(expected);
		free(text);
	}
	assert_true(tables > 0);
	assert_true(image_contents_is_partial(captured.contents));
	close_all(&original);
	close_all(&captured);
	kept_fini(&kept);
}

/* Nothing but names and layout comes again, and other text when it was not known. */
static void
known_blocks_are_not_taken_again(void **state)
{
	const struct symbol *chosen[CHOSEN_MAX];
	struct captured_text text;
	struct opened_image original;
	char path[PATH_MAX] = "";
	struct kept_capture kept, again;
	uint32_t *known;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	if (!path[0])
		skip();
	open_original(path, &original);
	assert_int_equal(choose(&original, chosen), CHOSEN_MAX);
	take_chosen(path, chosen, CHOSEN_MAX, NULL, 0, &kept);
	text = kept_text(&kept);
	known = calloc(text.count, sizeof(*known));
	assert_non_null(known);
	for (size_t i = 0; i < text.count; i++)
		known[i] = text.blocks[i].number;
	take_chosen(path, chosen, CHOSEN_MAX, known, text.count, &again);
	assert_int_equal(again.parcel_count, 0);
	kept_fini(&again);
	take_chosen(path, chosen, CHOSEN_MAX, known + 1, text.count - 1, &again);
	assert_int_equal(again.parcel_count, 1);
	kept_fini(&again);
	kept_fini(&kept);
	captured_text_fini(&text);
	free(known);
	close_all(&original);
}

static void
a_procedure_that_was_not_captured_is_not_there(void **state)
{
	struct code_part parts[FLOW_PARTS_MAX];
	const struct symbol *chosen[CHOSEN_MAX];
	struct opened_image original, captured;
	char path[PATH_MAX] = "";
	struct kept_capture kept;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	if (!path[0])
		skip();
	open_original(path, &original);
	assert_int_equal(choose(&original, chosen), CHOSEN_MAX);
	take_chosen(path, chosen, 1, NULL, 0, &kept);
	open_kept(&kept, &captured);
	assert_true(procedures_parts(captured.procedures, chosen[0], parts) > 0);
	assert_int_equal(procedures_parts(captured.procedures, chosen[CHOSEN_MAX - 1], parts), -ENOENT);
	close_all(&original);
	close_all(&captured);
	kept_fini(&kept);
}

static const char small_source[] = "int f(int n) { return n * 3; }\n"
				   "int g(int n) { return n ? f(n) + g(n - 1) : 1; }\n";

/* Also where it has no samples. */
static void
a_small_image_is_taken_whole(void **state)
{
	const struct folder *folder = *state;
	const struct capture_place place = {.block = 1, .granules = 1};
	const struct capture_wish wish = {.places = &place, .place_count = 1, .names = true};
	struct opened_image original, captured;
	struct image_file *file;
	struct kept_capture kept = {0};
	char path[PATH_MAX];

	write_file(folder, "small.c", "%s", small_source);
	assert_true(run_in(folder, "gcc -O1 -shared -fPIC -Wl,--build-id -o small.so small.c"));
	path_in(folder, "small.so", path);
	open_original(path, &original);
	file = open_file(path);
	assert_int_equal(capture_take(file, &wish, keep_value, &kept), 0);
	image_file_close(file);
	open_kept(&kept, &captured);
	for (size_t i = 0; i < symbol_table_size(original.symbols); i++) {
		const struct symbol *symbol = symbol_table_at(original.symbols, i);
		const struct symbol *other = symbol_table_find(captured.symbols, symbol->offset);
		char *expected, *text;

		assert_non_null(other);
		assert_int_equal(other->size, symbol->size);
		if (!symbol->name) {
			assert_null(other->name);
			continue;
		}
		assert_string_equal(other->name, symbol->name);
		expected = graph_of(&original, symbol->offset);
		text = graph_of(&captured, symbol->offset);
		assert_string_equal(text, expected);
		free(expected);
		free(text);
	}
	close_all(&original);
	close_all(&captured);
	kept_fini(&kept);
}

static int
refuse(void *context, enum capture_part part, uint32_t block, const void *data, size_t size)
{
	(void)context;
	(void)part;
	(void)block;
	(void)data;
	(void)size;
	return -EPIPE;
}

static void
who_takes_no_more_ends_it(void **state)
{
	const struct capture_wish wish = {.names = true};
	char path[PATH_MAX];
	struct image_file *file;

	(void)state;
	assert_non_null(realpath("/proc/self/exe", path));
	file = open_file(path);
	assert_int_equal(capture_take(file, &wish, refuse, NULL), -EPIPE);
	image_file_close(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampled_procedures_have_the_graphs_of_the_file),
		cmocka_unit_test(known_blocks_are_not_taken_again),
		cmocka_unit_test(a_procedure_that_was_not_captured_is_not_there),
		cmocka_unit_test_setup_teardown(a_small_image_is_taken_whole, folder_setup, folder_teardown),
		cmocka_unit_test(who_takes_no_more_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
