#include "image/call_frames.h"

#include <dwarf.h>

/* An encoded pointer, as LSB 5.0, "DWARF Extensions", 10.5.1 defines it: format in the low half, base in the next. */
#define FORMAT(encoding) ((encoding)&0x0f)
#define BASE(encoding)   ((encoding)&0x70)
#define UNKNOWN_ENCODING DW_EH_PE_omit
#define CIE_SIZE_MAX     4096 /* bytes; real ones have about twenty */

static size_t
pointer_size(const struct call_frames *frames, uint8_t encoding)
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
read_number(const struct call_frames *frames, const uint8_t *at, size_t size)
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
read_pointer(const struct call_frames *frames, uint8_t encoding, const uint8_t **at, const uint8_t *end, uint64_t place,
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

/* What the augmentation of a CIE says of its FDEs. */
struct cie_traits {
	uint8_t encoding; /* of addresses; UNKNOWN_ENCODING: they cannot be read */
	bool has_size;    /* augmentation data, and their size, follow the addresses */
	bool is_signal_frame;
};

static struct cie_traits
read_traits(const struct call_frames *frames, const Dwarf_CIE *cie)
{
	struct cie_traits traits = {.encoding = DW_EH_PE_absptr, .has_size = *cie->augmentation == 'z'};
	const struct cie_traits unknown = {.encoding = UNKNOWN_ENCODING};
	const uint8_t *at = cie->augmentation_data;
	const uint8_t *end = at ? at + cie->augmentation_data_size : NULL;
	uint64_t personality;

	if (!*cie->augmentation)
		return traits;
	if (*cie->augmentation != 'z' || !at)
		return unknown;
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'S')
			traits.is_signal_frame = true;
		if (*letter == 'S' || *letter == 'B')
			continue;
		if (at >= end)
			return unknown;
		if (*letter == 'R') {
			traits.encoding = *at++;
		} else if (*letter == 'P') {
			uint8_t encoding = *at++;

			/* only its size matters here */
			if (!read_pointer(frames, FORMAT(encoding), &at, end, 0, &personality))
				return unknown;
		} else if (*letter == 'L') {
			at++;
		} else {
			return unknown;
		}
	}
	return traits;
}

static bool
skip_augmentation(const uint8_t **at, const uint8_t *end)
{
	uint64_t size = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (*at >= end)
			return false;
		size |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			break;
	}
	if (size > (uint64_t)(end - *at))
		return false;
	*at += size;
	return true;
}

/* False: the entry cannot be read. */
static bool
read_frame(const struct call_frames *frames, const Dwarf_FDE *fde, const struct cie_traits *traits,
           struct frame_description *frame)
{
	const uint8_t *at = fde->start;

	if (traits->encoding == UNKNOWN_ENCODING ||
	    !read_pointer(frames, traits->encoding, &at, fde->end,
	                  frames->address + (uint64_t)(at - (const uint8_t *)frames->data->d_buf), &frame->address) ||
	    !read_pointer(frames, FORMAT(traits->encoding) & ~DW_EH_PE_signed, &at, fde->end, 0, &frame->size))
		return false;
	if (traits->has_size && !skip_augmentation(&at, fde->end))
		return false;
	frame->instructions = at;
	frame->end = fde->end;
	frame->is_signal_frame = traits->is_signal_frame;
	return true;
}

/*
 * Is the entry at `offset` as long as a CIE may be? One is read anew whenever the CIE changes from one FDE to the next:
 * in a hostile file, time would grow with the product of its size and their number.
 */
static bool
is_short(const struct call_frames *frames, uint64_t offset)
{
	const uint8_t *bytes = frames->data->d_buf;
	uint64_t size;

	if (frames->data->d_size < 12 || offset > frames->data->d_size - 12)
		return false;
	size = read_number(frames, bytes + offset, 4);
	if (size == UINT32_MAX) /* the format of 64 bits */
		size = read_number(frames, bytes + offset + 4, 8);
	return size <= CIE_SIZE_MAX;
}

int
call_frames_each(const struct call_frames *frames, int (*each)(void *context, const struct frame_description *frame),
                 void *context)
{
	const unsigned char *identity = frames->file->header.e_ident;
	struct cie_traits traits = {.encoding = UNKNOWN_ENCODING};
	uint64_t offset = 0, next, cie_offset = UINT64_MAX;
	Dwarf_CFI_Entry entry, cie;
	int err;

	for (; dwarf_next_cfi(identity, frames->data, frames->is_eh_frame, offset, &next, &entry) == 0; offset = next) {
		struct frame_description frame = {.cie = &cie.cie};
		uint64_t ignored;

		if (next <= offset)
			break;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_offset) {
			cie_offset = entry.fde.CIE_pointer;
			traits.encoding = UNKNOWN_ENCODING;
			if (is_short(frames, cie_offset) &&
			    dwarf_next_cfi(identity, frames->data, frames->is_eh_frame, cie_offset, &ignored, &cie) ==
			            0 &&
			    dwarf_cfi_cie_p(&cie))
				traits = read_traits(frames, &cie.cie);
		}
		if (!read_frame(frames, &entry.fde, &traits, &frame))
			continue;
		err = each(context, &frame);
		if (err)
			return err;
	}
	return 0;
}

static bool
find_by_section(struct call_frames *frames)
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
find_by_program_header(struct call_frames *frames, const struct elf_segments *segments)
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

bool
call_frames_find_eh_frame(struct call_frames *frames, const struct elf_file *file, const struct elf_segments *segments)
{
	*frames = (struct call_frames){.file = file, .is_eh_frame = true};
	return find_by_section(frames) || find_by_program_header(frames, segments);
}

bool
call_frames_find_debug_frame(struct call_frames *frames, const struct elf_file *file)
{
	GElf_Shdr header;
	GElf_Chdr compressed;
	Elf_Scn *section = elf_file_next_section(file, NULL, ".debug_frame", &header);

	*frames = (struct call_frames){.file = file};
	if (!section)
		return false;
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(section, &compressed) || compressed.ch_size > ELF_SECTION_SIZE_MAX ||
		    elf_compress(section, 0, 0) < 0)
			return false;
		frames->data = elf_getdata(section, NULL);
	} else if (elf_file_bytes(file, section)) {
		frames->data = elf_rawdata(section, NULL);
	}
	return frames->data && frames->data->d_buf;
}
