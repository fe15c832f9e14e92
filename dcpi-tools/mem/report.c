#include "dcpi-tools/mem/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/format.h"
#include "dcpi-tools/mem/member_report.h"
#include "dcpi-tools/mem/served_by.h"

#define LEAST_SHARE 0.001 /* of the run: rows that are shown */

/* ---- the head of a report ---- */

const char *
mem_costs_of(const struct memory_report *report)
{
	const struct memory_totals *totals = &report->profile->totals;

	return totals->counts ? "accesses" : totals->busy_cycles ? "run" : "waiting";
}

void
mem_print_head(const struct memory_report *report, const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const struct memory_totals *totals = &profile->totals;
	const struct memory_evidence *all = &report->all;

	(void)text_print(memory_profile_text(profile, profile->source), output->stream);
	fprintf(output->stream, ", %.6f s", (double)totals->elapsed_ns / NS_PER_S);
	fprintf(output->stream, ", %zu thread%s of %zu process%s\n", profile->thread_count,
	        text_plural(profile->thread_count), profile->process_count, profile->process_count == 1 ? "" : "es");
	fprintf(output->stream,
	        totals->counts ? "%" PRIu64 " faults tell who used a page next, %" PRIu32 " of them kept"
	                       : "%" PRIu64 " accesses left the cores' own caches, %" PRIu32 " of them sampled",
	        totals->counted, all->samples);
	if (all->memory)
		fprintf(output->stream, "; of those to memory %.0f %% went to another node",
		        mem_percent(all->remote, all->memory));
	fputs("\n", output->stream);
	if (all->transfers)
		fprintf(output->stream,
		        "%.0f %% of them waited for a line that another core had, %.0f %% of that falsely shared\n",
		        mem_percent(all->transfers, all->accesses),
		        mem_percent(all->false_cycles, all->transfer_cycles));
	if (all->remote)
		fprintf(output->stream,
		        "Remote accesses that pinning would avoid %.0f %%, allocation elsewhere %.0f %%\n",
		        mem_percent(all->avoidable_by_pinning, all->remote),
		        mem_percent(all->avoidable_by_allocation, all->remote));
}

static void
print_trials(const struct mem_view *view, const struct output *output)
{
	for (size_t i = 0; i < view->trial_count; i++) {
		const struct mem_trial *trial = &view->trials[i];

		fprintf(output->stream, "%sTried %s: ", i ? "" : "\n", verdict_text(trial->verdict));
		if (trial->missing)
			fprintf(output->stream, "%s\n", trial->missing);
		else
			fprintf(output->stream, "%.6f s became %.6f s, %.2f times as fast\n", trial->before,
			        trial->seconds, trial->before / trial->seconds);
	}
}

static void
print_missing(const struct memory_report *report, const struct output *output)
{
	const struct memory_totals *totals = &report->profile->totals;

	if (totals->lost_events)
		fprintf(output->stream,
		        "Missing: %" PRIu64 " beginnings and ends of objects, for which there was no room\n",
		        totals->lost_events);
	if (totals->lost_accesses)
		fprintf(output->stream, "Missing: %" PRIu64 " samples, for which there was no room\n",
		        totals->lost_accesses);
	if (totals->unnamed)
		fprintf(output->stream,
		        "Missing: who allocated %" PRIu64 " objects, for whose call chain there was no room\n",
		        totals->unnamed);
	if (totals->late_events)
		fprintf(output->stream,
		        "Late: %" PRIu64 " accesses and beginnings of objects; what was accessed then may be called by "
		        "the name of what was there before\n",
		        totals->late_events);
	if (totals->untracked)
		fprintf(output->stream,
		        "Missing: the heap of %" PRIu64 " process%s without the tracker: it is linked statically, is "
		        "of another architecture, or has more rights than its user\n",
		        totals->untracked, totals->untracked == 1 ? "" : "es");
}

/* ---- objects ---- */

