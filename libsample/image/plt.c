#include "image/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint32_t
read_u32_le(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool
has_bytes(const struct plt_code *plt, size_t at, const char *bytes, size_t size)
{
	return at <= plt->size && plt->size - at >= size && memcmp(plt->code + at, bytes, size) == 0;
}

/*
 * jmp *slot(%rip) is ff 25 rel32; before it may stand endbr64, then a bnd prefix or mold's mov of the index to %r11d.
 * With IBT the lazy half of the table (.plt) jumps through no slot, it pushes the index: 68 imm32.
 */
static bool
decode_x86_64(const struct plt_code *plt, size_t at, struct plt_stub *stub)
{
	size_t jump = at;

	*stub = (struct plt_stub){.at = at};
	if (has_bytes(plt, jump, "\xf3\x0f\x1e\xfa", 4)) {
		jump += 4;
		if (has_bytes(plt, jump, "\x68", 1) && plt->size - jump >= 5) {
			stub->index = read_u32_le(plt->code + jump + 1);
			return true;
		}
		if (has_bytes(plt, jump, "\x41\xbb", 2))
			jump += 6;
	}
	if (has_bytes(plt, jump, "\xf2", 1))
		jump++;
	if (!has_bytes(plt, jump, "\xff\x25", 2) || plt->size - jump < 6)
		return false;
	stub->has_slot = true;
	stub->slot = plt->address + jump + 6 + (uint64_t)(int64_t)(int32_t)read_u32_le(plt->code + jump + 2);
	return true;
}

/* Stubs of 8 bytes (.plt.got; .plt of static programs) end with a nop of two bytes; all others have 16. */
static bool
next_x86_64(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	for (; *at < plt->size; *at += 8) {
		size_t left = plt->size - *at;

		if (!decode_x86_64(plt, *at, stub))
			continue;
		stub->size = has_bytes(plt, *at, "\xff\x25", 2) && has_bytes(plt, *at + 6, "\x66\x90", 2) ? 8 : 16;
		if (stub->size > left)
			stub->size = left;
		*at += stub->size;
		return true;
	}
	return false;
}

#define A64_BTI_C                0xd503245fu
#define A64_BR_X17               0xd61f0220u
#define A64_IS_ADRP_X16(x)       (((x)&0x9f00001fu) == 0x90000010u)
#define A64_IS_LDR_X17_BY_X16(x) (((x)&0xffc003ffu) == 0xf9400211u)
#define A64_LONGEST              6 /* instructions in a stub */

/* adrp's immediate: immhi in bits 5 to 23, immlo in 29 and 30, a signed number of 4 KiB pages. */
static int64_t
adrp_pages(uint32_t instruction)
{
	uint32_t pages = (instruction >> 5 & 0x7ffffu) << 2 | (instruction >> 29 & 3u);

	return (int64_t)((uint64_t)pages << 43) >> 43;
}

static bool
next_aarch64(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	for (; *at + 8 <= plt->size; *at += 4) {
		uint32_t first = read_u32_le(plt->code + *at), second = read_u32_le(plt->code + *at + 4);
		uint64_t page;

		if (!A64_IS_ADRP_X16(first) || !A64_IS_LDR_X17_BY_X16(second))
			continue;
		page = ((plt->address + *at) & ~(uint64_t)0xfff) + ((uint64_t)adrp_pages(first) << 12);
		*stub = (struct plt_stub){.at = *at, .has_slot = true};
		stub->slot = page + (second >> 10 & 0xfffu) * 8;
		if (*at >= 4 && read_u32_le(plt->code + *at - 4) == A64_BTI_C)
			stub->at -= 4;
		for (size_t i = 0; i < A64_LONGEST && *at + 4 <= plt->size; i++) {
			*at += 4;
			if (read_u32_le(plt->code + *at - 4) == A64_BR_X17)
				break;
		}
		stub->size = *at - stub->at;
		return true;
	}
	return false;
}

bool
plt_code_next(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	switch (plt->machine) {
	case EM_X86_64:
		return next_x86_64(plt, at, stub);
	case EM_AARCH64:
		return next_aarch64(plt, at, stub);
	default:
		return false;
	}
}

/* .rela.dyn, .rela.plt and, in static programs, .rela.iplt; linkers write no more. */
#define RELOCATION_SECTIONS_MAX 8

struct plt_slot {
	uint64_t address; /* first, for array_compare_u64() */
	const char *name; /* NULL: not known */
	size_t name_length;
};

struct plt_slots {
	struct symbol_builder *builder;
	const struct elf_file *file;
	const struct elf_segments *segments;
	struct plt_slot *list; /* ascending by address once all are read */
	size_t count, capacity;
	uint64_t *ordered; /* addresses, in the order of .rela.plt */
	size_t ordered_count;
};

enum slot_kind {
	SLOT_NONE,
	SLOT_SYMBOL,   /* the loader writes a symbol's address there */
	SLOT_RESOLVED, /* the loader writes what the function at the addend returns */
};

static enum slot_kind
slot_kind(uint16_t machine, uint64_t type)
{
	switch (machine) {
	case EM_X86_64:
		if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
			return SLOT_SYMBOL;
		return type == R_X86_64_IRELATIVE ? SLOT_RESOLVED : SLOT_NONE;
	case EM_AARCH64:
		if (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT)
			return SLOT_SYMBOL;
		return type == R_AARCH64_IRELATIVE ? SLOT_RESOLVED : SLOT_NONE;
	default:
		return SLOT_NONE;
	}
}

static void
name_by_symbol(struct plt_slot *slot, Elf_Data *symbols, const struct elf_names *names, uint64_t number)
{
	GElf_Sym symbol;

	if (!symbols || number > INT32_MAX || !gelf_getsym(symbols, (int)number, &symbol))
		return;
	if (symbol.st_name == 0 || symbol.st_name >= names->size)
		return;
	slot->name = names->text + symbol.st_name;
	slot->name_length = elf_symbol_name_length(slot->name);
}

static void
name_by_resolver(struct plt_slot *slot, const struct plt_slots *slots, uint64_t resolver)
{
	const struct elf_segment *segment = elf_segments_at_address(slots->segments, resolver);
	const struct symbol_candidate *candidate = NULL;

	if (segment)
		candidate = symbol_builder_best(slots->builder, elf_segment_offset(segment, resolver));
	if (!candidate)
		return;
	slot->name = candidate->name;
	slot->name_length = candidate->name_length;
}

/* The symbols that a relocation section refers to, and their names; NULL when there are none. */
static Elf_Data *
linked_symbols(const struct elf_file *file, size_t number, struct elf_names *names)
{
	Elf_Scn *section = number ? elf_getscn(file->elf, number) : NULL;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return NULL;
	if (elf_file_names(file, header.sh_link, names))
		return NULL;
	return elf_file_entries(file, section);
}

static int
read_relocations(struct plt_slots *slots, Elf_Scn *section, const GElf_Shdr *header, bool ordered)
{
	uint16_t machine = slots->file->header.e_machine;
	Elf_Data *data = elf_file_entries(slots->file, section);
	struct elf_names names = {0};
	Elf_Data *symbols = linked_symbols(slots->file, header->sh_link, &names);
	size_t count = data ? data->d_size / gelf_fsize(slots->file->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;

	if (ordered && count) {
		slots->ordered = calloc(count, sizeof(*slots->ordered));
		if (!slots->ordered)
			return -ENOMEM;
		slots->ordered_count = count;
	}
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Rela relocation;
		struct plt_slot slot = {0}, *added;
		enum slot_kind kind;

		if (!gelf_getrela(data, (int)i, &relocation))
			break;
		slot.address = relocation.r_offset;
		if (ordered)
			slots->ordered[i] = slot.address;
		kind = slot_kind(machine, GELF_R_TYPE(relocation.r_info));
		if (kind == SLOT_SYMBOL)
			name_by_symbol(&slot, symbols, &names, GELF_R_SYM(relocation.r_info));
		else if (kind == SLOT_RESOLVED)
			name_by_resolver(&slot, slots, (uint64_t)relocation.r_addend);
		if (!slot.name)
			continue;
		added = ARRAY_APPEND(slots->list, slots->count, slots->capacity);
		if (!added)
			return -ENOMEM;
		*added = slot;
	}
	return 0;
}

static int
read_slots(struct plt_slots *slots)
{
	size_t names, sections = 0;
	Elf_Scn *section = NULL;
	int err;

	if (elf_getshdrstrndx(slots->file->elf, &names))
		return 0;
	while (sections < RELOCATION_SECTIONS_MAX && (section = elf_nextscn(slots->file->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(slots->file->elf, names, header.sh_name);
		sections++;
		err = read_relocations(slots, section, &header,
		                       name && !slots->ordered && strcmp(name, ".rela.plt") == 0);
		if (err)
			return err;
	}
	if (slots->count)
		qsort(slots->list, slots->count, sizeof(*slots->list), array_compare_u64);
	return 0;
}

static const struct plt_slot *
find_slot(const struct plt_slots *slots, const struct plt_stub *stub)
{
	uint64_t address = stub->slot;

	if (!stub->has_slot) {
		if (stub->index >= slots->ordered_count)
			return NULL;
		address = slots->ordered[stub->index];
	}
	return slots->count ? bsearch(&address, slots->list, slots->count, sizeof(*slots->list), array_compare_u64)
	                    : NULL;
}

static int
add_section(const struct plt_slots *slots, const char *name)
{
	struct plt_code plt = {.machine = slots->file->header.e_machine};
	const struct elf_segment *segment;
	const Elf_Data *data;
	struct plt_stub stub;
	GElf_Shdr header;
	Elf_Scn *section;
	size_t at = 0;
	int err;

	section = elf_file_next_section(slots->file, NULL, name, &header);
	data = section ? elf_file_bytes(slots->file, section) : NULL;
	segment = data ? elf_segments_at_address(slots->segments, header.sh_addr) : NULL;
	if (!segment || !segment->executable || segment->size - (header.sh_addr - segment->address) < data->d_size)
		return 0;
	plt.code = data->d_buf;
	plt.size = data->d_size;
	plt.address = header.sh_addr;
	while (plt_code_next(&plt, &at, &stub)) {
		const struct plt_slot *slot = find_slot(slots, &stub);
		struct symbol_candidate candidate = {.size = stub.size, .suffix = "@plt"};

		if (!slot)
			continue;
		candidate.offset = elf_segment_offset(segment, header.sh_addr) + stub.at;
		candidate.limit = candidate.offset + stub.size;
		candidate.name = slot->name;
		candidate.name_length = slot->name_length;
		err = symbol_builder_add(slots->builder, &candidate);
		if (err)
			return err;
	}
	return 0;
}

int
plt_add(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct plt_slots slots = {.builder = builder, .file = file, .segments = segments};
	int err = read_slots(&slots);

	for (size_t i = 0; !err && i < sizeof(sections) / sizeof(sections[0]); i++)
		err = add_section(&slots, sections[i]);
	free(slots.list);
	free(slots.ordered);
	return err;
}
