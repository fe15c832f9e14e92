/*
 * The format is described in the manual of valgrind, "Callgrind Format Specification". Names are given a number at
 * their first use and are written as the number later. "fi": the following lines are of another file than the
 * procedure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/export/report.h"

/* Of stack `stack`: point `caller` calls procedure `callee`, or its samples are at the point itself. */
struct callgrind_call {
	uint32_t caller; /* index of a point; from points->count on, an enum stack_end */
	uint32_t callee; /* NO_CALLEE: its own samples */
	uint32_t stack;
};
#define NO_CALLEE UINT32_MAX

struct callgrind_writer {
	const struct export_report *report;
	uint32_t *files;              /* of the procedures */
	uint32_t *entries;            /* of the procedures: a point in it */
	struct callgrind_call *calls; /* with --stacks: by caller, callee and stack, each once */
	size_t call_count, next_call;
	FILE *stream;
	bool *is_file_named;      /* by number of the source file */
	bool *is_procedure_named; /* by index */
	uint32_t image;           /* that was named last */
	uint32_t procedure;       /* UINT32_MAX: none */
	uint32_t file;
};

static void
print_file(struct callgrind_writer *writer, const char *key, uint32_t file)
{
	writer->file = file;
	fprintf(writer->stream, "%s=(%" PRIu32 ")", key, file + 1);
	if (!writer->is_file_named[file]) {
		fputc(' ', writer->stream);
		text_print(file ? strings_get(writer->report->strings, file) : "???", writer->stream);
	}
	writer->is_file_named[file] = true;
	fputc('\n', writer->stream);
}

static void
print_procedure(struct callgrind_writer *writer, const struct sampled_offset *point, uint32_t file)
{
	const struct export_report *report = writer->report;

	if (writer->procedure == UINT32_MAX || writer->image != point->image) {
		fprintf(writer->stream, "\nob=(%" PRIu32 ") ", point->image + 1);
		text_print(report->choice.titles[point->image], writer->stream);
	}
	fputc('\n', writer->stream);
	print_file(writer, "fl", file);
	fprintf(writer->stream, "fn=(%" PRIu32 ")", point->procedure + 1);
	if (!writer->is_procedure_named[point->procedure]) {
		fputc(' ', writer->stream);
		text_print(report->points.procedures[point->procedure].title, writer->stream);
	}
	fputc('\n', writer->stream);
	writer->is_procedure_named[point->procedure] = true;
	writer->image = point->image;
	writer->procedure = point->procedure;
}

/* The callee of the calls that follow. */
static void
print_callee(struct callgrind_writer *writer, uint32_t callee)
{
	const struct export_report *report = writer->report;
	const struct sample_procedure *procedure = &report->points.procedures[callee];
	const struct export_place *entry = &report->places[writer->entries[callee]];
	const uint32_t file = writer->file;

	fprintf(writer->stream, "cob=(%" PRIu32 ") ", procedure->image + 1);
	text_print(report->choice.titles[procedure->image], writer->stream);
	fputc('\n', writer->stream);
	print_file(writer, "cfi", writer->files[callee]);
	writer->file = file; /* of the caller's lines */
	fprintf(writer->stream, "cfn=(%" PRIu32 ")", callee + 1);
	if (!writer->is_procedure_named[callee]) {
		fputc(' ', writer->stream);
		text_print(procedure->title, writer->stream);
	}
	writer->is_procedure_named[callee] = true;
	fprintf(writer->stream, "\ncalls=1 0x%" PRIx64 " %" PRIu32 "\n", entry->address, entry->line);
}

