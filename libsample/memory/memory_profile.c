#include "memory/memory_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "process/hash.h"

#define ROW_BYTES 65536 /* of a row, but for its last element */
#define TEXT_MAX  8192  /* bytes of a text, with its end */
#define THIN_SEED 0x9e3779b9u

struct memory_text {
	uint32_t number;
	UT_hash_handle hh;
	char text[];
};

const char *
memory_kind_text(enum memory_kind kind)
{
	static const char *const texts[MEMORY_KINDS] = {"heap",  "mapping", "static", "file",
	                                                "stack", "thread",  "unknown"};

	return (unsigned)kind < MEMORY_KINDS ? texts[kind] : "unknown";
}

/* ---- texts ---- */

int
memory_profile_init(struct memory_profile *profile)
{
	memset(profile, 0, sizeof(*profile));
	return memory_profile_add_text(profile, "") == 0 ? 0 : -ENOMEM;
}

void
memory_profile_fini(struct memory_profile *profile)
{
	HASH_FREE_ALL(profile->known);
	free(profile->accesses);
	free(profile->objects);
	free(profile->sites);
	free(profile->places);
	free(profile->threads);
	free(profile->processes);
	free(profile->frames);
	free(profile->types);
	free(profile->fields);
	free(profile->text);
	free(profile->texts);
	memset(profile, 0, sizeof(*profile));
}

/* False: no memory. */
static bool
append_text(struct memory_profile *profile, const char *text, size_t size)
{
	char *grown = array_grow(profile->text, &profile->text_bytes_room, profile->text_bytes + size, 1);
	uint32_t *place;

	if (!grown)
		return false;
	profile->text = grown;
	place = ARRAY_APPEND(profile->texts, profile->text_count, profile->text_room);
	if (!place)
		return false;
	*place = (uint32_t)profile->text_bytes;
	memcpy(profile->text + profile->text_bytes, text, size);
	profile->text_bytes += size;
	return true;
}

/* A longer text is cut. */
uint32_t
memory_profile_add_text(struct memory_profile *profile, const char *text)
{
	const size_t length = strnlen(text, TEXT_MAX - 1);
	struct memory_text *known;

	HASH_FIND(hh, profile->known, text, length, known);
	if (known)
		return known->number;
	known = malloc(sizeof(*known) + length + 1);
	if (!known)
		return MEMORY_NOTHING;
	memcpy(known->text, text, length);
	known->text[length] = '\0';
	known->number = (uint32_t)profile->text_count;
	HASH_ADD_KEYPTR(hh, profile->known, known->text, length, known);
	if (!hash_added(known)) {
		free(known);
		return MEMORY_NOTHING;
	}
	if (append_text(profile, known->text, length + 1))
		return known->number;
	HASH_DEL(profile->known, known);
	free(known);
	return MEMORY_NOTHING;
}

const char *
memory_profile_text(const struct memory_profile *profile, uint32_t number)
{
	return number < profile->text_count ? profile->text + profile->texts[number] : "?";
}

const struct memory_type *
memory_profile_type(const struct memory_profile *profile, uint32_t number)
{
	return number && number <= profile->type_count ? &profile->types[number - 1] : NULL;
}

/* ---- elements ---- */

struct memory_access *
memory_profile_add_access(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->accesses, profile->access_count, profile->access_room);
}

struct memory_object *
memory_profile_add_object(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->objects, profile->object_count, profile->object_room);
}

struct memory_site *
memory_profile_add_site(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->sites, profile->site_count, profile->site_room);
}

struct memory_place *
memory_profile_add_place(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->places, profile->place_count, profile->place_room);
}

struct memory_thread *
memory_profile_add_thread(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->threads, profile->thread_count, profile->thread_room);
}

struct memory_process *
memory_profile_add_process(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->processes, profile->process_count, profile->process_room);
}

uint32_t *
memory_profile_add_frame(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->frames, profile->frame_count, profile->frame_room);
}

struct memory_type *
memory_profile_add_type(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->types, profile->type_count, profile->type_room);
}

