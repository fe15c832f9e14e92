#include "image/call_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

struct eh_frame {
	const struct elf_file *file;
	Elf_Data *data;   /* of .eh_frame */
	uint64_t address; /* of its first byte */
};

/* An encoded pointer, as LSB 5.0, "DWARF Extensions", 10.5.1 defines it: format in the low half, base in the next. */
#define FORMAT(encoding) ((encoding)&0x0f)
#define BASE(encoding)   ((encoding)&0x70)
#define UNKNOWN_ENCODING DW_EH_PE_omit

static size_t
pointer_size(const struct eh_frame *frames, uint8_t encoding)
{
	switch (FORMAT(encoding)) {
	case DW_EH_PE_absptr:
		return gelf_getclass(frames->file->elf) == ELFCLASS64 ? 8 : 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

static uint64_t
read_number(const struct eh_frame *frames, const uint8_t *at, size_t size)
{
	bool little = frames->file->header.e_ident[EI_DATA] == ELFDATA2LSB;
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | at[little ? size - 1 - i : i];
	return value;
}

/* Reads a pointer at *at, which moves behind it; `place` is the address of *at. False: an encoding that is not
 * supported, or beyond `end`. */
static bool
read_pointer(const struct eh_frame *frames, uint8_t encoding, const uint8_t **at, const uint8_t *end, uint64_t place,
             uint64_t *value)
{
	const size_t size = pointer_size(frames, encoding);
	const unsigned shift = 64 - 8 * (unsigned)size;

	if (!size || *at > end || (size_t)(end - *at) < size)
		return false;
	*value = read_number(frames, *at, size);
	if (encoding & DW_EH_PE_signed)
		*value = (uint64_t)((int64_t)(*value << shift) >> shift);
	*at += size;
	if (BASE(encoding) == DW_EH_PE_pcrel)
		*value += place;
	else if (BASE(encoding) != 0)
		return false;
	if (gelf_getclass(frames->file->elf) == ELFCLASS32)
		*value &= UINT32_MAX;
	return !(encoding & DW_EH_PE_indirect);
}

/* How the FDEs of a CIE write their addresses. */
static uint8_t
fde_encoding(const struct eh_frame *frames, const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data;
	const uint8_t *end = at ? at + cie->augmentation_data_size : NULL;
	uint64_t personality;

	if (!*cie->augmentation)
		return DW_EH_PE_absptr;
	if (*cie->augmentation != 'z' || !at)
		return UNKNOWN_ENCODING;
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'S' || *letter == 'B')
			continue;
		if (at >= end)
			return UNKNOWN_ENCODING;
		if (*letter == 'R')
			return *at;
		if (*letter == 'P') {
			uint8_t encoding = *at++;

			/* only its size matters here */
			if (!read_pointer(frames, FORMAT(encoding), &at, end, 0, &personality))
				return UNKNOWN_ENCODING;
		} else if (*letter == 'L') {
			at++;
		} else {
			return UNKNOWN_ENCODING;
		}
	}
	return DW_EH_PE_absptr;
}

static int
add_frame(struct symbol_builder *builder, const struct elf_segments *segments, const struct eh_frame *frames,
          const Dwarf_FDE *fde, uint8_t encoding)
{
	const uint8_t *at = fde->start;
	const struct elf_segment *segment;
	struct symbol_candidate candidate = {0};
	uint64_t address, size;

	if (encoding == UNKNOWN_ENCODING ||
	    !read_pointer(frames, encoding, &at, fde->end,
	                  frames->address + (uint64_t)(at - (const uint8_t *)frames->data->d_buf), &address) ||
	    !read_pointer(frames, FORMAT(encoding) & ~DW_EH_PE_signed, &at, fde->end, 0, &size))
		return 0;
	segment = elf_segments_at_address(segments, address);
	if (!segment || !segment->executable || size == 0)
		return 0;
	candidate.offset = elf_segment_offset(segment, address);
	candidate.size = size;
	candidate.limit = segment->offset + segment->size;
	return symbol_builder_add(builder, &candidate);
}

static int
add_frames(struct symbol_builder *builder, const struct elf_segments *segments, const struct eh_frame *frames)
{
	const unsigned char *identity = frames->file->header.e_ident;
	uint64_t offset = 0, next, cie_offset = UINT64_MAX;
	uint8_t encoding = UNKNOWN_ENCODING;
	Dwarf_CFI_Entry entry;
	int err;

	for (; dwarf_next_cfi(identity, frames->data, true, offset, &next, &entry) == 0; offset = next) {
		Dwarf_CFI_Entry cie;
		uint64_t ignored;

		if (next <= offset)
			break;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_offset) {
			cie_offset = entry.fde.CIE_pointer;
			encoding = UNKNOWN_ENCODING;
			if (dwarf_next_cfi(identity, frames->data, true, cie_offset, &ignored, &cie) == 0 &&
			    dwarf_cfi_cie_p(&cie))
				encoding = fde_encoding(frames, &cie.cie);
		}
		err = add_frame(builder, segments, frames, &entry.fde, encoding);
		if (err)
			return err;
	}
	return 0;
}

static bool
find_by_section(struct eh_frame *frames)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_next_section(frames->file, NULL, ".eh_frame", &header);

	if (!section || !elf_file_bytes(frames->file, section))
		return false;
	frames->data = elf_rawdata(section, NULL);
	frames->address = header.sh_addr;
	return true;
}

/* .eh_frame_hdr (LSB 5.0, 10.6.2): a version, three encodings, then the address of .eh_frame in the first of them. */
static bool
find_by_program_header(struct eh_frame *frames, const struct elf_segments *segments)
{
	const struct elf_segment *segment;
	const uint8_t *start, *at;
	GElf_Phdr header;
	size_t index = 0;
	Elf_Data *data;
	uint64_t skip;

	if (!elf_file_next_program_header(frames->file, PT_GNU_EH_FRAME, &index, &header) || header.p_filesz < 4)
		return false;
	data = elf_getdata_rawchunk(frames->file->elf, (int64_t)header.p_offset,
	                            header.p_filesz < 16 ? header.p_filesz : 16, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return false;
	start = data->d_buf;
	at = start + 4;
	if (!read_pointer(frames, start[1], &at, start + data->d_size, header.p_vaddr + 4, &frames->address))
		return false;
	segment = elf_segments_at_address(segments, frames->address);
	if (!segment || segment->size > ELF_SECTION_SIZE_MAX)
		return false;
	skip = frames->address - segment->address;
	frames->data = elf_getdata_rawchunk(frames->file->elf, (int64_t)(segment->offset + skip), segment->size - skip,
	                                    ELF_T_BYTE);
	return frames->data && frames->data->d_buf;
}

int
call_frames_add(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments)
{
	struct eh_frame frames = {.file = file};

	if (!find_by_section(&frames) && !find_by_program_header(&frames, segments))
		return 0;
	return add_frames(builder, segments, &frames);
}
