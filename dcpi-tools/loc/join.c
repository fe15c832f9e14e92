#include "dcpi-tools/loc/join.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/loc/places.h"

#define NO_ROW UINT32_MAX

/* References of a loop in one line. */
struct join_line {
	uint32_t line;
	uint64_t low, high; /* first addresses, by the record; low > high: none is known */
};

/* Loops that become a row. */
struct join_group {
	const struct locality_loop *loop;
	struct join_line *lines; /* of its references, ascending */
	size_t line_count, line_room;
	struct locality_score exact, sampled;
	double references, spatial, judged, temporal; /* of the record: sums over references */
	uint64_t estimated_lines, exact_lines;
};

struct joining {
	struct join *join; /* that is made */
	const struct loc_profile *profile;
	struct trace *trace;
	struct join_group *groups;
	size_t count, room;
	uint32_t *of_owner;       /* group, by the owner of a loop of the profile */
	uint32_t *of_instruction; /* group, by the trace's index */
	struct locality_score exact, sampled;
	double unplaced;
};

/* ---- groups ---- */

static bool
is_same_place(const struct locality_loop *a, const struct locality_loop *b)
{
	return a->line == b->line && strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

static int
add_line(struct join_group *group, uint32_t line, const struct loc_reference *reference)
{
	struct join_line *found = NULL;

	if (line == 0)
		return 0;
	for (size_t i = 0; i < group->line_count && !found; i++)
		found = group->lines[i].line == line ? &group->lines[i] : NULL;
	if (!found) {
		found = ARRAY_APPEND(group->lines, group->line_count, group->line_room);
		if (!found)
			return -ENOMEM;
		*found = (struct join_line){.line = line, .low = UINT64_MAX};
	}
	found->low = reference->low < found->low ? reference->low : found->low;
	found->high = reference->high > found->high ? reference->high : found->high;
	return 0;
}

static struct join_group *
group_of(struct joining *joining, const struct locality_loop *loop)
{
	struct join_group *group;

	for (size_t i = 0; i < joining->count; i++) {
		if (is_same_place(joining->groups[i].loop, loop))
			return &joining->groups[i];
	}
	group = ARRAY_APPEND(joining->groups, joining->count, joining->room);
	if (group)
		*group = (struct join_group){.loop = loop};
	return group;
}

static int
add_loop(struct joining *joining, const struct loc_loop *loop)
{
	struct join_group *group = group_of(joining, loop->loop);
	const double count = loop->estimated;
	int err = group ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < loop->loop->count && !err; i++)
		err = add_line(group, loop->loop->references[i].line, &loop->references[i]);
	if (err)
		return err;
	joining->of_owner[loop->owner] = (uint32_t)(group - joining->groups);
	group->references += count;
	group->spatial += locality_spatial(&loop->score) * count;
	if (loop->score.judged) {
		group->judged += count;
		group->temporal += locality_temporal(&loop->score) * count;
	}
	return 0;
}

static int
make_groups(struct joining *joining)
{
	const struct loc_profile *profile = joining->profile;
	int err = 0;

	for (size_t i = 0; i < profile->loop_count && !err; i++)
		err = add_loop(joining, &profile->loops[i]);
	for (size_t i = 0; i < joining->count; i++) {
		struct join_group *group = &joining->groups[i];

		if (group->line_count)
			qsort(group->lines, group->line_count, sizeof(*group->lines), array_compare_u32);
	}
	return err;
}

/* ---- instructions ---- */

static bool
is_in_file(const struct join_group *group, const struct code_place *place)
{
	return !*group->loop->file || strcmp(text_basename(group->loop->file), text_basename(place->file)) == 0;
}

/* How much of what the instruction refers to is within what the loop does in this line, and the reverse: 0 to 1. */
static double
overlap_of(const struct join_line *line, const struct traced_instruction *instruction)
{
	const uint64_t low = line->low > instruction->low ? line->low : instruction->low,
		       high = line->high < instruction->high ? line->high : instruction->high,
		       first = line->low < instruction->low ? line->low : instruction->low,
		       last = line->high > instruction->high ? line->high : instruction->high;

	return line->low > line->high || low > high ? 0 : (double)(high - low + 1) / (double)(last - first + 1);
}

/*
 * Of several loops that have the line, that of the function which has the instruction; then the one that refers to such
 * addresses there; then the inner one.
 */
