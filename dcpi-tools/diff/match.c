#include "dcpi-tools/diff/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define COMMON_SHARE 0.5 /* of each side's samples: what procedures whose names are on both sides must have */
#define FNV_OFFSET   UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME    UINT64_C(0x100000001b3)

bool
match_is_one_build(const struct image *one, const struct image *other)
{
	if (one->kind != other->kind || one->build_id_size != other->build_id_size)
		return false;
	if (one->build_id_size > 0)
		return memcmp(one->build_id, other->build_id, one->build_id_size) == 0;
	return one->device_major == other->device_major && one->device_minor == other->device_minor &&
	       one->inode == other->inode && one->inode_generation == other->inode_generation &&
	       strcmp(one->path, other->path) == 0;
}

/* What two builds of one file may have in common. */
enum trait {
	TRAIT_PATH, /* of any image */
	TRAIT_SONAME,
	TRAIT_NAME,
	TRAIT_STEM,
	TRAIT_SOURCE,
	TRAIT_COUNT,
};

static const char *const reasons[TRAIT_COUNT] = {NULL, "soname", "file name", "file name without version", "source"};

struct match_entry {
	struct match_image *image;
	unsigned side;
	char *text; /* owned */
};

struct match_groups {
	struct match_input *sides;
	struct match_entry *entries; /* of both sides */
	size_t count;
	uint32_t *parents; /* of groups while they are made */
};

static uint32_t
root(struct match_groups *groups, uint32_t group)
{
	while (groups->parents[group] != group)
		group = groups->parents[group] = groups->parents[groups->parents[group]];
	return group;
}

static void
join(struct match_groups *groups, const struct match_image *one, const struct match_image *other)
{
	groups->parents[root(groups, one->group)] = root(groups, other->group);
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

/* NULL: it has none, or *err is -ENOMEM. */
static char *
trait_of(const struct match_image *image, enum trait trait, int *err)
{
	const char *name = text_basename(image->image->path);
	const char *const traits[TRAIT_COUNT] = {image->image->path, image->soname, name, name, image->source};
	char *text;

	if (!traits[trait] || (trait != TRAIT_PATH && image->image->kind != IMAGE_USER))
		return NULL;
	text = trait == TRAIT_STEM ? stem(name) : strdup(traits[trait]);
	if (!text)
		*err = -ENOMEM;
	return text;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct match_entry *one = a, *other = b;
	int order;

	if (!one->text || !other->text)
		return !one->text - !other->text;
	order = strcmp(one->text, other->text);
	if (!order)
		order = (int)one->image->image->kind - (int)other->image->image->kind;
	return order;
}

static bool
is_unmatched(struct match_groups *groups, const struct match_image *image, const bool *has)
{
	const uint32_t group = root(groups, image->group);

	return !(has[(size_t)2 * group] && has[(size_t)2 * group + 1]);
}

static bool
is_unmatched_file(struct match_groups *groups, const struct match_image *image, const bool *has)
{
	return image->image->kind == IMAGE_USER && is_unmatched(groups, image, has);
}

/* Which sides each group has: has[2 * group + side]. */
static bool *
group_sides(struct match_groups *groups)
{
	bool *has = calloc(2 * groups->count + 2, sizeof(*has));

	for (size_t i = 0; has && i < groups->count; i++) {
		const struct match_entry *entry = &groups->entries[i];

		has[(size_t)2 * root(groups, entry->image->group) + entry->side] = true;
	}
	return has;
}

/* Entries from `first` to `end` - 1 have one text. */
static void
join_equal(struct match_groups *groups, size_t first, size_t end, enum trait trait)
{
	bool sides[2] = {false};

	for (size_t i = first; i < end; i++)
		sides[groups->entries[i].side] = true;
	if (trait != TRAIT_PATH && !(sides[0] && sides[1]))
		return;
	for (size_t i = first; i < end; i++) {
		join(groups, groups->entries[i].image, groups->entries[first].image);
		if (trait != TRAIT_PATH)
			groups->entries[i].image->why = reasons[trait];
	}
}

static int
join_by_trait(struct match_groups *groups, enum trait trait)
{
	bool *has = group_sides(groups);
	int err = has ? 0 : -ENOMEM;
	size_t end;

	for (size_t i = 0; i < groups->count && !err; i++) {
		struct match_entry *entry = &groups->entries[i];

		if (trait == TRAIT_PATH || is_unmatched(groups, entry->image, has))
			entry->text = trait_of(entry->image, trait, &err);
	}
	if (groups->count > 0)
		qsort(groups->entries, groups->count, sizeof(*groups->entries), compare_entries);
	for (size_t first = 0; first < groups->count && groups->entries[first].text && !err; first = end) {
		for (end = first + 1; end < groups->count; end++)
			if (compare_entries(&groups->entries[first], &groups->entries[end]) != 0)
				break;
		join_equal(groups, first, end, trait);
	}
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->entries[i].text);
		groups->entries[i].text = NULL;
	}
	free(has);
	return err;
}

