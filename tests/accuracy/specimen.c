#include "tests/accuracy/specimen.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX     (1U << 16) /* bytes of all parts, and of all constants */
#define BYTES_A_LINE 48         /* as written */
#define LISTED_MAX   64         /* pieces of constants; calls that do not return */

struct piece {
	uint64_t address;
	size_t begin, size; /* in `bytes` */
	bool is_cold;
};

/* What a graph is made from. */
struct specimen_text {
	uint8_t *bytes;
	size_t size;
	struct piece parts[FLOW_PARTS_MAX], data[LISTED_MAX];
	size_t part_count, data_count;
	uint64_t endings[LISTED_MAX]; /* calls of these do not return */
	size_t ending_count;
};

/* A number, at *at; false when there is none. */
static bool
take_number(const char **at, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(*at, &end, base);
	if (end == *at || errno)
		return false;
	*at = end;
	return true;
}

static bool
take_word(const char **at, const char *word)
{
	const size_t length = strlen(word);

	if (strncmp(*at, word, length) != 0 || (*at)[length] != ' ')
		return false;
	*at += length + 1;
	return true;
}

/* Words of hexadecimal digits, appended. */
static int
take_bytes(const char *at, struct specimen_text *text, struct piece *piece)
{
	for (; isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1]); at += 2) {
		const char digits[3] = {at[0], at[1], '\0'};

		if (text->size >= CODE_MAX)
			return -EINVAL;
		text->bytes[text->size++] = (uint8_t)strtoul(digits, NULL, 16);
		piece->size++;
	}
	return *at == '\n' && piece->size ? 0 : -EINVAL;
}

/* A piece that goes on where the last ended belongs to it. */
static int
take_piece(const char *at, bool is_cold, struct specimen_text *text, struct piece *pieces, size_t max, size_t *count)
{
	struct piece *last = *count ? &pieces[*count - 1] : NULL;
	uint64_t address;

	if (!take_number(&at, 16, &address) || *at++ != ' ')
		return -EINVAL;
	if (last && last->address + last->size == address && last->is_cold == is_cold &&
	    last->begin + last->size == text->size)
		return take_bytes(at, text, last);
	if (*count >= max)
		return -EINVAL;
	pieces[*count] = (struct piece){.address = address, .begin = text->size, .is_cold = is_cold};
	return take_bytes(at, text, &pieces[(*count)++]);
}

static int
take_text(const char *line, struct specimen_text *text)
{
	if (take_word(&line, "code"))
		return take_piece(line, false, text, text->parts, FLOW_PARTS_MAX, &text->part_count);
	if (take_word(&line, "cold"))
		return take_piece(line, true, text, text->parts, FLOW_PARTS_MAX, &text->part_count);
	if (take_word(&line, "data"))
		return take_piece(line, false, text, text->data, LISTED_MAX, &text->data_count);
	if (take_word(&line, "ends") && text->ending_count < LISTED_MAX &&
	    take_number(&line, 16, &text->endings[text->ending_count])) {
		text->ending_count++;
		return 0;
	}
	return -EINVAL;
}

static const uint8_t *
data_at(void *argument, uint64_t address, size_t *size)
{
	const struct specimen_text *text = argument;

	for (size_t i = 0; i < text->data_count; i++) {
		const struct piece *piece = &text->data[i];

		if (address - piece->address >= piece->size)
			continue;
		*size = piece->size - (size_t)(address - piece->address);
		return text->bytes + piece->begin + (address - piece->address);
	}
	return NULL;
}

static bool
returns_at(void *argument, uint64_t address)
{
	const struct specimen_text *text = argument;

	for (size_t i = 0; i < text->ending_count; i++)
		if (text->endings[i] == address)
			return false;
	return true;
}

static int
build_graph(struct specimen_text *text, struct specimen *specimen)
{
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct code_part parts[FLOW_PARTS_MAX];
	const struct flow_source source = {
		.architecture = ARCHITECTURE_X86_64,
		.parts = parts,
		.part_count = text->part_count,
		.argument = text,
		.data = data_at,
		.returns = returns_at,
	};
	int err;

	for (size_t i = 0; i < text->part_count; i++)
		parts[i] = (struct code_part){
			.address = text->parts[i].address,
			.bytes = text->bytes + text->parts[i].begin,
			.size = text->parts[i].size,
			.is_cold = text->parts[i].is_cold,
		};
	err = decoder ? flow_graph_build(decoder, &source, &specimen->graph) : -ENOMEM;
	if (!err)
		err = cycle_equivalence_find(specimen->graph, &specimen->classes);
	decoder_free(decoder);
	return err;
}

