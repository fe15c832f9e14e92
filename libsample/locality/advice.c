#include "locality/advice.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES     64u  /* without caches to fit */
#define GAIN           0.9  /* of the lines as it is: with more, there is no advice */
#define TILE_LEAST     4u   /* iterations */
#define TILE_SHARE     2u   /* tiles fill 1 / TILE_SHARE of a cache */
#define MEMBERS_MAX    32u  /* of a structure */
#define SPACE_BETWEEN  4096 /* bytes, between arrays of members */
#define ADDRESS_MAX    (UINT64_C(1) << 57)
#define ITERATIONS_MAX (UINT64_C(1) << 40)

static const struct locality_reference *
text_of(const struct locality_record *record, const struct locality_part *part)
{
	return &locality_record_loop(record, part->loop)->references[part->reference];
}

static int64_t
step_of(const struct locality_part *part, uint32_t level)
{
	return level <= part->level ? part->steps[level] : 0;
}

static uint64_t
size_of(int64_t step)
{
	return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

/* ---- which references meet ---- */

/* Bytes of addresses, from the base on: below it, and up to the end. False: more than there is. */
static bool
span_of(const struct locality_nest *nest, const struct locality_part *part, uint32_t bytes, int64_t *below,
        int64_t *above)
{
	*below = 0;
	*above = bytes;
	for (uint32_t i = 0; i <= part->level; i++) {
		int64_t *side = part->steps[i] < 0 ? below : above, length;

		if (nest->iterations[i] <= 1)
			continue;
		if (__builtin_mul_overflow(nest->iterations[i] - 1, part->steps[i], &length) ||
		    __builtin_add_overflow(*side, length, side))
			return false;
	}
	return true;
}

static bool
are_apart(const struct locality_nest *nest, const struct locality_part *a, uint32_t a_bytes,
          const struct locality_part *b, uint32_t b_bytes)
{
	const int64_t distance = (int64_t)(b->base - a->base);
	int64_t a_below, a_above, b_below, b_above;

	if (!span_of(nest, a, a_bytes, &a_below, &a_above) || !span_of(nest, b, b_bytes, &b_below, &b_above))
		return false;
	return distance + b_below >= a_above || distance + b_above <= a_below;
}

/* An order in which iterations are asked for: of each level, the place of its loop. */
struct iteration_order {
	uint32_t levels;
	uint32_t at[LOCALITY_LEVELS]; /* levels, outermost first */
	bool tiled;                   /* any two iterations of a tile change places */
};

/* The sign of the first of them that is not 0. */
static int
first_sign(const int *signs, const uint32_t *at, uint32_t levels)
{
	for (uint32_t i = 0; i < levels; i++)
		if (signs[at ? at[i] : i])
			return signs[at ? at[i] : i];
	return 0;
}

/* Whether two iterations so far apart (by signs, of each level) keep their order. */
static bool
keeps(const struct iteration_order *order, const int *signs)
{
	const int before = first_sign(signs, NULL, order->levels);

	for (uint32_t i = 0; i < order->levels && order->tiled; i++)
		if (signs[i] && signs[i] != before)
			return false;
	return first_sign(signs, order->at, order->levels) == before;
}

/* As keeps(), with any distance of the levels in `any`. */
static bool
keeps_any(const struct iteration_order *order, int *signs, uint32_t any)
{
	uint32_t combinations = 1;

	for (uint32_t i = 0; i < order->levels; i++)
		combinations *= any & 1u << i ? 3 : 1;
	for (uint32_t combination = 0; combination < combinations; combination++) {
		uint32_t left = combination;

		for (uint32_t i = 0; i < order->levels; i++) {
			if (!(any & 1u << i))
				continue;
			signs[i] = (int)(left % 3) - 1;
			left /= 3;
		}
		if (!keeps(order, signs))
			return false;
	}
	return true;
}

/* References with the same strides, some bytes apart. */
struct meeting {
	const struct locality_nest *nest;
	uint32_t levels[LOCALITY_LEVELS]; /* with a stride, the largest first */
	int64_t steps[LOCALITY_LEVELS];   /* of those */
	uint32_t count;
	uint32_t any; /* levels without: they meet at any distance */
	int64_t distance;
	uint32_t bytes;
};

static void
sort_levels(struct meeting *meeting)
{
	for (uint32_t i = 1; i < meeting->count; i++) {
		for (uint32_t k = i; k > 0 && size_of(meeting->steps[k]) > size_of(meeting->steps[k - 1]); k--) {
			const int64_t step = meeting->steps[k];
			const uint32_t level = meeting->levels[k];

			meeting->steps[k] = meeting->steps[k - 1];
			meeting->levels[k] = meeting->levels[k - 1];
			meeting->steps[k - 1] = step;
			meeting->levels[k - 1] = level;
		}
	}
}

/* A step is no smaller than all that the smaller ones reach: then at most two distances of its level are possible. */
static bool
is_solvable(const struct meeting *meeting)
{
	uint64_t reach = meeting->bytes;

	for (uint32_t i = meeting->count; i-- > 0;) {
		const uint64_t size = size_of(meeting->steps[i]);
		uint64_t more;

		if (size < reach)
			return false;
		if (__builtin_mul_overflow(size, meeting->nest->iterations[meeting->levels[i]] - 1, &more) ||
		    __builtin_add_overflow(reach, more, &reach))
			return false;
	}
	return true;
}

static int64_t
divide_down(int64_t number, int64_t by)
{
	const int64_t quotient = number / by;

	return quotient - (number % by != 0 && (number < 0) != (by < 0));
}

/* Distances of each level, by which of both is taken (bits of `choice`). False: they do not meet so. */
static bool
solve(const struct meeting *meeting, uint32_t choice, int *signs)
{
	int64_t left = meeting->distance;

	for (uint32_t i = 0; i < meeting->count; i++) {
		const int64_t step = meeting->steps[i];
		const int64_t distance = divide_down(left, step) + (choice >> i & 1);

		if (size_of(distance) >= meeting->nest->iterations[meeting->levels[i]])
			return false;
		signs[meeting->levels[i]] = (distance > 0) - (distance < 0);
		left -= distance * step;
	}
	return size_of(left) < meeting->bytes;
}

static bool
keeps_meeting(const struct iteration_order *order, struct meeting *meeting)
{
	sort_levels(meeting);
	if (!is_solvable(meeting))
		return false;
	for (uint32_t choice = 0; choice < 1u << meeting->count; choice++) {
		int signs[LOCALITY_LEVELS] = {0};

		if (solve(meeting, choice, signs) && !keeps_any(order, signs, meeting->any))
			return false;
	}
	return true;
}

/* Whether what both refer to is referred to in the same order. */
static bool
keeps_pair(const struct locality_record *record, const struct locality_nest *nest, const struct iteration_order *order,
           const struct locality_part *a, const struct locality_part *b)
{
	const struct locality_reference *a_text = text_of(record, a), *b_text = text_of(record, b);
	struct meeting meeting = {.nest = nest,
	                          .distance = (int64_t)(b->base - a->base),
	                          .bytes = a_text->bytes > b_text->bytes ? a_text->bytes : b_text->bytes};

	if ((a_text->access == 'R' && b_text->access == 'R') || are_apart(nest, a, a_text->bytes, b, b_text->bytes))
		return true;
	for (uint32_t i = 0; i < nest->levels; i++) {
		const int64_t step = step_of(a, i);

		if (step != step_of(b, i))
			return false;
		if (nest->iterations[i] <= 1)
			continue;
		if (step) {
			meeting.steps[meeting.count] = step;
			meeting.levels[meeting.count++] = i;
		} else {
			meeting.any |= 1u << i;
		}
	}
	return keeps_meeting(order, &meeting);
}

static struct locality_order
loops_of(const struct iteration_order *order)
{
	struct locality_order loops = {.count = order->levels};

	for (uint32_t i = 0; i < order->levels; i++)
		loops.loops[i].level = order->at[i];
	return loops;
}

/*
 * Whether `sum` is written behind the loop in its own, would be added to within that in this order, and `other`, which
 * is there, or before that loop and used in it, comes to it: then it would find a part of the sum.
 */
static bool
finds_part_of_sum(const struct locality_record *record, const struct locality_nest *nest,
                  const struct iteration_order *order, const struct locality_part *sum,
                  const struct locality_part *other)
{
	const struct locality_reference *text = text_of(record, sum);
	const struct locality_order loops = loops_of(order);

	return text->access == 'W' && sum->is_behind &&
	       (other->level > sum->level || (!other->is_behind && other->is_used_within)) &&
	       (order->tiled || locality_order_repeats(&loops, sum)) &&
	       !are_apart(nest, sum, text->bytes, other, text_of(record, other)->bytes);
}

static bool
is_allowed(const struct locality_record *record, const struct locality_nest *nest, const struct iteration_order *order)
{
	for (uint32_t i = 0; i < nest->levels; i++)
		if (nest->carries[i] & LOCALITY_CARRIES_OTHER)
			return false;
	for (uint32_t i = 0; i < nest->count; i++)
		for (uint32_t k = 0; k < nest->count; k++)
			if ((k >= i && !keeps_pair(record, nest, order, &nest->parts[i], &nest->parts[k])) ||
			    finds_part_of_sum(record, nest, order, &nest->parts[i], &nest->parts[k]))
				return false;
	return true;
}

/* ---- lines ---- */

/* The share of a line that is new with each iteration. */
static double
line_share(int64_t step, uint32_t line)
{
	return size_of(step) >= line ? 1 : (double)size_of(step) / line;
}

/* How many lines are fetched for a reference, if only the iteration before left one. */
static double
lines_of(const struct locality_nest *nest, const struct locality_order *order, uint32_t line)
{
	double lines = 0, references = 0;

	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		uint32_t place = 0;
		double times = 1;

		for (uint32_t k = 0; k < order->count; k++)
			if (order->loops[k].level <= part->level)
				place = k;
		for (uint32_t k = 0; k <= place; k++)
			times *= order->loops[k].tile ? 1 : (double)nest->iterations[order->loops[k].level];
		references += times;
		lines += times * line_share(step_of(part, order->loops[place].level), line);
	}
	return references > 0 ? lines / references : 0;
}

