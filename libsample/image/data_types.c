#include "image/data_types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "image/debug_info.h"
#include "image/elf_file.h"
#include "image/type_entry.h"
#include "process/hash.h"

#define NESTED_MAX         8          /* structures and arrays within each other whose members are listed */
#define LAYOUT_ENTRIES_MAX (1U << 18) /* that are looked at for one layout: members, functions and types of classes */

struct known_type {
	void *key;       /* Dwarf_Die.addr: where libdw has its entry in memory */
	uint32_t number; /* index into data_types.list */
	UT_hash_handle hh;
};

/* A static or global variable of a unit, outside of functions, by one of its names. */
struct named_variable {
	const char *name;
	Dwarf_Off die;
};

struct placed_variable {
	uint64_t address; /* first, for array_compare_u64() */
	uint64_t size;    /* bytes that the compiler left of it; 0: all */
	Dwarf_Off die;
};

struct unit_variables {
	Dwarf_Off unit;
	struct placed_variable *placed; /* ascending */
	struct named_variable *named;   /* ascending */
	size_t placed_count, placed_capacity, named_count, named_capacity;
	UT_hash_handle hh;
};

enum location_kind {
	LOCATION_UNKNOWN,
	LOCATION_REGISTER, /* the value is that of the register, plus `offset` */
	LOCATION_STACK,    /* in memory, `offset` behind where the register points */
	LOCATION_ADDRESS,
};

struct variable_location {
	enum location_kind kind;
	unsigned reg;
	int64_t offset;
	uint64_t address;
	uint64_t size; /* bytes that the compiler left of it; 0: all */
};

struct data_types {
	struct debug_info *info;
	Dwarf_CFI *eh_frame;
	Dwarf_CFI *debug_frame; /* of info->dwarf */
	Dwarf_Die *list;
	size_t count, capacity;
	struct known_type *known;
	struct unit_variables *variables;

	/* for the instruction at `pc`: its function and what is inlined or nested there, the innermost last */
	uint64_t pc;
	Dwarf_Die scopes[DEBUG_INFO_DEPTH_MAX + 1];
	size_t scope_count;
	bool has_scopes, has_frame;
	struct variable_location frame; /* the canonical frame address, as LOCATION_STACK */
};

int
data_types_new(const struct image_file *file, struct image_lines *lines, struct data_types **types)
{
	struct debug_info *info = image_lines_info(lines);
	const struct elf_file *elf = image_file_elf(file);
	GElf_Shdr header;

	*types = calloc(1, sizeof(**types));
	if (!*types)
		return -ENOMEM;
	(*types)->info = info;
	/* without a section header for .eh_frame, libdw 0.188 would read it by the program header, and leak that */
	if (elf && elf_file_next_section(elf, NULL, ".eh_frame", &header))
		(*types)->eh_frame = dwarf_getcfi_elf(elf->elf);
	(*types)->debug_frame = dwarf_getcfi(info->dwarf);
	return 0;
}

void
data_types_free(struct data_types *types)
{
	if (!types)
		return;
	for (struct unit_variables *at = types->variables; at; at = at->hh.next) {
		free(at->placed);
		free(at->named);
	}
	HASH_FREE_ALL(types->variables);
	HASH_FREE_ALL(types->known);
	free(types->list);
	if (types->eh_frame)
		dwarf_cfi_end(types->eh_frame);
	free(types);
}

/* ---- types ---- */

/* The number of a type, or of an array's element, which may be new. False: it has no type, or there is no memory. */
static bool
number_of(struct data_types *types, const Dwarf_Die *from, uint32_t *number)
{
	struct known_type *known;
	Dwarf_Die type, *added;

	if (!type_entry_element(from, &type))
		return false;
	HASH_FIND_PTR(types->known, &type.addr, known);
	if (known) {
		*number = known->number;
		return true;
	}
	known = calloc(1, sizeof(*known));
	added = known ? ARRAY_APPEND(types->list, types->count, types->capacity) : NULL;
	if (!added) {
		free(known);
		return false;
	}
	*added = type;
	known->key = type.addr;
	known->number = (uint32_t)types->count - 1;
	HASH_ADD_PTR(types->known, key, known);
	if (!hash_added(known)) {
		types->count--;
		free(known);
		return false;
	}
	*number = known->number;
	return true;
}

