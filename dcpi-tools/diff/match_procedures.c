#include "dcpi-tools/diff/match_procedures.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether what follows a suffix is what compilers write there: main.coldStart has no suffix ".cold". */
static bool
is_added(const char *addition, char behind)
{
	if (addition[strlen(addition) - 1] == '.')
		return isdigit((unsigned char)behind);
	return addition[0] == ' ' || behind == '\0' || behind == '.';
}

size_t
match_procedure_name_length(const char *name)
{
	static const char *const added[] = {".constprop.", ".isra.", ".part.",      ".cold",
	                                    ".lto_priv.",  ".llvm.", ".localalias", " [clone "};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]) && name[0]; i++) {
		const char *found = name;

		while ((found = strstr(found + 1, added[i])))
			if ((size_t)(found - name) < length && is_added(added[i], found[strlen(added[i])]))
				length = (size_t)(found - name);
	}
	return length;
}

static int
compare_numbers(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int
compare_own_names(const char *one, const char *other)
{
	const size_t one_length = match_procedure_name_length(one), other_length = match_procedure_name_length(other);
	const int order = memcmp(one, other, one_length < other_length ? one_length : other_length);

	return order ? order : compare_numbers(one_length, other_length);
}

/* Rows for a whole image match, though the reasons why its names are not known may differ. */
static enum procedure_kind
kind_of(const struct match_row *row)
{
	return row->kind > PROCEDURE_UNNAMED ? PROCEDURE_NO_SYMBOL : row->kind;
}

/* 0: they are one procedure. */
static int
compare_procedures(const struct match_row *one, const struct match_row *other)
{
	int order = compare_numbers(one->group, other->group);

	if (!order)
		order = compare_numbers(kind_of(one), kind_of(other));
	if (order || !one->title || !other->title)
		return order ? order : !one->title - !other->title;
	if (one->same_build || kind_of(one) == PROCEDURE_NO_SYMBOL)
		return compare_numbers(one->offset, other->offset);
	if (one->kind == PROCEDURE_NAMED)
		return compare_own_names(one->title, other->title);
	order = strcmp(one->build, other->build);
	if (!order)
		order = compare_numbers(one->offset, other->offset);
	return order ? order : strcmp(one->title, other->title);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct match_row *one = a, *other = b;
	int order = compare_procedures(one, other);

	if (!order)
		order = compare_numbers(one->side, other->side);
	return order ? order : compare_numbers(one->index, other->index);
}

int
match_procedures(struct match_row *rows, size_t count, size_t **starts, size_t *match_count)
{
	*match_count = 0;
	*starts = calloc(count + 1, sizeof(**starts));
	if (!*starts)
		return -ENOMEM;
	if (count > 0)
		qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_procedures(&rows[i - 1], &rows[i]) != 0)
			(*starts)[(*match_count)++] = i;
	(*starts)[*match_count] = count;
	return 0;
}
