/* The layout of figure 2 of the DCPI paper. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dcpi-tools/calc/listing.h"
#include "dcpi-tools/common/text.h"

#define ADDRESS_DIGITS    6  /* at least */
#define INSTRUCTION_WIDTH 18 /* at least */
#define SAMPLES_WIDTH     7
#define CYCLES_WIDTH      6
#define LINES_MAX         6 /* half-cycles that have a line each; a longer stall has three */
#define LONG_LINES        3
#define LENGTH_LINE       1    /* of a long stall's: where its length stands */
#define HOT_CYCLES        10.0 /* instructions from here on are coloured */

struct calc_printer {
	const struct output *output;
	FILE *stream;
	int address_width, instruction_width, cycles_width;
	bool explained[REASON_COUNT];
};

static int
digits_of(double number)
{
	char text[64];

	return snprintf(text, sizeof(text), "%.0f", number);
}

/* As narrow as lets every line have two blanks between instruction and samples. */
static void
measure_line(struct calc_printer *printer, const struct listing_line *line)
{
	char text[64];
	int width;

	width = snprintf(text, sizeof(text), "%" PRIx64, line->address);
	if (width > printer->address_width)
		printer->address_width = width;
	width = (int)text_width(line->text) + 2 + digits_of(line->samples) - SAMPLES_WIDTH;
	if (width > printer->instruction_width)
		printer->instruction_width = width;
	width = snprintf(text, sizeof(text), "%.1f", line->cycles) + 1;
	if (line->cycles >= 0 && width > printer->cycles_width)
		printer->cycles_width = width;
}

static void
measure(struct calc_printer *printer, const struct listing *listing)
{
	for (size_t i = 0; i < listing->block_count; i++)
		for (size_t k = 0; k < listing->blocks[i].line_count; k++)
			measure_line(printer, &listing->blocks[i].lines[k]);
}

/* "8", "3.3" */
static void
format_cycles(char *text, size_t size, double cycles)
{
	const double tenths = round(cycles * 10) / 10;

	snprintf(text, size, tenths == round(tenths) ? "%.0f" : "%.1f", tenths);
}

static void
print_head_line(const struct calc_printer *printer, const char *label, int width, const char *cycles,
                double per_instruction, const struct listing_block *block)
{
	fprintf(printer->stream, "%s*** %s %*s/%zu = %6.2fCPI%s\n", output_style(printer->output, STYLE_HEADING), label,
	        width - (int)strlen(label), cycles, block->line_count, per_instruction,
	        output_plain(printer->output, STYLE_HEADING));
}

static void
print_block_head(const struct calc_printer *printer, const struct listing_block *block)
{
	static const char best_label[] = "Best-case", actual_label[] = "Actual";
	const double count = (double)block->line_count;
	char best[64], actual[64] = "";
	size_t width, other;

	format_cycles(best, sizeof(best), block->best_cycles);
	if (block->actual_cycles >= 0)
		format_cycles(actual, sizeof(actual), block->actual_cycles);
	width = strlen(best_label) + strlen(best);
	other = strlen(actual_label) + strlen(actual);
	width = width > other ? width : other;
	print_head_line(printer, best_label, (int)width, best, block->best_cycles / count, block);
	if (block->actual_cycles >= 0)
		print_head_line(printer, actual_label, (int)width, actual, block->actual_cycles / count, block);
	if (block->note[0])
		fprintf(printer->stream, "*** %s\n", block->note);
}

/* The next letter that has not been explained, as "d = D-cache miss"; false when there is none. */
static bool
explain_next(struct calc_printer *printer, const struct listing_bubble *bubble, char *text, size_t size)
{
	for (const char *letter = bubble->letters; *letter; letter++) {
		const size_t reason = reason_find(*letter);

		if (reason == REASON_COUNT || printer->explained[reason])
			continue;
		printer->explained[reason] = true;
		snprintf(text, size, "%c = %s", *letter, reasons[reason].text);
		return true;
	}
	return false;
}

static size_t
count_unexplained(const struct calc_printer *printer, const struct listing_bubble *bubble)
{
	size_t count = 0;

	for (const char *letter = bubble->letters; *letter; letter++) {
		const size_t reason = reason_find(*letter);

		count += reason < REASON_COUNT && !printer->explained[reason];
	}
	return count;
}

