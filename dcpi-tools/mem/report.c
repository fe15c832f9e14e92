#include "dcpi-tools/mem/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define NS_PER_S      1e9
#define PERCENT       100.0
#define LEAST_SHARE   0.001 /* of the run: rows that are shown */
#define LEAST_WAITING 0.005 /* of the run, for the lines of an object: then its bytes are shown */
#define NODES_SHOWN   8     /* in a row */
#define TIME_COLUMNS  64    /* of a time line */
#define FUNCTIONS_MAX 12    /* of one object */
#define BYTES_MAX     24    /* of shared lines */
#define WHY_SIZE      512
#define SMALL_SIZE    160

static double
share(uint64_t part, uint64_t whole)
{
	return whole ? PERCENT * (double)part / (double)whole : 0;
}

/* "64", "1.5 KiB", "8.0 MiB" */
static const char *
size_format(uint64_t bytes, char text[SMALL_SIZE])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(text, SMALL_SIZE, "%" PRIu64, bytes);
		return text;
	}
	size /= 1024;
	while (size >= 1024 && unit + 1 < ARRAY_COUNT(units)) {
		size /= 1024;
		unit++;
	}
	snprintf(text, SMALL_SIZE, "%.3g %s", size, units[unit]);
	return text;
}

/* "75 %", or "-" of nothing */
static const char *
percent_format(uint64_t part, uint64_t whole, char text[SMALL_SIZE])
{
	if (whole)
		snprintf(text, SMALL_SIZE, "%.0f %%", share(part, whole));
	else
		snprintf(text, SMALL_SIZE, "-");
	return text;
}

/* Shares by node: "0: 95 %  1: 5 %"; nodes below a percent are left out. */
static const char *
nodes_format(const uint64_t counts[MEMORY_NODES_MAX], char text[SMALL_SIZE])
{
	uint64_t sum = 0;
	size_t at = 0;
	unsigned shown = 0;

	for (unsigned i = 0; i < MEMORY_NODES_MAX; i++)
		sum += counts[i];
	text[0] = '\0';
	for (unsigned i = 0; i < MEMORY_NODES_MAX && shown < NODES_SHOWN && at < SMALL_SIZE; i++) {
		if (!sum || counts[i] * 100 < sum)
			continue;
		at += (size_t)snprintf(text + at, SMALL_SIZE - at, "%s%u:%.0f%%", shown ? " " : "", i,
		                       share(counts[i], sum));
		shown++;
	}
	if (!shown)
		snprintf(text, SMALL_SIZE, "-");
	return text;
}

/* The object's name: that of its group, and a number if the group has several. Of texts; free it. NULL: no memory. */
static char *
name_of(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member)
{
	const char *name = group->name;
	char *text;

	if (!member)
		return strdup(name);
	return asprintf(&text, "%s#%" PRIu32, name, report->profile->objects[member->object].number) < 0 ? NULL : text;
}

/* ---- the head of a report ---- */

static void
print_head(const struct memory_report *report, const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const struct memory_totals *totals = &profile->totals;
	const struct memory_evidence *all = &report->all;

	fprintf(output->stream, "%s, %.6f s", memory_profile_text(profile, profile->source),
	        (double)totals->elapsed_ns / NS_PER_S);
	fprintf(output->stream, ", %zu thread%s of %zu process%s\n", profile->thread_count,
	        text_plural(profile->thread_count), profile->process_count, profile->process_count == 1 ? "" : "es");
	fprintf(output->stream, "%" PRIu64 " accesses left the cores' own caches, %zu of them sampled", totals->counted,
	        profile->access_count);
	if (all->memory)
		fprintf(output->stream, "; of those to memory %.0f %% went to another node",
		        share(all->remote, all->memory));
	fputs("\n", output->stream);
	if (all->transfers)
		fprintf(output->stream,
		        "%.0f %% of them waited for a line that another core had, %.0f %% of that falsely shared\n",
		        share(all->transfers, all->accesses), share(all->false_cycles, all->transfer_cycles));
	if (all->remote)
		fprintf(output->stream,
		        "Remote accesses that pinning would avoid %.0f %%, allocation elsewhere %.0f %%\n",
		        share(all->avoidable_by_pinning, all->remote),
		        share(all->avoidable_by_allocation, all->remote));
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
	{.heading = "kind", .gap = 2},
	{.heading = "count", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "size", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "threads", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "remote", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "from nodes", .gap = 2, .cut = TABLE_CUT_END},
	{.heading = "on nodes", .gap = 2, .cut = TABLE_CUT_END},
	{.heading = "shared", .gap = 2, .align = TABLE_RIGHT},
};