static uint32_t
find_by_line(const struct joining *joining, const struct traced_instruction *instruction,
             const struct code_place *place)
{
	uint32_t best = NO_ROW;
	double best_rank = -1;

	for (size_t i = 0; i < joining->count; i++) {
		const struct join_group *group = &joining->groups[i];
		const size_t at = ARRAY_LOWER_BOUND(group->lines, group->line_count, line, place->line);
		double rank;

		if (at == group->line_count || group->lines[at].line != place->line || !is_in_file(group, place))
			continue;
		rank = (strstr(place->function, group->loop->function) ? 2 : 0) +
		       overlap_of(&group->lines[at], instruction);
		if (rank < best_rank ||
		    (best != NO_ROW && rank == best_rank && group->loop->depth <= joining->groups[best].loop->depth))
			continue;
		best = (uint32_t)i;
		best_rank = rank;
	}
	return best;
}

static uint32_t
find_by_range(const struct joining *joining, const struct code_place *place)
{
	uint32_t best = NO_ROW, best_span = UINT32_MAX;

	for (size_t i = 0; i < joining->count; i++) {
		const struct join_group *group = &joining->groups[i];
		uint32_t first, last;

		if (!group->line_count || !is_in_file(group, place) || !strstr(place->function, group->loop->function))
			continue;
		first = group->lines[0].line;
		last = group->lines[group->line_count - 1].line;
		first = group->loop->line && group->loop->line < first ? group->loop->line : first;
		if (place->line < first || place->line > last || last - first >= best_span)
			continue;
		best = (uint32_t)i;
		best_span = last - first;
	}
	return best;
}

static int
add_joined(struct joining *joining, uint32_t group, const struct traced_instruction *instruction, uint32_t line)
{
	struct join *join = joining->join;
	struct join_instruction *added =
		ARRAY_APPEND(join->instructions, join->instruction_count, join->instruction_room);

	if (!added)
		return -ENOMEM;
	*added = (struct join_instruction){joining->groups[group].loop, instruction, line};
	return 0;
}

static int
join_instructions(struct joining *joining)
{
	struct code_places *places = code_places_new(joining->trace->images);
	int err = places ? 0 : -ENOMEM;

	for (size_t i = 0; i < joining->trace->count && !err; i++) {
		const struct traced_instruction *instruction = &joining->trace->instructions[i];
		uint32_t group = NO_ROW;
		struct code_place place;

		err = code_places_find(places, instruction->image, instruction->offset, &place);
		if (!err && place.line)
			group = find_by_line(joining, instruction, &place);
		if (!err && place.line && group == NO_ROW)
			group = find_by_range(joining, &place);
		if (!err && !place.line)
			joining->unplaced += (double)(instruction->exact.references + instruction->sampled.references);
		joining->of_instruction[i] = group;
		locality_score_add(&joining->exact, &instruction->exact);
		locality_score_add(&joining->sampled, &instruction->sampled);
		if (group == NO_ROW || err)
			continue;
		locality_score_add(&joining->groups[group].exact, &instruction->exact);
		locality_score_add(&joining->groups[group].sampled, &instruction->sampled);
		err = add_joined(joining, group, instruction, place.line);
	}
	code_places_free(places);
	return err;
}

/* ---- lines ---- */

static int
count_traced(const struct joining *joining, const uint32_t *groups, size_t group_count, uint64_t *lines)
{
	const struct trace *trace = joining->trace;
	uint64_t *keys = malloc(trace->key_count * sizeof(*keys) + 1);

	if (!keys)
		return -ENOMEM;
	if (trace->key_count)
		memcpy(keys, trace->keys, trace->key_count * sizeof(*keys));
	line_keys_count(keys, trace->key_count, trace->halvings, groups, trace->count, group_count, lines);
	free(keys);
	return 0;
}

static int
count_group_lines(struct joining *joining)
{
	uint64_t *lines = calloc(2 * joining->count + 1, sizeof(*lines)),
		 *traced = lines ? lines + joining->count : NULL;
	int err = lines ? 0 : -ENOMEM;

	if (!err)
		err = loc_profile_count_lines(joining->profile, joining->of_owner, joining->count, lines);
	if (!err)
		err = count_traced(joining, joining->of_instruction, joining->count, traced);
	for (size_t i = 0; i < joining->count && !err; i++) {
		joining->groups[i].estimated_lines = lines[i];
		joining->groups[i].exact_lines = traced[i];
	}
	free(lines);
	return err;
}

