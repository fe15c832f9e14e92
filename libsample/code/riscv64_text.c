/* The texts of riscv64 instructions, as objdump writes them, with the names that assembly has for common ones. */
#include <inttypes.h>
#include <string.h>

#include "code/listing_text.h"
#include "code/riscv64_text.h"

static const char *const general_names[32] = {
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
	"a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const char *const float_names[32] = {
	"ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1",  "fa0",
	"fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4",  "fs5",
	"fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};

/* A shorter way to say it: the same row, some operands left out. */
struct alias {
	const char *name, *of, *operands;
	uint32_t match, mask; /* of the word, beside the row's */
};

static const struct alias aliases[] = {
	{"li", "addi", "dj", 0, 0x000f8000},
	{"mv", "addi", "ds", 0, 0xfff00000},
	{"mv", "add", "dt", 0, 0x000f8000},
	{"sext.w", "addiw", "ds", 0, 0xfff00000},
	{"neg", "sub", "dt", 0, 0x000f8000},
	{"negw", "subw", "dt", 0, 0x000f8000},
	{"not", "xori", "ds", 0xfff00000, 0xfff00000},
	{"seqz", "sltiu", "ds", 0x00100000, 0xfff00000},
	{"snez", "sltu", "dt", 0, 0x000f8000},
	{"zext.b", "andi", "ds", 0x0ff00000, 0xfff00000},
	{"beqz", "beq", "sp", 0, 0x01f00000},
	{"bnez", "bne", "sp", 0, 0x01f00000},
	{"bgez", "bge", "sp", 0, 0x01f00000},
	{"bltz", "blt", "sp", 0, 0x01f00000},
	{"blez", "bge", "tp", 0, 0x000f8000},
	{"bgtz", "blt", "tp", 0, 0x000f8000},
	{"j", "jal", "a", 0, 0x00000f80},
	{"jal", "jal", "a", 0x00000080, 0x00000f80},
	{"ret", "jalr", "", 0x00008000, 0xffffff80},
	{"jr", "jalr", "s", 0, 0xfff00f80},
	{"jr", "jalr", "o", 0, 0x00000f80},
	{"jalr", "jalr", "s", 0x00000080, 0xfff00f80},
	{"jalr", "jalr", "o", 0x00000080, 0x00000f80},
	{"sgtz", "slt", "dt", 0, 0x000f8000},
	{"frflags", "csrrs", "d", 0x00100000, 0xffff8000},
	{"frrm", "csrrs", "d", 0x00200000, 0xffff8000},
	{"frcsr", "csrrs", "d", 0x00300000, 0xffff8000},
	{"fsflags", "csrrw", "s", 0x00100000, 0xfff00f80},
	{"fsrm", "csrrw", "s", 0x00200000, 0xfff00f80},
	{"fscsr", "csrrw", "s", 0x00300000, 0xfff00f80},
	{"csrs", "csrrs", "Es", 0, 0x00000f80},
	{"csrs", "csrrsi", "EZ", 0, 0x00000f80},
	{"csrr", "csrrs", "dE", 0, 0x000f8000},
	{"csrw", "csrrw", "Es", 0, 0x00000f80},
};

static const struct alias *
find_alias(uint32_t word, const struct riscv64_form *form)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if ((word & aliases[i].mask) == aliases[i].match && strcmp(aliases[i].of, form->name) == 0)
			return &aliases[i];
	return NULL;
}

/* fmv, fabs, fneg: sign injections of a register into itself. */
static const char *
sign_alias(uint32_t word, const struct riscv64_form *form)
{
	static const char *const names[2][3] = {{"fmv.s", "fneg.s", "fabs.s"}, {"fmv.d", "fneg.d", "fabs.d"}};

	if (strncmp(form->name, "fsgnj", 5) != 0 || riscv64_rs1(word) != riscv64_rs2(word))
		return NULL;
	return names[word >> 25 & 1][word >> 12 & 3];
}

static void
put_fence(struct text *text, unsigned set)
{
	static const char letters[4] = {'w', 'r', 'o', 'i'};

	for (int bit = 3; bit >= 0; bit--)
		if (set >> bit & 1)
			text_put(text, "%c", letters[bit]);
	if (!set)
		text_put(text, "unknown");
}

