#include "dcpi-tools/mem/place_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "code/access_type.h"

#define CALLERS_MAX 8 /* frames of a call chain, from the innermost, whose results are looked at */
#define TRIES_MAX   8 /* instructions in whose units the declaration of one variable is looked for */

/* The types of a file, and their numbers in the profile. */
struct typing {
	struct memory_profile *profile;
	struct access_types *types;
	uint32_t *numbers; /* in the profile, by type of access_types_data(); 0: none yet */
	size_t number_count;
};

/* ---- types of the profile ---- */

static bool
is_same_type(const struct memory_profile *profile, const struct memory_type *one, const struct memory_type *other)
{
	if (one->name != other->name || one->size != other->size || one->count != other->count)
		return false;
	for (uint32_t i = 0; i < one->count; i++) {
		const struct memory_field *left = &profile->fields[one->first + i];
		const struct memory_field *right = &profile->fields[other->first + i];

		if (left->name != right->name || left->offset != right->offset || left->size != right->size ||
		    left->stride != right->stride || left->count != right->count)
			return false;
	}
	return true;
}

static int
add_fields(struct memory_profile *profile, const struct data_layout *layout)
{
	for (size_t i = 0; i < layout->count; i++) {
		const struct data_member *member = &layout->members[i];
		const uint32_t name = memory_profile_add_text(profile, member->name);
		struct memory_field *field = memory_profile_add_field(profile);

		if (!field || name == MEMORY_NOTHING)
			return -ENOMEM;
		*field = (struct memory_field){name, member->offset, member->size, member->stride, member->count};
	}
	return 0;
}

/* *number: of the type in the profile, where another unit may have added it already. 0 or -ENOMEM. */
static int
add_layout(struct memory_profile *profile, const struct data_layout *layout, uint32_t *number)
{
	struct memory_type type = {
		.name = memory_profile_add_text(profile, layout->name),
		.size = layout->size,
		.first = (uint32_t)profile->field_count,
		.count = (uint32_t)layout->count,
	};
	struct memory_type *added;
	int err = type.name == MEMORY_NOTHING ? -ENOMEM : add_fields(profile, layout);

	for (size_t i = 0; i < profile->type_count && !err; i++) {
		if (!is_same_type(profile, &profile->types[i], &type))
			continue;
		profile->field_count = type.first;
		*number = (uint32_t)i + 1;
		return 0;
	}
	added = err ? NULL : memory_profile_add_type(profile);
	if (!added)
		return -ENOMEM;
	*added = type;
	*number = (uint32_t)profile->type_count;
	return 0;
}

/* *number: of a type of access_types_data() in the profile; 0: its size is not known. 0 or -ENOMEM. */
static int
number_of(struct typing *typing, uint32_t type, uint32_t *number)
{
	struct data_layout layout;
	int err = 0;

	while (typing->number_count <= type) {
		size_t room = typing->number_count;
		uint32_t *grown = array_grow(typing->numbers, &room, (size_t)type + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		typing->numbers = grown;
		while (typing->number_count < room)
			grown[typing->number_count++] = 0;
	}
	if (!typing->numbers[type]) {
		err = data_types_layout(access_types_data(typing->types), type, &layout);
		if (!err && layout.size)
			err = add_layout(typing->profile, &layout, &typing->numbers[type]);
		data_layout_fini(&layout);
	}
	*number = typing->numbers[type];
	return err;
}

/* ---- instructions, and variables ---- */

static int
type_instructions(struct typing *typing, const struct typed_instruction *instructions, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && err != -ENOMEM; i++) {
		struct memory_place *place = &typing->profile->places[instructions[i].place];
		struct access_type access;

		err = access_types_find(typing->types, instructions[i].address, &access);
		if (err)
			continue;
		err = number_of(typing, access.type, &place->type);
		place->type_offset = access.offset;
	}
	return err == -ENOMEM ? err : 0;
}

/* Set the type of a variable, by its name in the unit of the instruction at `address`. 0 or -ENOMEM. */
static int
type_variable(struct typing *typing, struct memory_object *object, uint64_t address)
{
	struct data_types *data = access_types_data(typing->types);
	struct data_place place;
	uint64_t size;

	if (!data_types_named(data, address, memory_profile_text(typing->profile, object->name), &place))
		return 0;
	size = data_types_size(data, place.type);
	return size && object->size % size == 0 ? number_of(typing, place.type, &object->type) : 0;
}

static int
type_variables(struct typing *typing, const struct typed_instruction *instructions, size_t count)
{
	struct memory_profile *profile = typing->profile;
	uint64_t *addresses = calloc(profile->place_count + 1, sizeof(*addresses));
	uint8_t *tries = calloc(profile->object_count + 1, sizeof(*tries));
	int err = addresses && tries ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		addresses[instructions[i].place] = instructions[i].address;
	for (size_t i = 0; i < profile->access_count && !err; i++) {
		const struct memory_access *access = &profile->accesses[i];
		struct memory_object *object = &profile->objects[access->object];

		if (object->kind != MEMORY_STATIC || object->type || access->place >= profile->place_count ||
		    !addresses[access->place] || tries[access->object] == TRIES_MAX)
			continue;
		tries[access->object]++;
		err = type_variable(typing, object, addresses[access->place]);
	}
	free(addresses);
	free(tries);
	return err;
}

static int
add_returned(struct typing *typing, const struct typed_instruction *callers, size_t count,
             struct returned_type *returned)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct returned_type *one = &returned[callers[i].place];
		struct data_place target;

		one->kind = data_types_returned(access_types_data(typing->types), callers[i].address - 1, &target);
		if (one->kind == RETURNED_POINTER)
			err = number_of(typing, target.type, &one->type);
	}
	return err;
}

int
place_types_add(struct memory_profile *profile, const struct typed_file *file, struct typed_places *accessed,
                struct typed_places *callers, struct returned_type *returned)
{
	struct typing typing = {.profile = profile};
	int err = access_types_new(file->file, file->lines, file->functions, file->variables, &typing.types);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (accessed->count)
		qsort(accessed->list, accessed->count, sizeof(*accessed->list), array_compare_u64);
	err = type_instructions(&typing, accessed->list, accessed->count);
	if (!err)
		err = type_variables(&typing, accessed->list, accessed->count);
	if (!err)
		err = add_returned(&typing, callers->list, callers->count, returned);
	access_types_free(typing.types);
	free(typing.numbers);
	return err;
}

void
place_types_add_sites(struct memory_profile *profile, const struct returned_type *returned)
{
	for (size_t i = 0; i < profile->site_count; i++) {
		struct memory_site *site = &profile->sites[i];
		uint32_t at = 0;

		site->type = 0;
		while (at < site->count && at < CALLERS_MAX &&
		       returned[profile->frames[site->first + at]].kind < RETURNED_POINTER)
			at++;
		if (at < site->count && at < CALLERS_MAX)
			site->type = returned[profile->frames[site->first + at]].type;
	}
}
