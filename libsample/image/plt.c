#include "image/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/plt_code.h"

/* .rela.dyn, .rela.plt and, in static programs, .rela.iplt; more is not met in what a linker wrote. */
#define RELOCATION_SECTIONS_MAX 8

struct slot {
	uint64_t address;
	const char *name; /* NULL: not known */
	size_t name_length;
};

struct slots {
	struct symbol_builder *builder;
	const struct elf_file *file;
	const struct segment_table *segments;
	struct slot *list; /* ascending by address once all are read */
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

static int
slots_add(struct slots *slots, const struct slot *slot)
{
	if (slots->count == slots->capacity) {
		size_t capacity = slots->capacity ? slots->capacity * 2 : 256;
		struct slot *moved = reallocarray(slots->list, capacity, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		slots->list = moved;
		slots->capacity = capacity;
	}
	slots->list[slots->count++] = *slot;
	return 0;
}

static void
name_by_symbol(struct slot *slot, Elf_Data *symbols, const struct elf_names *names, uint64_t number)
{
	GElf_Sym symbol;

	if (!symbols || number > INT32_MAX || !gelf_getsym(symbols, (int)number, &symbol))
		return;
	if (symbol.st_name == 0 || symbol.st_name >= names->size)
		return;
	slot->name = names->text + symbol.st_name;
	slot->name_length = symbol_name_length(slot->name);
}

static void
name_by_resolver(struct slot *slot, const struct slots *slots, uint64_t resolver)
{
	const struct segment *segment = segment_at_address(slots->segments, resolver);
	const struct candidate *candidate = NULL;

	if (segment)
		candidate = symbol_builder_best(slots->builder, segment->offset + (resolver - segment->address));
	if (!candidate)
		return;
	slot->name = candidate->name;
	slot->name_length = candidate->name_length;
}

static Elf_Data *
section_data(const struct elf_file *file, Elf_Scn *section)
{
	return section && elf_file_bytes(file, section) ? elf_getdata(section, NULL) : NULL;
}

/* The symbols that a relocation section refers to, and their names; NULL when there are none to be had. */
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
	return section_data(file, section);
}

static int
read_relocations(struct slots *slots, Elf_Scn *section, const GElf_Shdr *header, bool ordered)
{
	uint16_t machine = slots->file->header.e_machine;
	Elf_Data *data = section_data(slots->file, section);
	struct elf_names names = {0};
	Elf_Data *symbols = linked_symbols(slots->file, header->sh_link, &names);
	size_t count = data ? data->d_size / gelf_fsize(slots->file->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;
	int err = 0;

	if (ordered && count) {
		slots->ordered = calloc(count, sizeof(*slots->ordered));
		if (!slots->ordered)
			return -ENOMEM;
		slots->ordered_count = count;
	}
	for (size_t i = 0; !err && i < count && i <= INT32_MAX; i++) {
		GElf_Rela relocation;
		struct slot slot = {0};
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
		if (slot.name)
			err = slots_add(slots, &slot);
	}
	return err;
}

static int
compare_slots(const void *left_item, const void *right_item)
{
	const struct slot *left = left_item, *right = right_item;

	return (left->address > right->address) - (left->address < right->address);
}

static int
read_slots(struct slots *slots)
{
	size_t names, sections = 0;
	Elf_Scn *section = NULL;
	int err = 0;

	if (elf_getshdrstrndx(slots->file->elf, &names))
		return 0;
	while (!err && sections < RELOCATION_SECTIONS_MAX && (section = elf_nextscn(slots->file->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(slots->file->elf, names, header.sh_name);
		sections++;
		err = read_relocations(slots, section, &header,
		                       name && !slots->ordered && strcmp(name, ".rela.plt") == 0);
	}
	if (!err && slots->count)
		qsort(slots->list, slots->count, sizeof(*slots->list), compare_slots);
	return err;
}

static const struct slot *
find_slot(const struct slots *slots, const struct plt_stub *stub)
{
	struct slot key = {.address = stub->slot};

	if (!stub->has_slot) {
		if (stub->index >= slots->ordered_count)
			return NULL;
		key.address = slots->ordered[stub->index];
	}
	return slots->count ? bsearch(&key, slots->list, slots->count, sizeof(key), compare_slots) : NULL;
}

static int
add_section(const struct slots *slots, const char *name)
{
	struct plt_code plt = {.machine = slots->file->header.e_machine};
	const struct segment *segment;
	const Elf_Data *data;
	struct plt_stub stub;
	GElf_Shdr header;
	Elf_Scn *section;
	size_t at = 0;
	int err = 0;

	section = elf_file_section(slots->file, name, &header);
	data = section ? elf_file_bytes(slots->file, section) : NULL;
	segment = data ? segment_at_address(slots->segments, header.sh_addr) : NULL;
	if (!segment || !segment->executable || segment->size - (header.sh_addr - segment->address) < data->d_size)
		return 0;
	plt.code = data->d_buf;
	plt.size = data->d_size;
	plt.address = header.sh_addr;
	while (!err && plt_code_next(&plt, &at, &stub)) {
		const struct slot *slot = find_slot(slots, &stub);
		struct candidate candidate = {.size = stub.size, .suffix = "@plt"};

		if (!slot)
			continue;
		candidate.offset = segment->offset + (header.sh_addr - segment->address) + stub.at;
		candidate.limit = candidate.offset + stub.size;
		candidate.name = slot->name;
		candidate.name_length = slot->name_length;
		err = symbol_builder_add(slots->builder, &candidate);
	}
	return err;
}

int
plt_add(struct symbol_builder *builder, const struct elf_file *file, const struct segment_table *segments)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct slots slots = {.builder = builder, .file = file, .segments = segments};
	int err = read_slots(&slots);

	for (size_t i = 0; !err && i < sizeof(sections) / sizeof(sections[0]); i++)
		err = add_section(&slots, sections[i]);
	free(slots.list);
	free(slots.ordered);
	return err;
}