static const struct table_column object_columns[] = {
	{.heading = "cost", .align = TABLE_RIGHT},
	{.heading = "verdict", .gap = 2},
	{.heading = "object", .gap = 2, .cut = TABLE_CUT_END, .max_width = 48},
	{.heading = "type", .gap = 2, .cut = TABLE_CUT_END, .max_width = 32},
	{.heading = "kind", .gap = 2},
	{.heading = "count", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "size", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "threads", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "remote", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "from nodes", .gap = 2, .cut = TABLE_CUT_END},
	{.heading = "on nodes", .gap = 2, .cut = TABLE_CUT_END},
	{.heading = "shared", .gap = 2, .align = TABLE_RIGHT},
};
#define TYPE_COLUMN 3 /* left out where no type is known */

struct mem_row
mem_row_of(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member)
{
	if (!member)
		return (struct mem_row){group,       NULL, &group->evidence, group->verdict, group->cost_cycles,
		                        group->bytes};
	return (struct mem_row){
		.group = group,
		.member = member,
		.evidence = &member->evidence,
		.verdict = member->verdict,
		.cost_cycles = member->cost_cycles,
		.size = report->profile->objects[member->object].size,
	};
}

char *
mem_row_name(const struct memory_report *report, const struct mem_row *row)
{
	char *text;

	if (!row->member)
		return strdup(row->group->name);
	return asprintf(&text, "%s#%" PRIu32, row->group->name, report->profile->objects[row->member->object].number) <
	                       0
	               ? NULL
	               : text;
}

static void
add_row(const struct memory_report *report, const struct mem_row *row, bool has_types, struct table *table)
{
	const struct memory_evidence *evidence = row->evidence;
	const enum style style = row->verdict == VERDICT_NOTHING ? STYLE_PLAIN : STYLE_HOT;
	char text[MEM_TEXT_SIZE], type[MEM_TYPE_SIZE], *name = mem_row_name(report, row);

	table_format(table, style, "%.1f %%", PERCENT * memory_report_share(report, row->cost_cycles));
	table_text(table, style, verdict_text(row->verdict));
	table_text(table, STYLE_PLAIN, name ? name : "?");
	if (has_types)
		table_text(table, STYLE_PLAIN, mem_type_format(report, row->group, row->member, type));
	table_text(table, STYLE_PLAIN, memory_kind_text(row->group->kind));
	table_format(table, STYLE_PLAIN, "%" PRIu32, row->member ? 1 : row->group->object_count);
	table_text(table, STYLE_PLAIN, mem_size_format(row->size, text));
	table_format(table, STYLE_PLAIN, "%" PRIu32, evidence->threads);
	table_text(table, STYLE_PLAIN, mem_percent_format(evidence->remote, evidence->memory, text));
	table_text(table, STYLE_PLAIN, mem_nodes_format(evidence->from_node, text));
	table_text(table, STYLE_PLAIN, mem_nodes_format(evidence->to_node, text));
	table_text(table, STYLE_PLAIN, mem_percent_format(evidence->transfers, evidence->accesses, text));
	free(name);
}

static bool
is_shown(const struct memory_report *report, const struct mem_view *view, const struct mem_row *row, size_t shown)
{
	if (view->limit)
		return shown < view->limit;
	return row->verdict != VERDICT_NOTHING || memory_report_share(report, row->cost_cycles) >= LEAST_SHARE ||
	       !shown;
}

/* Call back for each row that is shown, until one fails. */
static int
each_row(const struct memory_report *report, const struct mem_view *view,
         int (*visit)(void *context, const struct mem_row *row), void *context)
{
	size_t shown = 0;
	int err = 0;

	for (size_t i = 0; i < report->group_count && !err; i++) {
		const struct memory_group *group = &report->groups[i];

		for (uint32_t k = 0; k < (view->by_object ? group->object_count : 1) && !err; k++) {
			const struct mem_row row = mem_row_of(
				report, group, view->by_object ? &report->objects[group->first_object + k] : NULL);

			if (!is_shown(report, view, &row, shown))
				break;
			err = visit(context, &row);
			shown++;
		}
	}
	return err;
}