struct object_row {
	const struct memory_group *group;
	const struct memory_member *member; /* NULL: all of the group */
	const struct memory_evidence *evidence;
	enum memory_verdict verdict;
	uint64_t cost_cycles, size;
};

static void
add_row(const struct memory_report *report, const struct object_row *row, struct table *table)
{
	const struct memory_evidence *evidence = row->evidence;
	const enum style style = row->verdict == VERDICT_NOTHING ? STYLE_PLAIN : STYLE_HOT;
	char text[SMALL_SIZE], *name = name_of(report, row->group, row->member);

	table_format(table, style, "%.1f %%", PERCENT * memory_report_share(report, row->cost_cycles));
	table_text(table, style, verdict_text(row->verdict));
	table_text(table, STYLE_PLAIN, name ? name : "?");
	table_text(table, STYLE_PLAIN, memory_kind_text(row->group->kind));
	table_format(table, STYLE_PLAIN, "%" PRIu32, row->member ? 1 : row->group->object_count);
	table_text(table, STYLE_PLAIN, size_format(row->size, text));
	table_format(table, STYLE_PLAIN, "%" PRIu32, evidence->threads);
	table_text(table, STYLE_PLAIN, percent_format(evidence->remote, evidence->memory, text));
	table_text(table, STYLE_PLAIN, nodes_format(evidence->from_node, text));
	table_text(table, STYLE_PLAIN, nodes_format(evidence->to_node, text));
	table_text(table, STYLE_PLAIN, percent_format(evidence->transfers, evidence->accesses, text));
	free(name);
}

static bool
is_shown(const struct memory_report *report, const struct mem_view *view, const struct object_row *row, size_t shown)
{
	if (view->limit)
		return shown < view->limit;
	return row->verdict != VERDICT_NOTHING || memory_report_share(report, row->cost_cycles) >= LEAST_SHARE ||
	       !shown;
}

/* Call back for each row that is shown, until one fails. */
static int
each_row(const struct memory_report *report, const struct mem_view *view,
         int (*visit)(void *context, const struct object_row *row), void *context)
{
	size_t shown = 0;
	int err = 0;

	for (size_t i = 0; i < report->group_count && !err; i++) {
		const struct memory_group *group = &report->groups[i];
		struct object_row row = {group,       NULL, &group->evidence, group->verdict, group->cost_cycles,
		                         group->bytes};

		for (uint32_t k = 0; k < (view->by_object ? group->object_count : 1) && !err; k++) {
			if (view->by_object) {
				row.member = &report->objects[group->first_object + k];
				row.evidence = &row.member->evidence;
				row.verdict = group->verdict == VERDICT_NOTHING ? VERDICT_NOTHING : row.member->verdict;
				row.cost_cycles = row.member->cost_cycles;
				row.size = report->profile->objects[row.member->object].size;
			}
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
	json_t *list;
};

static int
row_to_table(void *context, const struct object_row *row)
{
	const struct row_context *rows = context;

	add_row(rows->report, row, rows->table);
	return 0;
}

static void
print_verdicts(const struct memory_report *report, const struct output *output)
{
	char why[WHY_SIZE];

	for (size_t i = 0; i < report->group_count; i++) {
		const struct memory_group *group = &report->groups[i];

		if (group->verdict == VERDICT_NOTHING)
			continue;
		memory_group_explain(report, group, why, sizeof(why));
		fprintf(output->stream, "\n%s%s %s%s: ", output_style(output, STYLE_HOT), verdict_text(group->verdict),
		        group->name, output_plain(output, STYLE_HOT));
		fprintf(output->stream, "%s.\n", why);
	}
}

int
mem_objects_text(const struct memory_report *report, const struct mem_view *view, const struct output *output)
{
	struct row_context rows = {.report = report, .table = table_new(object_columns, ARRAY_COUNT(object_columns))};
	int err;

	if (!rows.table)
		return -ENOMEM;
	if (view->header)
		print_head(report, output);
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
	if (!err && view->header) {
		print_verdicts(report, output);
		print_trials(view, output);
		print_missing(report, output);
	}
	return err;
}

/* ---- JSON ---- */

static json_t *
nodes_json(const uint64_t counts[MEMORY_NODES_MAX], uint64_t nodes)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < nodes && i < MEMORY_NODES_MAX; i++)
		json_array_append_new(list, json_count(counts[i]));
	return list;
}

