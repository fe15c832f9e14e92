#include "dcpi-tools/mem/member_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/format.h"

#define MEMBERS_SHOWN 16

bool
mem_has_types(const struct memory_report *report)
{
	for (size_t i = 0; i < report->group_count; i++) {
		if (report->groups[i].type.type)
			return true;
	}
	return false;
}

const char *
mem_type_format(const struct memory_report *report, const struct memory_group *group,
                const struct memory_member *member, char text[MEM_TYPE_SIZE])
{
	const struct memory_member *first = member ? member : &report->objects[group->first_object];

	object_type_text(report->profile, &group->type, report->profile->objects[first->object].size, text,
	                 MEM_TYPE_SIZE);
	return text;
}

const char *
mem_member_name(const struct memory_report *report, const struct memory_group *group, uint64_t offset)
{
	const struct memory_field *field = object_type_field(report->profile, &group->type, offset);

	return field ? memory_profile_text(report->profile, field->name) : NULL;
}

void
mem_print_type(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member,
               const struct output *output)
{
	const struct memory_type *type = memory_profile_type(report->profile, group->type.type);
	char text[MEM_TYPE_SIZE], size[MEM_TEXT_SIZE];
	size_t length;

	if (!type)
		return;
	length = strlen(mem_type_format(report, group, member, text));
	fputs("Type: ", output->stream);
	text_print(text, output->stream);
	fprintf(output->stream, ", %s%s%s\n", mem_size_format(type->size, size), type->size < 1024 ? " bytes" : "",
	        length > 2 && text[length - 1] == ']' ? " each" : "");
}

/* ---- by member ---- */

struct member_row {
	const struct memory_field *field; /* NULL: between members, or behind those that are known */
	uint64_t accesses, stores, remote, cycles;
};

static int
compare_rows(const void *a, const void *b)
{
	const struct member_row *one = a, *other = b;

	return (one->cycles < other->cycles) - (one->cycles > other->cycles);
}

/* By member, those without accesses left out; *rows is the caller's. */
static int
sum_members(const struct memory_report *report, const struct memory_group *group, const struct memory_member *member,
            struct member_row **rows, size_t *count)
{
	const struct memory_profile *profile = report->profile;
	const struct memory_type *type = memory_profile_type(profile, group->type.type);
	struct member_row *sums;
	size_t kept = 0;

	*rows = NULL;
	*count = 0;
	if (!type || !type->count)
		return 0;
	sums = calloc((size_t)type->count + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (uint32_t k = 0; k < group->object_count; k++) {
		const struct memory_member *one = &report->objects[group->first_object + k];

		for (uint32_t i = 0; i < one->count && (!member || member == one); i++) {
			const struct memory_access *access = memory_member_access(report, one, i);
			const struct memory_field *field = object_type_field(profile, &group->type, access->offset);
			struct member_row *row = &sums[field ? field - &profile->fields[type->first] : type->count];

			row->field = field;
			row->accesses += access->weight;
			row->stores += access->flags & MEMORY_STORE ? access->weight : 0;
			row->remote += memory_access_is_remote(access) ? access->weight : 0;
			row->cycles += (uint64_t)access->weight * access->cost;
		}
	}
	for (size_t i = 0; i <= type->count; i++) {
		if (sums[i].accesses)
			sums[kept++] = sums[i];
	}
	qsort(sums, kept, sizeof(*sums), compare_rows);
	*rows = sums;
	*count = kept;
	return 0;
}

static const struct table_column member_columns[] = {
	{.heading = "cycles", .align = TABLE_RIGHT},           {.heading = "accesses", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "stores", .gap = 2, .align = TABLE_RIGHT}, {.heading = "remote", .gap = 2, .align = TABLE_RIGHT},
	{.heading = "offset", .gap = 2, .align = TABLE_RIGHT}, {.heading = "member", .gap = 2, .cut = TABLE_CUT_END},
};

int
mem_print_members(const struct memory_report *report, const struct memory_group *group,
                  const struct memory_member *member, const struct output *output)
{
	struct member_row *rows;
	struct table *table;
	char text[MEM_TEXT_SIZE];
	size_t count;
	int err = sum_members(report, group, member, &rows, &count);

	if (err || !count) {
		free(rows);
		return err;
	}
	table = table_new(member_columns, ARRAY_COUNT(member_columns));
	for (size_t i = 0; table && i < count && i < MEMBERS_SHOWN; i++) {
		const struct member_row *row = &rows[i];

		table_format(table, STYLE_PLAIN, "%.1f %%", PERCENT * memory_report_share(report, row->cycles));
		table_format(table, STYLE_PLAIN, "%" PRIu64, row->accesses);
		table_text(table, STYLE_PLAIN, mem_percent_format(row->stores, row->accesses, text));
		table_text(table, STYLE_PLAIN, mem_percent_format(row->remote, row->accesses, text));
		if (row->field)
			table_format(table, STYLE_PLAIN, "+%" PRIu64, row->field->offset);
		else
			table_text(table, STYLE_PLAIN, "");
		table_text(table, STYLE_PLAIN,
		           row->field ? memory_profile_text(report->profile, row->field->name) : "(none)");
	}
	fputs("\nBy member:\n", output->stream);
	err = table ? table_print(table, output, true) : -ENOMEM;
	table_free(table);
	free(rows);
	return err;
}

json_t *
mem_members_json(const struct memory_report *report, const struct memory_group *group,
                 const struct memory_member *member)
{
	json_t *list = json_array();
	struct member_row *rows;
	size_t count;
	int failed = sum_members(report, group, member, &rows, &count);

	for (size_t i = 0; i < count && !failed; i++) {
		const struct memory_field *field = rows[i].field;

		failed = json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "member",
		                        json_shown(field ? memory_profile_text(report->profile, field->name) : NULL),
		                        "offset", field ? json_count(field->offset) : json_null(), "accesses",
		                        json_count(rows[i].accesses), "stores", json_count(rows[i].stores), "remote",
		                        json_count(rows[i].remote), "cycles", json_count(rows[i].cycles)));
	}
	free(rows);
	return json_kept(list, failed);
}
