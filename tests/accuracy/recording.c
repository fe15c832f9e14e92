#include "tests/accuracy/recording.h"

#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/path_records.h"
#include "profile/profile.h"
#include "tests/accuracy/specimen.h"

struct accuracy_recording {
	const char *name; /* the last part of path */
	char path[4096], program[4096];
	double runs, gigahertz;
	struct profile *profile;
	struct selection *selection;
	uint16_t event;
	struct code_image code;
	struct pipeline pipeline;
	struct path_records recorded;
};

static const char *const source_names[SOURCE_COUNT] = {"samples", "bursts", "exact"};

const char *
source_name(enum accuracy_source source)
{
	return source_names[source];
}

static int
fail(const struct accuracy_recording *recording, const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", recording->path, what, error_text(err));
	return err;
}

static int
read_about(struct accuracy_recording *recording)
{
	const char *program = NULL;
	char path[4352];
	config_t config;
	int runs, err = 0;

	snprintf(path, sizeof(path), "%s/about", recording->path);
	config_init(&config);
	if (!config_read_file(&config, path) || !config_lookup_string(&config, "program", &program) ||
	    !config_lookup_int(&config, "runs", &runs) ||
	    !config_lookup_float(&config, "gigahertz", &recording->gigahertz))
		err = -DCPI_ECONFIG;
	if (!err) {
		recording->runs = runs;
		snprintf(path, sizeof(path), "%s/../bin/%.100s", recording->path, program);
		if (!realpath(path, recording->program))
			err = -errno;
	}
	config_destroy(&config);
	return err ? fail(recording, path, err) : 0;
}

static int
open_code(struct accuracy_recording *recording)
{
	const struct selection *selection = recording->selection;
	int err;

	for (uint32_t i = 0; i < selection->image_count; i++) {
		const struct image *image = selection->images[i].image;

		if (image->kind != IMAGE_USER || strcmp(image->path, recording->program) != 0)
			continue;
		err = code_image_open(&recording->code, selection, i);
		if (err)
			return fail(recording, recording->program, err);
		err = code_image_read(&recording->code);
		if (err)
			return fail(recording, recording->program, err);
		err = path_records_read(recording->profile, selection, selection->images[i].number,
		                        &recording->recorded);
		return err ? fail(recording, recording->program, err) : 0;
	}
	return fail(recording, "the program has no samples", -ENOENT);
}

static int
open_database(struct accuracy_recording *recording)
{
	const struct selection_request request = {0};
	const struct profile_options options = {0};
	char path[4352], why[256] = "";
	int err, event;

	snprintf(path, sizeof(path), "%s/db", recording->path);
	err = profile_open(path, &options, &recording->profile);
	if (err)
		return fail(recording, path, err);
	err = selection_read(recording->profile, &request, &recording->selection, why, sizeof(why));
	if (err)
		return fail(recording, *why ? why : path, err);
	event = procedure_choose_time_event(recording->selection, NULL, why, sizeof(why));
	if (event < 0)
		return fail(recording, why, event);
	recording->event = (uint16_t)event;
	return 0;
}

void
recording_close(struct accuracy_recording *recording)
{
	if (!recording)
		return;
	path_records_fini(&recording->recorded);
	code_image_close(&recording->code);
	selection_free(recording->selection);
	profile_close(recording->profile);
	free(recording);
}

static int
choose_pipeline(struct accuracy_recording *recording, const char *models)
{
	const struct selection *selection = recording->selection;
	char note[256];
	int err;

	err = pipeline_choose(models, NULL, selection->epochs[selection->epoch_count - 1].cpu, &recording->pipeline,
	                      note, sizeof(note));
	return err ? fail(recording, note, err) : 0;
}

struct accuracy_recording *
recording_open(const char *path, const char *models)
{
	struct accuracy_recording *recording = calloc(1, sizeof(*recording));

	if (!recording || !realpath(path, recording->path)) {
		perror(path);
		free(recording);
		return NULL;
	}
	recording->name = strrchr(recording->path, '/') + 1;
	if (read_about(recording) || open_database(recording) || open_code(recording) ||
	    choose_pipeline(recording, models)) {
		recording_close(recording);
		return NULL;
	}
	return recording;
}

const char *
recording_name(const struct accuracy_recording *recording)
{
	return recording->name;
}

double
recording_samples(const struct accuracy_recording *recording)
{
	return (double)code_image_samples(recording->selection, recording->code.index, 0, UINT64_MAX, recording->event);
}

static int
analyze(struct accuracy_recording *recording, const struct symbol *symbol, enum accuracy_source source,
        struct procedure_analysis **analysis)
{
	const struct procedure_input input = {
		.selection = recording->selection,
		.code = &recording->code,
		.symbol = symbol,
		.event = recording->event,
		.pipeline = &recording->pipeline,
		.exact = &recording->recorded.exact.paths,
		.bursts = source == SOURCE_BURSTS ? &recording->recorded.bursts.paths : NULL,
		.ignore_exact = source != SOURCE_EXACT,
	};

	return procedure_analyze(&input, analysis);
}