/* The share of each side's samples that is in procedures with names that both sides have; the smaller of the two. */
static double
common_share(const struct match_image *one, const struct match_image *other)
{
	const struct match_image *images[2] = {one, other};
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
join_by_procedures(struct match_groups *groups)
{
	bool *has = group_sides(groups);

	if (!has)
		return -ENOMEM;
	for (size_t i = 0; i < groups->sides[0].count; i++) {
		struct match_image *image = &groups->sides[0].images[i], *best = NULL;
		double most = COMMON_SHARE;

		if (!is_unmatched(groups, image, has))
			continue;
		for (size_t k = 0; k < groups->sides[1].count; k++) {
			struct match_image *other = &groups->sides[1].images[k];
			const double common = common_share(image, other);

			if (common < most || (best && common <= most) || !is_unmatched(groups, other, has))
				continue;
			most = common;
			best = other;
		}
		if (best) {
			join(groups, image, best);
			image->why = best->why = "procedures";
		}
	}
	free(has);
	return 0;
}

/* Read the soname or the source of files without a partner, if there are such files on both sides. */
static int
read_origins(struct match_groups *groups, enum match_question question, match_origin *origin, void *context)
{
	bool *has = origin ? group_sides(groups) : NULL, has_unmatched[2] = {false};

	if (!origin)
		return 0;
	for (size_t i = 0; i < groups->count && has; i++)
		has_unmatched[groups->entries[i].side] |= is_unmatched_file(groups, groups->entries[i].image, has);
	for (size_t i = 0; i < groups->count && has_unmatched[0] && has_unmatched[1]; i++) {
		struct match_image *image = groups->entries[i].image;

		if (!is_unmatched_file(groups, image, has))
			continue;
		if (question == MATCH_SONAME)
			image->soname = origin(context, image->image, question);
		else
			image->source = origin(context, image->image, question);
	}
	free(has);
	return has ? 0 : -ENOMEM;
}

/* Groups counted from 0, in the order of the images. */
static int
number_groups(struct match_groups *groups)
{
	uint32_t *numbers = calloc(groups->count + 1, sizeof(*numbers)), next = 0;

	if (!numbers)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < groups->sides[side].count; i++) {
			struct match_image *image = &groups->sides[side].images[i];
			uint32_t *number = &numbers[root(groups, image->group)];

			if (!*number)
				*number = ++next;
			image->group = *number - 1;
		}
	free(numbers);
	return (int)next;
}