static void
print_bubble_line(const struct calc_printer *printer, const struct listing_bubble *bubble, const char *text)
{
	const bool has_letters = bubble->letters[0];
	char column[40];

	snprintf(column, sizeof(column), bubble->is_static ? "  %-5s" : "    %-3s", bubble->letters);
	for (size_t end = strlen(column); end > 0 && column[end - 1] == ' ' && !*text;)
		column[--end] = '\0';
	fprintf(printer->stream, "%s%s%s%s%s\n", output_style(printer->output, STYLE_WARNING),
	        has_letters || *text ? column : "    .", *text ? " " : "", text,
	        output_plain(printer->output, STYLE_WARNING));
}

/* A line for each half-cycle; of a long stall a few, and its instruction's time in the second. */
static void
print_bubble(struct calc_printer *printer, const struct listing_line *line, const struct listing_bubble *bubble)
{
	const bool is_long = bubble->half_cycles > LINES_MAX;
	const size_t explanations = count_unexplained(printer, bubble) + is_long;
	size_t count = is_long ? LONG_LINES : bubble->half_cycles;

	if (count < explanations)
		count = explanations;
	for (size_t i = 0; i < count; i++) {
		char text[80] = "", shown[96] = "";
		bool is_explained = true;

		if (is_long && i == LENGTH_LINE) {
			is_explained = explanations > 1;
			snprintf(text, sizeof(text), "... %.1fcy",
			         bubble->is_static ? bubble->half_cycles / 2.0 : line->cycles);
		} else {
			explain_next(printer, bubble, text, sizeof(text));
		}
		/* where letters are explained, all that stands beside them is in one column */
		if (text[0])
			snprintf(shown, sizeof(shown), "%s%s", is_explained ? " " : "", text);
		print_bubble_line(printer, bubble, shown);
	}
}

static void
print_cycles(const struct calc_printer *printer, const struct listing_line *line)
{
	const char *word = line->issue == LISTING_DUAL ? "(dual issue)" : "(in shadow)";
	const enum style style = line->cycles >= HOT_CYCLES ? STYLE_HOT : STYLE_PLAIN;

	if (line->cycles < 0)
		return;
	if (line->issue != LISTING_ALONE)
		fprintf(printer->stream, "   %s%s%s", output_style(printer->output, STYLE_FAINT), word,
		        output_plain(printer->output, STYLE_FAINT));
	else
		fprintf(printer->stream, "%s%*.1fcy%s", output_style(printer->output, style), printer->cycles_width,
		        line->cycles, output_plain(printer->output, style));
}

static void
print_line(struct calc_printer *printer, const struct listing_line *line)
{
	int pad;

	for (size_t i = 0; i < line->bubble_count; i++)
		print_bubble(printer, line, &line->bubbles[i]);
	pad = printer->instruction_width + SAMPLES_WIDTH - (int)text_width(line->text);
	fprintf(printer->stream, "%0*" PRIx64 " %s%*.0f", printer->address_width, line->address, line->text, pad,
	        line->samples);
	print_cycles(printer, line);
	for (size_t i = 0; i < line->culprit_count; i++)
		fprintf(printer->stream, "%s%" PRIx64, i ? "," : " ", line->culprits[i]);
	fputc('\n', printer->stream);
}

static void
print_columns(const struct calc_printer *printer)
{
	fprintf(printer->stream, "%-*s %-*s%*s%*s  Culprit\n", printer->address_width, "Addr",
	        printer->instruction_width, "Instruction", SAMPLES_WIDTH, "Samples", printer->cycles_width, "CPI");
}

void
listing_print(const struct listing *listing, const struct output *output)
{
	struct calc_printer printer = {
		.output = output,
		.stream = output->stream,
		.address_width = ADDRESS_DIGITS,
		.instruction_width = INSTRUCTION_WIDTH,
		.cycles_width = CYCLES_WIDTH,
	};

	measure(&printer, listing);
	for (size_t i = 0; i < listing->block_count; i++) {
		const struct listing_block *block = &listing->blocks[i];

		if (i)
			fputc('\n', printer.stream);
		print_block_head(&printer, block);
		fputc('\n', printer.stream);
		if (i == 0)
			print_columns(&printer);
		for (size_t k = 0; k < block->line_count; k++)
			print_line(&printer, &block->lines[k]);
	}
}