/* So many numbers; "3x0" is 0 three times. */
static int
take_numbers(const char *at, size_t count, uint64_t **numbers)
{
	size_t taken = 0;

	*numbers = calloc(count + 1, sizeof(**numbers));
	if (!*numbers)
		return -ENOMEM;
	while (taken < count) {
		uint64_t number, times = 1;

		if (!take_number(&at, 10, &number))
			return -EINVAL;
		if (*at == 'x') {
			times = number;
			at++;
			if (!take_number(&at, 10, &number) || times > count - taken)
				return -EINVAL;
		}
		while (times--)
			(*numbers)[taken++] = number;
	}
	return *at == '\n' ? 0 : -EINVAL;
}

/* What is counted by parts of the graph, which is there now. */
static int
take_counts(const char *line, struct specimen *specimen)
{
	const struct flow_graph *graph = specimen->graph;
	const struct {
		const char *name;
		size_t count;
		uint64_t **numbers;
	} lists[] = {
		{"samples", graph->instruction_count, &specimen->samples},
		{"blocks", graph->block_count, &specimen->block_counts},
		{"edges", graph->edge_count, &specimen->edge_counts},
		{"bursts", graph->edge_count, &specimen->burst_edges},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (take_word(&line, lists[i].name))
			return *lists[i].numbers ? -EINVAL : take_numbers(line, lists[i].count, lists[i].numbers);
	return -EINVAL;
}

static int
take_heading(const char *line, struct specimen *specimen)
{
	if (sscanf(line, "procedure %63s of %63s retires %u skid %u", specimen->procedure, specimen->program,
	           &specimen->width, &specimen->skid) != 4)
		return -EINVAL;
	return 0;
}

static int
take_line(const char *line, struct specimen_text *text, struct specimen *specimen)
{
	int err = 0;

	if (!*specimen->procedure)
		return take_heading(line, specimen);
	if (!specimen->graph && strncmp(line, "samples ", 8) != 0)
		return take_text(line, text);
	if (!specimen->graph)
		err = build_graph(text, specimen);
	return err ? err : take_counts(line, specimen);
}

static bool
is_whole(const struct specimen *specimen)
{
	return specimen->samples && specimen->block_counts && specimen->edge_counts;
}

int
specimen_read(FILE *file, struct specimen *specimen)
{
	struct specimen_text text = {.bytes = malloc(CODE_MAX)};
	size_t room = 0;
	char *line = NULL;
	int err = text.bytes ? 0 : -ENOMEM;
	bool is_end = false;

	memset(specimen, 0, sizeof(*specimen));
	while (!err && !is_end && getline(&line, &room, file) > 0) {
		if (*line == '#' || (*line == '\n' && !*specimen->procedure))
			continue;
		is_end = *line == '\n';
		if (!is_end)
			err = take_line(line, &text, specimen);
	}
	free(line);
	free(text.bytes);
	if (!err && *specimen->procedure && !is_whole(specimen))
		err = -EINVAL;
	return err ? err : *specimen->procedure != '\0';
}

void
specimen_fini(struct specimen *specimen)
{
	flow_graph_free(specimen->graph);
	cycle_equivalence_fini(&specimen->classes);
	free(specimen->samples);
	free(specimen->block_counts);
	free(specimen->edge_counts);
	free(specimen->burst_edges);
	memset(specimen, 0, sizeof(*specimen));
}

struct frequency_input
specimen_input(const struct specimen *specimen)
{
	return (struct frequency_input){
		.graph = specimen->graph,
		.pipeline = PIPELINE_KIND_OUT_OF_ORDER,
		.block_classes = specimen->classes.block_classes,
		.edge_classes = specimen->classes.edge_classes,
		.class_count = specimen->classes.class_count,
		.samples = specimen->samples,
		.skid = specimen->skid,
		.width = specimen->width,
	};
}

/* A source that writes down what it is asked for, and has at most `limit` bytes of each table. */
struct listening {
	const struct flow_source *source;
	uint64_t data[LISTED_MAX], endings[LISTED_MAX];
	size_t data_count, ending_count;
	size_t limit;
	bool is_overrun;
};

static void
note(struct listening *listening, uint64_t address, uint64_t *list, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i] == address)
			return;
	listening->is_overrun |= *count >= LISTED_MAX;
	if (*count < LISTED_MAX)
		list[(*count)++] = address;
}