uint64_t
data_types_size(struct data_types *types, uint32_t type)
{
	return type_entry_size(&types->list[type]);
}

bool
data_types_is_structure(struct data_types *types, uint32_t type)
{
	Dwarf_Die peeled;

	return type_entry_peel(&types->list[type], true, &peeled) && type_entry_is_structure(dwarf_tag(&peeled));
}

uint64_t
data_types_offset(struct data_types *types, const struct data_place *place)
{
	Dwarf_Die type = types->list[place->type];
	const uint64_t size = type_entry_size(&type);
	int64_t offset = place->offset;

	if (offset >= 0 && ((uint64_t)offset < size || type_entry_is_flexible(&type)))
		return (uint64_t)offset;
	if (!size || size > INT64_MAX)
		return 0;
	offset %= (int64_t)size;
	return (uint64_t)(offset < 0 ? offset + (int64_t)size : offset);
}

/* What the pointer points to that is `offset` bytes behind the start of an object of `type`. */
static bool
target_from(struct data_types *types, Dwarf_Die *type, uint64_t offset, struct data_place *target)
{
	Dwarf_Die pointed;

	target->offset = 0;
	return type_entry_pointed(type, offset, &pointed) && number_of(types, &pointed, &target->type);
}

bool
data_types_pointed(struct data_types *types, const struct data_place *place, struct data_place *target)
{
	Dwarf_Die type = types->list[place->type];

	return target_from(types, &type, data_types_offset(types, place), target);
}

/* ---- where variables are ---- */

/* Make types->scopes those of `pc`. 0; -ENOENT: it is in no function that DWARF knows; -ENOMEM. */
static int
find_scopes(struct data_types *types, uint64_t pc)
{
	uint64_t budget = types->info->budget_max;
	int err;

	if (types->has_scopes && types->pc == pc)
		return types->scope_count ? 0 : -ENOENT;
	types->has_scopes = true;
	types->has_frame = false;
	types->pc = pc;
	types->scope_count = 0;
	if (!types->info->has_names)
		return -ENOENT;
	err = debug_info_function(types->info, pc, &types->scopes[0]);
	if (err)
		return err;
	types->scope_count = 1;
	while (types->scope_count <= DEBUG_INFO_DEPTH_MAX) {
		Dwarf_Die inner = types->scopes[types->scope_count - 1];

		if (!debug_info_descend(&inner, pc, &budget))
			break;
		types->scopes[types->scope_count++] = inner;
	}
	return 0;
}

/* The operation "register plus constant", as LOCATION_STACK. False: `op` is another. */
static bool
read_sum(const Dwarf_Op *op, struct variable_location *location)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		*location =
			(struct variable_location){LOCATION_STACK, op->atom - DW_OP_breg0, (int64_t)op->number, 0, 0};
	else if (op->atom == DW_OP_bregx)
		*location =
			(struct variable_location){LOCATION_STACK, (unsigned)op->number, (int64_t)op->number2, 0, 0};
	else
		return false;
	return true;
}

/* The operation "in this register". False: `op` is another. */
static bool
read_register(const Dwarf_Op *op, unsigned *reg)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*reg = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx)
		*reg = (unsigned)op->number;
	else
		return false;
	return true;
}

/* The canonical frame address (CFA) at types->pc, from call frame information. */
static struct variable_location
find_frame(struct data_types *types)
{
	Dwarf_CFI *const tables[] = {types->eh_frame, types->debug_frame};

	if (types->has_frame)
		return types->frame;
	types->has_frame = true;
	types->frame = (struct variable_location){.kind = LOCATION_UNKNOWN};
	for (size_t i = 0; i < ARRAY_COUNT(tables) && types->frame.kind == LOCATION_UNKNOWN; i++) {
		Dwarf_Frame *frame = NULL;
		size_t count = 0;
		Dwarf_Op *ops;

		if (!tables[i] || dwarf_cfi_addrframe(tables[i], types->pc, &frame) != 0)
			continue;
		if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1 || !read_sum(ops, &types->frame))
			types->frame.kind = LOCATION_UNKNOWN;
		free(frame);
	}
	return types->frame;
}

