#include "dcpi-tools/calc/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/text.h"

#define SHADOW_CYCLES     0.05 /* less does not hold up retirement */
#define ADDRESS_DIGITS    6    /* at least */
#define INSTRUCTION_WIDTH 18   /* at least */
#define SAMPLES_WIDTH     7
#define CYCLES_WIDTH      6
#define LINES_MAX         6 /* half-cycles that have a line each; a longer stall has three */
#define LONG_LINES        3
#define LENGTH_LINE       1    /* of a long stall's: where its length stands */
#define HOT_CYCLES        10.0 /* instructions from here on are coloured */

/* A letter in front of a stall, in the order in which letters stand beside each other: "dwD". */
struct listing_reason {
	char letter;
	const char *text;   /* "D-cache miss" */
	const char *detail; /* for the legend, a sentence */
};

static const struct listing_reason reasons[LISTING_REASONS] = {
	{'I', "I-cache miss", "its code was not in the first-level cache"},
	{'T', "ITB miss", "its code's page was not in the TLB"},
	{'p', "branch mispredict", "a branch before it was predicted wrongly"},
	{'d', "D-cache miss", "an operand was loaded from farther than the first-level cache"},
	{'w', "write-buffer overflow", "stores before it waited for memory"},
	{'D', "DTB miss", "the page of a load or store was not in the TLB"},
	{'y', "synchronization", "an atomic operation or a barrier"},
	{'m', "multiplier busy", "the multiplier worked for an instruction before it"},
	{'f', "divider busy", "the divider worked for an instruction before it"},
	{'o', "other", "something else that is known"},
	{'?', "unexplained", "no reason is left that could be"},
	{'s', "slotting hazard", "it cannot issue along with the ones before it"},
	{'a', "Ra dependency", "its first operand is not ready, even if nothing misses"},
	{'b', "Rb dependency", "its second operand, or an address, is not ready"},
	{'c', "Rc dependency", "a further operand is not ready, or its result's register not free"},
	{'u', "FU dependency", "the unit it needs is busy"},
};

/* The index of a letter in reasons[]; LISTING_REASONS when there is none. */
static size_t
find_reason(char letter)
{
	size_t i = 0;

	while (i < LISTING_REASONS && reasons[i].letter != letter)
		i++;
	return i;
}

void
listing_fini(struct listing *listing)
{
	for (size_t i = 0; i < listing->block_count; i++) {
		struct listing_block *block = &listing->blocks[i];

		for (size_t k = 0; k < block->line_count; k++) {
			free(block->lines[k].text);
			free(block->lines[k].bubbles);
			free(block->lines[k].references);
		}
		free(block->lines);
	}
	free(listing->blocks);
	memset(listing, 0, sizeof(*listing));
}

double
listing_block_percent(const struct procedure_analysis *analysis, uint32_t index)
{
	const double total = (double)analysis->time_samples;

	return total > 0 ? 100 * procedure_block_samples(analysis, index) / total : 0;
}

/* In order, time is known to half a cycle: two instructions may issue in one. */
static double
shown_cycles(const struct listing_source *source, double cycles)
{
	if (cycles < 0)
		return LISTING_UNKNOWN;
	return source->is_in_order ? round(2 * cycles) / 2 : cycles;
}

static int
add_bubble(struct listing_line *line, const struct listing_bubble *bubble)
{
	struct listing_bubble *bubbles = reallocarray(line->bubbles, line->bubble_count + 1, sizeof(*bubbles));

	if (!bubbles)
		return -ENOMEM;
	line->bubbles = bubbles;
	line->bubbles[line->bubble_count++] = *bubble;
	return 0;
}

static int
add_static_bubbles(const struct schedule *schedule, uint32_t index, struct listing_line *line)
{
	static const char letters[STALL_REASON_COUNT] = {'s', 'a', 'b', 'c', 'u'};
	int err = 0;

	for (size_t i = 0; i < schedule->stall_count && !err; i++) {
		const struct static_stall *stall = &schedule->stalls[i];
		const struct listing_bubble bubble = {
			.letters = {(char)(stall->reason < STALL_REASON_COUNT ? letters[stall->reason] : '?')},
			.is_static = true,
			.half_cycles = stall->half_cycles,
		};

		if (stall->instruction == index)
			err = add_bubble(line, &bubble);
	}
	return err;
}

