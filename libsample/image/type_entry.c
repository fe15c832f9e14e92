#include "image/type_entry.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>

#include "image/debug_info.h"

#define PEEL_MAX      32         /* typedefs and qualifiers of one type */
#define NESTED_MAX    8          /* structures, arrays and pointers within each other */
#define ENTRIES_MAX   (1U << 16) /* that are looked at for what a pointer points to */
#define POINTER_BYTES 8          /* of all architectures that are decoded */

bool
type_entry_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

static bool
is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
	       tag == DW_TAG_atomic_type;
}

bool
type_entry_is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool
type_entry_is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool
type_entry_peel(const Dwarf_Die *from, bool all, Dwarf_Die *type)
{
	Dwarf_Die at = *from;

	for (unsigned i = 0; i < PEEL_MAX; i++) {
		const int tag = dwarf_tag(&at);

		if (!is_qualifier(tag) && !(all && tag == DW_TAG_typedef)) {
			*type = at;
			return tag != DW_TAG_unspecified_type && tag != DW_TAG_invalid;
		}
		if (!type_entry_of(&at, &at))
			return false;
	}
	return false;
}

uint64_t
type_entry_size(Dwarf_Die *type)
{
	Dwarf_Die peeled;
	Dwarf_Word size;

	if (!type_entry_peel(type, true, &peeled))
		return 0;
	if (type_entry_is_pointer(dwarf_tag(&peeled)))
		return POINTER_BYTES;
	return dwarf_aggregate_size(&peeled, &size) == 0 ? size : 0;
}

uint64_t
type_entry_count(Dwarf_Die *array, bool *is_flexible)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	uint64_t count = 1;
	Dwarf_Die range;

	*is_flexible = false;
	if (dwarf_child(array, &range) != 0)
		return 0;
	do {
		uint64_t of_range = 0;

		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		if (dwarf_formudata(dwarf_attr(&range, DW_AT_count, &attribute), &number) == 0)
			of_range = number;
		else if (dwarf_formudata(dwarf_attr(&range, DW_AT_upper_bound, &attribute), &number) == 0)
			of_range = number + 1;
		*is_flexible |= of_range == 0;
		if (of_range && count > UINT32_MAX / of_range)
			return 0;
		count *= of_range ? of_range : 1;
	} while (debug_info_next_sibling(&range));
	return count;
}

bool
type_entry_element(const Dwarf_Die *from, Dwarf_Die *element)
{
	Dwarf_Die peeled;

	if (!type_entry_peel(from, false, element))
		return false;
	for (unsigned i = 0; i < NESTED_MAX; i++) {
		if (!type_entry_peel(element, true, &peeled))
			return false;
		if (dwarf_tag(&peeled) != DW_TAG_array_type)
			return true;
		if (!type_entry_of(&peeled, element) || !type_entry_peel(element, false, element))
			return false;
	}
	return false;
}

bool
type_entry_member(Dwarf_Die *member, uint64_t *offset, uint64_t *size)
{
	const int tag = dwarf_tag(member);
	Dwarf_Attribute attribute;
	Dwarf_Word number, bits;
	Dwarf_Die type;

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(member, DW_AT_external) ||
	    dwarf_hasattr(member, DW_AT_declaration) || !type_entry_of(member, &type))
		return false;
	*size = type_entry_size(&type);
	if (dwarf_formudata(dwarf_attr(member, DW_AT_bit_size, &attribute), &bits) == 0 &&
	    dwarf_formudata(dwarf_attr(member, DW_AT_data_bit_offset, &attribute), &number) == 0) {
		*offset = number / 8;
		*size = (number % 8 + bits + 7) / 8;
		return true;
	}
	*offset = 0; /* members of a union have no location */
	if (!dwarf_attr(member, DW_AT_data_member_location, &attribute))
		return true;
	if (dwarf_formudata(&attribute, &number) != 0)
		return false;
	*offset = number;
	return true;
}

bool
type_entry_is_flexible(Dwarf_Die *type)
{
	Dwarf_Die at, member, last, element;
	bool flexible = false, has_member = false;

	if (!type_entry_peel(type, true, &at) || !type_entry_is_structure(dwarf_tag(&at)) ||
	    dwarf_child(&at, &member) != 0)
		return false;
	do {
		if (dwarf_tag(&member) == DW_TAG_member && !dwarf_hasattr(&member, DW_AT_external)) {
			last = member;
			has_member = true;
		}
	} while (debug_info_next_sibling(&member));
	if (has_member && type_entry_of(&last, &element) && type_entry_peel(&element, true, &element) &&
	    dwarf_tag(&element) == DW_TAG_array_type)
		type_entry_count(&element, &flexible);
	return flexible;
}

