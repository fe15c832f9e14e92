#include "image/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct reader {
	struct symbol_builder *builder;
	const struct elf_file *file;
	const struct segment_table *segments;
	struct elf_names names;
	GElf_Shdr *sections; /* by number; read once, for they are asked for every symbol */
	size_t section_count;
};

static Elf_Scn *
find_by_type(const struct elf_file *file, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

static int
read_sections(struct reader *reader)
{
	if (elf_getshdrnum(reader->file->elf, &reader->section_count))
		return -DCPI_EDAMAGED;
	reader->sections = calloc(reader->section_count + 1, sizeof(*reader->sections));
	if (!reader->sections)
		return -ENOMEM;
	for (size_t i = 0; i < reader->section_count; i++) {
		Elf_Scn *section = elf_getscn(reader->file->elf, i);

		if (!section || !gelf_getshdr(section, &reader->sections[i]))
			memset(&reader->sections[i], 0, sizeof(reader->sections[i]));
	}
	return 0;
}

/* Labels that tell a disassembler where code and data begin (AArch64, ARM, RISC-V ELF ABIs): $x, $d.12, $xrv64. */
static bool
is_mapping_symbol(const struct reader *reader, const char *name)
{
	switch (reader->file->header.e_machine) {
	case EM_ARM:
	case EM_AARCH64:
	case EM_RISCV:
		return name[0] == '$' && name[1] && strchr("xdat", name[1]);
	default:
		return false;
	}
}

static bool
is_wanted(const struct reader *reader, const GElf_Sym *symbol, const GElf_Shdr *section)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: {
		const char *name = reader->names.text + symbol->st_name;

		return section->sh_flags & SHF_EXECINSTR && strncmp(name, ".L", 2) != 0 &&
		       !is_mapping_symbol(reader, name);
	}
	default:
		return false;
	}
}

static enum symbol_binding
binding_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

static int
add_symbol(struct reader *reader, const GElf_Sym *symbol)
{
	uint64_t address = symbol->st_value;
	const struct segment *segment;
	const GElf_Shdr *section;
	struct candidate candidate;
	uint64_t room;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= reader->section_count || symbol->st_name == 0 ||
	    symbol->st_name >= reader->names.size)
		return 0;
	section = &reader->sections[symbol->st_shndx];
	if (!is_wanted(reader, symbol, section))
		return 0;
	if (reader->file->header.e_machine == EM_ARM)
		address &= ~(uint64_t)1; /* the lowest bit says Thumb */
	segment = segment_at_address(reader->segments, address);
	if (!segment || !segment->executable || address < section->sh_addr ||
	    address - section->sh_addr >= section->sh_size)
		return 0;
	room = segment->size - (address - segment->address);
	if (section->sh_size - (address - section->sh_addr) < room)
		room = section->sh_size - (address - section->sh_addr);
	candidate = (struct candidate){
		.offset = segment->offset + (address - segment->address),
		.size = symbol->st_size,
		.name = reader->names.text + symbol->st_name,
		.name_length = symbol_name_length(reader->names.text + symbol->st_name),
		.binding = binding_of(symbol),
		.label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE,
	};
	candidate.limit = candidate.offset + room;
	return symbol_builder_add(reader->builder, &candidate);
}

static int
add_all(struct reader *reader, Elf_Scn *section)
{
	Elf_Data *data;
	size_t count;
	int err = 0;

	if (!elf_file_bytes(reader->file, section))
		return -DCPI_EDAMAGED;
	data = elf_getdata(section, NULL);
	if (!data || !data->d_buf)
		return -DCPI_EDAMAGED;
	count = data->d_size / gelf_fsize(reader->file->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; !err && i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return -DCPI_EDAMAGED;
		err = add_symbol(reader, &symbol);
	}
	return err;
}

int
elf_symbols_add(struct symbol_builder *builder, const struct elf_file *file, const struct segment_table *segments,
                uint32_t type)
{
	struct reader reader = {.builder = builder, .file = file, .segments = segments};
	GElf_Shdr header;
	Elf_Scn *section = find_by_type(file, type, &header);
	int err;

	if (!section || header.sh_type == SHT_NOBITS)
		return 0;
	err = elf_file_names(file, header.sh_link, &reader.names);
	if (!err)
		err = read_sections(&reader);
	if (!err)
		err = add_all(&reader, section);
	free(reader.sections);
	return err;
}
