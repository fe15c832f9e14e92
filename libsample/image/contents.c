#include "image/contents.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/contents_private.h"
#include "image/image_file_private.h"

#define COPY_SIZE_MAX ((uint64_t)256 << 20) /* bytes of a section that the dynamic linker writes */
#define ADDRESS_SIZE  8u

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

/* What becomes read-only once the dynamic linker has written it; size 0 when nothing does. */
static GElf_Phdr
relro_find(const struct elf_file *file)
{
	GElf_Phdr header = {0};
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count))
		return header;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_GNU_RELRO)
			return header;
	}
	return (GElf_Phdr){0};
}

static bool
is_in(const GElf_Phdr *segment, const GElf_Shdr *header)
{
	return header->sh_addr >= segment->p_vaddr && header->sh_addr - segment->p_vaddr < segment->p_memsz;
}

static bool
is_wanted(const GElf_Shdr *header, const GElf_Phdr *relro)
{
	if (!(header->sh_flags & SHF_ALLOC) || header->sh_flags & SHF_TLS || !header->sh_addr || !header->sh_size)
		return false;
	if (header->sh_size > UINT64_MAX - header->sh_addr)
		return false;
	return !(header->sh_flags & SHF_WRITE) || (is_in(relro, header) && header->sh_size <= COPY_SIZE_MAX);
}

static int
section_add(struct image_contents *contents, const GElf_Shdr *header, const Elf_Data *data)
{
	struct section *section = &contents->sections[contents->count];

	*section = (struct section){
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

static int
section_compare(const void *a, const void *b)
{
	const struct section *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* Where sections overlap, which none do, the first is kept. */
static void
sections_sort(struct image_contents *contents)
{
	size_t kept = 0;

	if (contents->count)
		qsort(contents->sections, contents->count, sizeof(*contents->sections), section_compare);
	for (size_t i = 0; i < contents->count; i++) {
		const struct section *before = kept ? &contents->sections[kept - 1] : NULL;

		if (before && contents->sections[i].address - before->address < before->size)
			free(contents->sections[i].copy);
		else
			contents->sections[kept++] = contents->sections[i];
	}
	contents->count = kept;
}

static int
sections_read(struct image_contents *contents, const struct elf_file *file)
{
	GElf_Phdr relro = relro_find(file);
	Elf_Scn *section = NULL;
	size_t count = 0;
	int err = 0;

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
			err = section_add(contents, &header, data);
	}
	sections_sort(contents);
	return err;
}

/* The section that holds `address`, NULL when none does. */
static struct section *
section_find(const struct image_contents *contents, uint64_t address)
{
	size_t low = 0, high = contents->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (contents->sections[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - contents->sections[low - 1].address >= contents->sections[low - 1].size)
		return NULL;
	return &contents->sections[low - 1];
}

static bool
is_relative(const struct image_contents *contents, uint64_t info)
{
	return GELF_R_TYPE(info) == (contents->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE);
}

/* Write what the dynamic linker writes into the copies: GNU's linker leaves it in the file too, LLVM's does not. */
static void
relocations_apply(struct image_contents *contents, const uint8_t *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct section *section;
		Elf64_Rela relocation;

		memcpy(&relocation, relocations + i * sizeof(relocation), sizeof(relocation));
		if (!is_relative(contents, relocation.r_info))
			continue;
		section = section_find(contents, relocation.r_offset);
		if (!section || !section->copy)
			continue;
		if (section->size - (relocation.r_offset - section->address) >= ADDRESS_SIZE)
			memcpy(section->copy + (relocation.r_offset - section->address), &relocation.r_addend,
			       ADDRESS_SIZE);
	}
}

static void
relocate(struct image_contents *contents, const struct elf_file *file)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		const Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_file_bytes(file, section);
		if (data)
			relocations_apply(contents, data->d_buf, data->d_size / sizeof(Elf64_Rela));
	}
}

int
image_contents_new(const struct image_file *file, struct image_contents **contents)
{
	struct image_contents *made;
	int err;

	if (!file->main.elf)
		return -ENOENT;
	if (file->main.header.e_ident[EI_CLASS] != ELFCLASS64 || file->main.header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -DCPI_EDAMAGED;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->machine = file->main.header.e_machine;
	err = sections_read(made, &file->main);
	if (err) {
		image_contents_free(made);
		return err;
	}
	relocate(made, &file->main);
	*contents = made;
	return 0;
}

static const uint8_t *
section_rest(const struct section *section, uint64_t address, size_t *size)
{
	*size = section->size - (address - section->address);
	return section->bytes + (address - section->address);
}

const uint8_t *
image_contents_code(const struct image_contents *contents, uint64_t address, size_t *size)
{
	const struct section *section = section_find(contents, address);

	return section && section->is_code ? section_rest(section, address, size) : NULL;
}

const uint8_t *
image_contents_constants(const struct image_contents *contents, uint64_t address, size_t *size)
{
	const struct section *section = section_find(contents, address);

	return section ? section_rest(section, address, size) : NULL;
}
