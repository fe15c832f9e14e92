#include "dcpi-tools/mem/names.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "code/decoder.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/place_types.h"
#include "dcpi-tools/mem/tracked.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "memory/numbers.h"
#include "process/hash.h"

#define NAME_SIZE             4096
#define INSTRUCTION_BYTES_MAX 16
#define WRITE_DISTANCE        16 /* instructions */

/* A file, by its path. */
struct named_file {
	char *path;
	struct image_file *file; /* NULL: it cannot be read */
	struct symbol_table *functions, *variables;
	struct image_lines *lines;
	UT_hash_handle hh;
};

struct names {
	struct memory_profile *profile;
	struct named_file *files;
	struct numbers places;   /* file, offset: the profile's */
	struct decoder *decoder; /* of `architecture`; NULL: none yet */
	enum architecture architecture;
};

/* ---- files ---- */

struct names *
names_new(struct memory_profile *profile)
{
	struct names *names = calloc(1, sizeof(*names));

	if (names)
		names->profile = profile;
	return names;
}

static void
free_file(struct named_file *file)
{
	image_lines_free(file->lines);
	symbol_table_free(file->functions);
	symbol_table_free(file->variables);
	image_file_close(file->file);
	free(file->path);
	free(file);
}

void
names_free(struct names *names)
{
	struct named_file *file, *next;

	if (!names)
		return;
	file = names->files;
	HASH_CLEAR(hh, names->files);
	for (; file; file = next) {
		next = file->hh.next;
		free_file(file);
	}
	numbers_fini(&names->places);
	decoder_free(names->decoder);
	free(names);
}

/* libelf and libdw may fault on a damaged file: the message must name it, not the database that dcpimem writes. */
static void
enter_guard(struct image_guard *guard, const struct named_file *file)
{
	image_guard_enter(guard, file->path, "build or install it again, or remove its debug information");
}

/* What cannot be read stays NULL. */
static void
open_file(struct named_file *file, const struct image *image)
{
	struct image_guard guard;

	enter_guard(&guard, file);
	if (image_file_open(image, &file->file) == 0) {
		if (symbol_table_from_file(file->file, &file->functions))
			file->functions = NULL;
		if (symbol_table_of_variables(file->file, &file->variables))
			file->variables = NULL;
		if (image_lines_new(file->file, &file->lines))
			file->lines = NULL;
	}
	image_guard_leave(&guard);
}

/* NULL: no memory. */
static struct named_file *
find_file(struct names *names, const struct image *image)
{
	struct named_file *file;

	HASH_FIND(hh, names->files, image->path, strlen(image->path), file);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->path = strdup(image->path);
	if (file->path)
		HASH_ADD_KEYPTR(hh, names->files, file->path, strlen(file->path), file);
	if (!file->path || !hash_added(file)) {
		free(file->path);
		free(file);
		return NULL;
	}
	open_file(file, image);
	return file;
}

/* ---- places ---- */

/* Set the function of a place to the one at `lookup`, and its distance to the bytes from its start to `offset`. */
static void
name_function(struct names *names, const struct named_file *file, uint64_t offset, uint64_t lookup,
              struct memory_place *place)
{
	const struct symbol *symbol = file && file->functions ? symbol_table_find(file->functions, lookup) : NULL;
	char *demangled, text[NAME_SIZE];

	if (symbol && symbol->name) {
		demangled = symbol_demangle(symbol->name);
		place->function = memory_profile_add_text(names->profile, demangled ? demangled : symbol->name);
		place->distance = offset - symbol->offset;
		free(demangled);
		return;
	}
	snprintf(text, sizeof(text), "%s+0x%" PRIx64, file ? text_basename(file->path) : "[anon]", offset);
	place->function = memory_profile_add_text(names->profile, text);
}

static void
name_source(struct names *names, const struct named_file *file, uint64_t lookup, struct memory_place *place)
{
	struct source_place source;
	struct image_guard guard;
	uint64_t address;
	int err;

	if (!file || !file->lines || image_file_address(file->file, lookup, &address))
		return;
	enter_guard(&guard, file);
	err = image_lines_find(file->lines, address, &source);
	image_guard_leave(&guard);
	if (err)
		return;
	place->source = memory_profile_add_text(names->profile, source.path);
	place->line = source.line;
}

