#include "dcpi-tools/diff/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "profile/catalog.h"

#define MOST 0.5 /* of a procedure's samples: so many must be in blocks that are known so well */

/* ---- Figures ---- */

static void
divide(struct code_figures *figures)
{
	figures->cycles = figures->instructions > 0 ? figures->samples / figures->instructions : -1;
}

/* Executions by a frequency; 0 when they are not known. */
static double
executions_of(const struct procedure_analysis *analysis, const struct frequency *frequency)
{
	const double executions = frequency->value * analysis->cycles_per_sample;

	return frequency->confidence != CONFIDENCE_NONE && isfinite(executions) ? fmax(executions, 0) : 0;
}

/* How often control came from outside to where the procedure begins. */
static double
entries(const struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from != FLOW_OUTSIDE || graph->edges[i].to != 0)
			continue;
		if (analysis->edge_counts)
			return (double)analysis->edge_counts[i];
		return executions_of(analysis, &analysis->frequencies.edges[i]);
	}
	return 0;
}

/* The best that at least half of the samples have. */
static unsigned
common_confidence(const struct procedure_analysis *analysis)
{
	double samples[CONFIDENCE_EXACT + 1] = {0}, all = 0, sum = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++) {
		const unsigned confidence = analysis->frequencies.blocks[i].confidence;
		const double own = procedure_block_samples(analysis, i);

		if (confidence <= CONFIDENCE_EXACT)
			samples[confidence] += own;
		all += own;
	}
	for (unsigned confidence = CONFIDENCE_EXACT; confidence > CONFIDENCE_NONE; confidence--) {
		sum += samples[confidence];
		if (sum > 0 && sum >= MOST * all)
			return confidence;
	}
	return CONFIDENCE_NONE;
}

void
figures_of_procedure(const struct procedure_analysis *analysis, struct code_figures *figures)
{
	const struct stall_summary *summary = &analysis->summary;

	memset(figures, 0, sizeof(*figures));
	figures->confidence = common_confidence(analysis);
	figures->is_known = figures->confidence != CONFIDENCE_NONE;
	figures->is_relative = analysis->frequencies.is_relative;
	figures->executions = entries(analysis);
	figures->samples = summary->actual;
	figures->instructions = summary->instructions;
	memcpy(figures->low, summary->low, sizeof(figures->low));
	memcpy(figures->high, summary->high, sizeof(figures->high));
	divide(figures);
}

static void
begin(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures)
{
	const struct frequency *frequency = &analysis->frequencies.blocks[block];

	memset(figures, 0, sizeof(*figures));
	figures->confidence = frequency->confidence;
	figures->is_known = frequency->confidence != CONFIDENCE_NONE;
	figures->is_relative = analysis->frequencies.is_relative;
	figures->executions = executions_of(analysis, frequency);
	if (frequency->confidence == CONFIDENCE_EXACT && analysis->executions)
		figures->executions = (double)analysis->executions[analysis->graph->blocks[block].first];
}

static void
add_reasons(const struct procedure_analysis *analysis, double frequency, uint32_t instruction,
            struct code_figures *figures)
{
	const struct instruction_stalls *late = &analysis->stalls.instructions[instruction];

	for (uint32_t i = late->stall; i < late->stall + late->stall_count; i++) {
		const struct stall *stall = &analysis->stalls.stalls[i];

		if (stall->cause >= CAUSE_COUNT)
			continue;
		figures->low[stall->cause] += frequency * stall->low;
		figures->high[stall->cause] += frequency * stall->high;
	}
}

void
figures_of_block(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures)
{
	const struct flow_block *at = &analysis->graph->blocks[block];
	const double frequency = analysis->frequencies.blocks[block].value;

	begin(analysis, block, figures);
	figures->samples = procedure_block_samples(analysis, block);
	figures->instructions = frequency * at->count;
	for (uint32_t i = 0; i < at->count; i++)
		add_reasons(analysis, frequency, at->first + i, figures);
	divide(figures);
}

void
figures_of_instruction(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction,
                       struct code_figures *figures)
{
	const double frequency = analysis->frequencies.blocks[block].value;

	begin(analysis, block, figures);
	figures->samples = analysis->frequencies.samples[instruction];
	figures->instructions = frequency;
	add_reasons(analysis, frequency, instruction, figures);
	figures->cycles = procedure_instruction_cycles(analysis, block, instruction);
}