static json_t *
evidence_json(const struct memory_report *report, const struct memory_evidence *evidence)
{
	const uint64_t nodes = report->profile->totals.nodes;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}",
	                 "accesses", json_count(evidence->accesses), "stores", json_count(evidence->stores), "cycles",
	                 json_count(evidence->cycles), "memory", json_count(evidence->memory), "remote",
	                 json_count(evidence->remote), "excess_cycles", json_count(evidence->excess_cycles),
	                 "transfers", json_count(evidence->transfers), "transfer_cycles",
	                 json_count(evidence->transfer_cycles), "false_cycles", json_count(evidence->false_cycles),
	                 "avoidable_by_pinning", json_count(evidence->avoidable_by_pinning), "avoidable_by_allocation",
	                 json_count(evidence->avoidable_by_allocation), "by_maker", json_count(evidence->by_maker),
	                 "before_others", json_count(evidence->before_others), "from_nodes",
	                 nodes_json(evidence->from_node, nodes), "to_nodes", nodes_json(evidence->to_node, nodes),
	                 "threads", (int)evidence->threads, "samples", (int)evidence->samples);
}

static json_t *
row_json(const struct memory_report *report, const struct object_row *row)
{
	char *name = name_of(report, row->group, row->member), why[WHY_SIZE];
	json_t *object;

	memory_group_explain(report, row->group, why, sizeof(why));
	object = json_pack("{s:o, s:s, s:s, s:f, s:s, s:i, s:o, s:o}", "object", json_shown(name), "kind",
	                   memory_kind_text(row->group->kind), "verdict", verdict_text(row->verdict), "cost",
	                   memory_report_share(report, row->cost_cycles), "why", why, "objects",
	                   row->member ? 1 : (int)row->group->object_count, "bytes", json_count(row->size), "evidence",
	                   evidence_json(report, row->evidence));
	free(name);
	return object;
}

static int
row_to_json(void *context, const struct object_row *row)
{
	struct row_context *rows = context;

	return json_array_append_new(rows->list, row_json(rows->report, row)) ? -ENOMEM : 0;
}

static json_t *
head_json(const struct memory_report *report, const char *schema)
{
	const struct memory_totals *totals = &report->profile->totals;

	return json_pack("{s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", schema,
	                 "source", json_shown(memory_profile_text(report->profile, report->profile->source)), "seconds",
	                 (double)totals->elapsed_ns / NS_PER_S, "counted", json_count(totals->counted), "sampled",
	                 json_count(report->profile->access_count), "nodes", json_count(totals->nodes), "lost_events",
	                 json_count(totals->lost_events), "lost_samples", json_count(totals->lost_accesses), "late",
	                 json_count(totals->late_events), "unnamed", json_count(totals->unnamed), "short_lived",
	                 json_count(totals->short_lived), "untracked", json_count(totals->untracked), "all",
	                 evidence_json(report, &report->all));
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
	json_t *root = head_json(report, "dcpimem-objects/1");
	const struct mem_view all = {.limit = view->limit ? view->limit : SIZE_MAX, .by_object = view->by_object};
	int failed = each_row(report, &all, row_to_json, &rows);

	failed |= json_object_set_new(root, "objects", rows.list);
	if (view->trial_count)
		failed |= json_object_set_new(root, "tried", trials_json(view));
	return json_print(json_kept(root, failed), stream);
}

/* ---- threads ---- */

struct thread_row {
	uint64_t accesses, stores, memory, remote, transfers, cycles;
	uint64_t from_node[MEMORY_NODES_MAX], to_node[MEMORY_NODES_MAX];
};

static void
add_to_thread(struct thread_row *row, const struct memory_access *access)
{
	row->accesses += access->weight;
	row->cycles += (uint64_t)access->weight * access->cost;
	row->stores += access->flags & MEMORY_STORE ? access->weight : 0;
	row->transfers += access->flags & MEMORY_TRANSFER ? access->weight : 0;
	row->from_node[access->node] += access->weight;
	if (!memory_access_is_of_memory(access))
		return;
	row->memory += access->weight;
	row->remote += memory_access_is_remote(access) ? access->weight : 0;
	row->to_node[access->page_node] += access->weight;
}

