/* A procedure of a recording as text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/procedure.h"
#include "tests/accuracy/recording_parts.h"
#include "tests/accuracy/specimen.h"

static int
write_with(struct recording *recording, const struct visited *visited, const struct specimen *specimen, FILE *file)
{
	struct code_part parts[FLOW_PARTS_MAX];
	struct procedures *procedures = recording->code.procedures;
	const int count = procedures_parts(procedures, visited->symbol, parts);

	if (count < 0)
		return count;
	return specimen_write(file, specimen,
	                      &(struct specimen_code){
				      .source = procedures_source(procedures, parts, (size_t)count),
				      .decoder = procedures_decoder(procedures),
				      .graph = visited->exact->graph,
			      });
}

int
recording_write_specimen(struct recording *recording, const struct visited *visited, FILE *file)
{
	const struct procedure_analysis *exact = visited->exact;
	const struct procedure_input input = {.code = &recording->code};
	struct procedure_path_counts bursts = {0};
	struct specimen specimen = {
		.width = (unsigned)recording->pipeline.retire_width,
		.skid = recording->pipeline.timer_skid,
		.graph = exact->graph,
		.samples = exact->samples + recording->event * exact->graph->instruction_count,
		.block_counts = exact->block_counts,
		.edge_counts = exact->edge_counts,
	};
	int err = 0;

	if (recording->recorded.bursts.epoch)
		err = procedure_path_counts_init(&bursts, &input, exact->graph, &recording->recorded.bursts.paths);
	if (!err) {
		snprintf(specimen.procedure, sizeof(specimen.procedure), "%.63s", visited->name);
		snprintf(specimen.program, sizeof(specimen.program), "%.63s", recording->name);
		specimen.burst_edges = bursts.edges;
		err = write_with(recording, visited, &specimen, file);
	}
	procedure_path_counts_fini(&bursts);
	return err;
}
