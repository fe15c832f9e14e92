#include "emulator/timing/code.h"

#include <errno.h>
#include <stdlib.h>

#include "emulator/timing/sample.h"
#include "emulator/timing/timing.h"

struct edge edge_none;

/* ---- code ---- */

/* What is on more lines or pages than the callback looks at, or on lines of one set, is looked at whole, each time. */
static void
place_code(const struct timing *timing, struct code *code)
{
	const struct machine *machine = &timing->setup->machine;
	const uint64_t last = code->address + code->block->size - 1;
	const unsigned line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	const bool has_pages =
		timing->parts & SETUP_TLBS && machine->code_tlb.entries; /* else the filter's is page 0 */
	const unsigned page_shift = has_pages ? (unsigned)__builtin_ctz(machine->page_bytes) : 63;

	uint16_t i = code->block->count - 1;

	code->page = code->address >> page_shift;
	code->first_line = code->address >> line_shift;
	code->last_line = last >> line_shift;
	if (code->last_line > code->first_line + 1 || last >> page_shift != code->page ||
	    (code->last_line > code->first_line && machine->code.bytes / machine->line_bytes == machine->code.ways)) {
		code->last_line = CODE_NO_LINE;
		return;
	}
	if (code->last_line == code->first_line)
		return;
	while (i > 0 && code->address + code->block->instructions[i].offset > code->last_line << line_shift)
		i--;
	code->second_line_from = i;
}

/* Room for a block's code and its accesses, whose beginnings are there. */
static struct code *
new_code(struct timing *timing, const struct block *block)
{
	struct code *code;
	unsigned count = 0;

	for (uint16_t i = 0; i < block->count; i++)
		count += block_instruction_is_called_for(&block->instructions[i], i);
	code = arena_take(&timing->arena, sizeof(*code) + count * sizeof(code->accesses[0]), ARENA_PAIR);
	if (!code)
		return NULL;
	count = 0;
	for (uint16_t i = 0; i < block->count; i++)
		if (block_instruction_is_called_for(&block->instructions[i], i))
			code->accesses[count++] = (struct access){.code = code, .index = i};
	return code;
}

static void
fill_code(const struct timing *timing, const struct block *block, struct code *code)
{
	static const uint8_t endings[] = {
		[BLOCK_FALLS] = CODE_FALLS_OR_JUMPS, [BLOCK_BRANCHES] = CODE_BRANCHES,
		[BLOCK_JUMPS] = CODE_FALLS_OR_JUMPS, [BLOCK_JUMPS_INDIRECT] = CODE_JUMPS_INDIRECT,
		[BLOCK_CALLS] = CODE_CALLS,          [BLOCK_CALLS_INDIRECT] = CODE_CALLS_INDIRECT,
		[BLOCK_RETURNS] = CODE_RETURNS,
	};

	code->block = block;
	code->address = block->address;
	code->fall = block->fall;
	code->end = block->fall - block->end_size;
	code->number = block->number;
	code->first = block->first;
	code->last = block->first + block->count - 1u;
	code->ending = endings[block->end];
	code->is_loop = (block->end == BLOCK_BRANCHES && block->target == block->address) ||
	                (block->repeats && block->count == 1);
	code->edge.number = code->number;
	place_code(timing, code);
	if (code->ending == CODE_BRANCHES)
		code->site = predictor_site(&timing->sites, code->end, block->target);
}

struct code *
timing_add_code(struct timing *timing, const struct block *block)
{
	struct code *known = timing->codes[block->number], *code = known;

	/* several addresses have equal code: a library that was mapped again */
	while (code && code->block != block)
		code = code->alias;
	if (code)
		return code;
	code = new_code(timing, block);
	if (!code)
		return NULL;
	code->load_stalls = load_stalls_take(&timing->arena, block);
	if (!code->load_stalls)
		return NULL;
	fill_code(timing, block, code);
	code->edge.recent = &edge_none;
	code->alias = known;
	timing->codes[block->number] = code;
	return code;
}

/* ---- edges ---- */

int
edges_init(struct edges *edges)
{
	*edges = (struct edges){.places = calloc(EDGES_SIZE, sizeof(struct edge *))};
	if (!edges->places)
		return -ENOMEM;
	pthread_mutex_init(&edges->lock, NULL);
	return 0;
}

void
edges_fini(struct edges *edges)
{
	if (!edges->places)
		return;
	pthread_mutex_destroy(&edges->lock);
	arena_fini(&edges->arena);
	free(edges->places);
	edges->places = NULL;
}

static enum edge_fetch
fetch_of(const struct code *before, const struct code *code)
{
	const bool is_one = code->last_line == code->first_line;

	if (code->last_line == CODE_NO_LINE)
		return EDGE_FETCHES_ANY;
	if (before == code || (is_one && before->last_line == code->first_line))
		return EDGE_FETCHES_NOTHING; /* behind itself, both were used a moment ago, in this order */
	if (!is_one && before->last_line != code->first_line)
		return EDGE_FETCHES_TWO;
	if (before->last_line == CODE_NO_LINE || before->page != code->page)
		return EDGE_FETCHES_LINE_OF_PAGE;
	return EDGE_FETCHES_LINE;
}

