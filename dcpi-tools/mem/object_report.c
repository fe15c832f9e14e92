#include "dcpi-tools/mem/object_report.h"

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
#include "dcpi-tools/mem/thread_report.h"

#define LEAST_WAITING 0.005 /* of the run, for the lines of an object: then its bytes are shown */
#define TIME_COLUMNS  64    /* of a time line */
#define FUNCTIONS_MAX 12    /* of one object */
#define BYTES_MAX     24    /* of shared lines */

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
		if (found && strcmp(found->name, text) == 0)
			continue; /* one place allocates for several callers: the object that costs most is the first */
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
print_time_lines(const struct memory_report *report, const struct memory_member *member,
                 const struct mem_thread_row *rows, const struct output *output)
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

			if (access->level == MEMORY_OWN)
				continue;
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
	char text[MEM_TEXT_SIZE];
	size_t count;
	int err = sum_functions(report, group, member, &rows, &count);

	for (size_t i = 0; table && !err && i < count && i < FUNCTIONS_MAX; i++) {
		table_format(table, STYLE_PLAIN, "%.1f %%", PERCENT * memory_report_share(report, rows[i].cycles));
		table_format(table, STYLE_PLAIN, "%" PRIu64, rows[i].accesses);
		table_text(table, STYLE_PLAIN, mem_percent_format(rows[i].stores, rows[i].accesses, text));
		table_text(table, STYLE_PLAIN, mem_percent_format(rows[i].remote, rows[i].accesses, text));
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
	{.heading = "member", .gap = 2, .cut = TABLE_CUT_END}, /* the last: left out where none is known */
};

static const char *
users_format(const struct memory_report *report, const struct shared_byte *byte, uint32_t count,
             char text[MEM_TEXT_SIZE])
{
	if (count == 0)
		snprintf(text, MEM_TEXT_SIZE, "-");
	else if (count > 1)
		snprintf(text, MEM_TEXT_SIZE, "several");
	else
		snprintf(text, MEM_TEXT_SIZE, "thread %" PRIu32,
		         byte->thread < report->profile->thread_count ? report->profile->threads[byte->thread].tid : 0);
	return text;
}

/* The bytes for which threads wait, line by line: what collides in which line. */
static int
print_shared(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member,
             const struct output *output)
{
	const struct memory_type *type = memory_profile_type(report->profile, group->type.type);
	const bool has_members = type && type->count;
	const struct memory_profile *profile = report->profile;
	const uint64_t address = profile->objects[member->object].address;
	const uint64_t line_bytes = memory_profile_line_bytes(profile);
	struct shared_byte *bytes = NULL;
	struct table *table;
	char text[MEM_TEXT_SIZE];
	size_t count, shown = 0;
	int err;

	if (memory_report_share(report, member->evidence.transfer_cycles) < LEAST_WAITING)
		return 0;
	table = table_new(byte_columns, ARRAY_COUNT(byte_columns) - !has_members);
	err = memory_member_bytes(report, member, &bytes, &count);
	for (size_t i = 0; table && !err && i < count && shown < BYTES_MAX; i++) {
		if (!bytes[i].cycles || bytes[i].cycles * 1000 < member->evidence.transfer_cycles)
			continue;
		table_format(table, STYLE_PLAIN, "+%" PRIu64, bytes[i].offset);
		table_format(table, STYLE_PLAIN, "%" PRIu64,
		             (address + bytes[i].offset) / line_bytes - address / line_bytes);
		table_format(table, STYLE_PLAIN, "%.1f %%",
		             mem_percent(bytes[i].cycles, member->evidence.transfer_cycles));
		table_text(table, STYLE_PLAIN, users_format(report, &bytes[i], bytes[i].readers, text));
		table_text(table, STYLE_PLAIN, users_format(report, &bytes[i], bytes[i].writers, text));
		table_text(table, STYLE_PLAIN, bytes[i].is_false ? "falsely" : "truly");
		if (has_members) {
			const char *name = mem_member_name(report, group, bytes[i].offset);

			table_text(table, STYLE_PLAIN, name ? name : "");
		}
		shown++;
	}
	if (shown) {
		fputs("\nBytes of lines that go from core to core:\n", output->stream);
		err = table_print(table, output, true);
	}
	if (!table)
		err = -ENOMEM;
	table_free(table);
	free(bytes);
	return err;
}