struct memory_field *
memory_profile_add_field(struct memory_profile *profile)
{
	return ARRAY_APPEND(profile->fields, profile->field_count, profile->field_room);
}

void
memory_profile_thin(struct memory_profile *profile)
{
	uint32_t random = THIN_SEED ^ (uint32_t)profile->access_count;
	size_t kept = 0;

	for (size_t i = 0; i < profile->access_count; i++) {
		random = random * 1664525 +
		         1013904223; /* the generator of Numerical Recipes, whose upper bits are good */
		if (random >> 31)
			continue;
		profile->accesses[kept] = profile->accesses[i];
		profile->accesses[kept].weight =
			profile->accesses[i].weight <= UINT32_MAX / 2 ? profile->accesses[i].weight * 2 : UINT32_MAX;
		kept++;
	}
	profile->access_count = kept;
}

uint64_t
memory_profile_line_bytes(const struct memory_profile *profile)
{
	return profile->totals.line_bytes ? profile->totals.line_bytes : 64;
}

const char *
memory_object_name(const struct memory_profile *profile, const struct memory_object *object)
{
	if (object->site < profile->site_count)
		return memory_profile_text(profile, profile->sites[object->site].name);
	return memory_profile_text(profile, object->name);
}

/* ---- rows: a part is written and read element by element ---- */

/* Numbers that may be MEMORY_NOTHING are one more. */
static void
write_number(struct byte_writer *row, uint32_t number)
{
	write_varint(row, number == MEMORY_NOTHING ? 0 : (uint64_t)number + 1);
}

static uint32_t
read_u32(struct byte_reader *row)
{
	const uint64_t number = read_varint(row);

	if (number > UINT32_MAX)
		row->failed = true;
	return row->failed ? 0 : (uint32_t)number;
}

static uint32_t
read_number(struct byte_reader *row)
{
	const uint32_t number = read_u32(row);

	return number == 0 ? MEMORY_NOTHING : number - 1;
}

static void
write_head(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const uint64_t *totals = (const uint64_t *)(const void *)&profile->totals;

	(void)at;
	write_varint(row, profile->source);
	write_varint(row, profile->object_count);
	write_varint(row, profile->access_count);
	for (size_t i = 0; i < MEMORY_TOTALS; i++)
		write_varint(row, totals[i]);
}

/* A newer version may have more totals, an older one fewer. */
static int
read_head(struct byte_reader *row, struct memory_profile *profile)
{
	uint64_t *totals = (uint64_t *)(void *)&profile->totals;

	profile->source = read_u32(row);
	profile->announced_objects = read_varint(row);
	profile->announced_accesses = read_varint(row);
	for (size_t i = 0; reader_left(row) && !row->failed; i++) {
		const uint64_t value = read_varint(row);

		if (i < MEMORY_TOTALS)
			totals[i] = value;
	}
	return 0;
}

/* Text 0 is there in any case. */
static void
write_text(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	if (at)
		write_string(row, memory_profile_text(profile, (uint32_t)at));
}

static int
read_text(struct byte_reader *row, struct memory_profile *profile)
{
	const size_t count = profile->text_count;
	char text[TEXT_MAX];

	read_string(row, text, sizeof(text));
	if (row->failed)
		return 0;
	if (memory_profile_add_text(profile, text) == MEMORY_NOTHING)
		return -ENOMEM;
	return profile->text_count == count ? -DCPI_EDAMAGED : 0; /* it is there twice: numbers would be others */
}

static void
write_place(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const struct memory_place *place = &profile->places[at];

	write_varint(row, place->function);
	write_varint(row, place->image);
	write_varint(row, place->source);
	write_varint(row, place->line);
	write_varint(row, place->offset);
	write_varint(row, place->distance);
	write_varint(row, place->type);
	write_varint(row, place->type_offset);
}

static int
read_place(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_place *place = memory_profile_add_place(profile);

	if (!place)
		return -ENOMEM;
	place->function = read_u32(row);
	place->image = read_u32(row);
	place->source = read_u32(row);
	place->line = read_u32(row);
	place->offset = read_varint(row);
	place->distance = read_varint(row);
	place->type = read_u32(row);
	place->type_offset = read_varint(row);
	return 0;
}

