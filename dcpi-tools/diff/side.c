#include "dcpi-tools/diff/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "profile/catalog.h"

/* While a side is read. */
struct diff_side_reader {
	struct diff_side *side;
	const struct side_request *request;
};

const struct selection_event *
side_event(const struct diff_side *side)
{
	return &side->all.selection->events[side->all.event];
}

const struct image *
side_image(const struct diff_side *side, uint32_t index)
{
	return side->all.selection->images[index].image;
}

bool
side_pattern_is_of(const struct side_pattern *pattern, size_t set)
{
	return pattern->group == 0 || pattern->group == set + 1;
}

/* An image that is asked of both may be in one of them only; one that is asked of this set must be in it. */
static int
choose_images(struct diff_side *side, const struct side_request *request, size_t set, unsigned *hits)
{
	const struct selection *selection = side->all.selection;

	for (size_t i = 0; i < request->pattern_count; i++) {
		const struct side_pattern *pattern = &request->patterns[i];
		const struct image_request own = {.patterns = &pattern->text, .count = 1, .event = side->all.event};
		bool *found = NULL;

		if (!side_pattern_is_of(pattern, set))
			continue;
		if (!side->all.wanted)
			side->all.wanted = calloc(selection->image_count + 1, sizeof(*side->all.wanted));
		if (!side->all.wanted)
			return message_cannot(NULL, "choose the images", -ENOMEM, NULL);
		if (images_match(selection, pattern->text, side->all.wanted) > 0)
			hits[i]++;
		else if (pattern->group)
			return images_choose(selection, side->all.titles, &own, &found);
	}
	return STATUS_OK;
}

static int
choose_event(struct diff_side *side, const struct side_request *request, const char *directory)
{
	const struct columns_request wanted = {.events = {request->event}, .event_count = request->event ? 1 : 0};
	struct columns columns;
	char why[1024];
	int err = columns_choose(side->all.selection, &wanted, &columns, why, sizeof(why));

	if (err) {
		message_print(directory, "%s", why);
		return error_exit_status(err);
	}
	side->all.event = columns.events[0];
	return STATUS_OK;
}

/* Unknown samples have no image and no context: they are part of the whole only. */
static int
choose_total(struct diff_side *side, const char *directory)
{
	const struct selection_request *wanted = &side->set->request;
	const struct selection_event *event = side_event(side);

	side->total = (struct side_count){event->totals.samples, event->totals_taken, event->totals_squares};
	if (wanted->comm || wanted->cgroup || wanted->label)
		side->total = (struct side_count){event->selected, event->selected_taken, event->selected_squares};
	if (side->total.count > 0)
		return STATUS_OK;
	message_print(directory, "no samples in what was selected for %s", side->set->title);
	return STATUS_EMPTY;
}

static struct side_row *
add_row(struct diff_side *side)
{
	struct side_row *rows = array_grow(side->rows, &side->row_capacity, side->row_count + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	side->rows = rows;
	rows[side->row_count] = (struct side_row){0};
	return &rows[side->row_count++];
}

static int
take_histogram(struct diff_side *side, struct histogram *histogram)
{
	for (size_t i = 0; i < histogram->row_count; i++) {
		struct histogram_row *from = &histogram->rows[i];
		struct side_row *row;

		if (from->counts[side->all.event] == 0)
			continue;
		row = add_row(side);
		if (!row)
			return -ENOMEM;
		row->image = from->image;
		row->kind = from->procedure.kind;
		row->offset = from->procedure.offset;
		row->samples = (struct side_count){from->counts[side->all.event], from->taken[side->all.event],
		                                   from->squares[side->all.event]};
		row->title = from->title;
		from->title = NULL; /* it is ours now */
	}
	return 0;
}

static int
count_samples(struct diff_side_reader *reader, const struct profile_set_visit *visit)
{
	struct diff_side *side = reader->side;
	const struct histogram_request request = {
		.selection = side->all.selection,
		.wanted = side->all.wanted,
		.image_titles = side->all.titles,
		.symbolizer = reader->request->by_image ? NULL : visit->symbolizer,
		.demangle = reader->request->demangle,
	};
	struct histogram histogram;
	int err = histogram_make(&request, &histogram);

	if (!err) {
		err = take_histogram(side, &histogram);
		histogram_fini(&histogram);
	}
	return err ? database_cannot_read(visit->database, err) : STATUS_OK;
}

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct diff_side_reader *reader = context;
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
	struct side_row *row = add_row(reader->side);

	if (!row)
		return -ENOMEM;
	row->image = input->code->index;
	row->kind = procedure.kind;
	row->offset = procedure.offset;
	row->samples = (struct side_count){analysis->time_samples, analysis->time_taken, analysis->time_squares};
	row->title = procedure_title(&procedure, input->code->image, reader->request->demangle);
	figures_of_procedure(analysis, &row->figures);
	return row->title ? 0 : -ENOMEM;
}