/* ---- other orders ---- */

struct advising {
	const struct locality_record *record;
	const struct locality_nest *nest;
	const struct locality_caches *caches;
	struct locality_advice *advice;
	size_t count;
	double lines; /* as it is */
	uint32_t line;
};

static struct locality_advice *
propose(struct advising *advising, const struct locality_advice *proposed)
{
	if (advising->count == LOCALITY_ADVICE_MAX)
		return NULL;
	advising->advice[advising->count] = *proposed;
	return &advising->advice[advising->count++];
}

/* Whether two loops that carry sums change places, or are tiled. */
static bool
reorders_sums(const struct locality_nest *nest, const struct iteration_order *order)
{
	uint32_t last = 0, sums = 0;

	for (uint32_t i = 0; i < order->levels; i++) {
		const uint32_t level = order->at[i];

		if (!(nest->carries[level] & LOCALITY_CARRIES_SUMS) || nest->iterations[level] <= 1)
			continue;
		if (sums++ && (order->tiled || level < last))
			return true;
		last = level;
	}
	return false;
}

/* The number'th order of levels; 0: as they are. False: there are not so many. */
static bool
make_order(uint32_t levels, uint32_t number, struct iteration_order *order)
{
	bool taken[LOCALITY_LEVELS] = {false};
	uint32_t orders = 1;

	for (uint32_t i = 2; i <= levels; i++)
		orders *= i;
	if (number >= orders)
		return false;
	*order = (struct iteration_order){.levels = levels};
	for (uint32_t i = 0; i < levels; i++) {
		uint32_t skip, level = 0;

		orders /= levels - i;
		skip = number / orders;
		number %= orders;
		while (taken[level] || skip--)
			level++;
		taken[level] = true;
		order->at[i] = level;
	}
	return true;
}