static void
write_site(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const struct memory_site *site = &profile->sites[at];

	write_varint(row, site->name);
	write_varint(row, site->type);
	write_varint(row, site->count);
	for (uint32_t i = 0; i < site->count; i++)
		write_varint(row, profile->frames[site->first + i]);
}

static int
read_site(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_site *site = memory_profile_add_site(profile);

	if (!site)
		return -ENOMEM;
	site->name = read_u32(row);
	site->type = read_u32(row);
	site->count = read_u32(row);
	site->first = (uint32_t)profile->frame_count;
	if (site->count > reader_left(row))
		row->failed = true;
	for (uint32_t i = 0; i < site->count && !row->failed; i++) {
		uint32_t *frame = memory_profile_add_frame(profile);

		if (!frame)
			return -ENOMEM;
		*frame = read_u32(row);
	}
	return 0;
}

static void
write_process(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	write_varint(row, profile->processes[at].pid);
	write_varint(row, profile->processes[at].number);
	write_varint(row, profile->processes[at].name);
}

static int
read_process(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_process *process = memory_profile_add_process(profile);

	if (!process)
		return -ENOMEM;
	process->pid = read_u32(row);
	process->number = read_u32(row);
	process->name = read_u32(row);
	return 0;
}

static void
write_thread(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	write_varint(row, profile->threads[at].process);
	write_varint(row, profile->threads[at].tid);
}

static int
read_thread(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_thread *thread = memory_profile_add_thread(profile);

	if (!thread)
		return -ENOMEM;
	thread->process = read_u32(row);
	thread->tid = read_u32(row);
	return 0;
}

static void
write_object(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const struct memory_object *object = &profile->objects[at];

	write_varint(row, object->address);
	write_varint(row, object->size);
	write_varint(row, object->born_ns);
	write_varint(row, object->died_ns == MEMORY_ALIVE ? 0 : object->died_ns + 1);
	write_varint(row, object->process);
	write_number(row, object->site);
	write_varint(row, object->name);
	write_varint(row, object->number);
	write_number(row, object->thread);
	write_varint(row, object->type);
	write_u8(row, object->kind);
}

static int
read_object(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_object *object = memory_profile_add_object(profile);

	if (!object)
		return -ENOMEM;
	object->address = read_varint(row);
	object->size = read_varint(row);
	object->born_ns = read_varint(row);
	object->died_ns = read_varint(row) - 1; /* 0 is MEMORY_ALIVE */
	object->process = read_u32(row);
	object->site = read_number(row);
	object->name = read_u32(row);
	object->number = read_u32(row);
	object->thread = read_number(row);
	object->type = read_u32(row);
	object->kind = read_u8(row);
	return 0;
}

/* Times are distances from the access before, also across rows. */
static void
write_access(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const struct memory_access *access = &profile->accesses[at];

	write_varint(row, access->time_ns - (at ? (access - 1)->time_ns : 0));
	write_varint(row, access->object);
	write_varint(row, access->offset);
	write_varint(row, access->thread);
	write_number(row, access->place);
	write_varint(row, access->cycles);
	write_varint(row, access->cost);
	write_varint(row, access->weight);
	write_u8(row, access->node);
	write_u8(row, access->page_node);
	write_u8(row, (uint8_t)(access->level << 4 | access->flags));
}

static int
read_access(struct byte_reader *row, struct memory_profile *profile)
{
	const size_t count = profile->access_count;
	struct memory_access *access = memory_profile_add_access(profile);
	uint8_t bits;

	if (!access)
		return -ENOMEM;
	access->time_ns = read_varint(row) + (count ? (access - 1)->time_ns : 0);
	access->object = read_u32(row);
	access->offset = read_varint(row);
	access->thread = read_u32(row);
	access->place = read_number(row);
	access->cycles = read_u32(row);
	access->cost = read_u32(row);
	access->weight = read_u32(row);
	access->node = read_u8(row);
	access->page_node = read_u8(row);
	bits = read_u8(row);
	access->level = bits >> 4;
	access->flags = bits & 15;
	return 0;
}

