/*
 * The texts of x86-64 instructions: capstone's, brought into the form that objdump and perf annotate show, and our own
 * for those that it does not know.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/decoder_internal.h"
#include "code/x86_64_newer.h"
#include "code/x86_64_parts.h"

static void
put_bytes(struct text *text, const uint8_t *bytes, size_t size)
{
	text_put(text, ".byte  ");
	for (size_t i = 0; i < size; i++)
		text_put(text, "%s0x%02x", i ? "," : "", bytes[i]);
}

/* The size, as a suffix, of the general register whose name in AT&T's syntax begins at `name`; 0 for other operands. */
static int
register_suffix(const char *name)
{
	size_t length = strcspn(name, ",");
	char last = name[length - (length > 0)];

	if (name[0] != '%' || length < 3 || memchr(name, '(', length))
		return 0;
	if (name[1] == 'r' && isdigit((unsigned char)name[2]))
		return last == 'd' ? 'l' : last == 'w' ? 'w' : last == 'b' ? 'b' : 'q';
	if (name[1] == 'r')
		return 'q';
	if (name[1] == 'e' && length == 4)
		return 'l';
	if (last == 'l' && (length == 3 || length == 4))
		return 'b';
	if (length == 3 && last == 'h')
		return 'b';
	return length == 3 && (last == 'x' || last == 'p' || last == 'i') ? 'w' : 0;
}

/* Does an operand say already what the suffix of the name does? */
static bool
is_suffix_said(const char *operands, int suffix)
{
	unsigned int depth = 0;

	if (register_suffix(operands) == suffix)
		return true;
	for (const char *c = operands; *c; c++) {
		depth += *c == '(';
		depth -= *c == ')' && depth > 0;
		if (*c == ',' && depth == 0 && register_suffix(c + 1) == suffix)
			return true;
	}
	return false;
}

/* Without the suffix, where objdump shows none: "mov %rax,(%rdi)", but "movl $0x1,(%rdi)". */
static void
put_name(struct text *text, const char *mnemonic, const char *name, const char *operands)
{
	static const char *const sized[] = {"call", "ret", "jmp", "push", "pop", "leave", "pushf", "popf"};
	size_t width = strlen(mnemonic), name_width = name ? strlen(name) : 0;
	const char *start = strstr(mnemonic, name ? name : mnemonic);
	bool is_said = false;

	if (start && name && strlen(start) == name_width + 1) {
		is_said = is_suffix_said(operands, start[name_width]);
		for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]) && start[name_width] == 'q'; i++)
			is_said |= strcmp(name, sized[i]) == 0;
	}
	if (is_said)
		width--;
	text_put(text, "%.*s", (int)width, mnemonic);
	if (operands[0])
		text_put(text, "%*s ", width < 6 ? (int)(6 - width) : 0, "");
}

/* The digits of a number that capstone writes in decimal, as it does small and very large ones. */
static size_t
decimal_digits(const char *operands, const char *c)
{
	const size_t digits = strspn(c, "0123456789");

	if (digits == 0 || isalnum((unsigned char)c[digits]))
		return 0;
	return c == operands || strchr(",$-:* ", c[-1]) ? digits : 0;
}

/* objdump writes no blanks, all numbers in hexadecimal, and a scale of 1. */
static void
put_operands_att(struct text *text, const char *operands)
{
	unsigned int depth = 0, commas = 0;

	for (const char *c = operands; *c; c++) {
		const size_t digits = depth == 0 ? decimal_digits(operands, c) : 0;

		if (digits) {
			text_put(text, "0x%" PRIx64, (uint64_t)strtoull(c, NULL, 10));
			c += digits - 1;
			continue;
		}
		if (*c == '(') {
			depth++;
			commas = 0;
		}
		if (*c == ')' && depth > 0) {
			depth--;
			if (commas == 1)
				text_put(text, ",1");
		}
		commas += depth > 0 && *c == ',';
		if (*c == ' ')
			continue;
		text_put(text, "%c", *c);
	}
}

static void
put_att(struct text *text, const char *name, const struct listing_parts *parts)
{
	char operands[sizeof(parts->operands)];
	size_t at = 0;

	for (const char *c = parts->operands; *c && at + 1 < sizeof(operands); c++)
		if (*c != ' ')
			operands[at++] = *c;
	operands[at] = '\0';
	put_name(text, parts->name, name, operands);
	put_operands_att(text, operands);
}