static void
add_culprit(struct listing_line *line, uint64_t address)
{
	for (size_t i = 0; i < line->culprit_count; i++)
		if (line->culprits[i] == address)
			return;
	if (address != line->address && line->culprit_count < LISTING_CULPRITS)
		line->culprits[line->culprit_count++] = address;
}

/* All reasons that are possible, in the order of reasons[]. */
static void
set_letters(const struct stalls *stalls, const struct instruction_stalls *late, struct listing_bubble *bubble)
{
	size_t used = 0;

	for (size_t reason = 0; reason < LISTING_REASONS; reason++) {
		bool is_possible = reasons[reason].letter == '?' && late->stall_count == 0;

		for (uint32_t i = 0; i < late->stall_count; i++)
			is_possible |=
				stall_cause_letter(stalls->stalls[late->stall + i].cause) == reasons[reason].letter;
		if (is_possible)
			bubble->letters[used++] = reasons[reason].letter;
	}
}

/* The stall cycles of an instruction: what it took longer than its schedule, with their reasons and culprits. */
static int
add_dynamic_bubble(const struct listing_source *source, uint32_t instruction, struct listing_line *line)
{
	const struct stalls *stalls = &source->analysis->stalls;
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	struct listing_bubble bubble = {.half_cycles = (uint32_t)lround(2 * fmin(fmax(late->stall_cycles, 0), 1e6))};

	if (line->cycles < 0 || bubble.half_cycles == 0)
		return 0;
	set_letters(stalls, late, &bubble);
	for (uint32_t i = 0; i < late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[late->stall + i];

		for (uint32_t k = 0; k < stall->culprit_count; k++)
			add_culprit(line, stalls->culprits[stall->culprit + k]);
	}
	return add_bubble(line, &bubble);
}

static enum listing_issue
issue_of(const struct listing_source *source, const struct schedule_line *schedule, double cycles)
{
	if (cycles < 0)
		return LISTING_ALONE;
	if (source->is_in_order)
		return schedule->dual && cycles <= 0 ? LISTING_DUAL : LISTING_ALONE;
	return cycles < SHADOW_CYCLES ? LISTING_SHADOW : LISTING_ALONE;
}

static int
make_line(const struct listing_source *source, uint32_t block_index, uint32_t index, struct listing_line *line)
{
	const struct procedure_analysis *analysis = source->analysis;
	const struct flow_block *block = &analysis->graph->blocks[block_index];
	const struct schedule *schedule = &analysis->schedules[block_index];
	const struct schedule_line *least = &schedule->lines[index];
	char text[INSTRUCTION_TEXT_SIZE], references[REFERENCES_TEXT];
	int err;

	line->address = analysis->graph->instructions[block->first + index].address;
	line->samples = analysis->frequencies.samples[block->first + index];
	line->cycles = shown_cycles(source, procedure_instruction_cycles(analysis, block_index, block->first + index));
	line->issue = issue_of(source, least, line->cycles);
	instruction_format(source->code, &analysis->graph->instructions[block->first + index], source->syntax, text);
	line->text = strdup(text);
	if (*references_text(source->references, block->first + index, references))
		line->references = strdup(references);
	err = line->text && (line->references || !*references) ? add_static_bubbles(schedule, index, line) : -ENOMEM;
	return err ? err : add_dynamic_bubble(source, block->first + index, line);
}