/* A count of UINT64_MAX is 0. */
static void
write_type(struct byte_writer *row, const struct memory_profile *profile, size_t at)
{
	const struct memory_type *type = &profile->types[at];

	write_varint(row, type->name);
	write_varint(row, type->size);
	write_varint(row, type->count);
	for (uint32_t i = 0; i < type->count; i++) {
		const struct memory_field *field = &profile->fields[type->first + i];

		write_varint(row, field->name);
		write_varint(row, field->offset);
		write_varint(row, field->size);
		write_varint(row, field->stride);
		write_varint(row, field->count + 1);
	}
}

static int
read_type(struct byte_reader *row, struct memory_profile *profile)
{
	struct memory_type *type = memory_profile_add_type(profile);

	if (!type)
		return -ENOMEM;
	type->name = read_u32(row);
	type->size = read_varint(row);
	type->count = read_u32(row);
	type->first = (uint32_t)profile->field_count;
	if (type->count > reader_left(row))
		row->failed = true;
	for (uint32_t i = 0; i < type->count && !row->failed; i++) {
		struct memory_field *field = memory_profile_add_field(profile);

		if (!field)
			return -ENOMEM;
		field->name = read_u32(row);
		field->offset = read_varint(row);
		field->size = read_varint(row);
		field->stride = read_varint(row);
		field->count = read_varint(row) - 1;
	}
	return 0;
}

static const struct {
	size_t count_at; /* of the size_t in struct memory_profile that says how many there are; 0: one */
	void (*write)(struct byte_writer *row, const struct memory_profile *profile, size_t at);
	int (*read)(struct byte_reader *row, struct memory_profile *profile);
} parts[MEMORY_PARTS] = {
	[MEMORY_PART_HEAD] = {0, write_head, read_head},
	[MEMORY_PART_TEXTS] = {offsetof(struct memory_profile, text_count), write_text, read_text},
	[MEMORY_PART_PLACES] = {offsetof(struct memory_profile, place_count), write_place, read_place},
	[MEMORY_PART_SITES] = {offsetof(struct memory_profile, site_count), write_site, read_site},
	[MEMORY_PART_PROCESSES] = {offsetof(struct memory_profile, process_count), write_process, read_process},
	[MEMORY_PART_THREADS] = {offsetof(struct memory_profile, thread_count), write_thread, read_thread},
	[MEMORY_PART_OBJECTS] = {offsetof(struct memory_profile, object_count), write_object, read_object},
	[MEMORY_PART_ACCESSES] = {offsetof(struct memory_profile, access_count), write_access, read_access},
	[MEMORY_PART_TYPES] = {offsetof(struct memory_profile, type_count), write_type, read_type},
};

static size_t
count_of(const struct memory_profile *profile, enum memory_part part)
{
	size_t count = 1;

	if (parts[part].count_at)
		memcpy(&count, (const char *)profile + parts[part].count_at, sizeof(count));
	return count;
}

static int
encode_part(const struct memory_profile *profile, enum memory_part part, memory_row_visit *visit, void *context)
{
	const size_t count = count_of(profile, part);
	struct byte_writer row = BYTE_WRITER_INIT;
	uint32_t number = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		parts[part].write(&row, profile, i);
		if (row.failed)
			err = -ENOMEM;
		else if (row.size && (row.size > ROW_BYTES || i + 1 == count)) {
			err = visit(context, part, number++, row.data, row.size);
			writer_reset(&row);
		}
	}
	writer_fini(&row);
	return err;
}

int
memory_profile_encode(const struct memory_profile *profile, memory_row_visit *visit, void *context)
{
	int err = 0;

	for (unsigned part = 0; part < MEMORY_PARTS && !err; part++)
		err = encode_part(profile, part, visit, context);
	return err;
}

