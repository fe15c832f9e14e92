#include "image/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "profile/captured.h"

#define COPY_SIZE_MAX ((uint64_t)256 << 20) /* bytes of a section that the dynamic linker writes */
#define ADDRESS_SIZE  8u

struct image_contents {
	struct image_section *sections; /* ascending, disjoint */
	size_t count;
	uint16_t machine;
	bool is_partial;
};

void
image_contents_free(struct image_contents *contents)
{
	if (!contents)
		return;
	for (size_t i = 0; i < contents->count; i++)
		free(contents->sections[i].copy);
	free(contents->sections);
	free(contents);
}

/* ---- from a file ---- */

/* The part that becomes read-only once the dynamic linker has written it (PT_GNU_RELRO) counts as constant. */
static bool
is_wanted(const GElf_Shdr *header, const GElf_Phdr *relro)
{
	if (!(header->sh_flags & SHF_ALLOC) || header->sh_flags & SHF_TLS || !header->sh_addr || !header->sh_size)
		return false;
	if (header->sh_size > UINT64_MAX - header->sh_addr)
		return false;
	if (!(header->sh_flags & SHF_WRITE))
		return true;
	return header->sh_addr >= relro->p_vaddr && header->sh_addr - relro->p_vaddr < relro->p_memsz &&
	       header->sh_size <= COPY_SIZE_MAX;
}

static int
add_file_section(struct image_contents *contents, const GElf_Shdr *header, const Elf_Data *data)
{
	struct image_section *section = &contents->sections[contents->count];

	*section = (struct image_section){
		.address = header->sh_addr,
		.size = data->d_size,
		.bytes = data->d_buf,
		.is_code = header->sh_flags & SHF_EXECINSTR,
	};
	if (header->sh_flags & SHF_WRITE) {
		section->copy = malloc(data->d_size);
		if (!section->copy)
			return -ENOMEM;
		memcpy(section->copy, data->d_buf, data->d_size);
		section->bytes = section->copy;
	}
	contents->count++;
	return 0;
}

/* Where sections overlap, which only damaged files have, the first is kept. */
static void
sort_sections(struct image_contents *contents)
{
	size_t kept = 0;

	if (contents->count)
		qsort(contents->sections, contents->count, sizeof(*contents->sections), array_compare_u64);
	for (size_t i = 0; i < contents->count; i++) {
		const struct image_section *before = kept ? &contents->sections[kept - 1] : NULL;

		if (before && contents->sections[i].address - before->address < before->size)
			free(contents->sections[i].copy);
		else
			contents->sections[kept++] = contents->sections[i];
	}
	contents->count = kept;
}

static int
read_sections(struct image_contents *contents, const struct elf_file *file)
{
	GElf_Phdr relro = {0};
	Elf_Scn *section = NULL;
	size_t count = 0, index = 0;
	int err = 0;

	if (!elf_file_next_program_header(file, PT_GNU_RELRO, &index, &relro))
		relro = (GElf_Phdr){0};
	if (elf_getshdrnum(file->elf, &count))
		return -DCPI_EDAMAGED;
	contents->sections = calloc(count + 1, sizeof(*contents->sections));
	if (!contents->sections)
		return -ENOMEM;
	while (!err && contents->count < count && (section = elf_nextscn(file->elf, section))) {
		const Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !is_wanted(&header, &relro))
			continue;
		data = elf_file_bytes(file, section);
		if (data && data->d_size)
			err = add_file_section(contents, &header, data);
	}
	sort_sections(contents);
	return err;
}

/* The section that holds `address`, NULL when none does. */
static struct image_section *
find_section(const struct image_contents *contents, uint64_t address)
{
	size_t at = ARRAY_LOWER_BOUND(contents->sections, contents->count, address, address);

	if (at == contents->count || contents->sections[at].address != address)
		at--; /* SIZE_MAX: none begins before */
	if (at == SIZE_MAX || address - contents->sections[at].address >= contents->sections[at].size)
		return NULL;
	return &contents->sections[at];
}

/*
 * Write the addresses that the dynamic linker writes (R_*_RELATIVE) into the copies: GNU's linker leaves them in the
 * file too, LLVM's does not.
 */
static void
relocate_by(struct image_contents *contents, const Elf_Data *relocations)
{
	const uint64_t relative = contents->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	const size_t count = relocations->d_size / sizeof(Elf64_Rela);

	for (size_t i = 0; i < count; i++) {
		struct image_section *section;
		Elf64_Rela relocation;
		uint64_t at;

		memcpy(&relocation, (const uint8_t *)relocations->d_buf + i * sizeof(relocation), sizeof(relocation));
		if (GELF_R_TYPE(relocation.r_info) != relative)
			continue;
		section = find_section(contents, relocation.r_offset);
		if (!section || !section->copy)
			continue;
		at = relocation.r_offset - section->address;
		if (section->size - at >= ADDRESS_SIZE)
			memcpy(section->copy + at, &relocation.r_addend, ADDRESS_SIZE);
	}
}

