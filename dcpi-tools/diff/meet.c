#include "dcpi-tools/diff/meet.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define COMMON_SHARE 0.5 /* of the samples, that procedures of the same names must have on both sides */

bool
images_are_one_build(const struct image *one, const struct image *other)
{
	if (one->kind != other->kind || one->build_id_size != other->build_id_size)
		return false;
	if (one->build_id_size > 0)
		return memcmp(one->build_id, other->build_id, one->build_id_size) == 0;
	return one->device_major == other->device_major && one->device_minor == other->device_minor &&
	       one->inode == other->inode && one->inode_generation == other->inode_generation &&
	       strcmp(one->path, other->path) == 0;
}

/* What identifies a file that may be another build elsewhere. */
enum trait {
	TRAIT_PATH, /* of any image */
	TRAIT_SONAME,
	TRAIT_NAME,
	TRAIT_STEM,
	TRAIT_SOURCE,
	TRAIT_COUNT,
};

static const char *const reasons[TRAIT_COUNT] = {NULL, "soname", "file name", "file name without version", "source"};

struct diff_entry {
	struct meet_image *image;
	unsigned side;
	char *text; /* owned */
};

struct meeting {
	struct meet_side *sides;
	struct diff_entry *entries; /* of both sides */
	size_t count;
	uint32_t *parents; /* of groups while they are made */
};

static uint32_t
root(struct meeting *meeting, uint32_t group)
{
	while (meeting->parents[group] != group)
		group = meeting->parents[group] = meeting->parents[meeting->parents[group]];
	return group;
}

static void
join(struct meeting *meeting, const struct meet_image *one, const struct meet_image *other)
{
	meeting->parents[root(meeting, one->group)] = root(meeting, other->group);
}

