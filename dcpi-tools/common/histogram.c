#include "dcpi-tools/common/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/jit.h"

/* Rows while they are made. */
struct histogram_maker {
	const struct histogram_request *request;
	struct histogram *histogram;
	size_t capacity;
};

static struct histogram_row *
add_row(struct histogram_maker *maker, uint32_t image, const struct procedure *procedure)
{
	struct histogram *histogram = maker->histogram;
	struct histogram_row *row;

	row = array_grow(histogram->rows, &maker->capacity, histogram->row_count + 1, sizeof(*row));
	if (!row)
		return NULL;
	histogram->rows = row;
	row += histogram->row_count;
	memset(row, 0, sizeof(*row));
	row->counts = calloc(2 * histogram->event_count, sizeof(*row->counts));
	row->squares = calloc(histogram->event_count, sizeof(*row->squares));
	if (!row->counts || !row->squares) {
		free(row->counts);
		free(row->squares);
		return NULL;
	}
	row->taken = row->counts + histogram->event_count;
	row->image = image;
	row->image_title = maker->request->image_titles[image];
	row->procedure = *procedure;
	histogram->row_count++;
	return row;
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int
compare_procedures(const void *a, const void *b)
{
	const struct histogram_row *left = a, *right = b;
	int order = compare_numbers(left->image, right->image);

	if (!order)
		order = compare_numbers(left->procedure.kind, right->procedure.kind);
	return order ? order : compare_numbers(left->procedure.offset, right->procedure.offset);
}

/* Add `count` to the last row if it is this procedure's, else to a new one. */
static int
count_samples(struct histogram_maker *maker, const struct selection_count *count, const struct procedure *procedure)
{
	struct histogram *histogram = maker->histogram;
	struct histogram_row wanted = {.image = count->image, .procedure = *procedure};
	struct histogram_row *row = NULL;

	if (histogram->row_count > 0)
		row = &histogram->rows[histogram->row_count - 1];
	if (!row || compare_procedures(row, &wanted) != 0)
		row = add_row(maker, count->image, procedure);
	if (!row)
		return -ENOMEM;
	row->counts[count->event] += count->count;
	row->taken[count->event] += count->taken;
	row->squares[count->event] += count->squares;
	histogram->totals[count->event] += count->count;
	return 0;
}

static int
count_all(struct histogram_maker *maker)
{
	const struct histogram_request *request = maker->request;
	const struct selection *selection = request->selection;

	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];
		struct procedure procedure = {0};
		int err = 0;

		if (request->wanted && !request->wanted[count->image])
			continue;
		if (request->symbolizer)
			err = symbolizer_find(request->symbolizer, &selection->images[count->image], count->offset,
			                      &procedure);
		if (!err)
			err = count_samples(maker, count, &procedure);
		if (err)
			return err;
	}
	return 0;
}

static void
fini_row(struct histogram_row *row)
{
	free(row->counts);
	free(row->squares);
	free(row->title);
}

/* Add the second to the first, and free it. */
static void
merge_rows(struct histogram_row *row, struct histogram_row *more, size_t event_count)
{
	for (size_t event = 0; event < event_count; event++) {
		row->counts[event] += more->counts[event];
		row->taken[event] += more->taken[event];
		row->squares[event] += more->squares[event];
	}
	fini_row(more);
}

/* Sort the first `count` rows; of those that do not `differ`, make one. */
static void
join_rows(struct histogram *histogram, size_t count, int (*compare)(const void *a, const void *b),
          int (*differ)(const void *a, const void *b))
{
	struct histogram_row *rows = histogram->rows;
	size_t kept = 0;

	if (count < 2)
		return;
	qsort(rows, count, sizeof(*rows), compare);
	for (size_t i = 1; i < count; i++)
		if (differ(&rows[kept], &rows[i]))
			rows[++kept] = rows[i];
		else
			merge_rows(&rows[kept], &rows[i], histogram->event_count);
	memmove(&rows[kept + 1], &rows[count], (histogram->row_count - count) * sizeof(*rows));
	histogram->row_count -= count - (kept + 1);
}