int
memory_profile_decode(struct memory_profile *profile, enum memory_part part, const void *row, size_t size)
{
	struct byte_reader reader;
	int err = 0;

	if ((unsigned)part >= MEMORY_PARTS)
		return -DCPI_EDAMAGED;
	reader_init(&reader, row, size);
	while (reader_left(&reader) && !reader.failed && !err)
		err = parts[part].read(&reader, profile);
	return !err && reader.failed ? -DCPI_EDAMAGED : err;
}

/* ---- whether a profile that was read is whole ---- */

static bool
is_text(const struct memory_profile *profile, uint32_t number)
{
	return number < profile->text_count;
}

static bool
is_number(uint32_t number, size_t count)
{
	return number == MEMORY_NOTHING || number < count;
}

static bool
code_is_whole(const struct memory_profile *profile)
{
	for (size_t i = 0; i < profile->place_count; i++) {
		const struct memory_place *place = &profile->places[i];

		if (!is_text(profile, place->function) || !is_text(profile, place->image) ||
		    !is_text(profile, place->source) || place->type > profile->type_count)
			return false;
	}
	for (size_t i = 0; i < profile->site_count; i++) {
		const struct memory_site *site = &profile->sites[i];

		if (!is_text(profile, site->name) || site->type > profile->type_count ||
		    site->first > profile->frame_count || site->count > profile->frame_count - site->first)
			return false;
	}
	for (size_t i = 0; i < profile->frame_count; i++) {
		if (profile->frames[i] >= profile->place_count)
			return false;
	}
	for (size_t i = 0; i < profile->process_count; i++) {
		if (!is_text(profile, profile->processes[i].name))
			return false;
	}
	for (size_t i = 0; i < profile->thread_count; i++) {
		if (profile->threads[i].process >= profile->process_count)
			return false;
	}
	return is_text(profile, profile->source) && profile->totals.nodes <= MEMORY_NODES_MAX;
}

static bool
types_are_whole(const struct memory_profile *profile)
{
	for (size_t i = 0; i < profile->type_count; i++) {
		const struct memory_type *type = &profile->types[i];

		if (!is_text(profile, type->name) || !type->size || type->first > profile->field_count ||
		    type->count > profile->field_count - type->first)
			return false;
	}
	for (size_t i = 0; i < profile->field_count; i++) {
		const struct memory_field *field = &profile->fields[i];

		if (!is_text(profile, field->name) || !field->size || !field->stride || !field->count)
			return false;
	}
	return true;
}

static bool
object_is_whole(const struct memory_profile *profile, const struct memory_object *object)
{
	return object->process < profile->process_count && is_number(object->site, profile->site_count) &&
	       is_text(profile, object->name) && is_number(object->thread, profile->thread_count) &&
	       object->type <= profile->type_count && object->kind < MEMORY_KINDS && object->size > 0 &&
	       object->address <= UINT64_MAX - object->size;
}

static bool
access_is_whole(const struct memory_profile *profile, const struct memory_access *access)
{
	const struct memory_object *object;

	if (access->object >= profile->object_count)
		return false;
	object = &profile->objects[access->object];
	return access->thread < profile->thread_count && is_number(access->place, profile->place_count) &&
	       access->weight > 0 && access->node < MEMORY_NODES_MAX && access->page_node < MEMORY_NODES_MAX &&
	       access->level < MEMORY_LEVELS && access->offset < object->size;
}

int
memory_profile_check(const struct memory_profile *profile)
{
	if (!code_is_whole(profile) || !types_are_whole(profile) ||
	    profile->object_count != profile->announced_objects || profile->access_count != profile->announced_accesses)
		return -DCPI_EDAMAGED;
	for (size_t i = 0; i < profile->object_count; i++) {
		if (!object_is_whole(profile, &profile->objects[i]))
			return -DCPI_EDAMAGED;
	}
	for (size_t i = 0; i < profile->access_count; i++) {
		if (!access_is_whole(profile, &profile->accesses[i]) ||
		    (i && profile->accesses[i].time_ns < profile->accesses[i - 1].time_ns))
			return -DCPI_EDAMAGED;
	}
	return 0;
}
