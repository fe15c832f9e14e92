#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tests/accuracy/specimen.h"

#define BYTES_A_LINE 48
#define LISTED_MAX   64

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