static const char *
control_register(unsigned number)
{
	switch (number) {
	case 1:
		return "fflags";
	case 2:
		return "frm";
	case 3:
		return "fcsr";
	case 0xc00:
		return "cycle";
	case 0xc01:
		return "time";
	case 0xc02:
		return "instret";
	default:
		return NULL;
	}
}

static void
put_control(struct text *text, unsigned number)
{
	const char *name = control_register(number);

	if (name)
		text_put(text, "%s", name);
	else
		text_put(text, "0x%x", number);
}

static const char *
register_name(char operand, uint32_t word)
{
	switch (operand) {
	case 'd':
		return general_names[riscv64_rd(word)];
	case 's':
		return general_names[riscv64_rs1(word)];
	case 't':
		return general_names[riscv64_rs2(word)];
	case 'D':
		return float_names[riscv64_rd(word)];
	case 'S':
		return float_names[riscv64_rs1(word)];
	case 'T':
		return float_names[riscv64_rs2(word)];
	default:
		return float_names[word >> 27];
	}
}

static void
put_operand(struct text *text, char operand, uint32_t word, uint64_t address)
{
	static const char *const modes[8] = {"rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"};

	switch (operand) {
	case 'j':
		text_put(text, "%" PRId64, riscv64_load_offset(word));
		break;
	case 'u':
		text_put(text, "0x%" PRIx32, word >> 12);
		break;
	case '<':
		text_put(text, "0x%" PRIx32, word >> 20 & 31);
		break;
	case '>':
		text_put(text, "0x%" PRIx32, word >> 20 & 63);
		break;
	case 'p':
		text_put(text, "0x%" PRIx64, address + (uint64_t)riscv64_branch_offset(word));
		break;
	case 'a':
		text_put(text, "0x%" PRIx64, address + (uint64_t)riscv64_jump_offset(word));
		break;
	case 'o':
		text_put(text, "%" PRId64 "(%s)", riscv64_load_offset(word), general_names[riscv64_rs1(word)]);
		break;
	case 'q':
		text_put(text, "%" PRId64 "(%s)", riscv64_store_offset(word), general_names[riscv64_rs1(word)]);
		break;
	case 'A':
		text_put(text, "(%s)", general_names[riscv64_rs1(word)]);
		break;
	case 'E':
		put_control(text, word >> 20);
		break;
	case 'Z':
		text_put(text, "%u", riscv64_rs1(word));
		break;
	case 'm':
		text_put(text, "%s", modes[word >> 12 & 7]);
		break;
	case 'F':
		put_fence(text, word >> 24 & 15);
		text_put(text, ",");
		put_fence(text, word >> 20 & 15);
		break;
	default:
		text_put(text, "%s", register_name(operand, word));
		break;
	}
}

static bool
is_shown(char operand, uint32_t word)
{
	if (operand == 'm')
		return (word >> 12 & 7) != 7;
	if (operand == 'F')
		return (word >> 20 & 0xff) != 0xff;
	return operand != 'n';
}

static const char *
ordering(uint32_t word, const struct riscv64_form *form)
{
	static const char *const suffixes[4] = {"", ".rl", ".aq", ".aqrl"};

	return form->class == CLASS_ATOMIC ? suffixes[word >> 25 & 3] : "";
}

static void
put_instruction(struct text *text, uint32_t word, const struct riscv64_form *form, uint64_t address)
{
	const struct alias *alias = find_alias(word, form);
	const char *name = alias ? alias->name : form->name, *operands = alias ? alias->operands : form->operands;
	const char *sign = sign_alias(word, form);
	bool is_first = true;
	size_t from;

	if (sign) {
		name = sign;
		operands = "DS";
	}
	from = text->at;
	text_put(text, "%s%s", name, ordering(word, form));
	for (; *operands; operands++) {
		const int width = (int)(text->at - from);

		if (!is_shown(*operands, word))
			continue;
		if (is_first)
			text_put(text, "%*s ", width < 6 ? 6 - width : 0, "");
		else
			text_put(text, ",");
		is_first = false;
		put_operand(text, *operands, word, address);
	}
}

void
riscv64_text(const uint8_t *bytes, size_t length, uint64_t address, struct text *text)
{
	const struct riscv64_form *form;
	uint32_t word;
	const size_t size = riscv64_word(bytes, length, &word);

	form = size && word ? riscv64_find(word) : NULL;
	if (form)
		put_instruction(text, word, form, address);
	else if (size == 4)
		text_put(text, ".inst  0x%08" PRIx32, word);
	else
		text_put(text, "(bad)");
}
