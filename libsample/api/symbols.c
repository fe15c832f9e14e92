#include <libsample/symbols.h>

#include <errno.h>
#include <stdlib.h>

#include "api/parts.h"
#include "image/captured_image.h"
#include "image/lines.h"
#include "image/symbols.h"

struct sample_symbols {
	struct symbol_table *table;
	struct image_file *file;   /* NULL: it is not there */
	struct image_lines *lines; /* NULL: there are none, or nobody has asked yet */
	int lines_error;           /* why there are none */
};

static int
read_file(const struct image *image, struct sample_symbols *symbols)
{
	int err;

	if (image->kind != IMAGE_USER && image->kind != IMAGE_VDSO)
		return -ENOTSUP;
	err = image_file_open(image, &symbols->file);
	if (err) {
		symbols->file = NULL;
		return err;
	}
	return symbol_table_from_file(symbols->file, &symbols->table);
}

static int
read_captured(struct profile *profile, uint32_t number, struct sample_symbols *symbols)
{
	struct profile_symbol *captured;
	size_t count;
	int err;

	err = profile_get_symbols(profile, number, &captured, &count);
	if (err)
		return err;
	err = symbol_table_from_captured(captured, count, &symbols->table);
	profile_free_symbols(captured);
	return err;
}

int
sample_symbols_open(struct sample_database *database, const struct sample_selection *selection, size_t image,
                    struct sample_symbols **symbols)
{
	const struct selection_image *found;
	int err;

	if (image >= selection->inner->image_count)
		return -ERANGE;
	found = &selection->inner->images[image];
	*symbols = calloc(1, sizeof(**symbols));
	if (!*symbols)
		return -ENOMEM;
	err = read_file(found->image, *symbols);
	if (err && err != -ENOMEM) {
		int captured = read_captured(database->profile, found->number, *symbols);

		err = captured == -ENOENT ? err : captured;
	}
	if (!err)
		return 0;
	sample_symbols_close(*symbols);
	*symbols = NULL;
	return err;
}

void
sample_symbols_close(struct sample_symbols *symbols)
{
	if (!symbols)
		return;
	image_lines_free(symbols->lines);
	image_file_close(symbols->file);
	symbol_table_free(symbols->table);
	free(symbols);
}

int
sample_symbols_find(const struct sample_symbols *symbols, uint64_t offset, uint64_t *start, const char **name)
{
	const struct symbol *symbol = symbol_table_find(symbols->table, offset);

	if (!symbol)
		return -ENOENT;
	*start = symbol->offset;
	*name = symbol->name;
	return 0;
}

int
sample_symbols_line(struct sample_symbols *symbols, uint64_t offset, const char **path, unsigned *line)
{
	struct source_place place;
	uint64_t address;
	int err;

	if (!symbols->file)
		return -ENOENT;
	if (!symbols->lines && !symbols->lines_error)
		symbols->lines_error = image_lines_new(symbols->file, &symbols->lines);
	err = symbols->lines_error;
	if (!err)
		err = image_file_address(symbols->file, offset, &address);
	if (!err)
		err = image_lines_find(symbols->lines, address, &place);
	if (err)
		return err;
	*path = place.path;
	*line = place.line;
	return 0;
}

char *
sample_demangle(const char *name)
{
	return symbol_demangle(name);
}