static void
replace(char *text, size_t size, const char *what, const char *by)
{
	char *at = strstr(text, what);

	if (at)
		listing_splice(text, size, at, strlen(what), by);
}

#define REPLACE(text, what, by) replace(text, sizeof(text), what, by)

static void
prepend(char *text, size_t size, const char *what)
{
	listing_splice(text, size, text, 0, what);
}

/* An index that is none is named riz by capstone 5 alone: "(%rax,%riz,1)", "[rax + riz]", "[riz*8 + 1]". */
static void
without_riz(struct listing_parts *parts)
{
	char *at = strstr(parts->operands, "riz"), *begin = at, *end;

	if (!at)
		return;
	end = at + 3;
	if (at > parts->operands && at[-1] == '%') {
		for (begin = at - 1; begin > parts->operands && *begin != ','; begin--)
			;
		end += strcspn(end, ")");
		if (begin > parts->operands && begin[-1] == '(' && *end == ')') {
			begin--;
			end++;
		}
	} else {
		end += *end == '*' ? 2 : 0;
		if (at - parts->operands >= 3 && strncmp(at - 3, " + ", 3) == 0)
			begin -= 3;
		else if (strncmp(end, " + ", 3) == 0)
			end += 3;
	}
	listing_splice(parts->operands, sizeof(parts->operands), begin, (size_t)(end - begin), "");
}

/* The words before Intel's brackets, of those memory operands whose size is not capstone's. */
static void
sized_memory(struct listing_parts *parts)
{
	const char *word = x86_64_size_name(x86_64_memory_size(parts->name, 0));
	char *end = strchr(parts->operands, '['), *begin, said[16];

	if (!end || !word || (end > parts->operands && end[-1] == ':')) /* with a segment */
		return;
	for (begin = end; begin > parts->operands && (isalpha((unsigned char)begin[-1]) || begin[-1] == ' '); begin--)
		;
	while (*begin == ' ')
		begin++;
	snprintf(said, sizeof(said), "%s ptr ", word);
	if (begin <= end)
		listing_splice(parts->operands, sizeof(parts->operands), begin, (size_t)(end - begin), said);
}

/* An immediate of `bits` has no sign: "test $0xb6,%al", not "test $-0x4a,%al". */
static void
unsigned_immediate(struct listing_parts *parts, unsigned int bits)
{
	char *at = strchr(parts->operands, '-'), *end, text[24];
	uint64_t value;

	if (!at || (at > parts->operands && at[-1] != '$' && at[-1] != ' '))
		return;
	value = strtoull(at + 1, &end, 0);
	if (end == at + 1 || (*end && *end != ',')) /* a displacement */
		return;
	value = -value & UINT64_MAX >> (64 - bits);
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	listing_splice(parts->operands, sizeof(parts->operands), at, (size_t)(end - at), text);
}

/* A shift by one that is in the opcode: AT&T's syntax does not say it, Intel's does. */
static void
shift_by_one(struct listing_parts *parts, enum listing_syntax syntax)
{
	const size_t length = strlen(parts->operands);

	if (syntax == LISTING_INTEL) {
		if (length < 3 || strcmp(parts->operands + length - 3, ", 1") != 0)
			listing_splice(parts->operands, sizeof(parts->operands), parts->operands + length, 0, ", 1");
	} else if (strncmp(parts->operands, "$1, ", 4) == 0) {
		REPLACE(parts->operands, "$1, ", "");
	} else if (strncmp(parts->operands, "$0x1, ", 6) == 0) {
		REPLACE(parts->operands, "$0x1, ", "");
	}
}

/* xchg with the accumulator names it first in AT&T's syntax, last in Intel's. */
static void
accumulator_in_its_place(struct listing_parts *parts, enum listing_syntax syntax)
{
	char first[16], second[16], *accumulator;
	const char *comma = strstr(parts->operands, ", ");
	bool is_first;

	if (!comma || (size_t)(comma - parts->operands) >= sizeof(first) || strlen(comma + 2) >= sizeof(second))
		return;
	snprintf(first, sizeof(first), "%.*s", (int)(comma - parts->operands), parts->operands);
	snprintf(second, sizeof(second), "%s", comma + 2);
	accumulator = first + (first[0] == '%');
	is_first = strcmp(accumulator, "rax") == 0 || strcmp(accumulator, "eax") == 0 || strcmp(accumulator, "ax") == 0;
	if (is_first != (syntax == LISTING_ATT))
		snprintf(parts->operands, sizeof(parts->operands), "%s, %s", second, first);
}