uint32_t
names_place(struct names *names, const struct image *image, uint64_t offset, uint64_t lookup)
{
	struct named_file *file = image ? find_file(names, image) : NULL;
	struct memory_place *place, made = {.offset = offset};
	uint32_t number;

	if (image && !file)
		return MEMORY_NOTHING;
	number = numbers_of(&names->places, (uint64_t)(uintptr_t)file, offset);
	if (number == NUMBER_NONE)
		return MEMORY_NOTHING;
	if (number < names->profile->place_count)
		return number;
	name_function(names, file, offset, lookup, &made);
	name_source(names, file, lookup, &made);
	made.image = memory_profile_add_text(names->profile, file ? file->path : "");
	place = memory_profile_add_place(names->profile);
	if (!place)
		return MEMORY_NOTHING;
	*place = made;
	return number;
}

/* ---- instructions ---- */

/* The decoder of the file's architecture. NULL: none. */
static struct decoder *
decoder_of(struct names *names, int fd)
{
	enum architecture architecture;
	uint16_t machine;

	if (pread(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)) != sizeof(machine) ||
	    architecture_of_machine(machine, &architecture))
		return NULL;
	if (!names->decoder || names->architecture != architecture) {
		decoder_free(names->decoder);
		names->decoder = decoder_new(architecture);
		names->architecture = architecture;
	}
	return names->decoder;
}

/* The memory operand of an instruction. NULL: it has none, or its address does not come from a register. */
static const struct instruction_operand *
memory_operand(const struct instruction_detail *detail)
{
	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];

		if (operand->kind == OPERAND_MEMORY && !operand->is_pc && operand->base != REGISTER_NONE)
			return operand;
	}
	return NULL;
}

/*
 * Whether the first instruction writes memory, or one behind it does by the same base register, before that changes or
 * code branches: an object's word is read, and then written.
 */
static bool
writes_soon(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t offset)
{
	uint8_t base = REGISTER_NONE;
	size_t at = 0;

	for (unsigned i = 0; i < WRITE_DISTANCE && at < length; i++) {
		struct instruction instruction;
		struct instruction_detail detail;
		const struct instruction_operand *operand;
		const size_t size = decoder_decode_one(decoder, bytes + at, length - at, offset + at, &instruction);

		operand = decoder_detail(decoder, bytes + at, length - at, offset + at, &detail)
		                  ? NULL
		                  : memory_operand(&detail);
		if (i == 0 && (instruction.stores || !operand))
			return instruction.stores;
		if (i == 0)
			base = operand->base;
		if (instruction.stores && operand && operand->base == base)
			return true;
		if (instruction.flow != FLOW_NEXT || instruction_writes(&instruction, base))
			return false;
		at += size;
	}
	return false;
}

bool
names_writes(struct names *names, const struct image *image, uint64_t offset)
{
	const int fd = open(image->path, O_RDONLY | O_CLOEXEC);
	struct decoder *decoder = fd < 0 ? NULL : decoder_of(names, fd);
	uint8_t bytes[WRITE_DISTANCE * INSTRUCTION_BYTES_MAX];
	const ssize_t got = decoder ? pread(fd, bytes, sizeof(bytes), (off_t)offset) : 0;
	const bool writes = got > 0 && writes_soon(decoder, bytes, (size_t)got, offset);

	if (fd >= 0)
		close(fd);
	return writes;
}

#define PLACE_ACCESSES 1
#define PLACE_CALLS    2

/* By place, PLACE_ACCESSES if an access has it, PLACE_CALLS if a call chain has it; free it. NULL: no memory. */
static uint8_t *
mark_places(const struct memory_profile *profile)
{
	uint8_t *marks = calloc(profile->place_count + 1, sizeof(*marks));

	for (size_t i = 0; i < profile->access_count && marks; i++) {
		if (profile->accesses[i].place < profile->place_count)
			marks[profile->accesses[i].place] |= PLACE_ACCESSES;
	}
	for (size_t i = 0; i < profile->frame_count && marks; i++)
		marks[profile->frames[i]] |= PLACE_CALLS;
	return marks;
}

/* The places of a file that have a mark. */
static int
list_places(const struct names *names, const struct named_file *file, const uint8_t *marks, uint8_t mark,
            struct typed_places *places)
{
	places->count = 0;
	for (uint32_t place = 0; place < names->places.count; place++) {
		const uint64_t *key = numbers_key(&names->places, place);
		struct typed_instruction *added;
		uint64_t address;

		if (key[0] != (uint64_t)(uintptr_t)file || !(marks[place] & mark) ||
		    image_file_address(file->file, key[1], &address))
			continue;
		added = ARRAY_APPEND(places->list, places->count, places->room);
		if (!added)
			return -ENOMEM;
		*added = (struct typed_instruction){address, place};
	}
	return 0;
}