static void
fill(const struct code *before, struct code *code, const struct variant *variant, struct edge *edge)
{
	edge->code = code;
	edge->next = &edge_none;
	edge->number = code->number;
	edge->address = code->address;
	edge->site = before->site;
	edge->taken = code->address != before->fall;
	edge->kind = (struct edge_kind){.ending = before->ending, .fetch = (uint8_t)fetch_of(before, code)};
	edge->line_key = filter_line_key(code->last_line);
	edge->line_index = (uint16_t)(code->last_line % FILTER_LINES);
	edge->first_index = (uint16_t)(code->first_line % FILTER_LINES);
	edge->page_key = code->page;
	edge->page_index = (uint16_t)(code->page % FILTER_PAGES);
	edge->variant = *variant;
	edge->variant_id = variant;
	edge->misprediction = (struct record_pair){.stalled = code->first, .culprit = before->last};
	edge->misprediction_at = record_stall_place(code->first, before->last, REASON_MISPREDICT) *
	                         (uint32_t)sizeof(struct record_stall);
}

void
edges_make_first(const struct timing *timing, struct code *code)
{
	fill(code, code, blocks_first_variant(timing->blocks, code->block), &code->edge);
}

/* The block before determines the time: in order which one it was, out of order whether it was this one itself. */
static const struct variant *
variant_after(const struct timing *timing, const struct edge *before, const struct code *code)
{
	const struct variant *first = blocks_first_variant(timing->blocks, code->block);

	if (!(timing->parts & SETUP_CLOCK))
		return first;
	if (timing->is_in_order)
		return blocks_find_variant(timing->blocks, before->variant_id, code->block);
	return before->code == code ? blocks_find_variant(timing->blocks, first, code->block) : first;
}

/* Whether the edge takes the place in the code. */
static bool
is_first(const struct edge *before, const struct code *code, const struct variant *variant)
{
	return !edge_is_made(&code->edge) &&
	       (!code->is_loop || (before->code == code && before->variant_id == variant));
}

/* Where it is in the table, in a list. */
static struct edge **
place_of(const struct edges *edges, const struct edge *before, const struct code *code)
{
	const uint64_t from = id_hash_mix((uint64_t)before->number << 32 | before->variant.state);

	return &edges->places[((uint32_t)from + code->edge.number * UINT32_C(0x9e3779b1)) /
	                      (UINT32_MAX / EDGES_SIZE + 1)];
}

/* The edge to `code` that is not the first, wherever it is; NULL: nobody went there. */
static struct edge *
find(const struct edges *edges, const struct edge *before, const struct code *code)
{
	struct edge *edge = __atomic_load_n(place_of(edges, before, code), __ATOMIC_ACQUIRE);

	while (edge && (!edge_is_from(edge, before) || edge->code != code))
		edge = edge->next_in_bucket;
	return edge;
}

/* The first is part of the code; the others are found in the table. Under the lock. */
static struct edge *
make(struct timing *timing, const struct edge *before, struct code *code)
{
	const struct variant *variant = variant_after(timing, before, code);
	struct edge **place, *edge = NULL;

	if (!is_first(before, code, variant))
		edge = arena_take(&timing->edges.arena, sizeof(*edge), _Alignof(struct edge));
	if (!edge) {
		edge = &code->edge;
		if (edge_is_made(edge))
			return edge;
	}
	fill(before->code, code, variant, edge);
	__atomic_store_n(&edge->from_variant_id, before->variant_id, __ATOMIC_RELEASE);
	if (edge == &code->edge)
		return edge;
	place = place_of(&timing->edges, before, code);
	edge->next_in_bucket = *place;
	__atomic_store_n(place, edge, __ATOMIC_RELEASE);
	return edge;
}

/*
 * What is called from many places has more edges to it than one can know, and each of them is the only one from where
 * it comes: the last that was taken from there is tried before the table.
 */
__attribute__((noinline)) struct edge *
edges_follow(struct timing *timing, struct edge *before, struct code *code)
{
	struct edge *edge = __atomic_load_n(&before->next, __ATOMIC_ACQUIRE);

	if (edge->code != code) {
		edge = find(&timing->edges, before, code);
		if (!edge) {
			pthread_mutex_lock(&timing->edges.lock);
			if (edge_is_from(&code->edge, before)) {
				edge = &code->edge; /* of another thread, meanwhile */
			} else {
				edge = find(&timing->edges, before, code);
				edge = edge ? edge : make(timing, before, code);
			}
			pthread_mutex_unlock(&timing->edges.lock);
		}
		if (edge != &code->edge)
			__atomic_store_n(&before->next, edge, __ATOMIC_RELEASE);
	}
	if (edge != &code->edge)
		__atomic_store_n(&code->edge.recent, edge, __ATOMIC_RELEASE);
	return edge;
}