/* Returns the best of them that is allowed; that of the nest itself, if no other one is better. */
static struct iteration_order
advise_orders(struct advising *advising)
{
	struct iteration_order order, best;
	double least = advising->lines;

	(void)make_order(advising->nest->levels, 0, &best);
	for (uint32_t i = 1; make_order(advising->nest->levels, i, &order); i++) {
		struct locality_advice advice = {.kind = LOCALITY_INTERCHANGE, .order = loops_of(&order)};

		advice.lines = lines_of(advising->nest, &advice.order, advising->line);
		if (advice.lines > GAIN * advising->lines || !is_allowed(advising->record, advising->nest, &order))
			continue;
		advice.sums_reordered = reorders_sums(advising->nest, &order);
		(void)propose(advising, &advice);
		if (advice.lines < least) {
			least = advice.lines;
			best = order;
		}
	}
	return best;
}

/* ---- tiles ---- */

/* Bytes of the lines that a tile refers to, by tiles of so many iterations of each loop. */
static double
tile_bytes(const struct locality_nest *nest, uint64_t tile, uint32_t line)
{
	double sum = 0;

	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		double lines = 1;

		for (uint32_t k = 0; k <= part->level; k++) {
			const uint64_t iterations = nest->iterations[k] < tile ? nest->iterations[k] : tile;

			lines *= part->steps[k] ? 1 + (double)(iterations - 1) * line_share(part->steps[k], line) : 1;
		}
		sum += lines * line;
	}
	return sum;
}