static int
match(struct match_groups *groups, match_origin *origin, void *context)
{
	struct match_input *sides = groups->sides;
	int err;

	for (size_t i = 0; i < sides[0].count; i++)
		for (size_t k = 0; k < sides[1].count; k++)
			if (match_is_one_build(sides[0].images[i].image, sides[1].images[k].image))
				join(groups, &sides[0].images[i], &sides[1].images[k]);
	for (enum trait trait = TRAIT_PATH; trait < TRAIT_COUNT; trait++) {
		if (trait == TRAIT_SONAME || trait == TRAIT_SOURCE) {
			err = read_origins(groups, trait == TRAIT_SONAME ? MATCH_SONAME : MATCH_SOURCE, origin,
			                   context);
			if (err)
				return err;
		}
		err = join_by_trait(groups, trait);
		if (err)
			return err;
	}
	err = join_by_procedures(groups);
	return err ? err : number_groups(groups);
}

int
match_images(struct match_input sides[2], match_origin *origin, void *context)
{
	const size_t count = sides[0].count + sides[1].count;
	struct match_groups groups = {
		.sides = sides,
		.entries = calloc(count + 1, sizeof(*groups.entries)),
		.parents = calloc(count + 1, sizeof(*groups.parents)),
	};
	int found = -ENOMEM;

	for (unsigned side = 0; side < 2 && groups.entries && groups.parents; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			sides[side].images[i].group = groups.parents[groups.count] = (uint32_t)groups.count;
			groups.entries[groups.count++] =
				(struct match_entry){.image = &sides[side].images[i], .side = side};
		}
	if (groups.entries && groups.parents)
		found = match(&groups, origin, context);
	free(groups.entries);
	free(groups.parents);
	return found;
}

void
match_input_fini(struct match_input *side)
{
	for (size_t i = 0; i < side->count; i++) {
		free(side->images[i].soname);
		free(side->images[i].source);
	}
	free(side->images);
	*side = (struct match_input){0};
}

bool
match_is_same_build(const struct match_input sides[2], uint32_t group)
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
	if (found[0] && found[0]->kind == IMAGE_JIT) /* its functions may have moved */
		return false;
	return found[0] && found[1] && match_is_one_build(found[0], found[1]);
}

/* ---- Procedures ---- */

/* Whether what follows a suffix is what compilers write there: main.coldStart has no suffix ".cold". */
static bool
is_added(const char *addition, char behind)
{
	if (addition[strlen(addition) - 1] == '.')
		return isdigit((unsigned char)behind);
	return addition[0] == ' ' || behind == '\0' || behind == '.';
}

size_t
match_procedure_name_length(const char *name)
{
	static const char *const added[] = {".constprop.", ".isra.", ".part.",      ".cold",
	                                    ".lto_priv.",  ".llvm.", ".localalias", " [clone "};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]) && name[0]; i++) {
		const char *found = name;

		while ((found = strstr(found + 1, added[i])))
			if ((size_t)(found - name) < length && is_added(added[i], found[strlen(added[i])]))
				length = (size_t)(found - name);
	}
	return length;
}

static int
compare_numbers(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int
compare_own_names(const char *one, const char *other)
{
	const size_t one_length = match_procedure_name_length(one), other_length = match_procedure_name_length(other);
	const int order = memcmp(one, other, one_length < other_length ? one_length : other_length);

	return order ? order : compare_numbers(one_length, other_length);
}

/* Rows for a whole image match, though the reasons why its names are not known may differ. */
static enum procedure_kind
kind_of(const struct match_row *row)
{
	return row->kind > PROCEDURE_UNNAMED ? PROCEDURE_NO_SYMBOL : row->kind;
}

/* 0: they are one procedure. */
static int
compare_procedures(const struct match_row *one, const struct match_row *other)
{
	int order = compare_numbers(one->group, other->group);

	if (!order)
		order = compare_numbers(kind_of(one), kind_of(other));
	if (order || !one->title || !other->title)
		return order ? order : !one->title - !other->title;
	if (one->same_build || kind_of(one) == PROCEDURE_NO_SYMBOL)
		return compare_numbers(one->offset, other->offset);
	if (one->kind == PROCEDURE_NAMED)
		return compare_own_names(one->title, other->title);
	order = strcmp(one->build, other->build);
	if (!order)
		order = compare_numbers(one->offset, other->offset);
	return order ? order : strcmp(one->title, other->title);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct match_row *one = a, *other = b;
	int order = compare_procedures(one, other);

	if (!order)
		order = compare_numbers(one->side, other->side);
	return order ? order : compare_numbers(one->index, other->index);
}

int
match_procedures(struct match_row *rows, size_t count, size_t **starts, size_t *match_count)
{
	*match_count = 0;
	*starts = calloc(count + 1, sizeof(**starts));
	if (!*starts)
		return -ENOMEM;
	if (count > 0)
		qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_procedures(&rows[i - 1], &rows[i]) != 0)
			(*starts)[(*match_count)++] = i;
	(*starts)[*match_count] = count;
	return 0;
}

