/* The layout of figure 4 of the DCPI paper. */
#include "dcpi-tools/common/breakdown.h"

#include "code/schedule.h"

static const char rule[] = " *** ----------------------------------------\n";

static const char *const dynamic_names[DYNAMIC_COUNT] = {
	"I-cache (not ITB)", "ITB/I-cache miss", "D-cache miss", "DTB miss", "Write buffer",      "Synchronization",
	"Branch mispredict", "IMUL busy",        "FDIV busy",    "Other",    "Unexplained stall", "Unexplained gain",
};

static const char *const static_names[BREAKDOWN_STATIC] = {
	"Slotting", "Ra dependency", "Rb dependency", "Rc dependency", "FU dependency",
};

const char *
breakdown_dynamic_name(enum breakdown_dynamic reason)
{
	return dynamic_names[reason];
}

const char *
breakdown_static_name(unsigned reason)
{
	return static_names[reason];
}

static void
print_ranges(const struct breakdown *breakdown, FILE *stream)
{
	for (size_t i = 0; i < DYNAMIC_COUNT; i++) {
		if (i == DYNAMIC_MISPREDICT || i == DYNAMIC_UNEXPLAINED)
			fputs(" *** \n", stream);
		fprintf(stream, " *** %18s %5.1f%% to %4.1f%%\n", dynamic_names[i], breakdown->low[i],
		        breakdown->high[i]);
	}
	fputs(rule, stream);
}

void
breakdown_print_total(const char *name, double percent, const struct output *output)
{
	const bool is_nothing = percent > -0.05 && percent < 0.05; /* and not -0.0 */

	fprintf(output->stream, " *** %18s%21.1f%%\n", name, is_nothing ? 0 : percent);
}

static double
print_static(const struct breakdown *breakdown, const struct output *output)
{
	FILE *stream = output->stream;
	double sum = 0;

	for (size_t i = 0; i < BREAKDOWN_STATIC; i++) {
		fprintf(stream, " *** %18s%10.1f%%\n", static_names[i], breakdown->fixed[i]);
		sum += breakdown->fixed[i];
	}
	fputs(rule, stream);
	breakdown_print_total("Subtotal static", sum, output);
	fputs(rule, stream);
	return sum;
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
	double stalls = breakdown->dynamic;

	fprintf(stream, " *** Best-case %.0f/%.0f = %6.2fCPI,\n", breakdown->best_cycles, breakdown->instructions,
	        breakdown->best_cycles / breakdown->instructions);
	fprintf(stream, " *** Actual %.0f/%.0f = %6.2fCPI\n", breakdown->actual_cycles, breakdown->instructions,
	        breakdown->actual_cycles / breakdown->instructions);
	fputs(" *** \n", stream);
	print_ranges(breakdown, stream);
	breakdown_print_total("Subtotal dynamic", breakdown->dynamic, output);
	fputs(" *** \n", stream);
	stalls += print_static(breakdown, output);
	breakdown_print_total("Total stall", stalls, output);
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
