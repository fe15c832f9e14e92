#include "code/aarch64_newer.h"

#include <stdio.h>
#include <string.h>

/*
 * Operands: n, s, t and r, braa's modifier, are the general registers in the fields of these names; x and y those that
 * follow s and t; capitals are vectors; [ is memory at n.
 */
struct newer {
	uint32_t mask, value;
	const char *name, *operands;
};

static const struct newer table[] = {
	{0xffffffff, 0xd503201f, "nop", ""},
	{0xffffffff, 0xd503203f, "yield", ""},
	{0xffffffff, 0xd503205f, "wfe", ""},
	{0xffffffff, 0xd503207f, "wfi", ""},
	{0xffffffff, 0xd503209f, "sev", ""},
	{0xffffffff, 0xd50320bf, "sevl", ""},
	{0xffffffff, 0xd50320ff, "xpaclri", ""},
	{0xffffffff, 0xd503211f, "pacia1716", ""},
	{0xffffffff, 0xd503215f, "pacib1716", ""},
	{0xffffffff, 0xd503219f, "autia1716", ""},
	{0xffffffff, 0xd50321df, "autib1716", ""},
	{0xffffffff, 0xd503221f, "esb", ""},
	{0xffffffff, 0xd503229f, "csdb", ""},
	{0xffffffff, 0xd503231f, "paciaz", ""},
	{0xffffffff, 0xd503233f, "paciasp", ""},
	{0xffffffff, 0xd503235f, "pacibz", ""},
	{0xffffffff, 0xd503237f, "pacibsp", ""},
	{0xffffffff, 0xd503239f, "autiaz", ""},
	{0xffffffff, 0xd50323bf, "autiasp", ""},
	{0xffffffff, 0xd50323df, "autibz", ""},
	{0xffffffff, 0xd50323ff, "autibsp", ""},
	{0xffffffff, 0xd503241f, "nop", ""},
	{0xffffff3f, 0xd503241f, "bti", ""},
	{0xfffff01f, 0xd503201f, "hint", ""},
	{0xffffffff, 0xd50330ff, "sb", ""},
	{0xffff0000, 0x00000000, "udf", ""},

	{0xfffff800, 0xd71f0800, "braa", "nr"},
	{0xfffff81f, 0xd61f081f, "braaz", "n"},
	{0xfffff800, 0xd73f0800, "blraa", "nr"},
	{0xfffff81f, 0xd63f081f, "blraaz", "n"},
	{0xfffffbff, 0xd65f0bff, "retaa", ""},
	{0xfffffbff, 0xd69f0bff, "eretaa", ""},

	{0x3ffffc00, 0x38bfc000, "ldapr", "t["},
	{0x3f208c00, 0x38200000, "atomic-load", "st["},
	{0x3f20fc00, 0x38208000, "atomic-load", "st["},
	{0x3fa07c00, 0x08a07c00, "atomic-compare", "st["},
	{0xbfa07c00, 0x08207c00, "atomic-pair", "sxty["},
	{0x3fe00c00, 0x19400000, "ldapr", "t["},
	{0x3fe00c00, 0x19000000, "stlr", "t["},
	{0xff200400, 0xf8200400, "ldr", "t["},
	{0xbf20fc00, 0x0e009400, "sdot", "DNM"},
	{0xbf20fc00, 0x2e009400, "udot", "DNM"},
};

static const struct newer *
find_row(uint32_t word)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if ((word & table[i].mask) == table[i].value)
			return &table[i];
	return NULL;
}

/* Bytes that are loaded or stored; branches take whole registers. */
static uint8_t
access_size(const struct newer *row, uint32_t word)
{
	if (!strchr(row->operands, '['))
		return 8;
	if (strcmp(row->name, "atomic-pair") == 0)
		return word & 0x40000000 ? 8 : 4;
	return (uint8_t)(1u << (word >> 30));
}

static uint8_t
register_field(uint32_t word, char letter)
{
	switch (letter) {
	case 'n':
	case 'N':
	case '[':
		return word >> 5 & 31;
	case 'M':
	case 's':
		return word >> 16 & 31;
	case 'x':
		return (word >> 16 & 31) | 1;
	case 'y':
		return (word & 31) | 1;
	default:
		return word & 31;
	}
}

static void
operand_fill(const struct newer *row, uint32_t word, char letter, struct instruction_operand *operand)
{
	uint8_t reg = register_field(word, letter);

	*operand = (struct instruction_operand){.kind = OPERAND_REGISTER, .size = access_size(row, word)};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	if (letter == '[') {
		operand->kind = OPERAND_MEMORY;
		operand->base = reg;
		operand->scale = 1;
	} else if (letter <= 'Z') {
		operand->reg = REGISTER_VECTOR + reg;
		operand->size = word & 0x40000000 ? 16 : 8;
	} else if (reg != 31 || letter == 'r') { /* braa's modifier may be sp, the others are xzr there */
		operand->reg = reg;
	}
}