/* The frame base of the function at types->pc: usually the canonical frame address, or the frame pointer. */
static struct variable_location
find_frame_base(struct data_types *types)
{
	struct variable_location location = {.kind = LOCATION_UNKNOWN};
	Dwarf_Attribute attribute;
	size_t count = 0;
	Dwarf_Op *ops;

	if (!types->scope_count || !dwarf_attr_integrate(&types->scopes[0], DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, types->pc, &ops, &count, 1) != 1 || count != 1)
		return location;
	if (ops->atom == DW_OP_call_frame_cfa)
		return find_frame(types);
	if (read_register(ops, &location.reg))
		location.kind = LOCATION_STACK;
	else if (!read_sum(ops, &location))
		location.kind = LOCATION_UNKNOWN;
	return location;
}

/* The operation "at this address", directly or by an index into .debug_addr. False: `op` is another. */
static bool
read_address(Dwarf_Attribute *of, const Dwarf_Op *op, uint64_t *address)
{
	Dwarf_Attribute attribute;

	if (op->atom == DW_OP_addr) {
		*address = op->number;
		return true;
	}
	return (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(of, op, &attribute) == 0 && dwarf_formaddr(&attribute, address) == 0;
}

/* Where a variable is at types->pc. Expressions that compute more than one sum are not evaluated. */
static struct variable_location
locate(struct data_types *types, Dwarf_Die *variable)
{
	struct variable_location location = {.kind = LOCATION_UNKNOWN};
	Dwarf_Attribute attribute;
	size_t count = 0;
	Dwarf_Op *ops;

	if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, types->pc, &ops, &count, 1) != 1 || !count || count > 2)
		return location;
	if (count == 2 && ops[1].atom == DW_OP_stack_value && read_sum(ops, &location)) {
		location.kind = LOCATION_REGISTER;
		return location;
	}
	if (count == 2) { /* a static variable of which the optimizer left the first member only */
		if (ops[1].atom == DW_OP_piece && read_address(&attribute, ops, &location.address)) {
			location.kind = LOCATION_ADDRESS;
			location.size = ops[1].number;
		}
		return location;
	}
	if (read_register(ops, &location.reg)) {
		location.kind = LOCATION_REGISTER;
	} else if (ops->atom == DW_OP_fbreg) {
		location = find_frame_base(types);
		location.offset = (int64_t)((uint64_t)location.offset + ops->number);
	} else if (read_address(&attribute, ops, &location.address)) {
		location.kind = LOCATION_ADDRESS;
	} else if (!read_sum(ops, &location)) {
		location.kind = LOCATION_UNKNOWN;
	}
	return location;
}

/* True ends the walk. */
typedef bool variable_visit(struct data_types *types, Dwarf_Die *variable, const struct variable_location *location,
                            void *context);

/* Visit the variables and parameters in scope at `pc`, the innermost first. Whether a visit ended the walk. */
static bool
each_variable(struct data_types *types, uint64_t pc, variable_visit *visit, void *context)
{
	uint64_t budget = types->info->budget_max;

	if (find_scopes(types, pc))
		return false;
	for (size_t i = types->scope_count; i-- > 0;) {
		Dwarf_Die child;

		if (dwarf_child(&types->scopes[i], &child) != 0)
			continue;
		do {
			const int tag = dwarf_tag(&child);
			struct variable_location location;

			if (!budget--)
				return false;
			if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
				continue;
			location = locate(types, &child);
			if (location.kind != LOCATION_UNKNOWN && visit(types, &child, &location, context))
				return true;
		} while (debug_info_next_sibling(&child));
	}
	return false;
}

struct register_search {
	unsigned reg;
	struct data_place found;
	bool has_found;
};

static bool
visit_for_register(struct data_types *types, Dwarf_Die *variable, const struct variable_location *location,
                   void *context)
{
	struct register_search *search = context;
	struct data_place target;
	Dwarf_Die type;

	if (location->kind != LOCATION_REGISTER || location->reg != search->reg || !type_entry_of(variable, &type) ||
	    !target_from(types, &type, 0, &target))
		return false;
	target.offset = (int64_t) - (uint64_t)location->offset;
	if (search->has_found && !data_types_is_structure(types, target.type))
		return false;
	search->found = target;
	search->has_found = true;
	return data_types_is_structure(types, target.type);
}