int
names_add_types(struct names *names)
{
	struct memory_profile *profile = names->profile;
	struct returned_type *returned = calloc(profile->place_count + 1, sizeof(*returned));
	struct typed_places accessed = {.count = 0}, callers = {.count = 0};
	uint8_t *marks = mark_places(profile);
	struct image_guard guard;
	int err = returned && marks ? 0 : -ENOMEM;

	for (const struct named_file *file = names->files; file && !err; file = file->hh.next) {
		const struct typed_file typed = {file->file, file->lines, file->functions, file->variables};

		if (!file->file || !file->functions || !file->lines)
			continue;
		err = list_places(names, file, marks, PLACE_ACCESSES, &accessed);
		if (!err)
			err = list_places(names, file, marks, PLACE_CALLS, &callers);
		if (err || (!accessed.count && !callers.count))
			continue;
		enter_guard(&guard, file);
		err = place_types_add(profile, &typed, &accessed, &callers, returned);
		image_guard_leave(&guard);
	}
	if (!err)
		place_types_add_sites(profile, returned);
	free(accessed.list);
	free(callers.list);
	free(returned);
	free(marks);
	return err;
}

/* ---- addresses of a process ---- */

uint32_t
names_address(struct names *names, const struct process_map *map, uint64_t address, bool is_return)
{
	const uint64_t lookup = is_return && address ? address - 1 : address;
	struct image image;
	uint64_t offset;

	if (!process_map_file(map, lookup, &image, &offset))
		return names_place(names, NULL, address, lookup);
	return names_place(names, &image, offset + (address - lookup), offset);
}

/*
 * Where the linker put what is at `address`. All mappings of a program are moved by one distance, which the first of
 * them shows: a later one may begin within a page that two segments share, so that its file offset is of both.
 */
static bool
find_linked(const struct process_map *map, const struct process_mapping *data, const struct named_file *file,
            uint64_t address, uint64_t *linked)
{
	const struct process_mapping *first = process_map_first(map, data);

	if (image_file_address(file->file, first->file_offset, linked))
		return false;
	*linked += address - first->start;
	return true;
}

/* Cut the variables before and behind `address` from a region. It is in no variable; `linked`: its ELF address. */
static void
cut_variables(const struct symbol_table *variables, uint64_t address, uint64_t linked, struct memory_region *region)
{
	const uint64_t end = region->address + region->size;
	size_t low = 0, high = symbol_table_size(variables);
	const struct symbol *symbol;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (symbol_table_at(variables, middle)->offset <= linked)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < symbol_table_size(variables)) {
		symbol = symbol_table_at(variables, low);
		if (symbol->offset - linked < end - address)
			region->size = address + (symbol->offset - linked) - region->address;
	}
	if (low) {
		uint64_t gap;

		symbol = symbol_table_at(variables, low - 1);
		gap = linked - (symbol->offset + symbol->size);
		if (symbol->offset + symbol->size <= linked && gap < address - region->address) {
			region->size -= address - gap - region->address;
			region->address = address - gap;
		}
	}
}

/* Make a region the variable at `address`; or the bytes between two variables, which keep the file's name. */
static void
find_variable(struct names *names, const struct process_map *map, const struct process_mapping *data, uint64_t address,
              struct memory_region *region)
{
	const struct image image = process_map_image(data);
	struct named_file *file = find_file(names, &image);
	const struct symbol *symbol;
	uint64_t linked;

	if (!file || !file->variables || !find_linked(map, data, file, address, &linked))
		return;
	symbol = symbol_table_find(file->variables, linked);
	if (!symbol || !symbol->name || !symbol->size) {
		cut_variables(file->variables, address, linked, region);
		return;
	}
	region->address = address - (linked - symbol->offset);
	region->size = symbol->size;
	region->name = memory_profile_add_text(names->profile, symbol->name);
}

static bool
is_of_tracker(const struct process_mapping *mapping)
{
	return strcmp(text_basename(mapping->path), TRACKER_NAME) == 0;
}

void
names_region(struct names *names, const struct process_map *map, uint64_t address, struct memory_region *region)
{
	const struct process_mapping *mapping = process_map_find(map, address), *data;

	*region = (struct memory_region){.size = 0};
	if (!mapping)
		return;
	data = process_map_program(map, mapping);
	*region = (struct memory_region){
		.address = mapping->start,
		.size = mapping->end - mapping->start,
		.is_ours = is_of_tracker(data ? data : mapping),
		.kind = data               ? MEMORY_STATIC
	                : mapping->path[0] ? MEMORY_FILE
	                                   : MEMORY_MAPPING,
		.name = memory_profile_add_text(names->profile, data               ? text_basename(data->path)
	                                                        : mapping->path[0] ? mapping->path
	                                                                           : "[anon]"),
	};
	if (data)
		find_variable(names, map, data, address, region);
}