static void
write_note(const struct listing_source *source, uint32_t index, struct listing_block *shown)
{
	const struct procedure_analysis *analysis = source->analysis;
	const struct frequency *frequency = &analysis->frequencies.blocks[index];
	const double executions = frequency->value * analysis->cycles_per_sample;
	char value[64], times[64] = "";

	if (frequency->confidence == CONFIDENCE_EXACT) {
		snprintf(shown->note, sizeof(shown->note), "Executed %" PRIu64 " times (exact), %.1f%% of the time",
		         analysis->executions ? analysis->executions[analysis->graph->blocks[index].first] : 0,
		         listing_block_percent(source->analysis, index));
		return;
	}
	if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0) {
		snprintf(shown->note, sizeof(shown->note), "Frequency %s, %.1f%% of the time",
		         frequency->confidence == CONFIDENCE_NONE || procedure_block_samples(analysis, index) > 0
		                 ? "not known"
		                 : "near 0",
		         listing_block_percent(source->analysis, index));
		return;
	}
	frequency_format(frequency->value, analysis->frequencies.is_relative, value, sizeof(value));
	if (executions > 0 && !analysis->frequencies.is_relative)
		snprintf(times, sizeof(times), ", executed %.3g times", executions);
	snprintf(shown->note, sizeof(shown->note), "Frequency %s (%s confidence, %s)%s, %.1f%% of the time", value,
	         frequency_confidence_name(frequency->confidence), frequency_method_name(frequency->method), times,
	         listing_block_percent(source->analysis, index));
}

static int
make_block(const struct listing_source *source, uint32_t index, struct listing_block *shown)
{
	const struct procedure_analysis *analysis = source->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const double cycles = procedure_block_cycles(analysis, index);
	int err = 0;

	shown->best_cycles = analysis->schedules[index].best_cycles;
	shown->actual_cycles = cycles < 0 ? LISTING_UNKNOWN : cycles;
	write_note(source, index, shown);
	shown->lines = calloc(block->count, sizeof(*shown->lines));
	if (!shown->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < block->count && !err; i++) {
		shown->line_count = i + 1;
		err = make_line(source, index, i, &shown->lines[i]);
	}
	return err;
}

int
listing_make(const struct listing_source *source, struct listing *listing, size_t *dropped)
{
	const struct flow_graph *graph = source->analysis->graph;
	int err = 0;

	memset(listing, 0, sizeof(*listing));
	*dropped = 0;
	listing->blocks = calloc(graph->block_count + 1, sizeof(*listing->blocks));
	if (!listing->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		if (listing_block_percent(source->analysis, i) < source->cutoff_percent) {
			++*dropped;
			continue;
		}
		err = make_block(source, i, &listing->blocks[listing->block_count++]);
	}
	if (err)
		listing_fini(listing);
	return err;
}

struct listing_printer {
	const struct output *output;
	FILE *stream;
	int address_width, instruction_width, cycles_width;
	bool explained[LISTING_REASONS];
};

/* Widen columns so that every line has at least two blanks between instruction and samples. */
static void
measure_line(struct listing_printer *printer, const struct listing_line *line)
{
	char text[64];
	int width;

	width = snprintf(text, sizeof(text), "%" PRIx64, line->address);
	if (width > printer->address_width)
		printer->address_width = width;
	width = (int)text_width(line->text) + 2 + snprintf(text, sizeof(text), "%.0f", line->samples) - SAMPLES_WIDTH;
	if (width > printer->instruction_width)
		printer->instruction_width = width;
	width = snprintf(text, sizeof(text), "%.1f", line->cycles) + 1;
	if (line->cycles >= 0 && width > printer->cycles_width)
		printer->cycles_width = width;
}

/* "8", "3.3" */
static void
format_cycles(char *text, size_t size, double cycles)
{
	const double tenths = round(cycles * 10) / 10;

	snprintf(text, size, tenths == round(tenths) ? "%.0f" : "%.1f", tenths);
}

static void
print_head_line(const struct listing_printer *printer, const char *label, int width, const char *cycles,
                double per_instruction, const struct listing_block *block)
{
	fprintf(printer->stream, "%s*** %s %*s/%zu = %6.2fCPI%s\n", output_style(printer->output, STYLE_HEADING), label,
	        width - (int)strlen(label), cycles, block->line_count, per_instruction,
	        output_plain(printer->output, STYLE_HEADING));
}