static void
print_life(const struct memory_report *report, const struct memory_member *member, const struct output *output)
{
	const struct memory_object *object = &report->profile->objects[member->object];
	char text[MEM_TEXT_SIZE];

	fprintf(output->stream, "At 0x%" PRIx64 ", %s%s", object->address, mem_size_format(object->size, text),
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
	char from[MEM_TEXT_SIZE], to[MEM_TEXT_SIZE];

	fprintf(output->stream,
	        "%" PRIu64 " accesses, %.0f %% of them stores; %" PRIu64 " to memory, %.0f %% of them remote\n",
	        evidence->accesses, mem_percent(evidence->stores, evidence->accesses), evidence->memory,
	        mem_percent(evidence->remote, evidence->memory));
	if (evidence->memory)
		fprintf(output->stream, "From nodes %s, to memory of nodes %s\n",
		        mem_nodes_format(evidence->from_node, from), mem_nodes_format(evidence->to_node, to));
	if (evidence->remote)
		fprintf(output->stream, "Remote ones that pinning would avoid %.0f %%, allocation elsewhere %.0f %%\n",
		        mem_percent(evidence->avoidable_by_pinning, evidence->remote),
		        mem_percent(evidence->avoidable_by_allocation, evidence->remote));
	fprintf(output->stream, "By the thread that made it %.0f %%, %.0f %% before any other thread\n",
	        mem_percent(evidence->by_maker, evidence->accesses),
	        mem_percent(evidence->before_others, evidence->accesses));
	if (evidence->transfers)
		fprintf(output->stream,
		        "Lines of other cores: %" PRIu64
		        " accesses waited, %.1f %% of the %s; %.0f %% of that falsely shared\n",
		        evidence->transfers, PERCENT * memory_report_share(report, evidence->transfer_cycles),
		        mem_costs_of(report), mem_percent(evidence->false_cycles, evidence->transfer_cycles));
}

int
mem_object_text(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member, bool header, const struct output *output)
{
	const struct memory_member *first = member ? member : &report->objects[group->first_object];
	const struct mem_row row = mem_row_of(report, group, member);
	struct mem_thread_row *rows = mem_thread_rows(report, group, member);
	char *name = mem_row_name(report, &row), why[MEM_WHY_SIZE], text[MEM_TEXT_SIZE];
	int err = rows && name ? 0 : -ENOMEM;

	if (!err) {
		memory_group_explain(report, group, why, sizeof(why));
		fprintf(output->stream, "%s%s%s, %s", output_style(output, STYLE_HEADING), name,
		        output_plain(output, STYLE_HEADING), memory_kind_text(group->kind));
		if (!member && group->object_count > 1)
			fprintf(output->stream, ": %" PRIu32 " objects, %s", group->object_count,
			        mem_size_format(row.size, text));
		fprintf(output->stream, "\n%s%s%s, %.1f %% of the %s at most: ", output_style(output, STYLE_HOT),
		        verdict_text(row.verdict), output_plain(output, STYLE_HOT),
		        PERCENT * memory_report_share(report, row.cost_cycles), mem_costs_of(report));
		text_print(why, output->stream);
		fputs(".\n", output->stream);
		mem_print_type(report, group, member, output);
		if (member || group->object_count == 1)
			print_life(report, first, output);
		print_evidence(report, row.evidence, output);
		print_site(report, group, output);
		fputs("\n", output->stream);
		err = mem_print_threads(report, rows, header, output);
	}
	if (!err)
		err = print_functions(report, group, member, output);
	if (!err)
		err = mem_print_members(report, group, member, output);
	if (!err) {
		print_time_lines(report, first, rows, output);
		err = print_shared(report, group, first, output);
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
bytes_json(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member)
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
		                      json_pack("{s:o, s:o, s:i, s:i, s:o, s:b}", "offset", json_count(bytes[i].offset),
		                                "member", json_shown(mem_member_name(report, group, bytes[i].offset)),
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
	const struct mem_row row = mem_row_of(report, group, member);
	const struct memory_type *type = memory_profile_type(report->profile, group->type.type);
	struct mem_thread_row *rows = mem_thread_rows(report, group, member);
	json_t *root = mem_head_json(report, "dcpimem-object/1");
	int failed = !rows;

	failed |= json_object_set_new(root, "object", mem_row_json(report, &row));
	failed |= json_object_set_new(root, "allocated_by", site_json(report, group));
	failed |= json_object_set_new(root, "address", json_count(object->address));
	failed |= json_object_set_new(root, "born", json_real((double)object->born_ns / NS_PER_S));
	failed |= json_object_set_new(root, "died",
	                              object->died_ns == MEMORY_ALIVE ? json_null()
	                                                              : json_real((double)object->died_ns / NS_PER_S));
	if (rows)
		failed |= json_object_set_new(root, "threads", mem_thread_rows_json(report, rows));
	failed |= json_object_set_new(root, "shared_bytes", bytes_json(report, group, first));
	failed |= json_object_set_new(root, "type_bytes", type ? json_count(type->size) : json_null());
	failed |= json_object_set_new(root, "members", mem_members_json(report, group, member));
	free(rows);
	return json_print(json_kept(root, failed), stream);
}
