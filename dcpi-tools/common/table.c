#include "dcpi-tools/common/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/text.h"

#define ELLIPSIS  "\xe2\x80\xa6"
#define CUT_WIDTH 12 /* columns that a cut column keeps */

struct table_cell {
	char *text;
	enum style style;
};

struct table {
	struct table_column *columns; /* without their headings */
	char **headings;              /* copies, escaped */
	size_t *widths;
	size_t column_count;
	struct table_cell *cells;
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

void
table_text(struct table *table, enum style style, const char *text)
{
	size_t *width = &table->widths[table->cell_count % table->column_count];
	char *shown = text_shown(text);
	struct table_cell *cells = array_grow(table->cells, &table->capacity, table->cell_count + 1, sizeof(*cells));
	size_t columns;

	if (cells)
		table->cells = cells;
	if (!shown || !cells) {
		free(shown);
		table->failed = true;
		return;
	}
	cells[table->cell_count++] = (struct table_cell){.text = shown, .style = style};
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

/* Width of a line of which nothing is cut off. */
static size_t
whole_width(const struct table *table, bool is_terminal)
{
	size_t width = 0;

	for (size_t i = 0; i < table->column_count; i++)
		width += (i ? table->columns[i].gap : 0) + column_width(table, i, is_terminal);
	return width;
}

size_t
table_width(const struct table *table, size_t limit)
{
	size_t width = whole_width(table, limit > 0);

	return limit && width > limit ? limit : width;
}

void
table_print_rule(const struct table *table, const struct output *output)
{
	for (size_t i = table_width(table, output->width); i > 0; i--)
		fputc('=', output->stream);
	fputc('\n', output->stream);
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

	if (!widths)
		return NULL;
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = column_width(table, i, limit > 0);
	for (size_t total = whole_width(table, limit > 0); limit && total > limit; total--) {
		size_t widest = widest_to_cut(table, widths);

		if (widest == table->column_count)
			break;
		widths[widest]--;
	}
	return widths;
}

/* Print the part of `text`, which is wider than `width`, that fits with a …; returns the columns used. */
static size_t
print_cut(const struct output *output, const char *text, enum table_cut cut, size_t width)
{
	if (cut == TABLE_CUT_END) {
		fprintf(output->stream, "%.*s" ELLIPSIS, (int)text_prefix(text, width - 1), text);
		return width; /* a wide character may leave one column empty */
	}
	text += text_suffix(text, width - 1);
	fprintf(output->stream, ELLIPSIS "%s", text);
	return 1 + text_width(text);
}

/* One cell. *blanks, left over from the cells before it, are printed only when something follows. */
static void
print_cell(const struct table *table, const struct output *output, size_t column, size_t width,
           const struct table_cell *cell, size_t *blanks)
{
	const struct table_column *layout = &table->columns[column];
	size_t used = text_width(cell->text);

	*blanks += column ? layout->gap : 0;
	if (layout->align == TABLE_RIGHT && used < width)
		*blanks += width - used;
	if (used) {
		fprintf(output->stream, "%*s", (int)*blanks, "");
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

int
table_print(const struct table *table, const struct output *output, bool heading)
{
	size_t *widths, blanks = 0;

	if (table->failed)
		return -ENOMEM;
	widths = fit_widths(table, output->width);
	if (!widths)
		return -ENOMEM;
	for (size_t i = 0; heading && i < table->column_count; i++) {
		const struct table_cell cell = {.text = table->headings[i], .style = STYLE_HEADING};

		print_cell(table, output, i, widths[i], &cell, &blanks);
	}
	if (heading)
		fputc('\n', output->stream);
	for (size_t i = 0; i < table->cell_count;) {
		blanks = 0;

		for (size_t column = 0; column < table->column_count && i < table->cell_count; column++, i++)
			print_cell(table, output, column, widths[column], &table->cells[i], &blanks);
		fputc('\n', output->stream);
	}
	free(widths);
	return 0;
}

static void
begin_field(struct csv *csv)
{
	if (csv->in_line)
		fputc(',', csv->stream);
	csv->in_line = true;
}

void
csv_text(struct csv *csv, const char *text)
{
	begin_field(csv);
	if (!text[strcspn(text, "\",\r\n")]) {
		fputs(text, csv->stream);
		return;
	}
	fputc('"', csv->stream);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->stream);
		fputc(*text, csv->stream);
	}
	fputc('"', csv->stream);
}

int
csv_shown(struct csv *csv, const char *text)
{
	char *shown = text_shown(text ? text : "");

	if (!shown)
		return -ENOMEM;
	csv_text(csv, shown);
	free(shown);
	return 0;
}

void
csv_number(struct csv *csv, uint64_t number)
{
	begin_field(csv);
	fprintf(csv->stream, "%" PRIu64, number);
}

void
csv_real(struct csv *csv, double number, int digits)
{
	begin_field(csv);
	fprintf(csv->stream, "%.*f", digits, number);
}

void
csv_end(struct csv *csv)
{
	fputc('\n', csv->stream);
	csv->in_line = false;
}
