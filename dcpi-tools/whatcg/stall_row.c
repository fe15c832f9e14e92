#include "dcpi-tools/whatcg/stall_row.h"

#include <strings.h>

#include "code/schedule.h"
#include "dcpi-tools/common/breakdown.h"

/* In the order of figure 4. */
static const char dynamic_letters[DYNAMIC_UNEXPLAINED + 1] = {'I', 'T', 'd', 'D', 'w', 'y', 'p', 'm', 'f', 'o', '?'};
static const char static_letters[BREAKDOWN_STATIC] = {'s', 'a', 'b', 'c', 'u'};

static bool
is_meant(const char *text, const char *name, char letter)
{
	return strcasecmp(text, name) == 0 || (text[0] == letter && !text[1]);
}

bool
stall_row_find(const char *text, struct stall_row *row)
{
	for (unsigned i = 0; i <= DYNAMIC_UNEXPLAINED; i++) {
		*row = (struct stall_row){.name = breakdown_dynamic_name(i), .index = i};
		if (is_meant(text, row->name, dynamic_letters[i]))
			return true;
	}
	for (unsigned i = 0; i < BREAKDOWN_STATIC; i++) {
		*row = (struct stall_row){.name = breakdown_static_name(i), .index = i, .is_static = true};
		if (is_meant(text, row->name, static_letters[i]))
			return true;
	}
	return false;
}

const char *
stall_row_names(void)
{
	return "'D-cache miss' (d), 'DTB miss' (D), 'I-cache (not ITB)' (I), 'ITB/I-cache miss' (T), "
	       "'Write buffer' (w), 'Synchronization' (y), 'Branch mispredict' (p), 'IMUL busy' (m), "
	       "'FDIV busy' (f), 'Other' (o), 'Unexplained stall' (?), 'Slotting' (s), 'Ra dependency' (a), "
	       "'Rb dependency' (b), 'Rc dependency' (c), 'FU dependency' (u)";
}

double
stall_row_low(const struct stall_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->low[row->index] : summary->unexplained;
}

double
stall_row_high(const struct stall_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->high[row->index] : summary->unexplained;
}