static uint64_t
wanted_samples(const struct diff_side *side)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < side->all.selection->image_count; i++)
		if (!side->all.wanted || side->all.wanted[i])
			samples += code_image_samples(side->all.selection, i, 0, UINT64_MAX, side->all.event);
	return samples;
}

static int
analyze(struct diff_side_reader *reader, const struct profile_set_visit *visit)
{
	const struct survey_all_visitor visitor = {.context = reader, .procedure = take_procedure};
	struct survey_all *all = &reader->side->all;
	int status = model_ask(all->selection, reader->request->cpu, all->event, &all->model);

	if (status)
		return status;
	all->samples = wanted_samples(reader->side);
	return survey_all_run(all, visit->database, &visitor);
}

int
side_open(struct diff_side *side, const struct side_request *request, const struct profile_set_visit *visit,
          unsigned *hits)
{
	const char *directory = visit->database->directory;
	int status;

	memset(side, 0, sizeof(*side));
	side->set = visit->set;
	side->all.selection = visit->selection;
	side->all.titles = image_titles(visit->selection);
	if (!side->all.titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	if (request->analyze)
		status = time_event_ask(visit->selection, request->event, directory, &side->all.event);
	else
		status = choose_event(side, request, directory);
	if (!status)
		status = choose_images(side, request, visit->index, hits);
	if (status)
		return status;
	survey_all_leave_out(&side->all);
	return choose_total(side, directory);
}

static int
compare_titles(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) : (left != NULL) - (right != NULL);
}

/* A row by its image, its name and its place; what is sorted by it. */
struct row_key {
	uint32_t image; /* in the database */
	const char *title;
	uint64_t offset;
	struct side_row *row;
};