/* `budget`: entries that may still be looked at: structures of a damaged file may be part of themselves. */
static bool
find_pointed(Dwarf_Die *type, uint64_t offset, unsigned depth, unsigned *budget, Dwarf_Die *target)
{
	uint64_t start, size;
	Dwarf_Die at, member, peeled;
	int tag;

	if (!depth || !type_entry_peel(type, true, &at))
		return false;
	tag = dwarf_tag(&at);
	if (type_entry_is_pointer(tag)) {
		if (offset || !type_entry_of(&at, target) || !type_entry_peel(target, true, &peeled))
			return false;
		return dwarf_tag(&peeled) != DW_TAG_subroutine_type;
	}
	if (tag == DW_TAG_array_type) {
		size = type_entry_element(&at, &member) ? type_entry_size(&member) : 0;
		return size && find_pointed(&member, offset % size, depth - 1, budget, target);
	}
	if (!type_entry_is_structure(tag) || dwarf_child(&at, &member) != 0)
		return false;
	do {
		if (!*budget)
			return false;
		(*budget)--;
		if (type_entry_member(&member, &start, &size) && offset >= start && (!size || offset - start < size) &&
		    type_entry_of(&member, &peeled) && find_pointed(&peeled, offset - start, depth - 1, budget, target))
			return true;
	} while (debug_info_next_sibling(&member));
	return false;
}

bool
type_entry_pointed(Dwarf_Die *type, uint64_t offset, Dwarf_Die *target)
{
	unsigned budget = ENTRIES_MAX;

	return find_pointed(type, offset, NESTED_MAX, &budget, target);
}

/* ---- names ---- */

void
type_name_append(struct type_name *name, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(name->text + name->length, sizeof(name->text) - name->length, format, arguments);
	va_end(arguments);
	name->length += length > 0 ? (size_t)length : 0;
	name->length = name->length < sizeof(name->text) ? name->length : sizeof(name->text) - 1;
}

/* Whether the source language of a unit writes a structure's name without `struct`. */
static bool
has_plain_names(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_ObjC:
		return false;
	default:
		return true;
	}
}

/*
 * Of bank::account, "bank::": the namespaces and classes around a type. An entry has no link to the one around it, but
 * is behind that one's start, and before its next sibling.
 */
static void
append_scopes(struct type_name *name, Dwarf_Die *unit, Dwarf_Die *type)
{
	const Dwarf_Off wanted = dwarf_dieoffset(type);
	Dwarf_Die at = *unit, child;

	for (unsigned depth = 0; depth < DEBUG_INFO_DEPTH_MAX && dwarf_child(&at, &child) == 0; depth++) {
		const char *text;

		if (dwarf_dieoffset(&child) > wanted) /* a damaged file refers to the middle of an entry */
			return;
		do {
			if (dwarf_dieoffset(&child) > wanted)
				break;
			at = child;
		} while (debug_info_next_sibling(&child));
		if (dwarf_dieoffset(&at) >= wanted)
			return;
		if (!debug_info_is_scope(dwarf_tag(&at)))
			continue;
		text = dwarf_diename(&at);
		type_name_append(name, "%s::", text ? text : "(anonymous)");
	}
}

static void
append_named(struct type_name *name, Dwarf_Die *type, const char *text)
{
	const int tag = dwarf_tag(type);
	Dwarf_Die unit;

	if (!dwarf_diecu(type, &unit, NULL, NULL) || !has_plain_names(&unit))
		type_name_append(name, "%s",
		                 tag == DW_TAG_union_type         ? "union "
		                 : tag == DW_TAG_enumeration_type ? "enum "
		                 : type_entry_is_structure(tag)   ? "struct "
		                                                  : "");
	else if (type_entry_is_structure(tag) || tag == DW_TAG_enumeration_type)
		append_scopes(name, &unit, type);
	type_name_append(name, "%s", text);
}

/* Of a chain of typedefs, the last: it names a type without a name, as in "typedef struct { ... } pair". NULL: none. */
static const char *
nearest_typedef(const Dwarf_Die *from)
{
	const char *found = NULL;
	Dwarf_Die at = *from;

	for (unsigned i = 0; i < PEEL_MAX && (is_qualifier(dwarf_tag(&at)) || dwarf_tag(&at) == DW_TAG_typedef); i++) {
		if (dwarf_tag(&at) == DW_TAG_typedef)
			found = dwarf_diename(&at);
		if (!type_entry_of(&at, &at))
			break;
	}
	return found;
}

/* As type_entry_name(); `depth`: pointers to pointers that are still followed. */
static void
append_type(struct type_name *name, const Dwarf_Die *from, unsigned depth)
{
	Dwarf_Die at, type;
	const char *text, *alias;
	int tag;

	if (!type_entry_peel(from, false, &at) || !type_entry_peel(&at, true, &type)) {
		type_name_append(name, "void");
		return;
	}
	tag = dwarf_tag(&type);
	text = dwarf_diename(type_entry_is_structure(tag) || tag == DW_TAG_enumeration_type ? &type : &at);
	alias = text ? NULL : nearest_typedef(from);
	if (text) {
		append_named(name, &type, text);
	} else if (alias) {
		type_name_append(name, "%s", alias);
	} else if (type_entry_is_pointer(tag) && depth) {
		if (type_entry_of(&type, &at))
			append_type(name, &at, depth - 1);
		else
			type_name_append(name, "void");
		type_name_append(name, "%s%s", name->length && name->text[name->length - 1] == '*' ? "" : " ",
		                 tag == DW_TAG_pointer_type     ? "*"
		                 : tag == DW_TAG_reference_type ? "&"
		                                                : "&&");
	} else {
		type_name_append(name, "%s",
		                 tag == DW_TAG_subroutine_type  ? "function"
		                 : type_entry_is_structure(tag) ? "(anonymous)"
		                                                : "?");
	}
}

void
type_entry_name(const Dwarf_Die *type, struct type_name *name)
{
	name->length = 0;
	append_type(name, type, NESTED_MAX);
}
