#include "dcpi-tools/mem/thread_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/mem/format.h"

static void
add_to_thread(struct mem_thread_row *row, const struct memory_access *access)
{
	if (access->level == MEMORY_OWN || access->level == MEMORY_WATCHED)
		return;
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

struct mem_thread_row *
mem_thread_rows(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member)
{
	const struct memory_profile *profile = report->profile;
	struct mem_thread_row *rows = calloc(profile->thread_count + 1, sizeof(*rows));

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

int
mem_print_threads(const struct memory_report *report, const struct mem_thread_row *rows, bool heading,
                  const struct output *output)
{
	const struct memory_profile *profile = report->profile;
	struct table *table = table_new(thread_columns, ARRAY_COUNT(thread_columns));
	char text[MEM_TEXT_SIZE];
	int err;

	for (size_t i = 0; table && i < profile->thread_count; i++) {
		const struct mem_thread_row *row = &rows[i];
		const struct memory_process *process = &profile->processes[profile->threads[i].process];

		if (!row->accesses)
			continue;
		table_format(table, STYLE_PLAIN, "%s(%" PRIu32 ")", memory_profile_text(profile, process->name),
		             process->pid);
		table_format(table, STYLE_PLAIN, "%" PRIu32, profile->threads[i].tid);
		table_format(table, STYLE_PLAIN, "%" PRIu64, row->accesses);
		table_text(table, STYLE_PLAIN, mem_percent_format(row->stores, row->accesses, text));
		table_text(table, STYLE_PLAIN, mem_percent_format(row->remote, row->memory, text));
		table_text(table, STYLE_PLAIN, mem_percent_format(row->transfers, row->accesses, text));
		table_text(table, STYLE_PLAIN, mem_nodes_format(row->from_node, text));
		table_text(table, STYLE_PLAIN, mem_nodes_format(row->to_node, text));
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
mem_threads_text(const struct memory_report *report, bool header, const struct output *output)
{
	struct mem_thread_row *rows = mem_thread_rows(report, NULL, NULL);
	int err;

	if (!rows)
		return -ENOMEM;
	if (header) {
		mem_print_head(report, output);
		fputs("\n", output->stream);
	}
	err = mem_print_threads(report, rows, header, output);
	free(rows);
	if (!err && header && report->group_count) {
		fputs("\nAccesses by thread and object:\n", output->stream);
		err = print_matrix(report, output);
	}
	return err;
}

json_t *
mem_thread_rows_json(const struct memory_report *report, const struct mem_thread_row *rows)
{
	const struct memory_profile *profile = report->profile;
	json_t *list = json_array();
	int failed = 0;

	for (size_t i = 0; i < profile->thread_count; i++) {
		const struct memory_process *process = &profile->processes[profile->threads[i].process];
		const struct mem_thread_row *row = &rows[i];

		if (!row->accesses)
			continue;
		failed |= json_array_append_new(
			list,
			json_pack("{s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "process",
		                  json_shown(memory_profile_text(profile, process->name)), "pid", (int)process->pid,
		                  "tid", (int)profile->threads[i].tid, "accesses", json_count(row->accesses), "stores",
		                  json_count(row->stores), "memory", json_count(row->memory), "remote",
		                  json_count(row->remote), "transfers", json_count(row->transfers), "from_nodes",
		                  mem_nodes_json(row->from_node, profile->totals.nodes), "to_nodes",
		                  mem_nodes_json(row->to_node, profile->totals.nodes)));
	}
	return json_kept(list, failed);
}

int
mem_threads_json(const struct memory_report *report, FILE *stream)
{
	struct mem_thread_row *rows = mem_thread_rows(report, NULL, NULL);
	json_t *root = mem_head_json(report, "dcpimem-threads/1");
	int failed;

	if (!rows) {
		json_decref(root);
		return -ENOMEM;
	}
	failed = json_object_set_new(root, "threads", mem_thread_rows_json(report, rows));
	free(rows);
	return json_print(json_kept(root, failed), stream);
}
