#include "dcpi-tools/whatcg/part.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "code/schedule.h"
#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/summary.h"

#define TENTHS 10.0

int
whatcg_part_compare(const void *a, const void *b)
{
	const struct whatcg_part *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	if (one->image != other->image)
		return one->image > other->image ? 1 : -1;
	return one->title && other->title ? strcmp(one->title, other->title) : 0;
}

void
whatcg_part_rest(const struct whatcg_part *part, double tallied, double *vague, double *missing)
{
	const double analyzed = round(TENTHS * share_percent(part->analyzed, part->samples)) / TENTHS;

	*vague = fmax(analyzed - tallied, 0);
	*missing = fmax(100 - tallied - *vague, 0);
}

/* In the order of figure 4. */
static const char dynamic_letters[DYNAMIC_UNEXPLAINED + 1] = {'I', 'T', 'd', 'D', 'w', 'y', 'p', 'm', 'f', 'o', '?'};
static const char static_letters[BREAKDOWN_STATIC] = {'s', 'a', 'b', 'c', 'u'};

static bool
is_meant(const char *text, const char *name, char letter)
{
	return strcasecmp(text, name) == 0 || (text[0] == letter && !text[1]);
}

bool
whatcg_row_find(const char *text, struct whatcg_row *row)
{
	for (unsigned i = 0; i <= DYNAMIC_UNEXPLAINED; i++) {
		*row = (struct whatcg_row){.name = breakdown_dynamic_name(i), .index = i};
		if (is_meant(text, row->name, dynamic_letters[i]))
			return true;
	}
	for (unsigned i = 0; i < BREAKDOWN_STATIC; i++) {
		*row = (struct whatcg_row){.name = breakdown_static_name(i), .index = i, .is_static = true};
		if (is_meant(text, row->name, static_letters[i]))
			return true;
	}
	return false;
}

const char *
whatcg_row_names(void)
{
	return "'D-cache miss' (d), 'DTB miss' (D), 'I-cache (not ITB)' (I), 'ITB/I-cache miss' (T), "
	       "'Write buffer' (w), 'Synchronization' (y), 'Branch mispredict' (p), 'IMUL busy' (m), "
	       "'FDIV busy' (f), 'Other' (o), 'Unexplained stall' (?), 'Slotting' (s), 'Ra dependency' (a), "
	       "'Rb dependency' (b), 'Rc dependency' (c), 'FU dependency' (u)";
}

double
whatcg_row_low(const struct whatcg_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->low[row->index] : summary->unexplained;
}

double
whatcg_row_high(const struct whatcg_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->high[row->index] : summary->unexplained;
}
