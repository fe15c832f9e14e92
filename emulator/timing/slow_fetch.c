/* Fetching a block's code that is no plain hit: for the most part level 2 has the line, and that is all. */
#include "emulator/model/simple_fetch.h"
#include "emulator/timing/front.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/missed.h"

/* The first instruction that has a byte in the line with `address`. */
static uint32_t
instruction_in(const struct code *code, uint64_t address)
{
	const struct block *block = code->block;
	unsigned i = 0;

	if (address == code->address)
		return code->first;
	if (code->last_line != CODE_NO_LINE)
		return code->first + code->second_line_from;
	while (i + 1u < block->count && code->address + block->instructions[i + 1].offset <= address)
		i++;
	return code->first + i;
}

/* Its line is no plain hit. */
static __attribute__((noinline)) void
fetch_line(struct thread *thread, const struct code *code, uint64_t address)
{
	struct access_result result;
	uint32_t number;

	hierarchy_fetch(thread->hierarchy, address, thread_clock(thread), &result);
	if (missed_nothing(&result))
		return;
	number = instruction_in(code, address);
	missed_count_read(thread, number, &result, true);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

/* Of the first byte of the block in it. */
static uint64_t
last_line_address(const struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	return code->last_line == code->first_line ? code->address : (code->address | (line_bytes - 1)) + 1;
}

static void
fetch_two_lines(struct thread *thread, const struct code *code)
{
	if (!plain_hits_use_one(thread->code_plain, false, code->first_line, code->page))
		fetch_line(thread, code, code->address);
	if (!plain_hits_use_one(thread->code_plain, false, code->last_line, code->page))
		fetch_line(thread, code, last_line_address(thread, code));
}

/* One line or two, wherever they are. */
static SLOW void
fetch_anyhow(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const struct code *code = edge->code;

	if (edge->kind.fetch == EDGE_FETCHES_TWO)
		fetch_two_lines(thread, code);
	else
		fetch_line(thread, code, last_line_address(thread, code));
	hot_advance(thread, edge, parts);
}

static inline uint64_t
end_of(const struct code *code)
{
	return code->address + code->block->size;
}

/* Lines of the block from the one with `address` on. */
static SLOW void
fetch_lines(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t address)
{
	const uint64_t within = thread->timing->setup->machine.line_bytes - 1, end = end_of(edge->code);

	while (address < end) {
		const uint64_t next = plain_code_use_lines(thread->code_plain, address, end);

		if (next == address)
			fetch_line(thread, edge->code, address);
		address = next == address ? (address | within) + 1 : next;
	}
	hot_advance(thread, edge, parts);
}

/* All lines of the block, one by one. */
static SLOW void
fetch_all(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const uint64_t end = end_of(edge->code);
	const uint64_t next = plain_code_use_lines(thread->code_plain, edge->code->address, end);

	if (next < end)
		fetch_lines(thread, edge, parts, next);
	else
		hot_advance(thread, edge, parts);
}

/* The first instruction that has a byte in the last line. */
static inline uint32_t
last_line_instruction(const struct code *code)
{
	return code->first + code->second_line_from;
}

/* What is known of how the last line was fetched: its page was used, and it was in level 1, or in level 2. */
struct fetched {
	enum hierarchy_translation translation;
	bool is_second;
};

/* Something of it is sampled, or holds up otherwise than is usual; nothing was counted. */
static SLOW void
fetched_rest(struct thread *thread, struct edge *edge, uint32_t parts, struct fetched fetched)
{
	const uint32_t number = last_line_instruction(edge->code);
	struct access_result result = hierarchy_result_of(&thread->hierarchy->code_pages, fetched.translation);

	if (fetched.is_second) {
		result.level = 1;
		result.cycles = simple_fetch_cycles(thread->hierarchy);
	}
	missed_count_read(thread, number, &result, true);
	if (parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
	hot_advance(thread, edge, parts);
}

static inline bool
is_sampled(const struct thread *thread, const struct fetched fetched)
{
	return (fetched.is_second && sample_is_near(thread, SETUP_EVENT_LEVEL1_CODE)) ||
	       (fetched.translation != TRANSLATION_FIRST && sample_is_near(thread, SETUP_EVENT_CODE_TLB));
}

static inline void
count(struct thread *thread, const struct fetched fetched)
{
	if (fetched.translation != TRANSLATION_FIRST)
		sample_is_due(thread, SETUP_EVENT_CODE_TLB);
	if (fetched.is_second)
		sample_is_due(thread, SETUP_EVENT_LEVEL1_CODE);
}

/* Straight on; what is not the usual goes on elsewhere. */
static inline __attribute__((always_inline)) void
advance_fetched(struct thread *thread, struct edge *edge, uint32_t parts, const struct fetched fetched)
{
	const struct hierarchy *hierarchy = thread->hierarchy;
	const uint32_t cache_cycles = fetched.is_second ? simple_fetch_cycles(hierarchy) : 0;
	const uint32_t tlb_cycles =
		fetched.translation == TRANSLATION_FIRST ? 0 : hierarchy->code_pages.cycles[fetched.translation];

	if (fetched.translation == TRANSLATION_WALKED || is_sampled(thread, fetched) ||
	    (parts & SETUP_CLOCK &&
	     !front_misses(thread, last_line_instruction(edge->code), tlb_cycles, cache_cycles))) {
		fetched_rest(thread, edge, parts, fetched);
		return;
	}
	count(thread, fetched);
	hot_advance(thread, edge, parts);
}

/* Level 2 had it not, or prefetchers are to be told. */
static SLOW void
fetch_beyond(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line, enum simple_found found,
             enum hierarchy_translation translation)
{
	const uint64_t address = last_line_address(thread, edge->code);
	const uint32_t number = last_line_instruction(edge->code);
	struct access_result result = hierarchy_result_of(&thread->hierarchy->code_pages, translation);

	simple_fetch_rest(thread->hierarchy, address, line, found, thread_clock(thread), &result);
	missed_count_read(thread, number, &result, true);
	if (parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
	hot_advance(thread, edge, parts);
}

/* Its place in level 1 is not known; its page was used. */
static SLOW void
fetch_hidden(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line,
             enum hierarchy_translation translation)
{
	simple_fetch_hidden(thread->hierarchy, edge->line_key, line);
	if (translation == TRANSLATION_FIRST)
		hot_advance(thread, edge, parts);
	else
		fetched_rest(thread, edge, parts, (struct fetched){translation, false});
}

/* It is no plain hit, is known as `line`, and its page was used; `slots`: hierarchy->simple_code_slots, 4 or 8. */
static inline __attribute__((always_inline)) void
fetch_last_line(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line,
                const enum hierarchy_translation translation, const unsigned slots)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const enum simple_found found = simple_fetch_line(hierarchy, edge->line_key, line, slots);

	if (found == SIMPLE_NOT)
		fetch_hidden(thread, edge, parts, line, translation);
	else if (found != SIMPLE_SECOND || hierarchy->prefetch)
		fetch_beyond(thread, edge, parts, line, found, translation);
	else
		advance_fetched(thread, edge, parts, (struct fetched){translation, true});
}

static SLOW void
fetch_line_of_four(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line,
                   enum hierarchy_translation translation)
{
	fetch_last_line(thread, edge, parts, line, translation, 4);
}

static SLOW void
fetch_line_of_eight(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line,
                    enum hierarchy_translation translation)
{
	fetch_last_line(thread, edge, parts, line, translation, 8);
}

static inline __attribute__((always_inline)) void
fetch_translated(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t line,
                 const enum hierarchy_translation translation)
{
	if (thread->hierarchy->simple_code_slots == 4)
		fetch_line_of_four(thread, edge, parts, line, translation);
	else
		fetch_line_of_eight(thread, edge, parts, line, translation);
}

/* Its page is no plain hit. */
static SLOW void
fetch_page(struct thread *thread, struct edge *edge, uint32_t parts)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	enum hierarchy_translation translation;
	uint64_t line;

	if (!simple_fetch_page(hierarchy, edge->line_key, &line, &translation))
		fetch_anyhow(thread, edge, parts);
	else if (!plain_code_use_line(thread->code_plain, edge->line_index, edge->line_key))
		fetch_translated(thread, edge, parts, line, translation);
	else if (translation != TRANSLATION_FIRST)
		advance_fetched(thread, edge, parts, (struct fetched){translation, false});
	else
		hot_advance(thread, edge, parts);
}

static inline bool
is_one_line(const struct edge *edge)
{
	return edge->kind.fetch == EDGE_FETCHES_LINE || edge->kind.fetch == EDGE_FETCHES_LINE_OF_PAGE;
}

void
slow_fetch(struct thread *thread, struct edge *edge, uint32_t parts)
{
	uint64_t line;

	if (edge->kind.fetch == EDGE_FETCHES_ANY)
		fetch_all(thread, edge, parts);
	else if (!thread->hierarchy->simple_code_slots || hierarchy_has_moved(thread->hierarchy) || !is_one_line(edge))
		fetch_anyhow(thread, edge, parts);
	else if (simple_use_code_page(thread->code_plain, edge->line_key, &line))
		fetch_translated(thread, edge, parts, line, TRANSLATION_FIRST);
	else
		fetch_page(thread, edge, parts);
}
