#include "code/listing_same.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/x86_64_parts.h"

/* Put `by` in place of the `length` characters at `at`, if there is room. */
static void
splice(char *text, size_t size, char *at, size_t length, const char *by)
{
	const size_t by_length = strlen(by), rest = strlen(at + length) + 1;

	if ((size_t)(at - text) + by_length + rest > size)
		return;
	memmove(at + by_length, at + length, rest);
	memcpy(at, by, by_length);
}

static void
replace(char *text, size_t size, const char *what, const char *by)
{
	char *at = strstr(text, what);

	if (at)
		splice(text, size, at, strlen(what), by);
}

#define REPLACE(text, what, by) replace(text, sizeof(text), what, by)

static void
prepend(char *text, size_t size, const char *what)
{
	splice(text, size, text, 0, what);
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
	splice(parts->operands, sizeof(parts->operands), begin, (size_t)(end - begin), "");
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
		splice(parts->operands, sizeof(parts->operands), begin, (size_t)(end - begin), said);
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
	splice(parts->operands, sizeof(parts->operands), at, (size_t)(end - at), text);
}

/* A shift by one that is in the opcode: AT&T's syntax does not say it, Intel's does. */
static void
shift_by_one(struct listing_parts *parts, enum listing_syntax syntax)
{
	const size_t length = strlen(parts->operands);

	if (syntax == LISTING_INTEL) {
		if (length < 3 || strcmp(parts->operands + length - 3, ", 1") != 0)
			splice(parts->operands, sizeof(parts->operands), parts->operands + length, 0, ", 1");
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
		splice(parts->name, sizeof(parts->name), parts->name, length, "");
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

void
listing_same_x86_64(const struct x86_encoding *encoding, const uint8_t *bytes, enum listing_syntax syntax,
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
		splice(parts->operands, sizeof(parts->operands),
		       parts->operands + (syntax == LISTING_ATT ? 0 : strlen(parts->operands)), 0,
		       syntax == LISTING_ATT ? "%xmm0, " : ", xmm0");
}

/* objdump's numbers of arm64 are decimal up to nine here, hexadecimal above, as capstone's are but for some. */
static void
plain_digits(struct listing_parts *parts)
{
	char *at = parts->operands;

	while ((at = strstr(at, "#0x"))) {
		if (isdigit((unsigned char)at[3]) && !isxdigit((unsigned char)at[4]))
			splice(parts->operands, sizeof(parts->operands), at + 1, 2, "");
		at++;
	}
}

static void
put_move(struct listing_parts *parts, uint32_t word, int64_t value)
{
	const bool is_wide = word >> 31;
	const unsigned int to = word & 31;
	char reg[8];

	if (to == 31) /* of orr the stack pointer, of a wide move zero */
		snprintf(reg, sizeof(reg), "%s",
		         (word >> 23 & 0x3f) == 0x24 ? is_wide ? "sp" : "wsp"
		         : is_wide                   ? "xzr"
		                                     : "wzr");
	else
		snprintf(reg, sizeof(reg), "%c%u", is_wide ? 'x' : 'w', to);
	if (!is_wide)
		value = (int32_t)value;
	snprintf(parts->name, sizeof(parts->name), "mov");
	if (value > -10 && value < 10)
		snprintf(parts->operands, sizeof(parts->operands), "%s, #%" PRId64, reg, value);
	else
		snprintf(parts->operands, sizeof(parts->operands), "%s, #%s0x%" PRIx64, reg, value < 0 ? "-" : "",
		         value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* A number that movz, movn or orr of nothing makes is a mov's, if there is no shorter way to say another instruction.
 */
static void
moved_number(uint32_t word, struct listing_parts *parts)
{
	const unsigned int shift = (word >> 21 & 3) * 16;
	const uint64_t number = word >> 5 & 0xffff, placed = number << shift;
	const bool is_wide = word >> 31;
	const char *text;

	if ((word & 0x7f800000) == 0x52800000 && (number || !shift))
		put_move(parts, word, (int64_t)placed);
	else if ((word & 0x7f800000) == 0x12800000 && (number || !shift) && (is_wide || number != 0xffff))
		put_move(parts, word, (int64_t)~placed);
	else if ((word & 0x7f8003e0) == 0x320003e0 && (text = strchr(parts->operands, '#')) &&
	         (strcmp(parts->name, "orr") == 0 || strcmp(parts->name, "mov") == 0))
		put_move(parts, word,
		         (int64_t)(text[1] == '-' ? -strtoull(text + 2, NULL, 0) : strtoull(text + 1, NULL, 0)));
}

/* Masks have no sign. */
static void
mask_number(uint32_t word, struct listing_parts *parts)
{
	char *at = strstr(parts->operands, "#-"), *end, text[24];
	uint64_t value;

	if (!at)
		return;
	value = -strtoull(at + 2, &end, 0);
	snprintf(text, sizeof(text), "#0x%" PRIx64, word >> 31 ? value : (uint32_t)value);
	splice(parts->operands, sizeof(parts->operands), at, (size_t)(end - at), text);
}

/* "ld1 {v0.16b}, [x2], #16": what is added, in hexadecimal as other displacements are. */
static void
added_number(struct listing_parts *parts)
{
	char *at = strstr(parts->operands, "], #"), *end, text[24];
	uint64_t value;

	if (!at)
		return;
	at += 4;
	value = strtoull(at, &end, 0);
	if (*end || value < 10)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	splice(parts->operands, sizeof(parts->operands), at, (size_t)(end - at), text);
}

void
listing_same_aarch64(uint32_t word, struct listing_parts *parts)
{
	moved_number(word, parts);
	if ((word & 0x1f800000) == 0x12000000 && strcmp(parts->name, "mov") != 0)
		mask_number(word, parts);
	if (strcmp(parts->name, "ins") == 0)
		snprintf(parts->name, sizeof(parts->name), "mov");
	if ((word & 0xbe000000) == 0x0c000000)
		added_number(parts);
	plain_digits(parts);
}