void
figures_add(struct code_figures *figures, const struct code_figures *other)
{
	if (!figures->is_known || !other->is_known) {
		if (other->is_known)
			*figures = *other;
		return;
	}
	figures->is_relative |= other->is_relative;
	if (other->confidence < figures->confidence)
		figures->confidence = other->confidence;
	figures->executions += other->executions;
	figures->samples += other->samples;
	figures->instructions += other->instructions;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		figures->low[i] += other->low[i];
		figures->high[i] += other->high[i];
	}
	divide(figures);
}

double
figures_lost(const struct code_figures *figures)
{
	double lost = 0;

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		lost = fmax(lost, figures->high[i]);
	return lost;
}

/* ---- One side ---- */

/* While input_read() runs. */
struct input_reader {
	struct diff_input *input;
	const struct input_request *request;
	const struct profile_set_visit *visit;
	struct input_row_key *keys; /* of the rows, sorted */
};

const struct selection_event *
input_event(const struct diff_input *input)
{
	return &input->all.selection->events[input->all.event];
}

const struct image *
input_image(const struct diff_input *input, uint32_t index)
{
	return input->all.selection->images[index].image;
}

bool
input_pattern_is_of(const struct input_pattern *pattern, size_t set)
{
	return pattern->group == 0 || pattern->group == set + 1;
}

/* An image named for both sets may be in one of them only; one named for this set must be in it. */
static int
choose_images(struct diff_input *input, const struct input_request *request, size_t set, unsigned *hits)
{
	const struct selection *selection = input->all.selection;

	for (size_t i = 0; i < request->pattern_count; i++) {
		const struct input_pattern *pattern = &request->patterns[i];
		const struct image_request own = {.patterns = &pattern->text, .count = 1, .event = input->all.event};
		bool *found = NULL;

		if (!input_pattern_is_of(pattern, set))
			continue;
		if (!input->all.wanted)
			input->all.wanted = calloc(selection->image_count + 1, sizeof(*input->all.wanted));
		if (!input->all.wanted)
			return message_cannot(NULL, "choose the images", -ENOMEM, NULL);
		if (images_match(selection, pattern->text, input->all.wanted) > 0)
			hits[i]++;
		else if (pattern->group)
			return images_choose(selection, input->all.titles, &own, &found);
	}
	return STATUS_OK;
}

static int
choose_event(struct diff_input *input, const struct input_request *request, const char *directory)
{
	const struct shown_events_request wanted = {.events = {request->event}, .event_count = request->event ? 1 : 0};
	struct shown_events shown_events;
	char why[1024];
	int err = shown_events_choose(input->all.selection, &wanted, &shown_events, why, sizeof(why));

	if (err) {
		message_print(directory, "%s", why);
		return error_exit_status(err);
	}
	input->all.event = shown_events.events[0];
	return STATUS_OK;
}

/* Unknown samples have no image and no context, so they are a part of the unrestricted total only. */
static int
choose_total(struct diff_input *input, const char *directory)
{
	const struct selection_request *wanted = &input->set->request;
	const struct selection_event *event = input_event(input);

	input->total = (struct compare_count){event->totals.samples, event->totals_taken, event->totals_squares};
	if (wanted->comm || wanted->cgroup || wanted->label)
		input->total = (struct compare_count){event->selected, event->selected_taken, event->selected_squares};
	if (input->total.count > 0)
		return STATUS_OK;
	message_print(directory, "no samples in what was selected for %s", input->set->title);
	return STATUS_EMPTY;
}

