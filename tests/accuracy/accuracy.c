/*
 * accuracy - how near estimated frequencies are to exact counts, in recordings that tests/accuracy/record made
 *
 * accuracy [OPTION]... RECORDING...
 *   --least N            procedures with at least N samples (200)
 *   --procedures         a line for each of them
 *   --markdown           the tables of docs/accuracy.md
 *   --specimen NAME      write this procedure of each recording as text (specimen.h) instead; may be given again
 *   --models DIRECTORY   of pipeline models (config/cpus)
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/accuracy/report.h"

#define SPECIMENS_MAX 64

struct accuracy_options {
	const char *models;
	uint64_t least;
	bool procedures, markdown;
	const char *specimens[SPECIMENS_MAX];
	size_t specimen_count;
};

/* What is added up over the procedures of a recording, from one source. */
struct visit {
	const struct accuracy_options *options;
	struct accuracy_recording *recording;
	enum accuracy_source source;
	struct accuracy_result *result;
	struct score_item *blocks; /* of all procedures */
	size_t block_count;
	size_t procedure_count;
	int err;
};

/* By how much estimates are too high, absolutely, where they are right relative to one another. */
static double
absolute_factor(const struct score_procedure *procedure)
{
	return procedure->absolute / score_best_scale(procedure->blocks, procedure->block_count);
}

static int
keep_blocks(struct visit *visit, const struct score_procedure *procedure)
{
	const size_t count = visit->block_count + procedure->block_count;
	struct score_item *blocks = realloc(visit->blocks, (count + 1) * sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	visit->blocks = blocks;
	for (size_t i = 0; i < procedure->block_count; i++) {
		blocks[visit->block_count] = procedure->blocks[i];
		blocks[visit->block_count++].estimate *= procedure->absolute;
	}
	return 0;
}

/* The sources come one after the other, and each sees the same procedures. */
static struct result_procedure *
result_procedure_next(struct visit *visit, const struct visited *visited)
{
	struct accuracy_result *result = visit->result;
	struct result_procedure *procedures;

	if (visit->procedure_count < result->procedure_count)
		return &result->procedures[visit->procedure_count++];
	procedures = realloc(result->procedures, (result->procedure_count + 1) * sizeof(*procedures));
	if (!procedures)
		return NULL;
	result->procedures = procedures;
	procedures += result->procedure_count++;
	visit->procedure_count++;
	*procedures = (struct result_procedure){.samples = visited->score.samples};
	snprintf(procedures->name, sizeof(procedures->name), "%.63s", visited->name);
	return procedures;
}

static void
score_procedure(const struct visited *visited, void *user)
{
	struct visit *visit = user;
	struct result_procedure *judged = result_procedure_next(visit, visited);
	struct accuracy_score own = {0};
	char name[64];

	score_add(&visit->result->scores[visit->source], &visited->score);
	score_add(&own, &visited->score);
	if (!visit->err)
		visit->err = judged ? keep_blocks(visit, &visited->score) : -ENOMEM;
	if (judged)
		judged->relative[visit->source] = own.relative;
	if (!visit->options->procedures)
		return;
	snprintf(name, sizeof(name), "  %.23s%s x%.2f", visited->name, visited->exact->graph->is_complete ? "" : "?",
	         absolute_factor(&visited->score));
	report_line(name, &own);
}

static int
score_recording(const struct accuracy_options *options, struct accuracy_recording *recording,
                struct accuracy_result *result)
{
	int err = 0;

	snprintf(result->name, sizeof(result->name), "%.63s", recording_name(recording));
	result->samples = recording_samples(recording);
	result->is_kernel = strncmp(result->name, "kernel.", 7) == 0;
	for (unsigned source = 0; source < SOURCE_COUNT && !err; source++) {
		struct visit visit = {.options = options, .result = result, .source = source};

		if (options->procedures)
			printf("%s from %s\n", result->name, source_name(source));
		err = recording_visit(recording, source, options->least, score_procedure, &visit);
		if (!err)
			err = visit.err;
		if (!err)
			score_add_program(&result->scores[source], visit.blocks, visit.block_count);
		free(visit.blocks);
	}
	return err;
}

static void
write_specimen(const struct visited *visited, void *user)
{
	struct visit *visit = user;

	for (size_t i = 0; i < visit->options->specimen_count && !visit->err; i++) {
		if (strcmp(visited->name, visit->options->specimens[i]) != 0)
			continue;
		visit->err = recording_write_specimen(visit->recording, visited, stdout);
		if (visit->err)
			fprintf(stderr, "%s: %s\n", visited->name, error_text(visit->err));
	}
}

static int
visit_recording(const struct accuracy_options *options, const char *path, struct accuracy_result *result)
{
	struct accuracy_recording *recording = recording_open(path, options->models);
	struct visit visit = {.options = options, .recording = recording};
	int err;

	if (!recording)
		return -EINVAL;
	if (options->specimen_count)
		err = recording_visit(recording, SOURCE_EXACT, options->least, write_specimen, &visit);
	else
		err = score_recording(options, recording, result);
	recording_close(recording);
	return err ? err : visit.err;
}

static int
visit_all(const struct accuracy_options *options, char **paths, size_t count)
{
	struct accuracy_result *results = calloc(count + 1, sizeof(*results));
	int err = results ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		err = visit_recording(options, paths[i], &results[i]);
	if (!err && options->markdown)
		err = report_markdown(results, count);
	for (unsigned source = 0; source < SOURCE_COUNT && !err && !options->markdown && !options->specimen_count;
	     source++)
		report_text(results, count, source);
	for (size_t i = 0; i < count && results; i++)
		free(results[i].procedures);
	free(results);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static const struct option options_long[] = {
		{"least", required_argument, NULL, 'l'},  {"procedures", no_argument, NULL, 'p'},
		{"markdown", no_argument, NULL, 'd'},     {"specimen", required_argument, NULL, 's'},
		{"models", required_argument, NULL, 'm'}, {0},
	};
	struct accuracy_options options = {.models = "config/cpus", .least = 200};
	int option;

	while ((option = getopt_long(argc, argv, "", options_long, NULL)) != -1) {
		if (option == 'l')
			options.least = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			options.procedures = true;
		else if (option == 'd')
			options.markdown = true;
		else if (option == 'm')
			options.models = optarg;
		else if (option == 's' && options.specimen_count < SPECIMENS_MAX)
			options.specimens[options.specimen_count++] = optarg;
		else
			return 2;
	}
	return visit_all(&options, argv + optind, (size_t)(argc - optind));
}