static void
propose_tile(struct advising *advising, const struct iteration_order *order, uint64_t tile)
{
	const struct locality_nest *nest = advising->nest;
	struct locality_advice advice = {.kind = LOCALITY_TILE, .tile = tile};
	const struct locality_order within = loops_of(order);

	for (uint32_t i = 0; i < order->levels; i++) {
		if (nest->iterations[order->at[i]] <= tile)
			continue;
		advice.order.loops[advice.order.count].level = order->at[i];
		advice.order.loops[advice.order.count++].tile = tile;
	}
	if (!advice.order.count)
		return;
	for (uint32_t i = 0; i < order->levels; i++)
		advice.order.loops[advice.order.count++].level = order->at[i];
	advice.lines = lines_of(nest, &within, advising->line);
	advice.sums_reordered = reorders_sums(nest, order);
	(void)propose(advising, &advice);
}

/* Tiles of so many iterations, and of half as many: lines that share sets need more room than they have bytes. */
static void
advise_tiles(struct advising *advising, struct iteration_order order)
{
	uint64_t last = 0;

	order.tiled = true;
	if (advising->nest->levels < 2 || !is_allowed(advising->record, advising->nest, &order))
		return;
	for (unsigned i = 0; i < 2; i++) {
		const double room = (double)advising->caches->levels[i] / TILE_SHARE;
		uint64_t tile = TILE_LEAST;

		if (!advising->caches->levels[i])
			continue;
		while (tile < UINT32_MAX && tile_bytes(advising->nest, 2 * tile, advising->line) <= room)
			tile *= 2;
		if (tile != last && tile / 2 != last && tile / 2 >= TILE_LEAST)
			propose_tile(advising, &order, tile / 2);
		if (tile != last)
			propose_tile(advising, &order, tile);
		last = tile;
	}
}

/* ---- other layouts of arrays ---- */

/* Without the member. */
static size_t
length_of_array(const char *name)
{
	return strcspn(name, ".");
}

static bool
is_of_array(const struct locality_record *record, const struct locality_part *part,
            const struct locality_advice *advice)
{
	const char *name = text_of(record, part)->name;

	return length_of_array(name) == advice->array_size && strncmp(name, advice->array, advice->array_size) == 0;
}

/* The lowest address that the array's references have. */
static uint64_t
lowest_of(const struct locality_record *record, const struct locality_nest *nest, const struct locality_advice *advice)
{
	uint64_t lowest = UINT64_MAX;

	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		int64_t below = 0, above = 0;

		if (!is_of_array(record, part, advice))
			continue;
		(void)span_of(nest, part, 0, &below, &above);
		if (part->base + (uint64_t)below < lowest)
			lowest = part->base + (uint64_t)below;
	}
	return lowest;
}

/* A matrix: levels of its rows and of what is beside in them. */
struct matrix_shape {
	uint32_t row_level, element_level;
	uint64_t row_bytes, element_bytes;
};

/* False: the reference does not go through a matrix, down a column. */
static bool
find_matrix(const struct locality_record *record, const struct locality_part *part, uint32_t line,
            struct matrix_shape *shape)
{
	const uint32_t bytes = text_of(record, part)->bytes;
	bool has_element = false;

	shape->row_level = part->level;
	shape->row_bytes = size_of(part->steps[part->level]);
	shape->element_bytes = bytes;
	for (uint32_t i = 0; i < part->level; i++) {
		if (size_of(part->steps[i]) != bytes)
			continue;
		shape->element_level = i;
		has_element = true;
	}
	return has_element && shape->row_bytes >= line && shape->row_bytes % bytes == 0;
}