/* Of all loops, and of all instructions. */
static int
count_all_lines(struct joining *joining, struct join *join)
{
	const size_t most = joining->trace->count > joining->profile->loop_count ? joining->trace->count
	                                                                         : joining->profile->loop_count;
	uint32_t *one = calloc(most + 1, sizeof(*one));
	uint64_t estimated = 0, exact = 0;
	int err = one ? loc_profile_count_lines(joining->profile, one, 1, &estimated) : -ENOMEM;

	if (!err)
		err = count_traced(joining, one, 1, &exact);
	join->estimated.footprint = estimated * LINE_SET_BYTES;
	join->exact.footprint = exact * LINE_SET_BYTES;
	free(one);
	return err;
}

/* ---- rows ---- */

/* Where reuse distances were sampled, what was judged stands for all references there. */
static void
describe_exact(const struct locality_score *exact, const struct locality_score *sampled, struct join_side *side)
{
	const double weight = sampled->judged ? (double)sampled->references : 0;
	const double judged = (double)exact->judged + weight;

	side->references = (double)(exact->references + sampled->references);
	side->spatial = side->references > 0 ? (exact->spatial + sampled->spatial) / side->references : 0;
	side->temporal = exact->temporal;
	if (sampled->judged)
		side->temporal += sampled->temporal / (double)sampled->judged * weight;
	side->temporal = judged > 0 ? side->temporal / judged : -1;
}

static void
make_row(const struct join_group *group, struct join_row *row)
{
	row->loop = group->loop;
	row->estimated = (struct join_side){
		.references = group->references,
		.spatial = group->references > 0 ? group->spatial / group->references : 0,
		.temporal = group->judged > 0 ? group->temporal / group->judged : -1,
		.footprint = group->estimated_lines * LINE_SET_BYTES,
	};
	row->exact.footprint = group->exact_lines * LINE_SET_BYTES;
	describe_exact(&group->exact, &group->sampled, &row->exact);
}

/* The variance of a ratio of sums over bursts (Cochran, Sampling Techniques, 1977, 6.13), by its share of the score. */
static double
temporal_error(const struct joining *joining)
{
	const struct trace_bursts *bursts = &joining->trace->bursts;
	const double count = (double)bursts->count,
		     all = (double)joining->exact.references + (double)joining->sampled.references;
	double ratio, squares;

	if (count < 2 || bursts->judged <= 0 || all <= 0)
		return 0;
	ratio = bursts->temporal / bursts->judged;
	squares = bursts->temporal_squares - 2 * ratio * bursts->products + ratio * ratio * bursts->judged_squares;
	squares = squares > 0 ? squares : 0;
	return sqrt(count / (count - 1) * squares) / bursts->judged * ((double)joining->sampled.references / all);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct join_row *one = a, *other = b;

	return (one->exact.references < other->exact.references) - (one->exact.references > other->exact.references);
}

static int
make_rows(const struct joining *joining, struct join *join)
{
	const struct loc_profile *profile = joining->profile;

	join->rows = calloc(joining->count + 1, sizeof(*join->rows));
	if (!join->rows)
		return -ENOMEM;
	join->count = joining->count;
	for (size_t i = 0; i < join->count; i++) {
		make_row(&joining->groups[i], &join->rows[i]);
		join->described += join->rows[i].exact.references;
	}
	qsort(join->rows, join->count, sizeof(*join->rows), compare_rows);
	join->estimated.references = profile->estimated;
	join->estimated.spatial = profile->spatial;
	join->estimated.temporal = profile->temporal;
	describe_exact(&joining->exact, &joining->sampled, &join->exact);
	join->unplaced = joining->unplaced;
	join->sampled = (double)joining->sampled.references;
	join->temporal_error = temporal_error(joining);
	return 0;
}

static int
join_all(struct joining *joining, struct join *join)
{
	int err = make_groups(joining);

	if (!err)
		err = join_instructions(joining);
	if (!err)
		err = count_group_lines(joining);
	if (!err)
		err = count_all_lines(joining, join);
	return err ? err : make_rows(joining, join);
}

int
join_make(struct join *join, const struct loc_profile *profile, struct trace *trace)
{
	struct joining joining = {.join = join, .profile = profile, .trace = trace};
	int err = -ENOMEM;

	*join = (struct join){.rows = NULL};
	joining.of_owner = calloc(profile->loop_count + 1, sizeof(*joining.of_owner));
	joining.of_instruction = calloc(trace->count + 1, sizeof(*joining.of_instruction));
	if (joining.of_owner && joining.of_instruction)
		err = join_all(&joining, join);
	for (size_t i = 0; i < joining.count; i++)
		free(joining.groups[i].lines);
	free(joining.groups);
	free(joining.of_owner);
	free(joining.of_instruction);
	return err;
}

void
join_fini(struct join *join)
{
	free(join->instructions);
	free(join->rows);
	*join = (struct join){.rows = NULL};
}