/* The next calls, which are of one caller and callee: the samples of all their stacks. */
static void
print_call(struct callgrind_writer *writer, uint64_t address, uint32_t line)
{
	const struct export_report *report = writer->report;
	const struct callgrind_call *call = &writer->calls[writer->next_call];
	uint64_t samples[SELECTION_EVENTS_MAX] = {0};

	if (call->callee != NO_CALLEE)
		print_callee(writer, call->callee);
	for (; writer->next_call < writer->call_count; writer->next_call++) {
		const struct callgrind_call *at = &writer->calls[writer->next_call];

		if (at->caller != call->caller || at->callee != call->callee)
			break;
		for (size_t i = 0; i < report->choice.shown_events.count; i++)
			samples[i] += export_stack_samples(report, &report->stacks[at->stack],
			                                   report->choice.shown_events.events[i]);
	}
	fprintf(writer->stream, "0x%" PRIx64 " %" PRIu32, address, line);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(writer->stream, " %" PRIu64, samples[i]);
	fputc('\n', writer->stream);
}

static bool
has_call(const struct callgrind_writer *writer, size_t caller)
{
	return writer->next_call < writer->call_count && writer->calls[writer->next_call].caller == caller;
}

static void
print_point(struct callgrind_writer *writer, size_t index)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	const struct export_place *place = &report->places[index];

	if (report->stacks && !has_call(writer, index))
		return; /* it only calls its own procedure */
	if (writer->procedure != point->procedure || writer->image != point->image)
		print_procedure(writer, point, writer->files[point->procedure]);
	if (writer->file != place->file)
		print_file(writer, place->file == writer->files[point->procedure] ? "fe" : "fi", place->file);
	while (has_call(writer, index))
		print_call(writer, place->address, place->line);
	if (report->stacks)
		return;
	fprintf(writer->stream, "0x%" PRIx64 " %" PRIu32, place->address, place->line);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(writer->stream, " %" PRIu64,
		        sample_points_samples(&report->points, point, report->choice.shown_events.events[i]));
	fputc('\n', writer->stream);
}

/* What stands for the callers of stacks that were truncated. */
static void
print_ends(struct callgrind_writer *writer)
{
	for (unsigned end = 0; end < STACK_END_COUNT; end++) {
		const struct stack_node node = {.offset = end, .image = STACK_NO_IMAGE};
		char name[EXPORT_TRUNCATED_SIZE];

		if (!has_call(writer, writer->report->points.count + end))
			continue;
		fprintf(writer->stream, "\nob=[truncated]\nfl=???\nfn=%s\n", export_truncated(&node, name));
		while (has_call(writer, writer->report->points.count + end))
			print_call(writer, 0, 0);
	}
}

static void
print_unknown(const struct callgrind_writer *writer)
{
	const struct export_report *report = writer->report;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < report->choice.shown_events.count; i++)
			sum += export_report_unknown(report, report->choice.shown_events.events[i], cause);
		if (sum == 0)
			continue;
		fprintf(writer->stream, "\nob=[unknown]\nfl=???\nfn=[unknown: %s]\n0x0 0", unknown_cause_name(cause));
		for (size_t i = 0; i < report->choice.shown_events.count; i++)
			fprintf(writer->stream, " %" PRIu64,
			        export_report_unknown(report, report->choice.shown_events.events[i], cause));
		fputc('\n', writer->stream);
	}
}

