/*
 * The texts of instructions: capstone's, brought into the form that objdump and perf annotate show, and our own for
 * those that it does not know.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/aarch64_newer.h"
#include "code/decoder_private.h"
#include "code/listing_same.h"
#include "code/riscv64_text.h"
#include "code/x86_64_newer.h"

void
text_put(struct text *text, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->start + text->at, text->size - text->at, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	text->at += (size_t)n < text->size - text->at ? (size_t)n : text->size - text->at - 1;
}

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

static uint32_t
word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool
put_known(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
          struct text *text)
{
	bool is_x86 = decoder->architecture == ARCHITECTURE_X86_64;
	csh handle = decoder->listing[syntax == LISTING_INTEL ? 1 : 0];
	const uint8_t *next = bytes;
	size_t left = length;
	struct x86_encoding encoding;
	cs_insn *instruction = decoder->scratch; /* no memory is needed that may not be there */
	struct listing_parts parts;

	if (!cs_disasm_iter(handle, &next, &left, &address, instruction))
		return false;
	if (is_x86 && (x86_encoding_parse(bytes, length, &encoding) != 0 || encoding.size != instruction->size))
		return false;
	snprintf(parts.name, sizeof(parts.name), "%s", instruction->mnemonic);
	snprintf(parts.operands, sizeof(parts.operands), "%s", instruction->op_str);
	if (is_x86)
		listing_same_x86_64(&encoding, bytes, syntax, &parts);
	else
		listing_same_aarch64(word_at(bytes), &parts);
	if (is_x86 && syntax == LISTING_ATT)
		put_att(text, cs_insn_name(handle, instruction->id), &parts);
	else
		text_put(text, parts.operands[0] ? "%-6s %s" : "%s", parts.name, parts.operands);
	return true;
}

/* Capstone gets short displacements of EVEX's instructions wrong: they are ours where they can be. */
static void
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

static void
aarch64_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, struct text *text)
{
	uint32_t word;

	if (length < 4) {
		text_put(text, "(bad)");
		return;
	}
	word = word_at(bytes);
	if (aarch64_newer_text(word, text->start, text->size))
		return;
	if (!put_known(decoder, bytes, 4, address, LISTING_INTEL, text))
		text_put(text, ".inst  0x%08" PRIx32, word);
}

void
decoder_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
             char *buffer, size_t size)
{
	struct text text = {buffer, size, 0};

	if (size == 0)
		return;
	buffer[0] = '\0';
	if (length == 0)
		return;
	if (decoder->architecture == ARCHITECTURE_X86_64)
		x86_64_text(decoder, bytes, length, address, syntax, &text);
	else if (decoder->architecture == ARCHITECTURE_RISCV64)
		riscv64_text(bytes, length, address, &text);
	else
		aarch64_text(decoder, bytes, length, address, &text);
}