/* ---- Lines and instructions: a longest common subsequence ---- */

static uint64_t
add_character(uint64_t hash, char character)
{
	return (hash ^ (uint8_t)character) * FNV_PRIME;
}

static uint64_t
hash_of(const char *text, bool numbers_are_alike)
{
	uint64_t hash = FNV_OFFSET;
	bool blank = false;

	for (; *text; text++) {
		if (isspace((unsigned char)*text)) {
			blank = hash != FNV_OFFSET;
			continue;
		}
		if (blank)
			hash = add_character(hash, ' ');
		blank = false;
		hash = add_character(hash, *text);
		if (!numbers_are_alike || text[0] != '0' || text[1] != 'x')
			continue;
		while (isxdigit((unsigned char)text[2]))
			text++;
		text++;
	}
	return hash;
}

uint64_t
match_text_hash(const char *text)
{
	return hash_of(text, false);
}

uint64_t
match_instruction_hash(const char *text)
{
	return hash_of(text, true);
}

/* What is left between what both begin and end with. */
struct match_middle {
	const uint64_t *one, *other;
	size_t count, other_count;
};

/* Lengths of the longest common subsequences of all ends of both, row by row. */
static void
measure(const struct match_middle *middle, uint16_t *lengths)
{
	const size_t width = middle->other_count + 1;

	for (size_t i = middle->count; i-- > 0;)
		for (size_t k = middle->other_count; k-- > 0;) {
			const uint16_t down = lengths[(i + 1) * width + k], right = lengths[i * width + k + 1];

			if (middle->one[i] == middle->other[k])
				lengths[i * width + k] = (uint16_t)(lengths[(i + 1) * width + k + 1] + 1);
			else
				lengths[i * width + k] = down > right ? down : right;
		}
}

static int
match_middle(const struct match_middle *middle, uint32_t first_other, uint32_t *partners)
{
	const size_t width = middle->other_count + 1;
	uint16_t *lengths;
	size_t i = 0, k = 0;

	if (middle->count == 0 || middle->other_count == 0 || middle->count >= MATCH_CELLS_MAX / width)
		return 0;
	lengths = calloc((middle->count + 1) * width, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	measure(middle, lengths);
	while (i < middle->count && k < middle->other_count) {
		if (middle->one[i] == middle->other[k])
			partners[i++] = first_other + (uint32_t)k++;
		else if (lengths[(i + 1) * width + k] >= lengths[i * width + k + 1])
			i++;
		else
			k++;
	}
	free(lengths);
	return 0;
}

int
match_sequences(const uint64_t *one, size_t count, const uint64_t *other, size_t other_count, uint32_t *partners)
{
	size_t first = 0;

	for (size_t i = 0; i < count; i++)
		partners[i] = MATCH_NONE;
	while (first < count && first < other_count && one[first] == other[first]) {
		partners[first] = (uint32_t)first;
		first++;
	}
	while (count > first && other_count > first && one[count - 1] == other[other_count - 1])
		partners[--count] = (uint32_t)--other_count;
	return match_middle(&(struct match_middle){one + first, other + first, count - first, other_count - first},
	                    (uint32_t)first, partners + first);
}