static void
transpose(const struct locality_nest *nest, const struct matrix_shape *shape, uint64_t lowest,
          struct locality_part *part)
{
	const uint64_t rows = nest->iterations[shape->row_level], offset = part->base - lowest,
		       row = offset / shape->row_bytes, element = offset % shape->row_bytes / shape->element_bytes;
	const int64_t element_step = (int64_t)shape->element_bytes, row_step = (int64_t)(shape->element_bytes * rows);

	part->base = lowest + element * (uint64_t)row_step + row * shape->element_bytes;
	part->steps[shape->row_level] = part->steps[shape->row_level] < 0 ? -element_step : element_step;
	part->steps[shape->element_level] = part->steps[shape->element_level] < 0 ? -row_step : row_step;
}

/* A structure: bytes from one to the next, and which are referred to in each. */
struct structure_shape {
	uint64_t bytes;
	uint64_t offsets[MEMBERS_MAX];
	uint32_t sizes[MEMBERS_MAX], count, used;
};

/* The least distance of two iterations' addresses. */
static uint64_t
least_step(const struct locality_nest *nest, const struct locality_part *part)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i <= part->level; i++)
		if (part->steps[i] && nest->iterations[i] > 1 && size_of(part->steps[i]) < least)
			least = size_of(part->steps[i]);
	return least;
}

/* False: the array has no structures of one size, or all of their bytes are referred to. */
static bool
find_structure(const struct locality_record *record, const struct locality_nest *nest,
               const struct locality_advice *advice, struct structure_shape *shape)
{
	const uint64_t lowest = lowest_of(record, nest, advice);

	*shape = (struct structure_shape){.bytes = UINT64_MAX};
	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		const uint64_t least = least_step(nest, part);
		uint32_t known = 0;
		uint64_t offset;

		if (!is_of_array(record, part, advice))
			continue;
		if (least == UINT64_MAX || (shape->bytes != UINT64_MAX && shape->bytes != least))
			return false;
		shape->bytes = least;
		offset = (part->base - lowest) % least;
		while (known < shape->count && shape->offsets[known] != offset)
			known++;
		if (known < shape->count)
			continue;
		if (known == MEMBERS_MAX)
			return false;
		shape->offsets[known] = offset;
		shape->sizes[known] = text_of(record, part)->bytes;
		shape->used += shape->sizes[known];
		shape->count++;
	}
	return shape->count && shape->bytes <= UINT32_MAX && shape->used < shape->bytes;
}

static bool
split(const struct structure_shape *shape, uint64_t lowest, uint64_t structures, struct locality_part *part)
{
	const uint64_t offset = (part->base - lowest) % shape->bytes, number = (part->base - lowest) / shape->bytes;
	uint64_t start = lowest;
	uint32_t member = 0;

	for (; shape->offsets[member] != offset; member++)
		start += structures * shape->sizes[member] + SPACE_BETWEEN;
	part->base = start + number * shape->sizes[member];
	for (uint32_t i = 0; i <= part->level; i++) {
		if (part->steps[i] % (int64_t)shape->bytes)
			return false;
		part->steps[i] = part->steps[i] / (int64_t)shape->bytes * shape->sizes[member];
	}
	return true;
}

/* How many structures the array has, as far as it is referred to. */
static uint64_t
count_structures(const struct locality_record *record, const struct locality_nest *nest,
                 const struct locality_advice *advice, uint64_t bytes)
{
	const uint64_t lowest = lowest_of(record, nest, advice);
	uint64_t most = 0;

	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		int64_t below, above;

		if (is_of_array(record, part, advice) && span_of(nest, part, 0, &below, &above) &&
		    part->base + (uint64_t)above - lowest > most)
			most = part->base + (uint64_t)above - lowest;
	}
	return most / bytes + 1;
}

/* False: it cannot be applied to all references of the array. */
static bool
relayout(const struct locality_record *record, const struct locality_nest *nest, const struct locality_advice *advice,
         struct locality_part *parts)
{
	const uint64_t lowest = lowest_of(record, nest, advice);
	struct matrix_shape first = {0}, shape;
	struct structure_shape structure;
	bool is_done = true;