bool
aarch64_newer_detail(uint32_t word, uint64_t address, struct instruction_detail *detail)
{
	const struct newer *row = find_row(word);

	(void)address;
	if (!row)
		return false;
	memset(detail, 0, sizeof(*detail));
	strncpy(detail->mnemonic, row->name, sizeof(detail->mnemonic) - 1);
	for (const char *letter = row->operands; *letter; letter++)
		operand_fill(row, word, *letter, &detail->operands[detail->operand_count++]);
	return true;
}

/* ldaddal, swpb, casah: the operation, the order, the size. */
static void
atomic_name(const struct newer *row, uint32_t word, char *name, size_t size)
{
	static const char *const operations[8] = {"ldadd",  "ldclr",  "ldeor",  "ldset",
	                                          "ldsmax", "ldsmin", "ldumax", "ldumin"};
	bool is_compare = strcmp(row->name, "atomic-load") != 0;
	bool acquires = word & (is_compare ? 1u << 22 : 1u << 23), releases = word & (is_compare ? 1u << 15 : 1u << 22);
	const char *operation = word & 0x8000 ? "swp" : operations[word >> 12 & 7], *part = "";

	if (is_compare)
		operation = strcmp(row->name, "atomic-pair") == 0 ? "casp" : "cas";
	else if (word >> 31 == 0)
		part = word & 0x40000000 ? "h" : "b";
	if (strcmp(operation, "cas") == 0 && word >> 31 == 0)
		part = word & 0x40000000 ? "h" : "b";
	snprintf(name, size, "%s%s%s%s", operation, acquires ? "a" : "", releases ? "l" : "", part);
}

static void
second_key_name(const char *first, char *name, size_t size)
{
	char *key;

	snprintf(name, size, "%s", first);
	key = strrchr(name, 'a');
	if (key)
		*key = 'b';
}

static void
plain_name(const struct newer *row, uint32_t word, char *name, size_t size)
{
	static const char *const landings[4] = {"bti", "bti c", "bti j", "bti jc"};
	const char *part = strchr(row->operands, '[') && word >> 31 == 0 ? word & 0x40000000 ? "h" : "b" : "";
	bool is_second_key = (word & 0xfe000400) == 0xd6000400;

	if ((word & 0xffffff3f) == 0xd503241f)
		snprintf(name, size, "%s", landings[word >> 6 & 3]);
	else if (strcmp(row->name, "hint") == 0)
		snprintf(name, size, "hint #%u", (unsigned int)(word >> 5 & 0x7f));
	else if (strcmp(row->name, "udf") == 0)
		snprintf(name, size, "udf #%u", (unsigned int)(word & 0xffff));
	else if (is_second_key) /* brab for braa: the last a is the key */
		second_key_name(row->name, name, size);
	else
		snprintf(name, size, "%s%s", row->name, part);
}

static size_t
operand_text(const struct newer *row, uint32_t word, char letter, char *text, size_t size)
{
	struct instruction_operand operand;
	int n;

	operand_fill(row, word, letter, &operand);
	if (operand.kind == OPERAND_MEMORY && operand.base == 31)
		n = snprintf(text, size, "[sp]");
	else if (operand.kind == OPERAND_MEMORY)
		n = snprintf(text, size, "[x%u]", operand.base);
	else if (operand.reg == REGISTER_NONE)
		n = snprintf(text, size, "%czr", operand.size == 8 ? 'x' : 'w');
	else if (operand.reg == 31)
		n = snprintf(text, size, "sp");
	else if (operand.reg >= REGISTER_VECTOR)
		n = snprintf(text, size, "v%u.%s", (unsigned int)operand.reg - REGISTER_VECTOR,
		             letter == 'D'        ? operand.size == 16 ? "4s" : "2s"
		             : operand.size == 16 ? "16b"
		                                  : "8b");
	else
		n = snprintf(text, size, "%c%u", operand.size == 8 ? 'x' : 'w', operand.reg);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

bool
aarch64_newer_text(uint32_t word, char *text, size_t size)
{
	const struct newer *row = find_row(word);
	char name[32];
	size_t at;
	int n;

	if (!row)
		return false;
	if (strncmp(row->name, "atomic", 6) == 0)
		atomic_name(row, word, name, sizeof(name));
	else
		plain_name(row, word, name, sizeof(name));
	n = snprintf(text, size, row->operands[0] ? "%-6s " : "%s", name);
	at = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
	for (const char *letter = row->operands; *letter && at + 2 < size; letter++) {
		if (letter != row->operands) {
			memcpy(text + at, ", ", 3);
			at += 2;
		}
		at += operand_text(row, word, *letter, text + at, size - at);
	}
	return true;
}