static int
add_row(struct diff_input *input, const struct input_row *row)
{
	struct input_row *rows = array_grow(input->rows, &input->row_capacity, input->row_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	input->rows = rows;
	rows[input->row_count++] = *row;
	return 0;
}

static int
make_histogram(const struct input_reader *reader, const struct selection *selection, char **titles, const bool *wanted,
               struct histogram *histogram)
{
	const struct histogram_request request = {
		.selection = selection,
		.wanted = wanted,
		.image_titles = titles,
		.symbolizer = reader->request->by_image ? NULL : reader->visit->symbolizer,
		.demangle = reader->request->demangle,
	};

	return histogram_make(&request, histogram);
}

static struct compare_count
samples_of(const struct histogram_row *row, uint16_t event)
{
	return (struct compare_count){row->counts[event], row->taken[event], row->squares[event]};
}

static int
count_samples(struct input_reader *reader)
{
	struct diff_input *input = reader->input;
	struct histogram histogram = {0};
	int err = make_histogram(reader, input->all.selection, input->all.titles, input->all.wanted, &histogram);

	for (size_t i = 0; i < histogram.row_count && !err; i++) {
		struct histogram_row *from = &histogram.rows[i];
		const struct input_row row = {
			.image = from->image,
			.kind = from->procedure.kind,
			.offset = from->procedure.offset,
			.title = from->title,
			.samples = samples_of(from, input->all.event),
		};

		if (row.samples.count == 0)
			continue;
		err = add_row(input, &row);
		if (!err)
			from->title = NULL; /* its owner is the row now */
	}
	histogram_fini(&histogram);
	return err ? database_cannot_read(reader->visit->database, err) : STATUS_OK;
}

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct input_reader *reader = context;
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
	struct input_row row = {
		.image = input->code->index,
		.kind = procedure.kind,
		.offset = procedure.offset,
		.title = procedure_title(&procedure, input->code->image, reader->request->demangle),
		.samples = {analysis->time_samples, analysis->time_taken, analysis->time_squares},
	};
	int err = row.title ? 0 : -ENOMEM;

	figures_of_procedure(analysis, &row.figures);
	if (!err)
		err = add_row(reader->input, &row);
	if (err)
		free(row.title);
	return err;
}

static int
analyze(struct input_reader *reader)
{
	const struct survey_all_visitor visitor = {.context = reader, .procedure = take_procedure};
	struct survey_all *all = &reader->input->all;
	int status = model_ask(all->selection, reader->request->cpu, all->event, &all->model);

	if (status)
		return status;
	all->samples = 0;
	for (uint32_t i = 0; i < all->selection->image_count; i++)
		if (!all->wanted || all->wanted[i])
			all->samples += code_image_samples(all->selection, i, 0, UINT64_MAX, all->event);
	return survey_all_run(all, reader->visit->database, &visitor);
}

int
input_open(struct diff_input *input, const struct input_request *request, const struct profile_set_visit *visit,
           unsigned *hits)
{
	const char *directory = visit->database->directory;
	int status;

	memset(input, 0, sizeof(*input));
	input->set = visit->set;
	input->all.selection = visit->selection;
	input->all.titles = image_titles(visit->selection);
	if (!input->all.titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	if (request->analyze)
		status = time_event_ask(visit->selection, request->event, directory, &input->all.event);
	else
		status = choose_event(input, request, directory);
	if (!status)
		status = choose_images(input, request, visit->index, hits);
	if (status)
		return status;
	survey_all_leave_out(&input->all);
	return choose_total(input, directory);
}

static int
compare_titles(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) : (left != NULL) - (right != NULL);
}

/* A row by its image, its name and its place; what is sorted by it. */
struct input_row_key {
	uint32_t image; /* in the database */
	const char *title;
	uint64_t offset;
	struct input_row *row;
};