bool
data_types_in_register(struct data_types *types, uint64_t pc, unsigned reg, struct data_place *target)
{
	struct register_search search = {.reg = reg};

	each_variable(types, pc, visit_for_register, &search);
	*target = search.found;
	return search.has_found;
}

struct memory_search {
	enum location_kind kind;
	unsigned reg;
	int64_t offset; /* LOCATION_STACK: from the register; LOCATION_ADDRESS: the address */
	struct data_place found;
};

static bool
visit_for_memory(struct data_types *types, Dwarf_Die *variable, const struct variable_location *location, void *context)
{
	struct memory_search *search = context;
	const int64_t start = location->kind == LOCATION_ADDRESS ? (int64_t)location->address : location->offset;
	const uint64_t behind = (uint64_t)search->offset - (uint64_t)start;
	Dwarf_Die type;

	if (location->kind != search->kind || (location->kind == LOCATION_STACK && location->reg != search->reg) ||
	    search->offset < start || !type_entry_of(variable, &type) || behind >= type_entry_size(&type))
		return false;
	search->found.offset = (int64_t)behind;
	return number_of(types, &type, &search->found.type);
}

bool
data_types_on_stack(struct data_types *types, uint64_t pc, unsigned reg, int64_t offset, struct data_place *place)
{
	struct memory_search search = {.kind = LOCATION_STACK, .reg = reg, .offset = offset};
	const bool found = each_variable(types, pc, visit_for_memory, &search);

	*place = search.found;
	return found;
}

/* ---- variables of a unit ---- */

/* The variables of a unit, while they are being added. */
struct variable_search {
	struct data_types *types;
	struct unit_variables *variables;
};

static int
add_variable(void *context, Dwarf_Die *die)
{
	const struct variable_search *search = context;
	const struct variable_location location = locate(search->types, die);
	struct unit_variables *variables = search->variables;
	Dwarf_Attribute attribute;
	const char *const names[] = {dwarf_diename(die),
	                             dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		struct named_variable *named;

		if (!names[i])
			continue;
		named = ARRAY_APPEND(variables->named, variables->named_count, variables->named_capacity);
		if (!named)
			return -ENOMEM;
		*named = (struct named_variable){names[i], dwarf_dieoffset(die)};
	}
	if (location.kind == LOCATION_ADDRESS) {
		struct placed_variable *placed =
			ARRAY_APPEND(variables->placed, variables->placed_count, variables->placed_capacity);

		if (!placed)
			return -ENOMEM;
		*placed = (struct placed_variable){location.address, location.size, dwarf_dieoffset(die)};
	}
	return 0;
}

static int
compare_names(const void *a, const void *b)
{
	const struct named_variable *one = a, *other = b;
	const int order = strcmp(one->name, other->name);

	return order ? order : (one->die > other->die) - (one->die < other->die);
}

/* The variables of the unit that has code at `pc`. NULL: no unit has, or there is no memory. */
static const struct unit_variables *
find_variables(struct data_types *types, uint64_t pc)
{
	struct variable_search search = {.types = types};
	struct unit_variables *variables;
	Dwarf_Off unit;
	int err;

	if (!types->info->has_names || !debug_info_find_unit(types->info, pc))
		return NULL;
	unit = dwarf_dieoffset(&types->info->unit);
	HASH_FIND(hh, types->variables, &unit, sizeof(unit), variables);
	if (variables)
		return variables;
	variables = calloc(1, sizeof(*variables));
	if (!variables)
		return NULL;
	variables->unit = unit;
	find_scopes(types, pc); /* locate() reads types->pc */
	search.variables = variables;
	err = debug_info_visit_unit(types->info, DW_TAG_variable, add_variable, &search);
	if (!err)
		HASH_ADD(hh, types->variables, unit, sizeof(variables->unit), variables);
	if (err || !hash_added(variables)) {
		free(variables->placed);
		free(variables->named);
		free(variables);
		return NULL;
	}
	if (variables->placed_count)
		qsort(variables->placed, variables->placed_count, sizeof(*variables->placed), array_compare_u64);
	if (variables->named_count)
		qsort(variables->named, variables->named_count, sizeof(*variables->named), compare_names);
	return variables;
}

