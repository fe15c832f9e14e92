#include "dcpi-tools/loc/places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "dcpi-tools/common/analysis_choice.h"
#include "image/lines.h"
#include "image/symbols.h"

/* An image's file; opened when it is first asked for. */
struct place_file {
	bool is_open;
	struct image_file *file; /* NULL: it cannot be read; likewise: */
	struct symbol_table *functions;
	struct image_lines *lines;
};

struct code_places {
	const struct image_table *images;
	struct place_file *files; /* by the table's numbers */
	uint32_t count;
};

struct code_places *
code_places_new(const struct image_table *images)
{
	struct code_places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->images = images;
	places->count = image_table_count(images);
	places->files = calloc((size_t)places->count + 1, sizeof(*places->files));
	if (!places->files) {
		free(places);
		return NULL;
	}
	return places;
}

void
code_places_free(struct code_places *places)
{
	if (!places)
		return;
	for (uint32_t i = 0; i < places->count; i++) {
		image_lines_free(places->files[i].lines);
		symbol_table_free(places->files[i].functions);
		image_file_close(places->files[i].file);
	}
	free(places->files);
	free(places);
}

static void
enter_guard(struct image_guard *guard, const struct image *image)
{
	image_guard_enter(guard, image->path, "build or install it again, or remove its debug information");
}

static void
open_file(struct place_file *file, const struct image *image)
{
	struct image_guard guard;

	file->is_open = true;
	enter_guard(&guard, image);
	if (image_file_open(image, &file->file) == 0) {
		if (symbol_table_from_file(file->file, &file->functions))
			file->functions = NULL;
		if (image_lines_new(file->file, &file->lines))
			file->lines = NULL;
	}
	image_guard_leave(&guard);
}

int
code_places_find(struct code_places *places, uint32_t image, uint64_t offset, struct code_place *place)
{
	const struct image *described;
	struct place_file *file;
	struct source_place source;
	struct image_guard guard;
	const struct symbol *symbol;
	uint64_t address;

	*place = (struct code_place){"", "", 0};
	if (image == 0 || image > places->count)
		return 0;
	file = &places->files[image - 1];
	described = image_table_get(places->images, image - 1);
	if (!file->is_open)
		open_file(file, described);
	symbol = file->functions ? symbol_table_find(file->functions, offset) : NULL;
	if (symbol && symbol->name)
		place->function = symbol->name;
	if (!file->lines || image_file_address(file->file, offset, &address))
		return 0;
	enter_guard(&guard, described);
	if (image_lines_find(file->lines, address, &source) == 0) {
		place->file = source.path;
		place->line = source.line;
	}
	image_guard_leave(&guard);
	return 0;
}
