#include "dcpi-tools/common/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define ELLIPSIS  "\xe2\x80\xa6"
#define CUT_WIDTH 12 /* columns that a cut column keeps */

struct cell {
	char *text;
	enum style style;
};

struct table {
	struct table_column *columns; /* their headings are not used: */
	char **headings;              /* these are copies, escaped */
	size_t *widths;
	size_t column_count;
	struct cell *cells;
	size_t cell_count;
	size_t capacity;
	bool failed;
};

static bool
copy_headings(struct table *table, const struct table_column *columns)
{
	for (size_t i = 0; i < table->column_count; i++) {
		size_t width;

		table->headings[i] = text_shown(columns[i].heading);
		if (!table->headings[i])
			return false;
		width = text_width(table->headings[i]);
		table->widths[i] = width > columns[i].min_width ? width : columns[i].min_width;
	}
	return true;
}

struct table *
table_new(const struct table_column *columns, size_t count)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->column_count = count;
	table->columns = calloc(count, sizeof(*columns));
	table->headings = calloc(count, sizeof(*table->headings));
	table->widths = calloc(count, sizeof(*table->widths));
	if (!table->columns || !table->headings || !table->widths || !copy_headings(table, columns)) {
		table_free(table);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(table->columns, columns, count * sizeof(*columns));
	return table;
}

void
table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i].text);
	for (size_t i = 0; table->headings && i < table->column_count; i++)
		free(table->headings[i]);
	free(table->cells);
	free(table->headings);
	free(table->columns);
	free(table->widths);
	free(table);
}

static bool
reserve_cell(struct table *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 256;
	struct cell *cells;

	if (table->cell_count < table->capacity)
		return true;
	cells = reallocarray(table->cells, capacity, sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void
table_text(struct table *table, enum style style, const char *text)
{
	size_t *width = &table->widths[table->cell_count % table->column_count];
	char *shown = text_shown(text);
	size_t columns;

	if (!shown || !reserve_cell(table)) {
		free(shown);
		table->failed = true;
		return;
	}
	table->cells[table->cell_count++] = (struct cell){.text = shown, .style = style};
	columns = text_width(shown);
	if (columns > *width)
		*width = columns;
}

void
table_format(struct table *table, enum style style, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		table_text(table, style, text);
	else
		table->failed = true;
	free(text);
}

static size_t
column_width(const struct table *table, size_t column, bool is_terminal)
{
	size_t limit = table->columns[column].max_width, width = table->widths[column];

	return limit && width > limit && !is_terminal ? limit : width;
}

size_t
table_width(const struct table *table, size_t limit)
{
	size_t width = 0;

	for (size_t i = 0; i < table->column_count; i++)
		width += (i ? table->columns[i].gap : 0) + column_width(table, i, limit > 0);
	return limit && width > limit ? limit : width;
}

/* The widest column that may be cut further; column_count when there is none. */
static size_t
widest_to_cut(const struct table *table, const size_t *widths)
{
	size_t found = table->column_count;

	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].cut == TABLE_WHOLE || widths[i] <= CUT_WIDTH)
			continue;
		if (found == table->column_count || widths[i] > widths[found])
			found = i;
	}
	return found;
}

static size_t *
fit_widths(const struct table *table, size_t limit)
{
	size_t *widths = calloc(table->column_count, sizeof(*widths));
	size_t total = 0;

	if (!widths)
		return NULL;
	for (size_t i = 0; i < table->column_count; i++) {
		widths[i] = column_width(table, i, limit > 0);
		total += (i ? table->columns[i].gap : 0) + widths[i];
	}
	while (limit && total > limit) {
		size_t widest = widest_to_cut(table, widths);

		if (widest == table->column_count)
			break;
		widths[widest]--;
		total--;
	}
	return widths;
}

static void
print_blanks(const struct output *output, size_t count)
{
	fprintf(output->stream, "%*s", (int)count, "");
}

/* Print `text`, which is wider than `width`, in what there is; returns the columns used. */
static size_t
print_cut(const struct output *output, const char *text, enum table_cut cut, size_t width)
{
	size_t bytes;
	const char *rest;

	if (cut == TABLE_CUT_END) {
		bytes = text_prefix(text, width - 1);
		fprintf(output->stream, "%.*s" ELLIPSIS, (int)bytes, text);
		return width; /* a wide character may leave one column empty */
	}
	rest = text + text_suffix(text, width - 1);
	fprintf(output->stream, ELLIPSIS "%s", rest);
	return 1 + text_width(rest);
}

/* One cell; *blanks are owed by the cells before it and are printed only when something follows. */
static void
print_cell(const struct table *table, const struct output *output, size_t column, size_t width, const struct cell *cell,
           size_t *blanks)
{
	const struct table_column *layout = &table->columns[column];
	size_t used = text_width(cell->text);

	*blanks += column ? layout->gap : 0;
	if (layout->align == TABLE_RIGHT && used < width)
		*blanks += width - used;
	if (used) {
		print_blanks(output, *blanks);
		*blanks = 0;
		fputs(output_style(output, cell->style), output->stream);
		if (used > width && layout->cut != TABLE_WHOLE && output->width)
			used = print_cut(output, cell->text, layout->cut, width);
		else
			fputs(cell->text, output->stream);
		fputs(output_plain(output, cell->style), output->stream);
	}
	if (layout->align == TABLE_LEFT && used < width)
		*blanks += width - used;
}

static void
print_heading(const struct table *table, const struct output *output, const size_t *widths)
{
	size_t blanks = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		struct cell cell = {.text = table->headings[i], .style = STYLE_HEADING};

		print_cell(table, output, i, widths[i], &cell, &blanks);
	}
	fputc('\n', output->stream);
}

int
table_print(const struct table *table, const struct output *output, bool heading)
{
	size_t *widths;

	if (table->failed)
		return -ENOMEM;
	widths = fit_widths(table, output->width);
	if (!widths)
		return -ENOMEM;
	if (heading)
		print_heading(table, output, widths);
	for (size_t i = 0; i < table->cell_count;) {
		size_t blanks = 0;

		for (size_t column = 0; column < table->column_count && i < table->cell_count; column++, i++)
			print_cell(table, output, column, widths[column], &table->cells[i], &blanks);
		fputc('\n', output->stream);
	}
	free(widths);
	return 0;
}