static const uint8_t *
listen_data(void *argument, uint64_t address, size_t *size)
{
	struct listening *listening = argument;
	const uint8_t *data = listening->source->data(listening->source->argument, address, size);

	if (data)
		note(listening, address, listening->data, &listening->data_count);
	if (data && *size > listening->limit)
		*size = listening->limit;
	return data;
}

static bool
listen_returns(void *argument, uint64_t address)
{
	struct listening *listening = argument;
	const bool returns = listening->source->returns(listening->source->argument, address);

	if (!returns)
		note(listening, address, listening->endings, &listening->ending_count);
	return returns;
}

static bool
is_same(const struct flow_graph *one, const struct flow_graph *other)
{
	if (one->block_count != other->block_count || one->edge_count != other->edge_count ||
	    one->instruction_count != other->instruction_count)
		return false;
	return memcmp(one->edges, other->edges, one->edge_count * sizeof(*one->edges)) == 0 &&
	       memcmp(one->blocks, other->blocks, one->block_count * sizeof(*one->blocks)) == 0;
}

/* With tables as short as can be. */
static int
listen_to(const struct specimen_code *code, struct listening *listening)
{
	struct flow_source source = code->source;

	source.data = listen_data;
	source.returns = listen_returns;
	source.argument = listening;
	for (size_t limit = 32; limit <= 4096; limit *= 2) {
		struct flow_graph *graph = NULL;
		bool same;
		int err;

		*listening = (struct listening){.source = &code->source, .limit = limit};
		err = flow_graph_build(code->decoder, &source, &graph);
		if (err)
			return err;
		same = is_same(graph, code->graph);
		flow_graph_free(graph);
		if (same)
			return listening->is_overrun ? -EINVAL : 0;
	}
	return -EINVAL;
}

static void
write_bytes(FILE *file, const char *word, uint64_t address, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (i % BYTES_A_LINE == 0)
			fprintf(file, "%s%s %" PRIx64 " ", i ? "\n" : "", word, address + i);
		fprintf(file, "%02x", bytes[i]);
	}
	fprintf(file, "\n");
}

static void
write_numbers(FILE *file, const char *word, const uint64_t *numbers, size_t count)
{
	fputs(word, file);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && numbers[next] == numbers[i];)
			next++;
		if (next > i + 1)
			fprintf(file, " %zux%" PRIu64, next - i, numbers[i]);
		else
			fprintf(file, " %" PRIu64, numbers[i]);
	}
	fputc('\n', file);
}

int
specimen_write(FILE *file, const struct specimen *specimen, const struct specimen_code *code)
{
	struct listening listening;
	int err = listen_to(code, &listening);

	if (err)
		return err;
	fprintf(file, "procedure %s of %s retires %u skid %u\n", specimen->procedure, specimen->program,
	        specimen->width, specimen->skid);
	for (size_t i = 0; i < code->source.part_count; i++) {
		const struct code_part *part = &code->source.parts[i];

		write_bytes(file, part->is_cold ? "cold" : "code", part->address, part->bytes, part->size);
	}
	for (size_t i = 0; i < listening.data_count; i++) {
		size_t size;
		const uint8_t *data = code->source.data(code->source.argument, listening.data[i], &size);

		write_bytes(file, "data", listening.data[i], data, size < listening.limit ? size : listening.limit);
	}
	for (size_t i = 0; i < listening.ending_count; i++)
		fprintf(file, "ends %" PRIx64 "\n", listening.endings[i]);
	write_numbers(file, "samples", specimen->samples, specimen->graph->instruction_count);
	write_numbers(file, "blocks", specimen->block_counts, specimen->graph->block_count);
	write_numbers(file, "edges", specimen->edge_counts, specimen->graph->edge_count);
	if (specimen->burst_edges)
		write_numbers(file, "bursts", specimen->burst_edges, specimen->graph->edge_count);
	fputc('\n', file);
	return ferror(file) ? -EIO : 0;
}
