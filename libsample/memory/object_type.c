#include "memory/object_type.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Parts, as 1 of so many. */
#define MAJORITY     2  /* of the votes: what a type needs to be elected */
#define NESTED_LEAST 8  /* of all votes: what it needs, too, where only those for types as large are its rivals */
#define STRUCTURES   8  /* of all votes: what structures need together to be preferred to numbers */
#define LISTED_LEAST 50 /* of the cycles: a member with fewer is not listed */

#define LISTED 4 /* members of a list */

static const uint32_t leads[] = {0, 8, 16}; /* bytes in front of the first element that are tried */

/* Votes for one type. */
struct type_count {
	uint64_t all;                        /* of all accesses that take the object for this type */
	uint64_t agreed[ARRAY_COUNT(leads)]; /* of those that are where this type has what they access, by lead */
};

struct type_votes {
	const struct memory_profile *profile;
	struct type_count *counts; /* by type, from 1 on */
	uint32_t *voted;           /* types with votes */
	size_t voted_count;
	uint32_t declared;    /* type of the variable, by its declaration; 0: it is none */
	uint32_t made;        /* type to which a function that made the object returns a pointer; 0: not known */
	uint64_t made_agreed; /* votes for numbers where `made` has a member of the number's size */
	bool is_small;        /* an object is smaller than `made` */
};

struct type_votes *
type_votes_new(const struct memory_profile *profile)
{
	struct type_votes *votes = calloc(1, sizeof(*votes));

	if (!votes)
		return NULL;
	votes->profile = profile;
	votes->counts = calloc(profile->type_count + 1, sizeof(*votes->counts));
	votes->voted = calloc(profile->type_count + 1, sizeof(*votes->voted));
	if (votes->counts && votes->voted)
		return votes;
	type_votes_free(votes);
	return NULL;
}

void
type_votes_free(struct type_votes *votes)
{
	if (!votes)
		return;
	free(votes->counts);
	free(votes->voted);
	free(votes);
}

/* ---- members ---- */

static bool
is_flexible(const struct memory_profile *profile, const struct memory_type *type)
{
	return type->count && profile->fields[type->first + type->count - 1].count == UINT64_MAX;
}

/* The offset in the type, of a byte that is `offset` bytes behind the start of the first element. */
static uint64_t
offset_in_type(const struct memory_profile *profile, const struct memory_type *type, uint64_t offset)
{
	return offset < type->size || is_flexible(profile, type) ? offset : offset % type->size;
}

/* The member of a type at an offset; of those of a union, the first. NULL: there is none. */
static const struct memory_field *
field_at(const struct memory_profile *profile, const struct memory_type *type, uint64_t offset)
{
	for (uint32_t i = 0; i < type->count; i++) {
		const struct memory_field *field = &profile->fields[type->first + i];
		const uint64_t behind = offset - field->offset;

		if (offset >= field->offset && behind / field->stride < field->count &&
		    behind % field->stride < field->size)
			return field;
	}
	return NULL;
}

const struct memory_field *
object_type_field(const struct memory_profile *profile, const struct object_type *of, uint64_t offset)
{
	const struct memory_type *type = memory_profile_type(profile, of->type);

	if (!type || offset < of->lead)
		return NULL;
	return field_at(profile, type, offset_in_type(profile, type, offset - of->lead));
}

/* ---- votes ---- */

/*
 * Whether an access is where the object has the member that the instruction accesses, if `lead` bytes and then elements
 * of the instruction's type are in the object.
 */
static bool
agrees(const struct memory_profile *profile, const struct memory_access *access, const struct memory_place *place,
       uint32_t lead)
{
	const struct memory_object *object = &profile->objects[access->object];
	const struct memory_type *type = memory_profile_type(profile, place->type);
	const struct memory_field *field;
	uint64_t offset;

	if (object->size < lead || object->size - lead < type->size || access->offset < lead ||
	    (lead && (object->size - lead) % type->size))
		return false;
	offset = offset_in_type(profile, type, access->offset - lead);
	if (offset == place->type_offset)
		return true;
	field = field_at(profile, type, offset);
	return field && field == field_at(profile, type, place->type_offset);
}

/*
 * Whether an object may be of one type. Memory that no call chain made, and that is neither a file nor a variable, has
 * things of several types: a stack, the data of a program between its variables.
 */
static bool
is_typed(const struct memory_object *object)
{
	return object->site != MEMORY_NOTHING || object->kind == MEMORY_HEAP || object->kind == MEMORY_FILE ||
	       (object->kind == MEMORY_STATIC && object->type);
}

void
type_votes_add(struct type_votes *votes, const struct memory_access *access)
{
	const struct memory_profile *profile = votes->profile;
	const struct memory_object *object = &profile->objects[access->object];
	const uint64_t weight = (uint64_t)access->weight * ((uint64_t)access->cost + 1);
	const struct memory_type *made;
	const struct memory_field *field;
	const struct memory_place *place;
	struct type_count *count;

	votes->declared = object->type ? object->type : votes->declared;
	votes->made = object->site < profile->site_count ? profile->sites[object->site].type : 0;
	made = memory_profile_type(profile, votes->made);
	votes->is_small |= made && object->size < made->size;
	if (!is_typed(object) || access->place >= profile->place_count || !profile->places[access->place].type)
		return;
	place = &profile->places[access->place];
	count = &votes->counts[place->type];
	if (!count->all)
		votes->voted[votes->voted_count++] = place->type;
	count->all += weight;
	for (size_t i = 0; i < ARRAY_COUNT(leads); i++)
		count->agreed[i] += agrees(profile, access, place, leads[i]) ? weight : 0;
	field = made ? field_at(profile, made, offset_in_type(profile, made, access->offset)) : NULL;
	if (field && !memory_profile_type(profile, place->type)->count &&
	    memory_profile_type(profile, place->type)->size == field->size)
		votes->made_agreed += weight;
}