static int
compare_keys(const void *left, const void *right)
{
	const struct row_key *a = left, *b = right;
	int order = (a->image > b->image) - (a->image < b->image);

	if (!order)
		order = compare_titles(a->title, b->title);
	return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

static int
compare_names(const void *left, const void *right)
{
	struct row_key a = *(const struct row_key *)left, b = *(const struct row_key *)right;

	a.offset = b.offset = 0;
	return compare_keys(&a, &b);
}

/* The rows of the side, to be found. */
struct run_rows {
	struct diff_side_reader *reader;
	const struct profile_set_visit *visit;
	struct row_key *keys;
};

/* Code made at run time is known by its name alone. */
static int
take_histogram_of_run(struct diff_side *side, const struct histogram *histogram, const struct side_run *run,
                      const struct row_key *keys)
{
	for (size_t i = 0; i < histogram->row_count; i++) {
		const struct histogram_row *from = &histogram->rows[i];
		const struct row_key key = {
			.image = run->selection->images[from->image].number,
			.title = from->title,
			.offset = from->procedure.offset,
		};
		const struct row_key *found;

		if (from->counts[run->event] == 0)
			continue;
		found = bsearch(&key, keys, side->row_count, sizeof(*keys), compare_keys);
		if (!found)
			found = bsearch(&key, keys, side->row_count, sizeof(*keys), compare_names);
		if (!found)
			continue;
		if (!found->row->runs)
			found->row->runs = calloc(run->most, sizeof(*found->row->runs));
		if (!found->row->runs)
			return -ENOMEM;
		side_count_add(&found->row->runs[run->index],
		               &(struct side_count){from->counts[run->event], from->taken[run->event],
		                                    from->squares[run->event]});
	}
	return 0;
}

static int
take_run(void *context, const struct side_run *run)
{
	const struct run_rows *rows = context;
	struct histogram_request request = {
		.selection = run->selection,
		.image_titles = image_titles(run->selection),
		.symbolizer = rows->reader->request->by_image ? NULL : rows->visit->symbolizer,
		.demangle = rows->reader->request->demangle,
	};
	struct histogram histogram = {0};
	int err = request.image_titles ? histogram_make(&request, &histogram) : -ENOMEM;

	if (!err)
		err = take_histogram_of_run(rows->reader->side, &histogram, run, rows->keys);
	histogram_fini(&histogram);
	image_titles_free(request.image_titles, run->selection->image_count);
	return err;
}

static struct row_key *
sort_rows(const struct diff_side *side)
{
	struct row_key *keys = calloc(side->row_count + 1, sizeof(*keys));

	for (size_t i = 0; i < side->row_count && keys; i++)
		keys[i] = (struct row_key){
			.image = side->all.selection->images[side->rows[i].image].number,
			.title = side->rows[i].title,
			.offset = side->rows[i].offset,
			.row = &side->rows[i],
		};
	if (keys && side->row_count > 0)
		qsort(keys, side->row_count, sizeof(*keys), compare_keys);
	return keys;
}

static int
read_run(struct diff_side *side, const struct profile_set_visit *visit, const char *label, size_t most,
         side_run_visitor *visit_run, void *context)
{
	struct selection_request request = visit->set->request;
	const struct selection_request *const requests[] = {&request};
	struct side_run run = {.index = side->run_count, .most = most};
	struct selection *selection = NULL;
	char *pattern = profile_set_literal(label);
	int err;

	request.label = pattern;
	err = pattern ? database_read_each(visit->database->profile, requests, 1, &selection) : -ENOMEM;
	while (selection && run.event < selection->event_count &&
	       strcmp(selection->events[run.event].name, side_event(side)->name) != 0)
		run.event++;
	if (!err && selection && run.event < selection->event_count && selection->events[run.event].selected > 0) {
		run.selection = selection;
		side->run_totals[side->run_count] = (struct side_count){
			selection->events[run.event].selected,
			selection->events[run.event].selected_taken,
			selection->events[run.event].selected_squares,
		};
		side->run_units[side->run_count++] = (double)selection->events[run.event].period;
		err = visit_run(context, &run);
	}
	selection_free(selection);
	free(pattern);
	return err;
}

int
side_each_run(struct diff_side *side, const struct profile_set_visit *visit, side_run_visitor *visit_run, void *context)
{
	char **labels, why[512] = "";
	size_t count;
	int err;

	if (!visit->set->has_runs)
		return STATUS_OK;
	err = catalog_labels(visit->database->profile, &visit->set->request, &labels, &count, why, sizeof(why));
	if (err)
		return database_cannot_read(visit->database, err);
	side->run_totals = calloc(count + 1, sizeof(*side->run_totals));
	side->run_units = calloc(count + 1, sizeof(*side->run_units));
	err = side->run_totals && side->run_units ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		err = read_run(side, visit, labels[i], count, visit_run, context);
	catalog_free_labels(labels, count);
	return err ? database_cannot_read(visit->database, err) : STATUS_OK;
}

/* The samples of each label by itself: how runs differ says what differs by nothing but chance. */
static int
read_runs(struct diff_side_reader *reader, const struct profile_set_visit *visit)
{
	struct run_rows rows = {.reader = reader, .visit = visit, .keys = sort_rows(reader->side)};
	int status;

	if (!rows.keys)
		return message_cannot(NULL, "read the runs", -ENOMEM, NULL);
	status = side_each_run(reader->side, visit, take_run, &rows);
	free(rows.keys);
	return status;
}

int
side_read(struct diff_side *side, const struct side_request *request, const struct profile_set_visit *visit,
          unsigned *hits)
{
	struct diff_side_reader reader = {.side = side, .request = request};
	int status = side_open(side, request, visit, hits);

	if (!status)
		status = request->analyze ? analyze(&reader, visit) : count_samples(&reader, visit);
	return status ? status : read_runs(&reader, visit);
}

static void
side_row_fini(struct side_row *row)
{
	free(row->title);
	free(row->runs);
}

void
side_fini(struct diff_side *side)
{
	for (size_t i = 0; i < side->row_count; i++)
		side_row_fini(&side->rows[i]);
	free(side->rows);
	free(side->run_totals);
	free(side->run_units);
	survey_all_fini(&side->all);
	memset(side, 0, sizeof(*side));
}