static void
prefix_in_name(struct listing_parts *parts, const char *prefix, bool is_wanted)
{
	const size_t length = strlen(prefix);
	const bool is_there = strncmp(parts->name, prefix, length) == 0;

	if (is_wanted && !is_there)
		prepend(parts->name, sizeof(parts->name), prefix);
	else if (!is_wanted && is_there)
		listing_splice(parts->name, sizeof(parts->name), parts->name, length, "");
}

static void
one_byte_opcode(const struct x86_encoding *encoding, const uint8_t *bytes, enum listing_syntax syntax,
                struct listing_parts *parts)
{
	const uint8_t opcode = encoding->opcode, extension = encoding->modrm >> 3 & 7;
	const bool is_indirect = opcode == 0xff && (extension == 2 || extension == 4);

	if (opcode == 0xd0 || opcode == 0xd1)
		shift_by_one(parts, syntax);
	else if (opcode >= (encoding->rex & REX_B ? 0x90 : 0x91) && opcode <= 0x97)
		accumulator_in_its_place(parts, syntax);
	else if (opcode == 0xa8 || (opcode == 0xf6 && extension <= 1))
		unsigned_immediate(parts, 8);
	else if (opcode == 0xc7 && encoding->rex & REX_W)
		unsigned_immediate(parts, 64);
	else if (opcode == 0xc3)
		prefix_in_name(parts, "repz ", encoding->has_rep);
	else if (opcode == 0xff || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb)
		prefix_in_name(parts, "notrack ", is_indirect && memchr(bytes, 0x3e, encoding->opcode_at));
	REPLACE(parts->name, "fcompi", "fcomip");
	REPLACE(parts->name, "fucompi", "fucomip");
	if (syntax == LISTING_ATT)
		REPLACE(parts->operands, "tbyte ptr ", "");
}

/* Capstone 4 (Debian 12) and 5 (Debian 13) differ in names, signs and sizes: where they do, write objdump's text. */
static void
unify(const struct x86_encoding *encoding, const uint8_t *bytes, enum listing_syntax syntax,
      struct listing_parts *parts)
{
	without_riz(parts);
	if (syntax == LISTING_INTEL)
		sized_memory(parts);
	if (encoding->kind == ENCODING_LEGACY && encoding->map == MAP_ONE_BYTE)
		one_byte_opcode(encoding, bytes, syntax, parts);
	else if (syntax == LISTING_ATT && encoding->map == MAP_0F && (encoding->opcode | 0x10) == 0x7e &&
	         encoding->rex & REX_W && strcmp(parts->name, "movd") == 0)
		REPLACE(parts->name, "movd", "movq");
	if (strcmp(parts->name, "sha256rnds2") == 0 &&
	    !strstr(parts->operands, syntax == LISTING_ATT ? "%xmm0, " : ", xmm0"))
		listing_splice(parts->operands, sizeof(parts->operands),
		               parts->operands + (syntax == LISTING_ATT ? 0 : strlen(parts->operands)), 0,
		               syntax == LISTING_ATT ? "%xmm0, " : ", xmm0");
}

static bool
put_known(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
          struct text *text)
{
	struct x86_encoding encoding;
	struct listing_parts parts;

	if (!decoder_capstone_text(decoder, syntax, bytes, length, address, &parts))
		return false;
	if (x86_encoding_parse(bytes, length, &encoding) != 0 || encoding.size != decoder->scratch->size)
		return false;
	unify(&encoding, bytes, syntax, &parts);
	if (syntax == LISTING_ATT)
		put_att(text, cs_insn_name(decoder->listing[syntax], decoder->scratch->id), &parts);
	else
		text_put(text, parts.operands[0] ? "%-6s %s" : "%s", parts.name, parts.operands);
	return true;
}

/* Capstone gets short displacements of EVEX's instructions wrong: they are ours where they can be. */
void
x86_64_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
            struct text *text)
{
	struct instruction instruction;
	size_t size;

	if (bytes[0] == 0x62 && x86_64_newer_text(bytes, length, address, syntax, text))
		return;
	if (put_known(decoder, bytes, length, address, syntax, text))
		return;
	if (x86_64_newer_text(bytes, length, address, syntax, text))
		return;
	size = decoder_decode_one(decoder, bytes, length, address, &instruction);
	if (size > 1)
		put_bytes(text, bytes, size);
	else
		text_put(text, "(bad)");
}