static void
print_block_head(const struct listing_printer *printer, const struct listing_block *block)
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
explain_next(struct listing_printer *printer, const struct listing_bubble *bubble, char *text, size_t size)
{
	for (const char *letter = bubble->letters; *letter; letter++) {
		const size_t reason = find_reason(*letter);

		if (reason == LISTING_REASONS || printer->explained[reason])
			continue;
		printer->explained[reason] = true;
		snprintf(text, size, "%c = %s", *letter, reasons[reason].text);
		return true;
	}
	return false;
}

static size_t
count_unexplained(const struct listing_printer *printer, const struct listing_bubble *bubble)
{
	size_t count = 0;

	for (const char *letter = bubble->letters; *letter; letter++) {
		const size_t reason = find_reason(*letter);

		count += reason < LISTING_REASONS && !printer->explained[reason];
	}
	return count;
}

static void
print_bubble_line(const struct listing_printer *printer, const struct listing_bubble *bubble, const char *text)
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
print_bubble(struct listing_printer *printer, const struct listing_line *line, const struct listing_bubble *bubble)
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
print_cycles(const struct listing_printer *printer, const struct listing_line *line)
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
print_line(struct listing_printer *printer, const struct listing_line *line)
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
	if (line->references) {
		fprintf(printer->stream, "  %s# ", output_style(printer->output, STYLE_FAINT));
		text_print(line->references, printer->stream);
		fputs(output_plain(printer->output, STYLE_FAINT), printer->stream);
	}
	fputc('\n', printer->stream);
}

void
listing_print(const struct listing *listing, const struct output *output)
{
	struct listing_printer printer = {
		.output = output,
		.stream = output->stream,
		.address_width = ADDRESS_DIGITS,
		.instruction_width = INSTRUCTION_WIDTH,
		.cycles_width = CYCLES_WIDTH,
	};

	for (size_t i = 0; i < listing->block_count; i++)
		for (size_t k = 0; k < listing->blocks[i].line_count; k++)
			measure_line(&printer, &listing->blocks[i].lines[k]);
	for (size_t i = 0; i < listing->block_count; i++) {
		const struct listing_block *block = &listing->blocks[i];

		if (i)
			fputc('\n', printer.stream);
		print_block_head(&printer, block);
		fputc('\n', printer.stream);
		if (i == 0)
			fprintf(printer.stream, "%-*s %-*s%*s%*s  Culprit\n", printer.address_width, "Addr",
			        printer.instruction_width, "Instruction", SAMPLES_WIDTH, "Samples",
			        printer.cycles_width, "CPI");
		for (size_t k = 0; k < block->line_count; k++)
			print_line(&printer, &block->lines[k]);
	}
}

static const char *const words[][2] = {
	{"Best-case", "cycles of one execution, and per instruction, if nothing misses and every branch is predicted"},
	{"Actual", "cycles of one execution, and per instruction, as the samples say"},
	{"Samples", "of time on this instruction; out of order, moved back to the one that held up retirement"},
	{"CPI", "cycles that the instruction was at the head of the issue queue, or held up retirement"},
	{"Culprit", "addresses of the instructions that the time may be lost for"},
	{"(dual issue)", "issues together with the instruction before it"},
	{"(in shadow)", "retires together with an older instruction"},
	{"# stride", "bytes from one iteration of its loop to the next, as dcpiloc recorded them"},
};

static void
print_reasons(FILE *stream, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		fprintf(stream, "  %c  %-22s %s\n", reasons[i].letter, reasons[i].text, reasons[i].detail);
}

void
listing_print_legend(const struct output *output)
{
	const size_t first_static = find_reason('s');
	FILE *stream = output->stream;

	fputs("Legend:\n", stream);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		fprintf(stream, "  %-12s  %s\n", words[i][0], words[i][1]);
	fputs("\nA line above an instruction is half a cycle that it lost; three lines stand for a longer time.\n"
	      "The letters are all reasons that the samples leave possible:\n",
	      stream);
	print_reasons(stream, 0, first_static);
	fputs("and what the code costs in any case:\n", stream);
	print_reasons(stream, first_static, LISTING_REASONS);
}