/* Cycles per sample of a clock, by the clock of the CPU; executions of one run. */
static double
absolute_of(const struct accuracy_recording *recording)
{
	const struct selection_event *event = &recording->selection->events[recording->event];
	const double cycles = (double)event->period * (strcmp(event->unit, "ns") == 0 ? recording->gigahertz : 1);

	return cycles / recording->runs;
}

/* The exact flow determines where samples lie, also when they move over branches: weights are no estimate's own. */
static struct score_item *
block_items(const struct procedure_analysis *analysis, const struct procedure_analysis *exact)
{
	struct score_item *items = calloc(exact->graph->block_count + 1, sizeof(*items));

	for (uint32_t i = 0; i < exact->graph->block_count && items; i++) {
		const struct frequency *frequency = &analysis->frequencies.blocks[i];

		items[i] = (struct score_item){
			.weight = procedure_block_samples(exact, i),
			.estimate = frequency->value,
			.truth = (double)exact->executions[exact->graph->blocks[i].first],
			.confidence = frequency->confidence,
		};
	}
	return items;
}

static struct score_item *
edge_items(const struct procedure_analysis *analysis, const struct procedure_analysis *exact)
{
	struct score_item *items = calloc(exact->graph->edge_count + 1, sizeof(*items));

	for (uint32_t i = 0; i < exact->graph->edge_count && items && exact->edge_counts; i++) {
		const struct frequency *frequency = &analysis->frequencies.edges[i];

		items[i] = (struct score_item){
			.weight = (double)exact->edge_counts[i],
			.estimate = frequency->value,
			.truth = (double)exact->edge_counts[i],
			.confidence = frequency->confidence,
		};
	}
	return items;
}

static int
visit_procedure(struct accuracy_recording *recording, const struct symbol *symbol, enum accuracy_source source,
                visit_function *visit, void *user)
{
	struct procedure_analysis *analysis = NULL, *exact = NULL;
	struct score_item *blocks = NULL, *edges = NULL;
	struct visited visited;
	int err;

	err = analyze(recording, symbol, source, &analysis);
	if (err)
		return err;
	err = analyze(recording, symbol, SOURCE_EXACT, &exact);
	if (err || !exact->executions)
		goto out;
	blocks = block_items(analysis, exact);
	edges = edge_items(analysis, exact);
	if (!blocks || !edges) {
		err = -ENOMEM;
		goto out;
	}
	visited = (struct visited){
		.name = symbol->name,
		.symbol = symbol,
		.analysis = analysis,
		.exact = exact,
		.score = {.blocks = blocks,
	                  .edges = edges,
	                  .block_count = exact->graph->block_count,
	                  .edge_count = exact->graph->edge_count,
	                  .absolute = source == SOURCE_EXACT ? procedure_executions_per_frequency(exact)
	                                                     : absolute_of(recording),
	                  .samples = (double)exact->time_samples},
	};
	visit(&visited, user);
out:
	free(blocks);
	free(edges);
	procedure_analysis_free(analysis);
	procedure_analysis_free(exact);
	return err;
}

int
recording_visit(struct accuracy_recording *recording, enum accuracy_source source, uint64_t least,
                visit_function *visit, void *user)
{
	const struct symbol_table *symbols = recording->code.symbols;
	int err = 0;

	for (size_t i = 0; i < symbol_table_size(symbols) && !err; i++) {
		const struct symbol *symbol = symbol_table_at(symbols, i);
		const uint64_t end = symbol->offset + symbol->size;

		if (!symbol->name || strcmp(symbol->name, "main") == 0 ||
		    code_image_samples(recording->selection, recording->code.index, symbol->offset, end,
		                       recording->event) < least)
			continue;
		err = visit_procedure(recording, symbol, source, visit, user);
		if (err)
			fail(recording, symbol->name, err);
	}
	return err;
}

int
recording_write_specimen(struct accuracy_recording *recording, const struct visited *visited, FILE *file)
{
	const struct procedure_analysis *exact = visited->exact;
	const struct procedure_input input = {.code = &recording->code};
	struct procedures *procedures = recording->code.procedures;
	struct code_part parts[FLOW_PARTS_MAX];
	const int part_count = procedures_parts(procedures, visited->symbol, parts);
	struct procedure_path_counts bursts = {0};
	struct specimen specimen = {
		.width = (unsigned)recording->pipeline.retire_width,
		.skid = recording->pipeline.timer_skid,
		.graph = exact->graph,
		.samples = exact->samples + recording->event * exact->graph->instruction_count,
		.block_counts = exact->block_counts,
		.edge_counts = exact->edge_counts,
	};
	struct specimen_code code;
	int err = 0;

	if (part_count < 0)
		return part_count;
	if (recording->recorded.bursts.epoch)
		err = procedure_path_counts_init(&bursts, &input, exact->graph, &recording->recorded.bursts.paths);
	if (err)
		goto out;
	snprintf(specimen.procedure, sizeof(specimen.procedure), "%.63s", visited->name);
	snprintf(specimen.program, sizeof(specimen.program), "%.63s", recording->name);
	specimen.burst_edges = bursts.edges;
	code = (struct specimen_code){
		.source = procedures_source(procedures, parts, (size_t)part_count),
		.decoder = procedures_decoder(procedures),
		.graph = exact->graph,
	};
	err = specimen_write(file, &specimen, &code);
out:
	procedure_path_counts_fini(&bursts);
	return err;
}