/* The place `offset` bytes behind the start of a variable. False: that is outside of it, or its type is not known. */
static bool
place_in(struct data_types *types, Dwarf_Off variable, uint64_t offset, struct data_place *place)
{
	Dwarf_Die die, type;

	place->offset = (int64_t)offset;
	return dwarf_offdie(types->info->dwarf, variable, &die) && type_entry_of(&die, &type) &&
	       (offset == 0 || offset < type_entry_size(&type)) && number_of(types, &type, &place->type);
}

static bool
find_named(struct data_types *types, const struct unit_variables *variables, const char *name, uint64_t offset,
           struct data_place *place)
{
	size_t low = 0, high = variables->named_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(variables->named[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* of several entries with the name, a declaration may not say how long the array is: take one that does */
	for (; low < variables->named_count && strcmp(variables->named[low].name, name) == 0; low++) {
		if (place_in(types, variables->named[low].die, offset, place))
			return true;
	}
	return false;
}

bool
data_types_at_address(struct data_types *types, uint64_t pc, uint64_t address, const char *symbol, uint64_t start,
                      struct data_place *place)
{
	struct memory_search search = {.kind = LOCATION_ADDRESS, .offset = (int64_t)address};
	const struct unit_variables *variables;
	const struct placed_variable *placed;
	size_t at;

	if (each_variable(types, pc, visit_for_memory, &search)) {
		*place = search.found;
		return true;
	}
	variables = find_variables(types, pc);
	if (!variables)
		return false;
	at = ARRAY_LOWER_BOUND(variables->placed, variables->placed_count, address, address + 1);
	placed = at ? &variables->placed[at - 1] : NULL;
	if (placed && (!placed->size || address - placed->address < placed->size) &&
	    place_in(types, placed->die, address - placed->address, place))
		return true;
	return symbol && address >= start && find_named(types, variables, symbol, address - start, place);
}

struct name_search {
	const char *name;
	size_t length;
	struct data_place found;
};

static bool
visit_for_name(struct data_types *types, Dwarf_Die *variable, const struct variable_location *location, void *context)
{
	struct name_search *search = context;
	const char *name = dwarf_diename(variable);
	Dwarf_Die type;

	return location->kind == LOCATION_ADDRESS && name && strlen(name) == search->length &&
	       strncmp(name, search->name, search->length) == 0 && type_entry_of(variable, &type) &&
	       number_of(types, &type, &search->found.type);
}

bool
data_types_named(struct data_types *types, uint64_t pc, const char *name, struct data_place *place)
{
	/* compilers add a number to the linked name of a function's static variable: "counter.0" */
	struct name_search search = {.name = name, .length = strcspn(name, ".")};
	const struct unit_variables *variables;

	if (each_variable(types, pc, visit_for_name, &search)) {
		*place = search.found;
		return true;
	}
	variables = find_variables(types, pc);
	return variables && find_named(types, variables, name, 0, place);
}

bool
data_types_result(struct data_types *types, uint64_t address, struct data_place *target)
{
	Dwarf_Die function, type;
	Dwarf_Addr entry;

	return types->info->has_names && debug_info_function(types->info, address, &function) == 0 &&
	       dwarf_entrypc(&function, &entry) == 0 && entry == address && type_entry_of(&function, &type) &&
	       target_from(types, &type, 0, target);
}

enum returned_kind
data_types_returned(struct data_types *types, uint64_t pc, struct data_place *target)
{
	enum returned_kind kind = RETURNED_UNKNOWN;

	if (find_scopes(types, pc))
		return kind;
	for (size_t i = types->scope_count; i-- > 0;) {
		const int tag = dwarf_tag(&types->scopes[i]);
		Dwarf_Die type, peeled;

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		if (!type_entry_of(&types->scopes[i], &type) || !type_entry_peel(&type, true, &peeled) ||
		    !type_entry_is_pointer(dwarf_tag(&peeled)))
			return RETURNED_OTHER;
		if (target_from(types, &type, 0, target))
			return RETURNED_POINTER;
		kind = RETURNED_ANY;
	}
	return kind;
}

/* ---- layouts ---- */

/* The array of structures whose element is being looked at: each of its members is there `count` times. */
struct layout_array {
	uint64_t stride, count; /* stride 0: there is no array */
};

struct layout_walk {
	struct data_layout *layout;
	struct type_name path; /* to the member that is looked at */
	unsigned budget;       /* entries: structures of a damaged file may be part of themselves */
};

/* Add the member at walk->path. */
static int
add_member(struct layout_walk *walk, uint64_t offset, uint64_t size, struct layout_array array)
{
	struct data_layout *layout = walk->layout;
	struct data_member *member = ARRAY_APPEND(layout->members, layout->count, layout->capacity);

	if (!member)
		return -ENOMEM;
	*member = (struct data_member){strdup(walk->path.text), offset, size, array.stride ? array.stride : size,
	                               array.stride ? array.count : 1};
	return member->name ? 0 : -ENOMEM;
}

static int add_members(struct layout_walk *walk, Dwarf_Die *type, uint64_t offset, struct layout_array array,
                       unsigned depth);

static int
add_array(struct layout_walk *walk, Dwarf_Die *type, uint64_t offset, struct layout_array array, unsigned depth)
{
	bool is_flexible;
	uint64_t count = type_entry_count(type, &is_flexible), size;
	Dwarf_Die element, peeled;

	if (!count || !type_entry_element(type, &element) || !type_entry_peel(&element, true, &peeled))
		return 0;
	size = type_entry_size(&element);
	if (!size || (!is_flexible && count > UINT64_MAX / size))
		return 0;
	type_name_append(&walk->path, "[]");
	if (!array.stride) {
		array = (struct layout_array){size, is_flexible ? UINT64_MAX : count};
		if (type_entry_is_structure(dwarf_tag(&peeled)))
			return add_members(walk, &peeled, offset, array, depth);
		return add_member(walk, offset, size, array);
	}
	return is_flexible ? 0 : add_member(walk, offset, size * count, array);
}

/* Add the member `entry`, or the members that it has, of a structure at `offset`. */
static int
add_entry(struct layout_walk *walk, Dwarf_Die *entry, uint64_t offset, struct layout_array array, unsigned depth)
{
	const char *name = dwarf_tag(entry) == DW_TAG_member ? dwarf_diename(entry) : NULL;
	Dwarf_Die type, peeled;
	uint64_t start, size;
	int tag;

	if (!type_entry_member(entry, &start, &size) || !type_entry_of(entry, &type) ||
	    !type_entry_peel(&type, true, &peeled))
		return 0;
	if (name)
		type_name_append(&walk->path, "%s%s", walk->path.length ? "." : "", name);
	tag = dwarf_tag(&peeled);
	if (type_entry_is_structure(tag))
		return add_members(walk, &peeled, offset + start, array, depth);
	if (tag == DW_TAG_array_type)
		return add_array(walk, &peeled, offset + start, array, depth);
	return size && name ? add_member(walk, offset + start, size, array) : 0;
}

static int
add_members(struct layout_walk *walk, Dwarf_Die *type, uint64_t offset, struct layout_array array, unsigned depth)
{
	const size_t length = walk->path.length;
	Dwarf_Die entry;
	int err = 0;

	if (!depth || dwarf_child(type, &entry) != 0)
		return 0;
	do {
		if (!walk->budget)
			break;
		walk->budget--;
		err = add_entry(walk, &entry, offset, array, depth - 1);
		walk->path.length = length;
		walk->path.text[length] = '\0';
	} while (!err && walk->layout->count < DATA_MEMBERS_MAX && debug_info_next_sibling(&entry));
	return err;
}

int
data_types_layout(struct data_types *types, uint32_t type, struct data_layout *layout)
{
	Dwarf_Die *die = &types->list[type], peeled;
	struct layout_walk walk = {.layout = layout, .budget = LAYOUT_ENTRIES_MAX};
	struct type_name name;

	*layout = (struct data_layout){.size = type_entry_size(die)};
	type_entry_name(die, &name);
	layout->name = strdup(name.text);
	if (!layout->name)
		return -ENOMEM;
	if (!type_entry_peel(die, true, &peeled) || !type_entry_is_structure(dwarf_tag(&peeled)))
		return 0;
	return add_members(&walk, &peeled, 0, (struct layout_array){0, 0}, NESTED_MAX);
}

void
data_layout_fini(struct data_layout *layout)
{
	for (size_t i = 0; i < layout->count; i++)
		free(layout->members[i].name);
	free(layout->members);
	free(layout->name);
	*layout = (struct data_layout){.size = 0};
}
