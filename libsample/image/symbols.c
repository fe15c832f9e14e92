#include "image/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/call_frames.h"
#include "image/elf_file.h"
#include "image/plt.h"

struct symbol_reader {
	struct symbol_builder *builder;
	const struct elf_file *file;
	const struct elf_segments *segments;
	struct elf_names names;
	GElf_Shdr *sections; /* by number; read once, because each symbol needs one */
	size_t section_count;
};

static int
read_sections(struct symbol_reader *reader)
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
is_mapping_symbol(const struct symbol_reader *reader, const char *name)
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
is_wanted(const struct symbol_reader *reader, const GElf_Sym *symbol, const GElf_Shdr *section)
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
add_symbol(struct symbol_reader *reader, const GElf_Sym *symbol)
{
	uint64_t address = symbol->st_value;
	const struct elf_segment *segment;
	const GElf_Shdr *section;
	struct symbol_candidate candidate;
	uint64_t room;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= reader->section_count || symbol->st_name == 0 ||
	    symbol->st_name >= reader->names.size)
		return 0;
	section = &reader->sections[symbol->st_shndx];
	if (!is_wanted(reader, symbol, section))
		return 0;
	if (reader->file->header.e_machine == EM_ARM)
		address &= ~(uint64_t)1; /* the lowest bit says Thumb */
	segment = elf_segments_at_address(reader->segments, address);
	if (!segment || !segment->executable || address < section->sh_addr ||
	    address - section->sh_addr >= section->sh_size)
		return 0;
	room = segment->size - (address - segment->address);
	if (section->sh_size - (address - section->sh_addr) < room)
		room = section->sh_size - (address - section->sh_addr);
	candidate = (struct symbol_candidate){
		.offset = elf_segment_offset(segment, address),
		.size = symbol->st_size,
		.name = reader->names.text + symbol->st_name,
		.name_length = elf_symbol_name_length(reader->names.text + symbol->st_name),
		.binding = binding_of(symbol),
		.label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE,
	};
	candidate.limit = candidate.offset + room;
	return symbol_builder_add(reader->builder, &candidate);
}

/*
 * Add the functions and code labels in the first section of `type` (SHT_SYMTAB, SHT_DYNSYM) of `file`; `segments` are
 * those of the image. Names point into `file`. 0 (also when there is no such section), -ENOMEM, -DCPI_EDAMAGED.
 */
static int
add_symbols(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments,
            uint32_t type)
{
	struct symbol_reader reader = {.builder = builder, .file = file, .segments = segments};
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr header;
	size_t count;
	int err;

	do
		section = elf_nextscn(file->elf, section);
	while (section && (!gelf_getshdr(section, &header) || header.sh_type != type));
	if (!section)
		return 0;
	err = elf_file_names(file, header.sh_link, &reader.names);
	if (err)
		return err;
	err = read_sections(&reader);
	if (err)
		goto out;
	data = elf_file_entries(file, section);
	if (!data) {
		err = -DCPI_EDAMAGED;
		goto out;
	}
	count = data->d_size / gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; !err && i < count; i++) {
		GElf_Sym symbol;

		err = gelf_getsym(data, (int)i, &symbol) ? add_symbol(&reader, &symbol) : -DCPI_EDAMAGED;
	}
out:
	free(reader.sections);
	return err;
}

/* Symbols of a helper file: one that is damaged only costs names. */
static int
add_helper(struct symbol_builder *builder, const struct elf_file *helper, const struct elf_segments *segments)
{
	int err = add_symbols(builder, helper, segments, SHT_SYMTAB);

	return err == -DCPI_EDAMAGED ? 0 : err;
}

/* From the image's debug file or, where there is none, from its minidebuginfo, whose names point into `mini`. */
static int
add_split_symbols(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	const struct elf_segments *segments = image_file_segments(file);
	int err;

	image_file_find_debug(file);
	if (image_file_debug(file))
		return add_helper(builder, image_file_debug(file), segments);
	err = elf_file_open_minidebug(mini, image_file_elf(file));
	if (err)
		return err == -ENOMEM ? err : 0;
	return add_helper(builder, mini, segments);
}

static int
add_all_symbols(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	const struct elf_file *main = image_file_elf(file), *debug = image_file_debug(file);
	const struct elf_segments *segments = image_file_segments(file);
	int err;

	if (!main)
		return debug ? add_symbols(builder, debug, segments, SHT_SYMTAB) : 0;
	err = add_symbols(builder, main, segments, SHT_SYMTAB);
	if (err)
		return err;
	err = add_symbols(builder, main, segments, SHT_DYNSYM);
	if (err)
		return err;
	err = add_split_symbols(builder, file, mini);
	if (err)
		return err;
	err = call_frames_add(builder, main, segments);
	if (err)
		return err;
	return plt_add(builder, main, segments);
}

int
symbol_table_from_file(struct image_file *file, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	struct elf_file mini = ELF_FILE_INIT; /* open until the table is made: names point into it */
	int err;

	*table = NULL;
	err = add_all_symbols(&builder, file, &mini);
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	elf_file_close(&mini);
	return err;
}
