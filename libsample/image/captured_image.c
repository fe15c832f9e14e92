#include "image/captured_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "image/contents_private.h"
#include "image/image_file_private.h"
#include "image/symbol_table.h"

int
image_file_from_captured(const struct captured_layout *layout, struct image_file **file)
{
	struct image_file *made;

	if (layout->segment_count > SEGMENTS_MAX)
		return -DCPI_EDAMAGED;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->main = made->debug = (struct elf_file)ELF_FILE_INIT;
	made->segments.count = layout->segment_count;
	for (size_t i = 0; i < layout->segment_count; i++) {
		const struct captured_segment *segment = &layout->segments[i];

		made->segments.segments[i] =
			(struct segment){segment->offset, segment->address, segment->size, segment->executable};
	}
	*file = made;
	return 0;
}

/* The file offset of an address, by the layout; false when no segment holds it. */
static bool
find_offset(const struct captured_layout *layout, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < layout->segment_count; i++) {
		const struct captured_segment *segment = &layout->segments[i];

		if (address >= segment->address && address - segment->address < segment->size) {
			*offset = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

/* The first block not before `number`. */
static size_t
first_block(const struct captured_text *text, uint64_t number)
{
	size_t low = 0, high = text->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (text->blocks[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What is made of a hostile layout, where many sections lie on the same blocks, must not take all memory. */
#define COPIES_MAX 4 /* of each block */

struct making {
	struct image_contents *contents;
	const struct captured_text *text;
	size_t capacity; /* of the sections */
	uint64_t room;   /* bytes that may be copied yet */
};

/* Offsets [start, end) of which all lies in blocks from `first` on, as a section of its own. */
static int
add_stretch(struct making *making, size_t first, const struct section *section, uint64_t start, uint64_t end)
{
	const struct captured_text *text = making->text;
	struct image_contents *contents = making->contents;
	struct section *grown;
	uint8_t *copy, *to;

	if (end - start > making->room)
		return -DCPI_EDAMAGED;
	making->room -= end - start;
	grown = array_grow(contents->sections, &making->capacity, contents->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	contents->sections = grown;
	to = copy = malloc(end - start);
	if (!copy)
		return -ENOMEM;
	for (uint64_t at = start; at < end; first++) {
		const uint64_t from = at % CAPTURED_BLOCK_SIZE, room = CAPTURED_BLOCK_SIZE - from;
		const uint64_t size = end - at < room ? end - at : room;

		to = mempcpy(to, text->blocks[first].bytes + from, size);
		at += size;
	}
	grown[contents->count] = *section;
	grown[contents->count].size = end - start;
	grown[contents->count].bytes = grown[contents->count].copy = copy;
	contents->count++;
	return 0;
}

/* What is there of one section, `offset` that of its beginning. */
static int
add_section(struct making *making, const struct captured_section *section, uint64_t offset)
{
	const struct captured_text *text = making->text;
	const uint64_t last = offset + section->size;

	for (size_t i = first_block(text, offset / CAPTURED_BLOCK_SIZE); i < text->count;) {
		const uint64_t begin = (uint64_t)text->blocks[i].number * CAPTURED_BLOCK_SIZE;
		const size_t first = i;
		uint64_t start = begin < offset ? offset : begin, end = begin + CAPTURED_BLOCK_SIZE;
		int err;

		if (begin >= last)
			break;
		for (i++; i < text->count && (uint64_t)text->blocks[i].number * CAPTURED_BLOCK_SIZE == end; i++)
			end += CAPTURED_BLOCK_SIZE;
		if (end > last)
			end = last;
		err = add_stretch(
			making, first,
			&(struct section){.address = section->address + (start - offset), .is_code = section->is_code},
			start, end);
		if (err)
			return err;
	}
	return 0;
}

int
image_contents_from_captured(const struct captured_layout *layout, const struct captured_text *text,
                             struct image_contents **contents)
{
	struct image_contents *made = calloc(1, sizeof(*made));
	struct making making = {
		.contents = made,
		.text = text,
		.room = (uint64_t)COPIES_MAX * text->count * CAPTURED_BLOCK_SIZE,
	};
	uint64_t offset;
	int err = 0;

	if (!made)
		return -ENOMEM;
	made->machine = layout->machine;
	made->is_partial = true;
	for (size_t i = 0; i < layout->section_count && !err; i++)
		if (find_offset(layout, layout->sections[i].address, &offset) &&
		    layout->sections[i].size <= UINT64_MAX - offset)
			err = add_section(&making, &layout->sections[i], offset);
	if (err) {
		image_contents_free(made);
		return err;
	}
	*contents = made;
	return 0;
}

int
symbol_table_from_captured(const struct profile_symbol *symbols, size_t count, struct symbol_table **table)
{
	struct symbol *list = calloc(count + 1, sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct symbol){symbols[i].offset, symbols[i].size, symbols[i].name};
	err = symbol_table_from_list(list, count, table);
	free(list);
	return err;
}

int
captured_layout_make(const struct image_file *file, const struct image_contents *contents,
                     struct captured_layout **layout)
{
	const struct segment_table *segments = &file->segments;
	const size_t sections = contents ? contents->count : 0;
	struct captured_layout *made;

	if (segments->count > CAPTURED_SEGMENTS_MAX || sections > CAPTURED_SECTIONS_MAX)
		return -E2BIG;
	made = calloc(1,
	              sizeof(*made) + segments->count * sizeof(*made->segments) + sections * sizeof(*made->sections));
	if (!made)
		return -ENOMEM;
	made->segments = (struct captured_segment *)(made + 1);
	made->sections = (struct captured_section *)(made->segments + segments->count);
	made->machine = contents ? contents->machine : file->main.header.e_machine;
	made->segment_count = segments->count;
	for (size_t i = 0; i < segments->count; i++) {
		const struct segment *segment = &segments->segments[i];

		made->segments[i] = (struct captured_segment){segment->offset, segment->address, segment->size,
		                                              segment->executable};
	}
	made->section_count = sections;
	for (size_t i = 0; i < sections; i++)
		made->sections[i] = (struct captured_section){contents->sections[i].address, contents->sections[i].size,
		                                              contents->sections[i].is_code};
	*layout = made;
	return 0;
}

static int
compare_symbols(const void *a, const void *b)
{
	const struct profile_symbol *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

int
captured_symbols_make(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count)
{
	struct profile_symbol *list = calloc(table->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->symbols[i];

		list[i] = (struct profile_symbol){.offset = symbol->offset, .name = symbol->name, .size = symbol->size};
	}
	qsort(list, table->count, sizeof(*list), compare_symbols);
	*symbols = list;
	*count = table->count;
	return 0;
}

bool
captured_block_make(const struct image_file *file, const struct image_contents *contents, uint32_t number,
                    uint8_t bytes[CAPTURED_BLOCK_SIZE])
{
	const uint64_t start = (uint64_t)number * CAPTURED_BLOCK_SIZE, end = start + CAPTURED_BLOCK_SIZE;
	bool found = false;

	memset(bytes, 0, CAPTURED_BLOCK_SIZE);
	for (size_t i = 0; i < contents->count; i++) {
		const struct section *section = &contents->sections[i];
		uint64_t offset, from, to;

		if (image_file_offset(file, section->address, &offset) || section->size > UINT64_MAX - offset)
			continue;
		from = offset > start ? offset : start;
		to = offset + section->size < end ? offset + section->size : end;
		if (from >= to)
			continue;
		memcpy(bytes + (from - start), section->bytes + (from - offset), to - from);
		found = true;
	}
	return found;
}