static bool
is_structure(const struct type_votes *votes, uint32_t type)
{
	return memory_profile_type(votes->profile, type)->count > 0;
}

/* The votes for structures of at least `size` bytes, or for types that are none. */
static uint64_t
count_votes(const struct type_votes *votes, bool structures, uint64_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < votes->voted_count; i++) {
		const uint32_t type = votes->voted[i];

		if (is_structure(votes, type) == structures && memory_profile_type(votes->profile, type)->size >= size)
			sum += votes->counts[type].all;
	}
	return sum;
}

/*
 * The type that most votes agree on, among structures, or among types that are none. `nested`: smaller types may be
 * parts of it, so that only votes for types that are at least as large are against it.
 */
static struct object_type
elect(const struct type_votes *votes, bool structures, bool nested)
{
	const uint64_t all = count_votes(votes, structures, 0);
	struct object_type best = {0, 0};
	uint64_t most = 0;

	for (size_t i = 0; i < votes->voted_count; i++) {
		const uint32_t type = votes->voted[i];
		const uint64_t size = memory_profile_type(votes->profile, type)->size;
		const uint64_t rivals = nested ? count_votes(votes, structures, size) : all;

		if (is_structure(votes, type) != structures)
			continue;
		for (size_t k = 0; k < ARRAY_COUNT(leads); k++) {
			const uint64_t agreed = votes->counts[type].agreed[k];

			if (agreed <= most || agreed < rivals / MAJORITY ||
			    agreed < all / (nested ? NESTED_LEAST : MAJORITY))
				continue;
			most = agreed;
			best = (struct object_type){type, leads[k]};
		}
	}
	return best;
}

struct object_type
type_votes_take(struct type_votes *votes)
{
	const uint64_t structures = count_votes(votes, true, 0), others = count_votes(votes, false, 0);
	const bool has_structures = structures >= (structures + others) / STRUCTURES;
	struct object_type type = {votes->declared, 0};

	if (!type.type && has_structures)
		type = elect(votes, true, false);
	if (!type.type && has_structures)
		type = elect(votes, true, true);
	/* the object is accessed by pointers to its members, or by code without debug information */
	if (!type.type && votes->made && is_structure(votes, votes->made) && !votes->is_small &&
	    votes->made_agreed >= others / MAJORITY)
		type.type = votes->made;
	if (!type.type)
		type = elect(votes, false, false);
	for (size_t i = 0; i < votes->voted_count; i++)
		votes->counts[votes->voted[i]] = (struct type_count){0};
	votes->voted_count = 0;
	votes->declared = 0;
	votes->made = 0;
	votes->made_agreed = 0;
	votes->is_small = false;
	return type;
}

/* ---- texts ---- */

void
object_type_text(const struct memory_profile *profile, const struct object_type *of, uint64_t bytes, char *text,
                 size_t size)
{
	const struct memory_type *type = memory_profile_type(profile, of->type);

	if (!type)
		snprintf(text, size, "%s", "");
	else
		snprintf(text, size, "%s%s", memory_profile_text(profile, type->name),
		         bytes > of->lead && (bytes - of->lead) / type->size > 1 && !is_flexible(profile, type) ? "[]"
		                                                                                                : "");
}

void
object_type_list(const struct memory_profile *profile, const struct object_type *of, const uint64_t *cycles, char *text,
                 size_t size)
{
	const struct memory_type *type = memory_profile_type(profile, of->type);
	uint32_t order[LISTED] = {0}, listed = 0, count = 0;
	uint64_t all = 0;
	size_t length = 0;

	*text = '\0';
	for (uint32_t i = 0; type && i < type->count; i++)
		all += cycles[i];
	for (uint32_t i = 0; type && i < type->count; i++) {
		uint32_t at = listed < LISTED ? listed : LISTED;

		if (!cycles[i] || cycles[i] < all / LISTED_LEAST)
			continue;
		count++;
		for (; at > 0 && cycles[order[at - 1]] < cycles[i]; at--) {
			if (at < LISTED)
				order[at] = order[at - 1];
		}
		if (at < LISTED)
			order[at] = i;
		listed += listed < LISTED;
	}
	for (uint32_t i = 0; i < listed && length < size; i++) {
		const bool is_last = i + 1 == listed && count == listed;

		length += (size_t)snprintf(text + length, size - length, "%s%s",
		                           !i        ? ""
		                           : is_last ? " and "
		                                     : ", ",
		                           memory_profile_text(profile, profile->fields[type->first + order[i]].name));
	}
	if (count > listed && length < size)
		snprintf(text + length, size - length, " and %" PRIu32 " more", count - listed);
}
