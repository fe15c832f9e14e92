#include "dcpi-tools/common/breakdown.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/summary.h"

#define TENTHS 10.0

void
breakdown_make(const struct stall_summary *summary, double whole, struct breakdown *breakdown)
{
	struct stall_shares shares;

	memset(breakdown, 0, sizeof(*breakdown));
	stall_shares_of(summary, whole, &shares);
	breakdown->best_cycles = summary->best;
	breakdown->actual_cycles = summary->actual;
	breakdown->instructions = summary->instructions;
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		breakdown->low[i] = shares.low[i] / TENTHS;
		breakdown->high[i] = shares.high[i] / TENTHS;
	}
	breakdown->low[DYNAMIC_UNEXPLAINED] = breakdown->high[DYNAMIC_UNEXPLAINED] = shares.unexplained / TENTHS;
	breakdown->low[DYNAMIC_GAIN] = breakdown->high[DYNAMIC_GAIN] = shares.gain / TENTHS;
	breakdown->dynamic = shares.dynamic / TENTHS;
	for (size_t i = 0; i < STALL_REASON_COUNT; i++)
		breakdown->fixed[i] = shares.fixed[i] / TENTHS;
	breakdown->execution = shares.execution / TENTHS;
	breakdown->sampling_error = shares.sampling_error / TENTHS;
	breakdown->tallied = shares.tallied / TENTHS;
	breakdown->tallied_percent = shares.tallied_of_all / TENTHS;
}

static const char rule[] = " *** ----------------------------------------\n";

/* The title of the row of a dynamic stall. */
static const char *
dynamic_name(unsigned row)
{
	if (row < CAUSE_COUNT)
		return stall_cause_name(row);
	return row == DYNAMIC_GAIN ? "Unexplained gain" : "Unexplained stall";
}

static const char *const static_names[STALL_REASON_COUNT] = {
	"Slotting", "Ra dependency", "Rb dependency", "Rc dependency", "FU dependency",
};

void
breakdown_print_total(const char *name, double percent, const struct output *output)
{
	const bool is_nothing = percent > -0.05 && percent < 0.05; /* and not -0.0 */

	fprintf(output->stream, " *** %18s%21.1f%%\n", name, is_nothing ? 0 : percent);
}

void
breakdown_print_rule(const struct output *output)
{
	fputs(rule, output->stream);
}

void
breakdown_print_rows(const struct breakdown *breakdown, const struct output *output)
{
	FILE *stream = output->stream;
	double fixed = 0;

	fprintf(stream, " *** Best-case %.0f/%.0f = %6.2fCPI,\n", breakdown->best_cycles, breakdown->instructions,
	        breakdown->best_cycles / breakdown->instructions);
	fprintf(stream, " *** Actual %.0f/%.0f = %6.2fCPI\n", breakdown->actual_cycles, breakdown->instructions,
	        breakdown->actual_cycles / breakdown->instructions);
	fputs(" *** \n", stream);
	for (unsigned i = 0; i < DYNAMIC_COUNT; i++) {
		if (i == CAUSE_MISPREDICT || i == DYNAMIC_UNEXPLAINED)
			fputs(" *** \n", stream);
		fprintf(stream, " *** %18s %5.1f%% to %4.1f%%\n", dynamic_name(i), breakdown->low[i],
		        breakdown->high[i]);
	}
	fputs(rule, stream);
	breakdown_print_total("Subtotal dynamic", breakdown->dynamic, output);
	fputs(" *** \n", stream);
	for (size_t i = 0; i < STALL_REASON_COUNT; i++) {
		fprintf(stream, " *** %18s%10.1f%%\n", static_names[i], breakdown->fixed[i]);
		fixed += breakdown->fixed[i];
	}
	fputs(rule, stream);
	breakdown_print_total("Subtotal static", fixed, output);
	fputs(rule, stream);
	breakdown_print_total("Total stall", breakdown->dynamic + fixed, output);
	breakdown_print_total("Execution", breakdown->execution, output);
	breakdown_print_total("Net sampling error", breakdown->sampling_error, output);
	fputs(rule, stream);
}

void
breakdown_print(const struct breakdown *breakdown, const struct output *output)
{
	breakdown_print_rows(breakdown, output);
	breakdown_print_total("Total tallied", breakdown->tallied, output);
	fprintf(output->stream, " *** (%.0f, %.1f%% of all samples)\n", breakdown->actual_cycles,
	        breakdown->tallied_percent);
}

json_t *
breakdown_json(const struct breakdown *breakdown)
{
	json_t *ranges = json_object(), *fixed = json_object();
	int failed = !ranges || !fixed;

	for (unsigned i = 0; i < DYNAMIC_COUNT; i++)
		failed |= json_object_set_new(
			ranges, dynamic_name(i),
			json_pack("{s:f, s:f}", "low", breakdown->low[i], "high", breakdown->high[i]));
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		failed |= json_object_set_new(fixed, stall_reason_name(i), json_real(breakdown->fixed[i]));
	return json_pack("{s:f, s:f, s:f, s:o, s:f, s:o, s:f, s:f, s:f}", "best_cycles", breakdown->best_cycles,
	                 "actual_cycles", breakdown->actual_cycles, "instructions", breakdown->instructions,
	                 "dynamic_by_reason", json_kept(ranges, failed), "dynamic", breakdown->dynamic, "static",
	                 json_kept(fixed, failed), "execution", breakdown->execution, "sampling_error",
	                 breakdown->sampling_error, "tallied", breakdown->tallied_percent);
}

static bool
is_meant(const char *text, const char *name, char letter)
{
	return strcasecmp(text, name) == 0 || (text[0] == letter && !text[1]);
}

bool
breakdown_row_find(const char *text, struct breakdown_row *row)
{
	static const char static_letters[STALL_REASON_COUNT] = {'s', 'a', 'b', 'c', 'u'};

	for (unsigned i = 0; i <= DYNAMIC_UNEXPLAINED; i++) {
		*row = (struct breakdown_row){.name = dynamic_name(i), .index = i};
		if (is_meant(text, row->name, stall_cause_letter(i)))
			return true;
	}
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++) {
		*row = (struct breakdown_row){.name = static_names[i], .index = i, .is_static = true};
		if (is_meant(text, row->name, static_letters[i]))
			return true;
	}
	return false;
}

const char *
breakdown_row_names(void)
{
	return "'D-cache miss' (d), 'DTB miss' (D), 'I-cache (not ITB)' (I), 'ITB/I-cache miss' (T), "
	       "'Write buffer' (w), 'Synchronization' (y), 'Branch mispredict' (p), 'IMUL busy' (m), "
	       "'FDIV busy' (f), 'Other' (o), 'Unexplained stall' (?), 'Slotting' (s), 'Ra dependency' (a), "
	       "'Rb dependency' (b), 'Rc dependency' (c), 'FU dependency' (u)";
}

double
breakdown_row_low(const struct breakdown_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->low[row->index] : summary->unexplained;
}

double
breakdown_row_high(const struct breakdown_row *row, const struct stall_summary *summary)
{
	if (row->is_static)
		return summary->fixed[row->index];
	return row->index < CAUSE_COUNT ? summary->high[row->index] : summary->unexplained;
}

void
breakdown_rest(double tallied, uint64_t analyzed, uint64_t samples, double *vague, double *missing)
{
	const double percent = round(TENTHS * summary_percent(analyzed, samples)) / TENTHS;

	*vague = fmax(percent - tallied, 0);
	*missing = fmax(100 - tallied - *vague, 0);
}