/* Rows of all threads: of the accesses of `member`, or of all. NULL: no memory. */
static struct thread_row *
thread_rows(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member)
{
	const struct memory_profile *profile = report->profile;
	struct thread_row *rows = calloc(profile->thread_count + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (size_t i = 0; i < profile->access_count && !group; i++)
		add_to_thread(&rows[profile->accesses[i].thread], &profile->accesses[i]);
	for (uint32_t k = 0; group && k < group->object_count; k++) {
		const struct memory_member *one = &report->objects[group->first_object + k];

		for (uint32_t i = 0; i < one->count && (!member || one == member); i++) {
			const struct memory_access *access = memory_member_access(report, one, i);

			add_to_thread(&rows[access->thread], access);
		}
	}
	return rows;
}

static const struct table_column thread_columns[] = {
	{.heading = "process", .cut = TABLE_CUT_END},
	{.heading = "thread", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "accesses", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "stores", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "remote", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "shared", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "on nodes", .gap = 2, .cut = TABLE_CUT_END},
	{.heading = "to nodes", .gap = 2, .cut = TABLE_CUT_END},
};

static int
print_threads(const struct memory_report *report, const struct thread_row *rows, bool heading,
              const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	struct table *table = table_new(thread_columns, ARRAY_COUNT(thread_columns));
	char text[SMALL_SIZE];
	int err;

	for (size_t i = 0; table && i < profile->thread_count; i++) {
		const struct thread_row *row = &rows[i];
		const struct memory_process *process = &profile->processes[profile->threads[i].process];

		if (!row->accesses)
			continue;
		table_format(table, STYLE_PLAIN, "%s(%" PRIu32 ")", memory_profile_text(profile, process->name),
		             process->pid);
		table_format(table, STYLE_PLAIN, "%" PRIu32, profile->threads[i].tid);
		table_format(table, STYLE_PLAIN, "%" PRIu64, row->accesses);
		table_text(table, STYLE_PLAIN, percent_format(row->stores, row->accesses, text));
		table_text(table, STYLE_PLAIN, percent_format(row->remote, row->memory, text));
		table_text(table, STYLE_PLAIN, percent_format(row->transfers, row->accesses, text));
		table_text(table, STYLE_PLAIN, nodes_format(row->from_node, text));
		table_text(table, STYLE_PLAIN, nodes_format(row->to_node, text));
	}
	err = table ? table_print(table, output, heading) : -ENOMEM;
	table_free(table);
	return err;
}

/* ---- threads by objects: the groups that cost most ---- */

#define MATRIX_GROUPS 8

static int
print_matrix(const struct memory_report *report, const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const size_t groups = report->group_count < MATRIX_GROUPS ? report->group_count : MATRIX_GROUPS;
	uint64_t *counts = calloc((profile->thread_count + 1) * MATRIX_GROUPS, sizeof(*counts));
	struct table_column columns[MATRIX_GROUPS + 1] = {{.heading = "thread", .align = TABLE_RIGHT}};
	struct table *table;
	int err = -ENOMEM;

	for (size_t g = 0; g < groups; g++) {
		columns[g + 1] = (struct table_column){.heading = report->groups[g].name,
		                                       .align = TABLE_RIGHT,
		                                       .gap = 2,
		                                       .cut = TABLE_CUT_END,
		                                       .max_width = 24};
		for (uint32_t k = 0; counts && k < report->groups[g].object_count; k++) {
			const struct memory_member *member = &report->objects[report->groups[g].first_object + k];

			for (uint32_t i = 0; i < member->count; i++) {
				const struct memory_access *access = memory_member_access(report, member, i);

				counts[access->thread * (size_t)MATRIX_GROUPS + g] += access->weight;
			}
		}
	}
	table = counts ? table_new(columns, groups + 1) : NULL;
	for (size_t i = 0; table && i < profile->thread_count; i++) {
		table_format(table, STYLE_PLAIN, "%" PRIu32, profile->threads[i].tid);
		for (size_t g = 0; g < groups; g++)
			table_format(table, STYLE_PLAIN, "%" PRIu64, counts[i * MATRIX_GROUPS + g]);
	}
	if (table)
		err = table_print(table, output, true);
	table_free(table);
	free(counts);
	return err;
}

int
mem_threads_text(const struct memory_report *report, const struct mem_view *view, const struct output *output)
{
	struct thread_row *rows = thread_rows(report, NULL, NULL);
	int err;

	if (!rows)
		return -ENOMEM;
	if (view->header) {
		print_head(report, output);
		fputs("\n", output->stream);
	}
	err = print_threads(report, rows, view->header, output);
	free(rows);
	if (!err && view->header && report->group_count) {
		fputs("\nAccesses by thread and object:\n", output->stream);
		err = print_matrix(report, output);
	}
	return err;
}

static json_t *
threads_json(const struct memory_report *report, const struct thread_row *rows)
{
	const struct memory_profile *profile = report->profile;
	json_t *list = json_array();
	int failed = 0;

	for (size_t i = 0; i < profile->thread_count; i++) {
		const struct memory_process *process = &profile->processes[profile->threads[i].process];
		const struct thread_row *row = &rows[i];

		if (!row->accesses)
			continue;
		failed |= json_array_append_new(
			list,
			json_pack("{s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "process",
		                  json_shown(memory_profile_text(profile, process->name)), "pid", (int)process->pid,
		                  "tid", (int)profile->threads[i].tid, "accesses", json_count(row->accesses), "stores",
		                  json_count(row->stores), "memory", json_count(row->memory), "remote",
		                  json_count(row->remote), "transfers", json_count(row->transfers), "from_nodes",
		                  nodes_json(row->from_node, profile->totals.nodes), "to_nodes",
		                  nodes_json(row->to_node, profile->totals.nodes)));
	}
	return json_kept(list, failed);
}

int
mem_threads_json(const struct memory_report *report, const struct mem_view *view, FILE *stream)
{
	struct thread_row *rows = thread_rows(report, NULL, NULL);
	json_t *root = head_json(report, "dcpimem-threads/1");
	int failed;

	(void)view;
	if (!rows) {
		json_decref(root);
		return -ENOMEM;
	}
	failed = json_object_set_new(root, "threads", threads_json(report, rows));
	free(rows);
	return json_print(json_kept(root, failed), stream);
}

/* ---- one object ---- */

const struct memory_group *
mem_find(const struct memory_report *report, const char *name, const struct memory_member **member,
         const char **similar)
{
	const char *hash = strrchr(name, '#');
	const size_t length = hash ? (size_t)(hash - name) : strlen(name);
	const unsigned long number = hash ? strtoul(hash + 1, NULL, 10) : 0;
	const struct memory_group *found = NULL;
	size_t count = 0;

	*member = NULL;
	*similar = NULL;
	for (size_t i = 0; i < report->group_count; i++) {
		const struct memory_group *group = &report->groups[i];
		const char *text = group->name;

		if (strncmp(text, name, length) != 0 || (text[length] && text[length] != '+')) {
			if (!*similar && length && strstr(text, name))
				*similar = text;
			continue;
		}
		if (!text[length]) {
			found = group;
			count = 1;
			break;
		}
		*similar = text;
		found = group;
		count++;
	}
	if (count != 1)
		return NULL;
	for (uint32_t i = 0; hash && i < found->object_count; i++) {
		const struct memory_member *one = &report->objects[found->first_object + i];

		if (report->profile->objects[one->object].number == number)
			*member = one;
	}
	return hash && !*member ? NULL : found;
}

static void
print_site(const struct memory_report *report, const struct memory_group *group, const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const struct memory_site *site;

	if (group->site >= profile->site_count)
		return;
	site = &profile->sites[group->site];
	fputs("\nAllocated by:\n", output->stream);
	for (uint32_t i = 0; i < site->count; i++) {
		const struct memory_place *place = &profile->places[profile->frames[site->first + i]];

		fputs("  ", output->stream);
		text_print(memory_profile_text(profile, place->function), output->stream);
		if (place->source) {
			fputs("  ", output->stream);
			text_print(text_basename(memory_profile_text(profile, place->source)), output->stream);
			fprintf(output->stream, ":%" PRIu32, place->line);
		}
		fputs("\n", output->stream);
	}
}

/* For each part of the run, what the thread did: reads, writes, remote ones in upper case. */
static void
print_time_line(const struct memory_report *report, const struct memory_member *member, uint32_t thread,
                const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const uint64_t whole = profile->totals.elapsed_ns ? profile->totals.elapsed_ns : 1;
	uint64_t reads[TIME_COLUMNS] = {0}, writes[TIME_COLUMNS] = {0}, remote[TIME_COLUMNS] = {0};

	for (uint32_t i = 0; i < member->count; i++) {
		const struct memory_access *access = memory_member_access(report, member, i);
		uint64_t at = (uint64_t)((unsigned __int128)access->time_ns * TIME_COLUMNS / whole);

		if (access->thread != thread)
			continue;
		at = at < TIME_COLUMNS ? at : TIME_COLUMNS - 1;
		if (access->flags & MEMORY_STORE)
			writes[at] += access->weight;
		else
			reads[at] += access->weight;
		remote[at] += memory_access_is_remote(access) ? access->weight : 0;
	}
	for (unsigned i = 0; i < TIME_COLUMNS; i++) {
		const char *marks = remote[i] * 2 > reads[i] + writes[i] ? ".RW#" : ".rw*";

		fputc(marks[(reads[i] > 0) + 2 * (writes[i] > 0)], output->stream);
	}
}

static void
print_time_lines(const struct memory_report *report, const struct memory_member *member, const struct thread_row *rows,
                 const struct output *output)
{
	const struct memory_profile *profile = report->profile;

	fputs("\nOver time (r read, w write, * both; R, W, # mostly of another node's memory):\n", output->stream);
	for (uint32_t i = 0; i < profile->thread_count; i++) {
		if (!rows[i].accesses)
			continue;
		fprintf(output->stream, "%8" PRIu32 "  ", profile->threads[i].tid);
		print_time_line(report, member, i, output);
		fputc('\n', output->stream);
	}
}

struct function_row {
	uint32_t function;
	uint64_t accesses, stores, remote, cycles;
};

static int
compare_functions(const void *a, const void *b)
{
	const struct function_row *one = a, *other = b;

	return (one->cycles < other->cycles) - (one->cycles > other->cycles);
}

/* By function; *rows is the caller's. */
static int
sum_functions(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member,
              struct function_row **rows, size_t *count)
{
	const struct memory_profile *profile = report->profile;
	size_t room = 0;

	*rows = NULL;
	*count = 0;
	for (uint32_t k = 0; k < group->object_count; k++) {
		const struct memory_member *one = &report->objects[group->first_object + k];

		for (uint32_t i = 0; i < one->count && (!member || member == one); i++) {
			const struct memory_access *access = memory_member_access(report, one, i);
			const uint32_t function =
				access->place < profile->place_count ? profile->places[access->place].function : 0;
			struct function_row *row = NULL;

			for (size_t f = 0; f < *count && !row; f++)
				row = (*rows)[f].function == function ? &(*rows)[f] : NULL;
			if (!row) {
				row = ARRAY_APPEND(*rows, *count, room);
				if (!row)
					return -ENOMEM;
				*row = (struct function_row){.function = function};
			}
			row->accesses += access->weight;
			row->stores += access->flags & MEMORY_STORE ? access->weight : 0;
			row->remote += memory_access_is_remote(access) ? access->weight : 0;
			row->cycles += (uint64_t)access->weight * access->cost;
		}
	}
	if (*count > 1)
		qsort(*rows, *count, sizeof(**rows), compare_functions);
	return 0;
}

static const struct table_column function_columns[] = {
	{.heading = "cycles", .align = TABLE_RIGHT},
	{.heading = "accesses", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "stores", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "remote", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "function", .gap = 2, .cut = TABLE_CUT_END},
};

static int
print_functions(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member, const struct output *output)
{
	struct table *table = table_new(function_columns, ARRAY_COUNT(function_columns));
	struct function_row *rows;
	char text[SMALL_SIZE];
	size_t count;
	int err = sum_functions(report, group, member, &rows, &count);

	for (size_t i = 0; table && !err && i < count && i < FUNCTIONS_MAX; i++) {
		table_format(table, STYLE_PLAIN, "%.1f %%", PERCENT * memory_report_share(report, rows[i].cycles));
		table_format(table, STYLE_PLAIN, "%" PRIu64, rows[i].accesses);
		table_text(table, STYLE_PLAIN, percent_format(rows[i].stores, rows[i].accesses, text));
		table_text(table, STYLE_PLAIN, percent_format(rows[i].remote, rows[i].accesses, text));
		table_text(table, STYLE_PLAIN, memory_profile_text(report->profile, rows[i].function));
	}
	fputs("\nBy function:\n", output->stream);
	if (!err)
		err = table ? table_print(table, output, true) : -ENOMEM;
	table_free(table);
	free(rows);
	return err;
}

static const struct table_column byte_columns[] = {
	{.heading = "offset", .align = TABLE_RIGHT},
	{.heading = "line", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "waiting", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "read by", .gap = 2},
	{.heading = "written by", .gap = 2},
	{.heading = "shared", .gap = 2},
};

static const char *
users_format(const struct memory_report *report, const struct shared_byte *byte, uint32_t count, char text[SMALL_SIZE])
{
	if (count == 0)
		snprintf(text, SMALL_SIZE, "-");
	else if (count > 1)
		snprintf(text, SMALL_SIZE, "several");
	else
		snprintf(text, SMALL_SIZE, "thread %" PRIu32,
		         byte->thread < report->profile->thread_count ? report->profile->threads[byte->thread].tid : 0);
	return text;
}

/* The bytes for which threads wait, line by line: what collides in which line. */
static int
print_shared(const struct memory_report *report, const struct memory_member *member, const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	const uint64_t address = profile->objects[member->object].address;
	const uint64_t line_bytes = memory_profile_line_bytes(profile);
	struct shared_byte *bytes;
	struct table *table;
	char text[SMALL_SIZE];
	size_t count, shown = 0;
	int err;

	if (memory_report_share(report, member->evidence.transfer_cycles) < LEAST_WAITING)
		return 0;
	table = table_new(byte_columns, ARRAY_COUNT(byte_columns));
	err = memory_member_bytes(report, member, &bytes, &count);
	for (size_t i = 0; table && !err && i < count && shown < BYTES_MAX; i++) {
		if (!bytes[i].cycles || bytes[i].cycles * 1000 < member->evidence.transfer_cycles)
			continue;
		table_format(table, STYLE_PLAIN, "+%" PRIu64, bytes[i].offset);
		table_format(table, STYLE_PLAIN, "%" PRIu64,
		             (address + bytes[i].offset) / line_bytes - address / line_bytes);
		table_format(table, STYLE_PLAIN, "%.1f %%", share(bytes[i].cycles, member->evidence.transfer_cycles));
		table_text(table, STYLE_PLAIN, users_format(report, &bytes[i], bytes[i].readers, text));
		table_text(table, STYLE_PLAIN, users_format(report, &bytes[i], bytes[i].writers, text));
		table_text(table, STYLE_PLAIN, bytes[i].is_false ? "falsely" : "truly");
		shown++;
	}
	if (shown) {
		fputs("\nBytes of lines that go from core to core:\n", output->stream);
		err = table_print(table, output, true);
	}
	if (!table)
		err = -ENOMEM;
	table_free(table);
	if (!err || err != -ENOMEM)
		free(bytes);
	return err;
}

static void
print_life(const struct memory_report *report, const struct memory_member *member, const struct output *output)
{
	const struct memory_object *object = &report->profile->objects[member->object];
	char text[SMALL_SIZE];

	fprintf(output->stream, "At 0x%" PRIx64 ", %s%s", object->address, size_format(object->size, text),
	        object->size < 1024 ? " bytes" : "");
	if (object->born_ns)
		fprintf(output->stream, ", from %.6f s", (double)object->born_ns / NS_PER_S);
	if (object->died_ns != MEMORY_ALIVE)
		fprintf(output->stream, " to %.6f s", (double)object->died_ns / NS_PER_S);
	else
		fputs(" to the end", output->stream);
	if (object->thread < report->profile->thread_count)
		fprintf(output->stream, ", made by thread %" PRIu32, report->profile->threads[object->thread].tid);
	fputs("\n", output->stream);
}

static void
print_evidence(const struct memory_report *report, const struct memory_evidence *evidence, const struct output *output)
{
	char from[SMALL_SIZE], to[SMALL_SIZE];

	fprintf(output->stream,
	        "%" PRIu64 " accesses, %.0f %% of them stores; %" PRIu64 " to memory, %.0f %% of them remote\n",
	        evidence->accesses, share(evidence->stores, evidence->accesses), evidence->memory,
	        share(evidence->remote, evidence->memory));
	if (evidence->memory)
		fprintf(output->stream, "From nodes %s, to memory of nodes %s\n",
		        nodes_format(evidence->from_node, from), nodes_format(evidence->to_node, to));
	if (evidence->remote)
		fprintf(output->stream, "Remote ones that pinning would avoid %.0f %%, allocation elsewhere %.0f %%\n",
		        share(evidence->avoidable_by_pinning, evidence->remote),
		        share(evidence->avoidable_by_allocation, evidence->remote));
	fprintf(output->stream, "By the thread that made it %.0f %%, %.0f %% before any other thread\n",
	        share(evidence->by_maker, evidence->accesses), share(evidence->before_others, evidence->accesses));
	if (evidence->transfers)
		fprintf(output->stream,
		        "Lines of other cores: %" PRIu64
		        " accesses waited, %.1f %% of the run; %.0f %% of that falsely shared\n",
		        evidence->transfers, PERCENT * memory_report_share(report, evidence->transfer_cycles),
		        share(evidence->false_cycles, evidence->transfer_cycles));
}

int
mem_object_text(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member, const struct mem_view *view, const struct output *output)
{
	const struct memory_member *first = member ? member : &report->objects[group->first_object];
	struct thread_row *rows = thread_rows(report, group, member);
	char *name = name_of(report, group, member), why[WHY_SIZE], text[SMALL_SIZE];
	int err = rows && name ? 0 : -ENOMEM;

	if (!err) {
		memory_group_explain(report, group, why, sizeof(why));
		fprintf(output->stream, "%s%s%s, %s", output_style(output, STYLE_HEADING), name,
		        output_plain(output, STYLE_HEADING), memory_kind_text(group->kind));
		if (!member && group->object_count > 1)
			fprintf(output->stream, ": %" PRIu32 " objects, %s", group->object_count,
			        size_format(group->bytes, text));
		fprintf(output->stream, "\n%s%s%s, %.1f %% of the run at most: %s.\n", output_style(output, STYLE_HOT),
		        verdict_text(member && group->verdict != VERDICT_NOTHING ? member->verdict : group->verdict),
		        output_plain(output, STYLE_HOT),
		        PERCENT * memory_report_share(report, member ? member->cost_cycles : group->cost_cycles), why);
		if (member || group->object_count == 1)
			print_life(report, first, output);
		print_evidence(report, member ? &member->evidence : &group->evidence, output);
		print_site(report, group, output);
		fputs("\n", output->stream);
		err = print_threads(report, rows, view->header, output);
	}
	if (!err)
		err = print_functions(report, group, member, output);
	if (!err) {
		print_time_lines(report, first, rows, output);
		err = print_shared(report, first, output);
	}
	free(rows);
	free(name);
	return err;
}

/* ---- one object in JSON ---- */

static json_t *
site_json(const struct memory_report *report, const struct memory_group *group)
{
	const struct memory_profile *profile = report->profile;
	json_t *list = json_array();
	const struct memory_site *site;

	if (group->site >= profile->site_count)
		return list;
	site = &profile->sites[group->site];
	for (uint32_t i = 0; i < site->count; i++) {
		const struct memory_place *place = &profile->places[profile->frames[site->first + i]];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:i}", "function",
		                        json_shown(memory_profile_text(profile, place->function)), "image",
		                        json_shown(memory_profile_text(profile, place->image)), "source",
		                        json_shown(place->source ? memory_profile_text(profile, place->source) : NULL),
		                        "line", (int)place->line));
	}
	return list;
}