/* "libfoo.so" of libfoo-1.2.so.3, "python3" of python3.11: without numbers behind a dash, a dot or an underscore. */
static char *
stem(const char *name)
{
	char *text = strdup(name), *to = text;

	if (!text)
		return NULL;
	for (const char *from = name; *from;) {
		if (to != text && strchr("-._", *from) && isdigit((unsigned char)from[1])) {
			for (from++; isdigit((unsigned char)*from);)
				from++;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* NULL: it has none; *err is set when memory ends. */
static char *
trait_of(const struct meet_image *image, enum trait trait, int *err)
{
	const char *name = text_basename(image->image->path);
	char *text = NULL;

	if (trait != TRAIT_PATH && image->image->kind != IMAGE_USER)
		return NULL;
	if ((trait == TRAIT_SONAME && !image->soname) || (trait == TRAIT_SOURCE && !image->source))
		return NULL;
	if (trait == TRAIT_PATH)
		text = strdup(image->image->path);
	else if (trait == TRAIT_STEM)
		text = stem(name);
	else
		text = strdup(trait == TRAIT_SONAME ? image->soname : trait == TRAIT_NAME ? name : image->source);
	if (!text)
		*err = -ENOMEM;
	return text;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct diff_entry *one = a, *other = b;
	int order;

	if (!one->text || !other->text)
		return !one->text - !other->text;
	order = strcmp(one->text, other->text);
	if (!order)
		order = (int)one->image->image->kind - (int)other->image->image->kind;
	return order;
}

static bool
is_alone(struct meeting *meeting, const struct meet_image *image, const bool *has)
{
	const uint32_t group = root(meeting, image->group);

	return !(has[(size_t)2 * group] && has[(size_t)2 * group + 1]);
}

static bool
is_alone_file(struct meeting *meeting, const struct meet_image *image, const bool *has)
{
	return image->image->kind == IMAGE_USER && is_alone(meeting, image, has);
}

/* Which sides each group has: has[2 * group + side]. */
static bool *
group_sides(struct meeting *meeting)
{
	bool *has = calloc(2 * meeting->count + 2, sizeof(*has));

	for (size_t i = 0; has && i < meeting->count; i++) {
		const struct diff_entry *entry = &meeting->entries[i];

		has[(size_t)2 * root(meeting, entry->image->group) + entry->side] = true;
	}
	return has;
}

/* Entries from `first` to `end` have one text. */
static void
join_equal(struct meeting *meeting, size_t first, size_t end, enum trait trait)
{
	bool sides[2] = {false};

	for (size_t i = first; i < end; i++)
		sides[meeting->entries[i].side] = true;
	if (trait != TRAIT_PATH && !(sides[0] && sides[1]))
		return;
	for (size_t i = first; i < end; i++) {
		join(meeting, meeting->entries[i].image, meeting->entries[first].image);
		if (trait != TRAIT_PATH)
			meeting->entries[i].image->why = reasons[trait];
	}
}

static int
join_by_trait(struct meeting *meeting, enum trait trait)
{
	bool *has = group_sides(meeting);
	int err = has ? 0 : -ENOMEM;
	size_t end;

	for (size_t i = 0; i < meeting->count && !err; i++) {
		struct diff_entry *entry = &meeting->entries[i];

		if (trait == TRAIT_PATH || is_alone(meeting, entry->image, has))
			entry->text = trait_of(entry->image, trait, &err);
	}
	if (meeting->count > 0)
		qsort(meeting->entries, meeting->count, sizeof(*meeting->entries), compare_entries);
	for (size_t first = 0; first < meeting->count && meeting->entries[first].text && !err; first = end) {
		for (end = first + 1; end < meeting->count; end++)
			if (compare_entries(&meeting->entries[first], &meeting->entries[end]) != 0)
				break;
		join_equal(meeting, first, end, trait);
	}
	for (size_t i = 0; i < meeting->count; i++) {
		free(meeting->entries[i].text);
		meeting->entries[i].text = NULL;
	}
	free(has);
	return err;
}

static void
join_builds(struct meeting *meeting)
{
	for (size_t i = 0; i < meeting->sides[0].count; i++)
		for (size_t k = 0; k < meeting->sides[1].count; k++)
			if (images_are_one_build(meeting->sides[0].images[i].image, meeting->sides[1].images[k].image))
				join(meeting, &meeting->sides[0].images[i], &meeting->sides[1].images[k]);
}

/* The part of each side's samples that is in procedures of names that both have; the lesser. */
static double
common_share(const struct meet_image *one, const struct meet_image *other)
{
	const struct meet_image *images[2] = {one, other};
	double all[2] = {0}, common[2] = {0};
	size_t k = 0;

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < images[side]->procedure_count; i++)
			all[side] += (double)images[side]->procedures[i].samples;
	for (size_t i = 0; i < one->procedure_count && k < other->procedure_count;) {
		const int order = strcmp(one->procedures[i].name, other->procedures[k].name);

		if (order == 0) {
			common[0] += (double)one->procedures[i].samples;
			common[1] += (double)other->procedures[k].samples;
		}
		i += order <= 0;
		k += order >= 0;
	}
	if (all[0] <= 0 || all[1] <= 0)
		return 0;
	return common[0] / all[0] < common[1] / all[1] ? common[0] / all[0] : common[1] / all[1];
}

static int
join_by_procedures(struct meeting *meeting)
{
	bool *has = group_sides(meeting);

	if (!has)
		return -ENOMEM;
	for (size_t i = 0; i < meeting->sides[0].count; i++) {
		struct meet_image *image = &meeting->sides[0].images[i], *best = NULL;
		double most = COMMON_SHARE;

		if (!is_alone(meeting, image, has))
			continue;
		for (size_t k = 0; k < meeting->sides[1].count; k++) {
			struct meet_image *other = &meeting->sides[1].images[k];
			const double common = common_share(image, other);

			if (common < most || (best && common <= most) || !is_alone(meeting, other, has))
				continue;
			most = common;
			best = other;
		}
		if (best) {
			join(meeting, image, best);
			image->why = best->why = "procedures";
		}
	}
	free(has);
	return 0;
}

/* Files that are alone on either side are asked, if there are such on both. */
static int
ask_origins(struct meeting *meeting, enum meet_question question, meet_origin *origin, void *context)
{
	bool *has = origin ? group_sides(meeting) : NULL, is_alone_on[2] = {false};

	if (!origin)
		return 0;
	for (size_t i = 0; i < meeting->count && has; i++)
		is_alone_on[meeting->entries[i].side] |= is_alone_file(meeting, meeting->entries[i].image, has);
	for (size_t i = 0; i < meeting->count && is_alone_on[0] && is_alone_on[1]; i++) {
		struct meet_image *image = meeting->entries[i].image;

		if (!is_alone_file(meeting, image, has))
			continue;
		if (question == MEET_SONAME)
			image->soname = origin(context, image->image, question);
		else
			image->source = origin(context, image->image, question);
	}
	free(has);
	return has ? 0 : -ENOMEM;
}

/* Groups counted from 0, in the order of the images. */
static int
number_groups(struct meeting *meeting)
{
	uint32_t *numbers = calloc(meeting->count + 1, sizeof(*numbers)), next = 0;

	if (!numbers)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < meeting->sides[side].count; i++) {
			struct meet_image *image = &meeting->sides[side].images[i];
			uint32_t *number = &numbers[root(meeting, image->group)];

			if (!*number)
				*number = ++next;
			image->group = *number - 1;
		}
	free(numbers);
	return (int)next;
}

static int
meet(struct meeting *meeting, meet_origin *origin, void *context)
{
	int err;

	join_builds(meeting);
	err = join_by_trait(meeting, TRAIT_PATH);
	for (enum trait trait = TRAIT_SONAME; trait < TRAIT_COUNT && !err; trait++) {
		if (trait == TRAIT_SONAME || trait == TRAIT_SOURCE)
			err = ask_origins(meeting, trait == TRAIT_SONAME ? MEET_SONAME : MEET_SOURCE, origin, context);
		if (!err)
			err = join_by_trait(meeting, trait);
	}
	if (!err)
		err = join_by_procedures(meeting);
	return err ? err : number_groups(meeting);
}

int
images_meet(struct meet_side sides[2], meet_origin *origin, void *context)
{
	const size_t count = sides[0].count + sides[1].count;
	struct meeting meeting = {
		.sides = sides,
		.entries = calloc(count + 1, sizeof(*meeting.entries)),
		.parents = calloc(count + 1, sizeof(*meeting.parents)),
	};
	int found = -ENOMEM;

	for (unsigned side = 0; side < 2 && meeting.entries && meeting.parents; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			sides[side].images[i].group = meeting.parents[meeting.count] = (uint32_t)meeting.count;
			meeting.entries[meeting.count++] =
				(struct diff_entry){.image = &sides[side].images[i], .side = side};
		}
	if (meeting.entries && meeting.parents)
		found = meet(&meeting, origin, context);
	free(meeting.entries);
	free(meeting.parents);
	return found;
}

void
meet_side_fini(struct meet_side *side)
{
	for (size_t i = 0; i < side->count; i++) {
		free(side->images[i].soname);
		free(side->images[i].source);
	}
	free(side->images);
	*side = (struct meet_side){0};
}

bool
meet_is_same_build(const struct meet_side sides[2], uint32_t group)
{
	const struct image *found[2] = {NULL};

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			if (sides[side].images[i].group != group)
				continue;
			if (found[side])
				return false;
			found[side] = sides[side].images[i].image;
		}
	if (found[0] && found[0]->kind == IMAGE_JIT) /* one function may lie here now, and there later */
		return false;
	return found[0] && found[1] && images_are_one_build(found[0], found[1]);
}