struct row_context {
	const struct memory_report *report;
	struct table *table;
	bool has_types;
	json_t *list;
};

static int
row_to_table(void *context, const struct mem_row *row)
{
	const struct row_context *rows = context;

	add_row(rows->report, row, rows->has_types, rows->table);
	return 0;
}

static void
print_verdicts(const struct memory_report *report, const struct output *output)
{
	char why[MEM_WHY_SIZE];

	for (size_t i = 0; i < report->group_count; i++) {
		const struct memory_group *group = &report->groups[i];

		if (group->verdict == VERDICT_NOTHING)
			continue;
		memory_group_explain(report, group, why, sizeof(why));
		fprintf(output->stream, "\n%s%s ", output_style(output, STYLE_HOT), verdict_text(group->verdict));
		(void)text_print(group->name, output->stream);
		fprintf(output->stream, "%s: ", output_plain(output, STYLE_HOT));
		(void)text_print(why, output->stream);
		fputs(".\n", output->stream);
	}
}

static struct table *
objects_table(bool has_types)
{
	struct table_column columns[ARRAY_COUNT(object_columns)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_COUNT(object_columns); i++) {
		if (has_types || i != TYPE_COLUMN)
			columns[count++] = object_columns[i];
	}
	return table_new(columns, count);
}

int
mem_objects_text(const struct memory_report *report, const struct mem_view *view, const struct output *output)
{
	const bool has_types = mem_has_types(report);
	struct row_context rows = {.report = report, .has_types = has_types, .table = objects_table(has_types)};
	int err;

	if (!rows.table)
		return -ENOMEM;
	if (view->header)
		mem_print_head(report, output);
	err = each_row(report, view, row_to_table, &rows);
	if (!report->group_count)
		fputs("\nNo access was sampled: the data fits the cores' own caches, or nothing was recorded.\n",
		      output->stream);
	else if (!err) {
		if (view->header)
			fputs("\n", output->stream);
		err = table_print(rows.table, output, view->header);
	}
	table_free(rows.table);
	if (!err && view->counts)
		err = served_by_print(view->counts, output);
	if (!err && view->header) {
		print_verdicts(report, output);
		print_trials(view, output);
		print_missing(report, output);
	}
	return err;
}

/* ---- JSON ---- */

void
mem_evidence_counts(const struct memory_evidence *evidence, struct mem_count counts[MEM_COUNTS])
{
	const struct mem_count all[MEM_COUNTS] = {
		{"accesses", evidence->accesses},
		{"stores", evidence->stores},
		{"cycles", evidence->cycles},
		{"memory", evidence->memory},
		{"remote", evidence->remote},
		{"excess_cycles", evidence->excess_cycles},
		{"transfers", evidence->transfers},
		{"transfer_cycles", evidence->transfer_cycles},
		{"false_cycles", evidence->false_cycles},
		{"avoidable_by_pinning", evidence->avoidable_by_pinning},
		{"avoidable_by_allocation", evidence->avoidable_by_allocation},
		{"by_maker", evidence->by_maker},
		{"before_others", evidence->before_others},
		{"from_unknown", evidence->from_node[MEMORY_NODE_HERE]},
		{"to_unknown", evidence->to_node[MEMORY_NODE_HERE] + evidence->to_node[MEMORY_NODE_AWAY]},
		{"threads", evidence->threads},
		{"samples", evidence->samples},
		{"watched_words", evidence->late_watched},
		{"late_writes", evidence->late_written},
	};

	memcpy(counts, all, sizeof(all));
}

