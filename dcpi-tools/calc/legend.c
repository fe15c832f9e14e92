#include "dcpi-tools/calc/listing.h"

static const char *const words[][2] = {
	{"Best-case", "cycles of one execution, and per instruction, if nothing misses and every branch is predicted"},
	{"Actual", "the same as it was, by the samples"},
	{"Samples", "of time on this instruction; out of order, moved back to the one that held up retirement"},
	{"CPI", "cycles that the instruction was at the head of the issue queue, or held up retirement"},
	{"Culprit", "addresses of the instructions that the time may be lost for"},
	{"(dual issue)", "issues together with the instruction before it"},
	{"(in shadow)", "retires together with an older instruction"},
};

static void
print_reasons(FILE *stream, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		fprintf(stream, "  %c  %-22s %s\n", reasons[i].letter, reasons[i].text, reasons[i].detail);
}

void
legend_print(const struct output *output)
{
	const size_t first_static = reason_find('s');
	FILE *stream = output->stream;

	fputs("Legend:\n", stream);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		fprintf(stream, "  %-12s  %s\n", words[i][0], words[i][1]);
	fputs("\nA line above an instruction is half a cycle that it lost; three lines stand for a longer time.\n"
	      "The letters are all reasons that the samples leave possible:\n",
	      stream);
	print_reasons(stream, 0, first_static);
	fputs("and what the code costs in any case:\n", stream);
	print_reasons(stream, first_static, REASON_COUNT);
}