static json_t *
bytes_json(const struct memory_report *report, const struct memory_member *member)
{
	json_t *list = json_array();
	struct shared_byte *bytes;
	size_t count;

	if (memory_member_bytes(report, member, &bytes, &count)) {
		json_decref(list);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (!bytes[i].cycles)
			continue;
		json_array_append_new(list,
		                      json_pack("{s:o, s:i, s:i, s:o, s:b}", "offset", json_count(bytes[i].offset),
		                                "readers", (int)bytes[i].readers, "writers", (int)bytes[i].writers,
		                                "cycles", json_count(bytes[i].cycles), "falsely", bytes[i].is_false));
	}
	free(bytes);
	return list;
}

int
mem_object_json(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member, FILE *stream)
{
	const struct memory_member *first = member ? member : &report->objects[group->first_object];
	const struct memory_object *object = &report->profile->objects[first->object];
	struct object_row row = {
		group,       member, member ? &member->evidence : &group->evidence, group->verdict, group->cost_cycles,
		group->bytes};
	struct thread_row *rows = thread_rows(report, group, member);
	json_t *root = head_json(report, "dcpimem-object/1");
	int failed = !rows;

	if (member) {
		row.verdict = group->verdict == VERDICT_NOTHING ? VERDICT_NOTHING : member->verdict;
		row.cost_cycles = member->cost_cycles;
		row.size = object->size;
	}
	failed |= json_object_set_new(root, "object", row_json(report, &row));
	failed |= json_object_set_new(root, "allocated_by", site_json(report, group));
	failed |= json_object_set_new(root, "address", json_count(object->address));
	failed |= json_object_set_new(root, "born", json_real((double)object->born_ns / NS_PER_S));
	failed |= json_object_set_new(root, "died",
	                              object->died_ns == MEMORY_ALIVE ? json_null()
	                                                              : json_real((double)object->died_ns / NS_PER_S));
	if (rows)
		failed |= json_object_set_new(root, "threads", threads_json(report, rows));
	failed |= json_object_set_new(root, "shared_bytes", bytes_json(report, first));
	free(rows);
	return json_print(json_kept(root, failed), stream);
}