	memcpy(parts, nest->parts, nest->count * sizeof(*parts));
	if (advice->kind == LOCALITY_SPLIT && !find_structure(record, nest, advice, &structure))
		return false;
	for (uint32_t i = 0; i < nest->count && is_done; i++) {
		if (!is_of_array(record, &parts[i], advice))
			continue;
		if (advice->kind == LOCALITY_SPLIT) {
			is_done = split(&structure, lowest, count_structures(record, nest, advice, structure.bytes),
			                &parts[i]);
			continue;
		}
		is_done = find_matrix(record, &parts[i], LINE_BYTES, &shape) &&
		          (!first.row_bytes || memcmp(&first, &shape, sizeof(shape)) == 0);
		first = shape;
		if (is_done)
			transpose(nest, &shape, lowest, &parts[i]);
	}
	return is_done;
}

static void
propose_layout(struct advising *advising, struct locality_advice *advice)
{
	struct locality_part parts[LOCALITY_PARTS_MAX];
	struct locality_nest nest = *advising->nest;
	struct structure_shape shape;

	advice->order = locality_order_of(&nest);
	if (!relayout(advising->record, advising->nest, advice, parts))
		return;
	nest.parts = parts;
	advice->lines = lines_of(&nest, &advice->order, advising->line);
	if (advice->lines > GAIN * advising->lines)
		return;
	if (advice->kind == LOCALITY_SPLIT && find_structure(advising->record, advising->nest, advice, &shape)) {
		advice->used = shape.used;
		advice->bytes = (uint32_t)shape.bytes;
	}
	(void)propose(advising, advice);
}

static void
advise_layouts(struct advising *advising)
{
	const struct locality_nest *nest = advising->nest;

	for (uint32_t i = 0; i < nest->count; i++) {
		const char *name = text_of(advising->record, &nest->parts[i])->name;
		struct locality_advice advice = {
			.kind = LOCALITY_TRANSPOSE, .array = name, .array_size = length_of_array(name)};
		bool is_known = !advice.array_size;
		struct matrix_shape shape;

		for (uint32_t k = 0; k < i && !is_known; k++)
			is_known = is_of_array(advising->record, &nest->parts[k], &advice);
		if (is_known)
			continue;
		if (name[advice.array_size])
			advice.kind = LOCALITY_SPLIT;
		else if (!find_matrix(advising->record, &nest->parts[i], advising->line, &shape))
			continue;
		propose_layout(advising, &advice);
	}
}

/* ---- all of it ---- */

/* What cannot be, but in a damaged record, has no advice; else no number here overflows. */
static bool
is_possible(const struct locality_nest *nest)
{
	for (uint32_t i = 0; i < nest->levels; i++)
		if (nest->iterations[i] > ITERATIONS_MAX)
			return false;
	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		int64_t below, above;

		if (part->indices || part->base > ADDRESS_MAX || !span_of(nest, part, 0, &below, &above) ||
		    size_of(below) > ADDRESS_MAX || size_of(above) > ADDRESS_MAX)
			return false;
		for (uint32_t k = 0; k <= part->level; k++)
			if (size_of(part->steps[k]) > ADDRESS_MAX)
				return false;
	}
	return true;
}

size_t
locality_advise(const struct locality_record *record, const struct locality_nest *nest,
                const struct locality_caches *caches, struct locality_advice advice[LOCALITY_ADVICE_MAX], double *lines)
{
	static const struct locality_caches none = {.line = LINE_BYTES};
	const struct locality_order own = locality_order_of(nest);
	struct advising advising = {
		.record = record, .nest = nest, .caches = caches ? caches : &none, .advice = advice};
	struct iteration_order as_is, best;

	*lines = 0;
	if (!nest->count || !is_possible(nest) || !locality_order_references(nest, &own))
		return 0;
	advising.line = advising.caches->line;
	advising.lines = *lines = lines_of(nest, &own, advising.line);
	(void)make_order(nest->levels, 0, &as_is);
	best = advise_orders(&advising);
	advise_layouts(&advising);
	advise_tiles(&advising, as_is);
	if (memcmp(best.at, as_is.at, sizeof(best.at)) != 0)
		advise_tiles(&advising, best);
	return advising.count;
}

struct locality_nest
locality_advised(const struct locality_record *record, const struct locality_nest *nest,
                 const struct locality_advice *advice, struct locality_part *parts)
{
	struct locality_nest advised = *nest;

	memcpy(parts, nest->parts, nest->count * sizeof(*parts));
	if (advice->kind == LOCALITY_TRANSPOSE || advice->kind == LOCALITY_SPLIT)
		(void)relayout(record, nest, advice, parts);
	advised.parts = parts;
	return advised;
}
