#include "dcpi-tools/loc/exact_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/loc/report.h"

#define LEAST_SHARE 0.001 /* of the references, of a loop that is shown */
#define PERCENT     100
#define ERRORS      2 /* standard errors that are shown */
#define PLACE_SIZE  24

static bool
is_shown(const struct exact_report *report, size_t at)
{
	const struct loc_exact_request *request = report->request;
	const struct join_row *row = &report->join->rows[at];

	if (request->loop)
		return loc_loop_is_called(row->loop, request->loop);
	return request->limit ? at < request->limit
	                      : row->exact.references >= LEAST_SHARE * report->join->exact.references ||
	                                row->estimated.references >= LEAST_SHARE * report->join->estimated.references;
}

static bool
has_loop(const struct exact_report *report)
{
	for (size_t i = 0; i < report->join->count; i++) {
		if (loc_loop_is_called(report->join->rows[i].loop, report->request->loop))
			return true;
	}
	return false;
}

/* Of all that the program refers to, how much the rows describe. */
static double
described_share(const struct join *join)
{
	return join->exact.references > 0 ? join->described / join->exact.references : 0;
}

/* ---- text ---- */

static void
add_temporal(struct table *table, double temporal)
{
	if (temporal >= 0)
		table_format(table, STYLE_PLAIN, "%.3f", temporal);
	else
		table_text(table, STYLE_PLAIN, "-");
}

/* `has_estimate`: else its cells are a dash. */
static void
add_sides(const struct join_side *estimated, const struct join_side *exact, bool has_estimate, struct table *table)
{
	char size[LOC_SIZE_TEXT];

	table_format(table, STYLE_PLAIN, has_estimate ? "%.0f" : "-", estimated->references);
	table_format(table, STYLE_PLAIN, "%.0f", exact->references);
	table_format(table, STYLE_PLAIN, has_estimate ? "%.3f" : "-", estimated->spatial);
	table_format(table, STYLE_PLAIN, "%.3f", exact->spatial);
	add_temporal(table, has_estimate ? estimated->temporal : -1);
	add_temporal(table, exact->temporal);
	table_text(table, STYLE_PLAIN, has_estimate ? loc_format_bytes(estimated->footprint, size) : "-");
	table_text(table, STYLE_PLAIN, loc_format_bytes(exact->footprint, size));
}

static void
add_row(const struct join_row *row, struct table *table)
{
	const struct locality_loop *loop = row->loop;

	add_sides(&row->estimated, &row->exact, true, table);
	table_text(table, STYLE_PLAIN, loop->function);
	if (*loop->file && loop->line)
		table_format(table, STYLE_PLAIN, "%s:%" PRIu32, text_basename(loop->file), loop->line);
	else
		table_text(table, STYLE_PLAIN, "[no line]");
}

static int
print_table(const struct exact_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "refs", .align = TABLE_RIGHT},
		{.heading = "exact", .gap = 1, .align = TABLE_RIGHT},
		{.heading = "spatial", .gap = 3, .align = TABLE_RIGHT},
		{.heading = "exact", .gap = 1, .align = TABLE_RIGHT},
		{.heading = "temporal", .gap = 3, .align = TABLE_RIGHT},
		{.heading = "exact", .gap = 1, .align = TABLE_RIGHT},
		{.heading = "footprint", .gap = 3, .align = TABLE_RIGHT},
		{.heading = "exact", .gap = 1, .align = TABLE_RIGHT},
		{.heading = "function", .gap = 3, .cut = TABLE_CUT_END, .max_width = PLACE_SIZE},
		{.heading = "loop", .gap = 2, .cut = TABLE_CUT_START},
	};
	const struct join *join = report->join;
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < join->count; i++) {
		if (is_shown(report, i))
			add_row(&join->rows[i], table);
	}
	add_sides(&join->estimated, &join->exact, report->profile->record_count > 0, table);
	table_text(table, STYLE_PLAIN, "[all]");
	table_text(table, STYLE_PLAIN, "");
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

static double
temporal_of(const struct traced_instruction *instruction)
{
	struct locality_score sum = instruction->exact;

	sum.judged += instruction->sampled.judged;
	sum.temporal += instruction->sampled.temporal;
	return locality_temporal(&sum);
}