static json_t *
evidence_json(const struct memory_report *report, const struct memory_evidence *evidence)
{
	const uint64_t nodes = report->profile->totals.nodes;
	struct mem_count counts[MEM_COUNTS];
	json_t *object = json_object();
	int failed = 0;

	mem_evidence_counts(evidence, counts);
	for (size_t i = 0; i < MEM_COUNTS; i++)
		failed |= json_object_set_new(object, counts[i].name, json_count(counts[i].count));
	failed |= json_object_set_new(object, "from_nodes", mem_nodes_json(evidence->from_node, nodes));
	failed |= json_object_set_new(object, "to_nodes", mem_nodes_json(evidence->to_node, nodes));
	return json_kept(object, failed);
}

json_t *
mem_row_json(const struct memory_report *report, const struct mem_row *row)
{
	char *name = mem_row_name(report, row), why[MEM_WHY_SIZE], type[MEM_TYPE_SIZE];
	json_t *object;

	memory_group_explain(report, row->group, why, sizeof(why));
	mem_type_format(report, row->group, row->member, type);
	object = json_pack("{s:o, s:o, s:s, s:s, s:f, s:o, s:i, s:o, s:o}", "object", json_shown(name), "type",
	                   json_shown(*type ? type : NULL), "kind", memory_kind_text(row->group->kind), "verdict",
	                   verdict_text(row->verdict), "cost", memory_report_share(report, row->cost_cycles), "why",
	                   json_shown(why), "objects", row->member ? 1 : (int)row->group->object_count, "bytes",
	                   json_count(row->size), "evidence", evidence_json(report, row->evidence));
	free(name);
	return object;
}

static int
row_to_json(void *context, const struct mem_row *row)
{
	struct row_context *rows = context;

	return json_array_append_new(rows->list, mem_row_json(rows->report, row)) ? -ENOMEM : 0;
}

json_t *
mem_head_json(const struct memory_report *report, const char *schema)
{
	const struct memory_totals *totals = &report->profile->totals;

	return json_pack("{s:s, s:o, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", schema,
	                 "source", json_shown(memory_profile_text(report->profile, report->profile->source)),
	                 "costs_of", mem_costs_of(report), "seconds", (double)totals->elapsed_ns / NS_PER_S, "counted",
	                 json_count(totals->counted), "sampled", json_count(report->all.samples), "nodes",
	                 json_count(totals->nodes), "lost_events", json_count(totals->lost_events), "lost_samples",
	                 json_count(totals->lost_accesses), "late", json_count(totals->late_events), "unnamed",
	                 json_count(totals->unnamed), "short_lived", json_count(totals->short_lived), "untracked",
	                 json_count(totals->untracked), "all", evidence_json(report, &report->all));
}

static json_t *
trials_json(const struct mem_view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < view->trial_count; i++) {
		const struct mem_trial *trial = &view->trials[i];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:s?}", "verdict", verdict_text(trial->verdict),
		                                      "before", trial->before, "seconds", trial->seconds, "missing",
		                                      trial->missing));
	}
	return list;
}

int
mem_objects_json(const struct memory_report *report, const struct mem_view *view, FILE *stream)
{
	struct row_context rows = {.report = report, .list = json_array()};
	json_t *root = mem_head_json(report, "dcpimem-objects/1");
	const struct mem_view all = {.limit = view->limit ? view->limit : SIZE_MAX, .by_object = view->by_object};
	int failed = each_row(report, &all, row_to_json, &rows);

	failed |= json_object_set_new(root, "objects", rows.list);
	if (view->counts)
		failed |= json_object_set_new(root, "served_by", served_by_json(view->counts));
	if (view->trial_count)
		failed |= json_object_set_new(root, "tried", trials_json(view));
	return json_print(json_kept(root, failed), stream);
}

int
mem_objects_print(const struct memory_report *report, const struct mem_view *view, bool json, FILE *stream)
{
	const struct output output = {.stream = stream};

	return json ? mem_objects_json(report, view, stream) : mem_objects_text(report, view, &output);
}