int
image_contents_new(const struct image_file *file, struct image_contents **contents)
{
	const struct elf_file *elf = image_file_elf(file);
	struct image_contents *made;
	Elf_Scn *section = NULL;
	int err;

	if (!elf)
		return -ENOENT;
	if (elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -DCPI_EDAMAGED;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->machine = elf->header.e_machine;
	err = read_sections(made, elf);
	if (err) {
		image_contents_free(made);
		return err;
	}
	while ((section = elf_nextscn(elf->elf, section))) {
		const Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_file_bytes(elf, section);
		if (data)
			relocate_by(made, data);
	}
	*contents = made;
	return 0;
}

/* ---- from what was captured ---- */

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

/* The first block whose number is not below `number`. */
static size_t
first_block(const struct captured_text *text, uint64_t number)
{
	return ARRAY_LOWER_BOUND(text->blocks, text->count, number, number);
}

/* A hostile layout, where many sections overlap in some blocks, must not take all memory. */
#define COPIES_MAX 4 /* of each block */

struct contents_maker {
	struct image_contents *contents;
	const struct captured_text *text;
	size_t capacity; /* of the sections */
	uint64_t room;   /* bytes that may still be copied */
};

/* Add offsets [start, end), which lie wholly in the blocks from `first` on, as a section. */
static int
add_stretch(struct contents_maker *maker, size_t first, const struct image_section *section, uint64_t start,
            uint64_t end)
{
	struct image_contents *contents = maker->contents;
	struct image_section *added;
	uint8_t *copy, *to;

	if (end - start > maker->room)
		return -DCPI_EDAMAGED;
	maker->room -= end - start;
	to = copy = malloc(end - start);
	added = copy ? ARRAY_APPEND(contents->sections, contents->count, maker->capacity) : NULL;
	if (!added) {
		free(copy);
		return -ENOMEM;
	}
	for (uint64_t at = start; at < end; first++) {
		const uint64_t from = at % CAPTURED_BLOCK_SIZE, room = CAPTURED_BLOCK_SIZE - from;
		const uint64_t size = end - at < room ? end - at : room;

		to = mempcpy(to, maker->text->blocks[first].bytes + from, size);
		at += size;
	}
	*added = *section;
	added->size = end - start;
	added->bytes = added->copy = copy;
	return 0;
}

/* Add the parts of a section that were captured; it begins at `offset`. */
static int
add_captured_section(struct contents_maker *maker, const struct captured_section *section, uint64_t offset)
{
	const struct captured_text *text = maker->text;
	const uint64_t last = offset + section->size;

	for (size_t i = first_block(text, offset / CAPTURED_BLOCK_SIZE); i < text->count;) {
		const uint64_t begin = (uint64_t)text->blocks[i].number * CAPTURED_BLOCK_SIZE;
		const size_t first = i;
		uint64_t start = begin < offset ? offset : begin, end = begin + CAPTURED_BLOCK_SIZE;
		struct image_section stretch = {.is_code = section->is_code};
		int err;

		if (begin >= last)
			break;
		for (i++; i < text->count && (uint64_t)text->blocks[i].number * CAPTURED_BLOCK_SIZE == end; i++)
			end += CAPTURED_BLOCK_SIZE;
		if (end > last)
			end = last;
		stretch.address = section->address + (start - offset);
		err = add_stretch(maker, first, &stretch, start, end);
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
	struct contents_maker maker = {
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
			err = add_captured_section(&maker, &layout->sections[i], offset);
	if (err) {
		image_contents_free(made);
		return err;
	}
	*contents = made;
	return 0;
}

/* ---- reading ---- */

uint16_t
image_contents_machine(const struct image_contents *contents)
{
	return contents->machine;
}

bool
image_contents_is_partial(const struct image_contents *contents)
{
	return contents->is_partial;
}

const struct image_section *
image_contents_sections(const struct image_contents *contents, size_t *count)
{
	*count = contents->count;
	return contents->sections;
}

static const uint8_t *
rest_of_section(const struct image_section *section, uint64_t address, size_t *size)
{
	*size = section->size - (address - section->address);
	return section->bytes + (address - section->address);
}

const uint8_t *
image_contents_code(const struct image_contents *contents, uint64_t address, size_t *size)
{
	const struct image_section *section = find_section(contents, address);

	return section && section->is_code ? rest_of_section(section, address, size) : NULL;
}

const uint8_t *
image_contents_constants(const struct image_contents *contents, uint64_t address, size_t *size)
{
	const struct image_section *section = find_section(contents, address);

	return section ? rest_of_section(section, address, size) : NULL;
}

/* ---- what a database captures of it ---- */

int
image_contents_capture_layout(const struct image_file *file, const struct image_contents *contents,
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
image_contents_capture_symbols(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count)
{
	const size_t size = symbol_table_size(table);
	struct profile_symbol *list = calloc(size + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		const struct symbol *symbol = symbol_table_at(table, i);

		list[i] = (struct profile_symbol){.offset = symbol->offset, .name = symbol->name, .size = symbol->size};
	}
	qsort(list, size, sizeof(*list), array_compare_u64);
	*symbols = list;
	*count = size;
	return 0;
}

bool
image_contents_capture_block(const struct image_file *file, const struct image_contents *contents, uint32_t number,
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