static void
add_instruction_row(const struct exact_report *report, const struct join_instruction *joined, struct table *table)
{
	const struct traced_instruction *traced = joined->traced;
	const uint64_t references = traced->exact.references + traced->sampled.references;
	const struct image *image = traced->image ? image_table_get(report->trace->images, traced->image - 1) : NULL;

	table_text(table, STYLE_PLAIN, traced->stores ? "write" : "read");
	table_format(table, STYLE_PLAIN, "%" PRIu32, traced->bytes);
	table_format(table, STYLE_PLAIN, "%" PRIu64, references);
	table_format(table, STYLE_PLAIN, "%.3f",
	             (traced->exact.spatial + traced->sampled.spatial) / (double)references);
	add_temporal(table, temporal_of(traced));
	table_format(table, STYLE_PLAIN, "0x%" PRIx64, traced->low);
	table_format(table, STYLE_PLAIN, "0x%" PRIx64, traced->high);
	table_format(table, STYLE_PLAIN, "%s:%" PRIu32, text_basename(joined->loop->file), joined->line);
	table_format(table, STYLE_PLAIN, "%s+0x%" PRIx64, image ? text_basename(image->path) : "[anon]",
	             traced->offset);
}

/* Of the loops that are asked for. An instruction is there for each block of the emulator that has it. */
static int
print_instructions(const struct exact_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "access"},
		{.heading = "bytes", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "exact", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "spatial", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "temporal", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "from", .gap = 2},
		{.heading = "to", .gap = 2},
		{.heading = "line", .gap = 2, .cut = TABLE_CUT_START},
		{.heading = "instruction", .gap = 2},
	};
	const struct join *join = report->join;
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < join->instruction_count; i++) {
		if (loc_loop_is_called(join->instructions[i].loop, report->request->loop))
			add_instruction_row(report, &join->instructions[i], table);
	}
	fputs("\n", output->stream);
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

/* Of k lines that are kept, the relative standard error is 1 / sqrt(k). */
static void
print_line_sample(const char *what, uint32_t halvings, uint64_t footprint, FILE *stream)
{
	const double kept = (double)footprint / LINE_SET_BYTES / (double)(UINT64_C(1) << halvings);

	fprintf(stream, "%s are counted from one line in %" PRIu64 ": that of all is within %.2f %%.\n", what,
	        UINT64_C(1) << halvings, kept > 0 ? PERCENT * ERRORS / sqrt(kept) : PERCENT);
}

static void
print_sampling(const struct exact_report *report, FILE *stream)
{
	const struct join *join = report->join;

	if (join->sampled > 0)
		fprintf(stream,
		        "Reuse distances behind the first %g million references of a thread are sampled, in %" PRIu64
		        " bursts",
		        report->request->millions, report->trace->bursts.count);
	if (join->sampled > 0 && report->trace->bursts.count > 1)
		fprintf(stream, ": the exact temporal score of all is %.4f +- %.4f.\n", join->exact.temporal,
		        ERRORS * join->temporal_error);
	else if (join->sampled > 0)
		fputs(": too few to say how far the exact temporal score of all may be off.\n", stream);
	if (report->trace->halvings)
		print_line_sample("Exact footprints", report->trace->halvings, join->exact.footprint, stream);
	if (report->profile->keys && report->profile->keys->halvings)
		print_line_sample("Footprints of the record", report->profile->keys->halvings,
		                  join->estimated.footprint, stream);
}

static void
print_missing(const struct exact_report *report, FILE *stream)
{
	const struct trace *trace = report->trace;
	const struct loc_profile *profile = report->profile;

	if (trace->unfollowed)
		fprintf(stream, "Missing: %" PRIu64 " program%s could not be followed\n", trace->unfollowed,
		        trace->unfollowed == 1 ? " that was started" : "s that were started");
	if (trace->running)
		fprintf(stream, "Missing: %" PRIu64 " %s from now on\n", trace->running,
		        trace->running == 1 ? "process still runs; what it does" : "processes still run; what they do");
	if (trace->unrecorded)
		fprintf(stream, "Missing: %" PRIu64 " references for which there was no room\n", trace->unrecorded);
	if (trace->lost_lines)
		fprintf(stream, "Missing: %" PRIu64 " lines of instructions for which there was no room\n",
		        trace->lost_lines);
	if (trace->damaged || profile->damaged)
		fprintf(stream,
		        "Missing: what is behind a fault in %" PRIu64 " files, to which the program may have written\n",
		        trace->damaged + profile->damaged);
	if (profile->is_full)
		fputs("Missing: what came after the program's record, or its disk, was full\n", stream);
	if (profile->texts_lost)
		fprintf(stream, "Missing: %" PRIu64 " loops, for whose text a record had no room\n",
		        profile->texts_lost);
}