static int
compare_keys(const void *left, const void *right)
{
	const struct input_row_key *a = left, *b = right;
	int order = (a->image > b->image) - (a->image < b->image);

	if (!order)
		order = compare_titles(a->title, b->title);
	return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

static int
compare_names(const void *left, const void *right)
{
	struct input_row_key a = *(const struct input_row_key *)left, b = *(const struct input_row_key *)right;

	a.offset = b.offset = 0;
	return compare_keys(&a, &b);
}

/* The samples of a run to the rows; code made at run time is known by its name alone. */
static int
take_run(void *context, const struct input_run *run)
{
	const struct input_reader *reader = context;
	const size_t count = reader->input->row_count, size = sizeof(*reader->keys);
	char **titles = image_titles(run->selection);
	struct histogram histogram = {0};
	int err = titles ? make_histogram(reader, run->selection, titles, NULL, &histogram) : -ENOMEM;

	for (size_t i = 0; i < histogram.row_count && !err; i++) {
		const struct histogram_row *from = &histogram.rows[i];
		const struct compare_count samples = samples_of(from, run->event);
		const struct input_row_key key = {
			.image = run->selection->images[from->image].number,
			.title = from->title,
			.offset = from->procedure.offset,
		};
		const struct input_row_key *found;

		if (samples.count == 0)
			continue;
		found = bsearch(&key, reader->keys, count, size, compare_keys);
		if (!found)
			found = bsearch(&key, reader->keys, count, size, compare_names);
		if (!found)
			continue;
		if (!found->row->runs)
			found->row->runs = calloc(run->most, sizeof(*found->row->runs));
		if (found->row->runs)
			compare_count_add(&found->row->runs[run->index], &samples);
		else
			err = -ENOMEM;
	}
	histogram_fini(&histogram);
	image_titles_free(titles, run->selection->image_count);
	return err;
}

static struct input_row_key *
sort_rows(const struct diff_input *input)
{
	struct input_row_key *keys = calloc(input->row_count + 1, sizeof(*keys));

	for (size_t i = 0; i < input->row_count && keys; i++)
		keys[i] = (struct input_row_key){
			.image = input->all.selection->images[input->rows[i].image].number,
			.title = input->rows[i].title,
			.offset = input->rows[i].offset,
			.row = &input->rows[i],
		};
	if (keys && input->row_count > 0)
		qsort(keys, input->row_count, sizeof(*keys), compare_keys);
	return keys;
}

static int
read_run(struct diff_input *input, const struct profile_set_visit *visit, const char *label, size_t most,
         input_run_visitor *visit_run, void *context)
{
	struct selection_request request = visit->set->request;
	const struct selection_request *const requests[] = {&request};
	struct input_run run = {.index = input->run_count, .most = most};
	struct selection *selection = NULL;
	char *pattern = profile_set_literal(label);
	int err;

	request.label = pattern;
	err = pattern ? database_read_each(visit->database->profile, requests, 1, &selection) : -ENOMEM;
	while (selection && run.event < selection->event_count &&
	       strcmp(selection->events[run.event].name, input_event(input)->name) != 0)
		run.event++;
	if (!err && selection && run.event < selection->event_count && selection->events[run.event].selected > 0) {
		run.selection = selection;
		input->run_totals[input->run_count] = (struct compare_count){
			selection->events[run.event].selected,
			selection->events[run.event].selected_taken,
			selection->events[run.event].selected_squares,
		};
		input->run_units[input->run_count++] = (double)selection->events[run.event].period;
		err = visit_run(context, &run);
	}
	selection_free(selection);
	free(pattern);
	return err;
}

int
input_each_run(struct diff_input *input, const struct profile_set_visit *visit, input_run_visitor *visit_run,
               void *context)
{
	char **labels, why[512] = "";
	size_t count;
	int err;

	if (!visit->set->has_runs)
		return STATUS_OK;
	err = catalog_labels(visit->database->profile, &visit->set->request, &labels, &count, why, sizeof(why));
	if (err)
		return database_cannot_read(visit->database, err);
	input->run_totals = calloc(count + 1, sizeof(*input->run_totals));
	input->run_units = calloc(count + 1, sizeof(*input->run_units));
	err = input->run_totals && input->run_units ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		err = read_run(input, visit, labels[i], count, visit_run, context);
	catalog_free_labels(labels, count);
	return err ? database_cannot_read(visit->database, err) : STATUS_OK;
}

int
input_read(struct diff_input *input, const struct input_request *request, const struct profile_set_visit *visit,
           unsigned *hits)
{
	struct input_reader reader = {.input = input, .request = request, .visit = visit};
	int status = input_open(input, request, visit, hits);

	if (!status)
		status = request->analyze ? analyze(&reader) : count_samples(&reader);
	if (status)
		return status;
	/* the samples of each label: the noise from run to run is estimated from how they differ */
	reader.keys = sort_rows(input);
	if (!reader.keys)
		return message_cannot(NULL, "read the runs", -ENOMEM, NULL);
	status = input_each_run(input, visit, take_run, &reader);
	free(reader.keys);
	return status;
}

void
input_fini(struct diff_input *input)
{
	for (size_t i = 0; i < input->row_count; i++) {
		free(input->rows[i].title);
		free(input->rows[i].runs);
	}
	free(input->rows);
	free(input->run_totals);
	free(input->run_units);
	survey_all_fini(&input->all);
	memset(input, 0, sizeof(*input));
}