/* Names of events are separated by blanks. */
static int
print_events(const struct export_report *report, FILE *stream)
{
	fputs("positions: instr line\nevents:", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		char *name = text_shown(export_report_event(report, i)->name);

		if (!name)
			return -ENOMEM;
		for (char *at = name; (at = strchr(at, ' ')); at++)
			*at = '_';
		fprintf(stream, " %s", name);
		free(name);
	}
	fputs("\nsummary:", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(stream, " %" PRIu64, report->written[report->choice.shown_events.events[i]]);
	fputc('\n', stream);
	return 0;
}

static int
print_head(const struct export_report *report, FILE *stream)
{
	const struct selection *selection = report->choice.selection;
	char range[2 * TIME_TEXT_SIZE];

	fputs("# callgrind format\nversion: 1\ncreator: dcpiexport-" DCPI_VERSION "\n", stream);
	if (selection->epoch_count > 0) {
		fprintf(stream, "desc: Sampled: %s, on ",
		        time_format_range(selection->start_ns, selection->end_ns, range));
		text_print(selection->epochs[selection->epoch_count - 1].host, stream);
		fputc('\n', stream);
	}
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		summary_print_weights(export_report_event(report, i), "desc: Weights: ", stream);
	return print_events(report, stream);
}

/* The source file of each procedure: that of the first of its points that has one. */
static uint32_t *
files_of_procedures(const struct export_report *report)
{
	uint32_t *files = calloc(report->points.procedure_count + 1, sizeof(*files));

	for (size_t i = 0; files && i < report->points.count; i++)
		if (files[report->points.points[i].procedure] == 0)
			files[report->points.points[i].procedure] = report->places[i].file;
	return files;
}

static int
compare_calls(const void *left, const void *right)
{
	const struct callgrind_call *a = left, *b = right;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	if (a->callee != b->callee) /* its own samples first */
		return a->callee == NO_CALLEE || (b->callee != NO_CALLEE && a->callee < b->callee) ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* The frame of a node as a caller. */
static uint32_t
caller_of(const struct export_report *report, uint32_t node)
{
	const struct sampled_offset *point = sample_points_frame(&report->points, node);
	const uint64_t end = report->choice.selection->stacks.nodes[node].offset;

	if (point)
		return (uint32_t)(point - report->points.points);
	return (uint32_t)(report->points.count + (end < STACK_END_COUNT ? end : STACK_END_UNKNOWN));
}

/*
 * All calls of all stacks. A procedure's calls of itself are left out: a reader adds up the samples of what a procedure
 * calls, and would count those of the inner call twice.
 */
static int
find_calls(struct callgrind_writer *writer)
{
	const struct export_report *report = writer->report;
	const struct stack_node *nodes = report->choice.selection->stacks.nodes;
	size_t capacity = 0, kept = 0;

	for (uint32_t stack = 0; stack < report->stack_count; stack++) {
		uint32_t callee = NO_CALLEE;

		for (uint32_t at = report->stacks[stack].node; at; at = nodes[at].caller) {
			const uint32_t caller = caller_of(report, at);
			const uint32_t procedure =
				caller < report->points.count ? report->points.points[caller].procedure : NO_CALLEE;
			struct callgrind_call *call;

			if (procedure != callee || callee == NO_CALLEE) {
				call = ARRAY_APPEND(writer->calls, writer->call_count, capacity);
				if (!call)
					return -ENOMEM;
				*call = (struct callgrind_call){caller, callee, stack};
			}
			callee = procedure;
		}
	}
	if (writer->call_count > 0)
		qsort(writer->calls, writer->call_count, sizeof(*writer->calls), compare_calls);
	for (size_t i = 0; i < writer->call_count; i++)
		if (kept == 0 || compare_calls(&writer->calls[kept - 1], &writer->calls[i]) != 0)
			writer->calls[kept++] = writer->calls[i];
	writer->call_count = kept;
	return 0;
}

/* A point of each procedure: the first. */
static uint32_t *
entries_of_procedures(const struct export_report *report)
{
	uint32_t *entries = calloc(report->points.procedure_count + 1, sizeof(*entries));

	for (size_t i = report->points.count; entries && i-- > 0;)
		entries[report->points.points[i].procedure] = (uint32_t)i;
	return entries;
}

int
export_write_callgrind(const struct export_report *report, FILE *stream)
{
	struct callgrind_writer writer = {
		.report = report,
		.stream = stream,
		.is_file_named = calloc(strings_count(report->strings), sizeof(bool)),
		.is_procedure_named = calloc(report->points.procedure_count + 1, sizeof(bool)),
		.files = files_of_procedures(report),
		.entries = entries_of_procedures(report),
		.procedure = UINT32_MAX,
	};
	int err = -ENOMEM;

	if (writer.is_file_named && writer.is_procedure_named && writer.files && writer.entries)
		err = find_calls(&writer);
	if (!err)
		err = print_head(report, stream);
	for (size_t i = 0; i < report->points.count && !err; i++)
		print_point(&writer, i);
	if (!err) {
		print_ends(&writer);
		print_unknown(&writer);
	}
	free(writer.calls);
	free(writer.entries);
	free(writer.files);
	free(writer.is_procedure_named);
	free(writer.is_file_named);
	return err;
}