static int
compare_titles(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int
compare_names(const void *a, const void *b)
{
	const struct histogram_row *left = a, *right = b;
	int order = compare_titles(left->image_title, right->image_title);

	return order ? order : compare_titles(left->title, right->title);
}

static int
compare_names_first(const void *a, const void *b)
{
	int order = compare_names(a, b);

	return order ? order : compare_procedures(a, b);
}

/* Move the rows of code made at run time to the front; how many. */
static size_t
partition_jit(const struct selection *selection, struct histogram *histogram)
{
	size_t made = 0;

	for (size_t i = 0; i < histogram->row_count; i++) {
		const struct histogram_row row = histogram->rows[i];

		if (!jit_is_image(selection->images[row.image].image))
			continue;
		histogram->rows[i] = histogram->rows[made];
		histogram->rows[made++] = row;
	}
	return made;
}

static int
name_rows(const struct histogram_request *request, struct histogram *histogram)
{
	for (size_t i = 0; i < histogram->row_count && request->symbolizer; i++) {
		struct histogram_row *row = &histogram->rows[i];

		row->title = procedure_title(&row->procedure, request->selection->images[row->image].image,
		                             request->demangle);
		if (!row->title)
			return -ENOMEM;
		row->procedure.name = NULL; /* it belongs to the symbolizer, which the caller may free */
	}
	return 0;
}

void
histogram_fini(struct histogram *histogram)
{
	for (size_t i = 0; i < histogram->row_count; i++)
		fini_row(&histogram->rows[i]);
	free(histogram->rows);
	memset(histogram, 0, sizeof(*histogram));
}

int
histogram_make(const struct histogram_request *request, struct histogram *histogram)
{
	struct histogram_maker maker = {.request = request, .histogram = histogram};
	int err;

	memset(histogram, 0, sizeof(*histogram));
	histogram->event_count = request->selection->event_count;
	err = count_all(&maker);
	if (!err) {
		/* a procedure that another one splits has a row for each piece */
		join_rows(histogram, histogram->row_count, compare_procedures, compare_procedures);
		err = name_rows(request, histogram);
	}
	if (err) {
		histogram_fini(histogram);
		return err;
	}
	/* one name of JIT code, in images of one name, is one row */
	join_rows(histogram, partition_jit(request->selection, histogram), compare_names_first, compare_names);
	return 0;
}

static int
compare_rows(const void *a, const void *b, void *context)
{
	const struct histogram_row *left = a, *right = b;
	const struct shown_events *events = context;
	int order = 0;

	for (size_t i = 0; i < events->count && !order; i++)
		order = compare_numbers(right->counts[events->events[i]], left->counts[events->events[i]]);
	if (!order)
		order = compare_titles(left->title, right->title);
	if (!order)
		order = compare_titles(left->image_title, right->image_title);
	return order ? order : compare_procedures(left, right);
}

void
histogram_sort(struct histogram *histogram, const struct shown_events *events)
{
	if (histogram->row_count > 0)
		qsort_r(histogram->rows, histogram->row_count, sizeof(*histogram->rows), compare_rows, (void *)events);
}

/* Rows are sorted by all events, so those without samples come last. */
static bool
has_samples(const struct histogram_row *row, const struct shown_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (row->counts[events->events[i]] > 0)
			return true;
	return false;
}

size_t
histogram_cut(const struct histogram *histogram, const struct shown_events *events, uint64_t total, double keep_percent,
              size_t limit)
{
	long double needed = (long double)total * keep_percent / 100;
	uint64_t sum = 0;
	size_t shown = 0;

	while (shown < histogram->row_count) {
		const struct histogram_row *row = &histogram->rows[shown];

		if (!has_samples(row, events) || (limit && shown == limit))
			break;
		if (keep_percent < 100 && (long double)sum >= needed)
			break;
		sum += row->counts[events->events[0]];
		shown++;
	}
	return shown;
}
