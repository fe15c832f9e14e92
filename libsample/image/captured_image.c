#include "image/captured_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/elf_file.h"

int
captured_layout_make(const struct image_file *file, const struct image_contents *contents,
                     struct captured_layout **layout)
{
	const struct elf_segments *segments = image_file_segments(file);
	const struct elf_file *elf = image_file_elf(file);
	const struct image_section *sections = NULL;
	struct captured_layout *made;
	size_t count = 0;

	if (contents)
		sections = image_contents_sections(contents, &count);
	if (segments->count > CAPTURED_SEGMENTS_MAX || count > CAPTURED_SECTIONS_MAX)
		return -E2BIG;
	made = calloc(1, sizeof(*made) + segments->count * sizeof(*made->segments) + count * sizeof(*made->sections));
	if (!made)
		return -ENOMEM;
	made->segments = (struct captured_segment *)(made + 1);
	made->sections = (struct captured_section *)(made->segments + segments->count);
	if (contents)
		made->machine = image_contents_machine(contents);
	else if (elf)
		made->machine = elf->header.e_machine;
	made->segment_count = segments->count;
	for (size_t i = 0; i < segments->count; i++) {
		const struct elf_segment *segment = &segments->list[i];

		made->segments[i] = (struct captured_segment){segment->offset, segment->address, segment->size,
		                                              segment->executable};
	}
	made->section_count = count;
	for (size_t i = 0; i < count; i++)
		made->sections[i] =
			(struct captured_section){sections[i].address, sections[i].size, sections[i].is_code};
	*layout = made;
	return 0;
}

int
captured_symbols_compare(const void *left, const void *right)
{
	const struct profile_symbol *one = left, *other = right;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

int
captured_symbols_make(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count)
{
	const size_t size = symbol_table_size(table);
	struct profile_symbol *list = calloc(size + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		const struct symbol *symbol = symbol_table_at(table, i);

		list[i] = (struct profile_symbol){.offset = symbol->offset, .name = symbol->name, .size = symbol->size};
	}
	qsort(list, size, sizeof(*list), captured_symbols_compare);
	*symbols = list;
	*count = size;
	return 0;
}

bool
captured_block_make(const struct image_file *file, const struct image_contents *contents, uint32_t number,
                    uint8_t bytes[CAPTURED_BLOCK_SIZE])
{
	const uint64_t start = (uint64_t)number * CAPTURED_BLOCK_SIZE, end = start + CAPTURED_BLOCK_SIZE;
	const struct image_section *sections;
	bool found = false;
	size_t count;

	memset(bytes, 0, CAPTURED_BLOCK_SIZE);
	sections = image_contents_sections(contents, &count);
	for (size_t i = 0; i < count; i++) {
		const struct image_section *section = &sections[i];
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
