#include "image/segments.h"

#include "base/error.h"

static int
segment_table_add(struct segment_table *table, const GElf_Phdr *header, uint64_t offset, uint64_t size)
{
	if (table->count == SEGMENTS_MAX || offset > UINT64_MAX - size || header->p_vaddr > UINT64_MAX - size)
		return -DCPI_EDAMAGED;
	table->segments[table->count++] = (struct segment){
		.offset = offset,
		.address = header->p_vaddr,
		.size = size,
		.executable = header->p_flags & PF_X,
	};
	return 0;
}

/* The next PT_LOAD from *index on; false when there is none. */
static bool
next_load(const struct elf_file *file, size_t *index, GElf_Phdr *header)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	while (*index < count)
		if (gelf_getphdr(file->elf, (int)(*index)++, header) && header->p_type == PT_LOAD)
			return true;
	return false;
}

int
segment_table_read(struct segment_table *table, const struct elf_file *file)
{
	GElf_Phdr header;
	size_t index = 0;
	int err = 0;

	table->count = 0;
	while (!err && next_load(file, &index, &header)) {
		if (header.p_offset > file->size || header.p_filesz > file->size - header.p_offset)
			return -DCPI_EDAMAGED;
		err = segment_table_add(table, &header, header.p_offset, header.p_filesz);
	}
	if (!err && table->count == 0)
		err = -DCPI_EDAMAGED;
	return err;
}

static bool
was_emptied(const struct elf_file *file)
{
	GElf_Phdr header;
	size_t index = 0;

	while (next_load(file, &index, &header))
		if (header.p_flags & PF_X && header.p_filesz < header.p_memsz)
			return true;
	return false;
}

static uint64_t
offset_behind(uint64_t end, const GElf_Phdr *header)
{
	uint64_t align = header->p_align ? header->p_align : 1;

	return end + (header->p_vaddr % align + align - end % align) % align;
}

int
segment_table_read_debug(struct segment_table *table, const struct elf_file *file)
{
	bool emptied = was_emptied(file);
	uint64_t end = 0;
	GElf_Phdr header;
	size_t index = 0;
	int err = 0;

	table->count = 0;
	while (!err && next_load(file, &index, &header)) {
		uint64_t offset = emptied ? offset_behind(end, &header) : header.p_offset;
		uint64_t size = emptied ? header.p_memsz : header.p_filesz;

		err = segment_table_add(table, &header, offset, size);
		end = offset + size;
	}
	if (!err && table->count == 0)
		err = -DCPI_EDAMAGED;
	return err;
}

const struct segment *
segment_at_offset(const struct segment_table *table, uint64_t offset)
{
	for (size_t i = 0; i < table->count; i++)
		if (offset >= table->segments[i].offset && offset - table->segments[i].offset < table->segments[i].size)
			return &table->segments[i];
	return NULL;
}

const struct segment *
segment_at_address(const struct segment_table *table, uint64_t address)
{
	for (size_t i = 0; i < table->count; i++)
		if (address >= table->segments[i].address &&
		    address - table->segments[i].address < table->segments[i].size)
			return &table->segments[i];
	return NULL;
}