int
exact_print_text(const struct exact_report *report, FILE *stream)
{
	const struct join *join = report->join;
	const struct output output = {.stream = stream};
	int err;

	(void)text_print(report->request->command[0], stream);
	fprintf(stream, ": %.0f references of %" PRIu64 " process%s in %.1f s under the emulator",
	        join->exact.references, report->trace->processes, report->trace->processes == 1 ? "" : "es",
	        run_seconds(report->run));
	if (report->profile->record_count)
		fprintf(stream, "; the record's loops describe %.1f %% of them", PERCENT * described_share(join));
	fputs("\n\n", stream);
	err = print_table(report, &output);
	if (!err && report->request->loop && has_loop(report))
		err = print_instructions(report, &output);
	else if (report->request->loop && report->profile->record_count)
		fputs("No loop or function of the record is called so; without --loop all are shown.\n", stream);
	if (!report->profile->record_count)
		fputs("It left no record: compile it with the flags of 'dcpiloc --cflags' and 'dcpiloc --libs' to see "
		      "its "
		      "loops, and estimates beside what is exact.\n",
		      stream);
	print_sampling(report, stream);
	print_missing(report, stream);
	return err ? err : ferror(stream) ? -EIO : 0;
}

/* ---- JSON ---- */

static json_t *
side_json(const struct join_side *side)
{
	return json_pack("{s:o, s:f, s:o, s:o}", "references", json_estimate(side->references), "spatial",
	                 side->spatial, "temporal", side->temporal >= 0 ? json_real(side->temporal) : json_null(),
	                 "footprint", json_count(side->footprint));
}

static json_t *
row_json(const struct join_row *row)
{
	const struct locality_loop *loop = row->loop;

	return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "function", json_shown(loop->function), "file",
	                 json_shown(loop->file), "line", (json_int_t)loop->line, "depth", (json_int_t)loop->depth,
	                 "estimated", side_json(&row->estimated), "exact", side_json(&row->exact));
}

static json_t *
missing_json(const struct exact_report *report)
{
	const struct trace *trace = report->trace;
	const struct loc_profile *profile = report->profile;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "not_followed", json_count(trace->unfollowed),
	                 "still_running", json_count(trace->running), "references", json_count(trace->unrecorded),
	                 "lines", json_count(trace->lost_lines), "damaged",
	                 json_count(trace->damaged + profile->damaged), "full", profile->is_full, "texts_lost",
	                 json_count(profile->texts_lost));
}

int
exact_print_json(const struct exact_report *report, FILE *stream)
{
	const struct join *join = report->join;
	const int status = report->run->status;
	json_t *loops = json_array();
	int failed = !loops;

	for (size_t i = 0; i < join->count; i++) {
		if (is_shown(report, i))
			failed |= json_array_append_new(loops, row_json(&join->rows[i]));
	}
	return json_print_exact(
		json_kept(
			json_pack(
				"{s:s, s:o, s:o, s:f, s:o, s:o, s:f, s:f, s:o, s:o, s:f, s:o, s:o, s:{s:i}, s:o, s:o}",
				"schema", "dcpiloc-exact/1", "command", json_shown(report->request->command[0]),
				"processes", json_count(report->trace->processes), "seconds", run_seconds(report->run),
				"estimated", report->profile->record_count ? side_json(&join->estimated) : json_null(),
				"exact", side_json(&join->exact), "described", described_share(join), "without_line",
				join->unplaced, "sampled", json_estimate(join->sampled), "bursts",
				json_count(report->trace->bursts.count), "temporal_error", join->temporal_error,
				"line_part", json_count(UINT64_C(1) << report->trace->halvings), "countdown",
				json_count(report->trace->left_out), "program", WIFEXITED(status) ? "exit" : "signal",
				WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), "missing",
				missing_json(report), "loops", loops),
			failed),
		stream);
}
