/*
 * table.h - how to find a function's caller, for each instruction of one image
 *
 * A table is the call frame information of an ELF file (DWARF 5, 6.4) in a compact form, which a process can use that
 * reads no ELF: rows, ascending by file offset, each of which refers to one of few distinct sets of rules. Its bytes
 * are made by code/unwind_build.h in a process that is locked up, and checked when they are loaded, so that what uses
 * a table need not check it. Registers have the numbers of DWARF for their machine; those that are not listed in a set
 * of rules have the same value in the caller.
 *
 * The bytes: version and machine, one each. Then varints, those that may be negative in zigzag encoding: six numbers -
 * of expressions, bytes of all of them, lists of register rules, rules in all of them, sets, rows - and these
 * themselves. Of an expression its size and its bytes; of a list its length, and of each rule the register, the kind
 * and the value; of a set the CFA's register and value, the number of its list, and 1 for a signal frame, or else 0; of
 * a row its distance from the previous one (the first: from offset -1), and its set's number plus 1, or 0 where there
 * are no rules. Thread rule: plain data once it is loaded; any number of threads may read it. One thread per writer.
 */
#ifndef DCPI_UNWIND_TABLE_H
#define DCPI_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_machine {
	UNWIND_X86_64 = 1,
	UNWIND_AARCH64 = 2,
};

/* Numbers of registers: rax to r15 and rip; x0 to x30, sp and pc. */
#define UNWIND_REGISTERS  33
#define UNWIND_X86_64_RBP 6
#define UNWIND_X86_64_RSP 7
#define UNWIND_X86_64_RIP 16
#define UNWIND_AARCH64_FP 29
#define UNWIND_AARCH64_LR 30
#define UNWIND_AARCH64_SP 31
#define UNWIND_AARCH64_PC 32

#define UNWIND_RULES_MAX      UINT16_MAX       /* distinct sets of one table */
#define UNWIND_EXPRESSION_MAX 255              /* bytes of one; real ones have up to 11 */
#define UNWIND_OFFSET_MAX     (UINT32_MAX - 1) /* file offsets behind it have no rules */

/* Where the caller's value of a register is. `value` is the rule's number. */
enum unwind_rule_kind {
	UNWIND_SAME,             /* in the register itself; not listed */
	UNWIND_UNDEFINED,        /* lost. Of the pc: there is no caller */
	UNWIND_AT_CFA,           /* in memory at CFA + value */
	UNWIND_CFA_PLUS,         /* it is CFA + value */
	UNWIND_IN_REGISTER,      /* in register number `value` */
	UNWIND_AT_EXPRESSION,    /* in memory, where expression number `value` says */
	UNWIND_EXPRESSION_VALUE, /* it is what expression number `value` results in */
	UNWIND_RULE_KINDS,
};

struct unwind_register_rule {
	int32_t value;
	uint8_t number; /* of the register that it is about */
	uint8_t kind;   /* enum unwind_rule_kind */
};

/* A set of rules. The CFA (canonical frame address) is the value that the stack pointer has in the caller. */
struct unwind_rules {
	int32_t cfa_value;    /* added to the register; or the number of the expression */
	uint32_t first;       /* of the table's register_rules */
	uint8_t count;        /* how many */
	uint8_t cfa_register; /* UNWIND_CFA_EXPRESSION: the CFA is an expression */
	bool is_signal_frame; /* the caller was interrupted at its pc, which is no return address */
};
#define UNWIND_CFA_EXPRESSION UINT8_MAX

/*
 * Rows stay as they are in the bytes, because a large library has a million of them: in memory, a row takes three
 * bytes. They are found by blocks of UNWIND_BLOCK_ROWS, the last of which may have fewer. The blocks are found by an
 * index: stretches of the file of one size, of which there is one for some four blocks. Stacks are sparse, so a table
 * has left the CPU's caches when the next one comes: a binary search over all blocks of a compiler would miss them at
 * each of a dozen steps, the index misses them twice.
 */
struct unwind_block {
	uint32_t offset; /* in the file, of the first row */
	uint32_t at;     /* of `rows`: where the set's number of the first row is; the second row follows */
};
#define UNWIND_BLOCK_ROWS 16

struct unwind_table {
	enum unwind_machine machine;
	uint32_t row_count, rules_count, register_rule_count, expression_count;
	const struct unwind_block *blocks; /* of the rows: a row applies up to the next one's offset */
	/* [i]: how many blocks begin before offset i << stretch_shift. One more than there are stretches, the last of
	 * which has the last block. */
	const uint32_t *stretches;
	uint32_t stretch_count;
	unsigned stretch_shift;
	const uint8_t *rows, *rows_end;
	const struct unwind_rules *rules;
	const struct unwind_register_rule *register_rules;
	const uint32_t *expression_ends; /* expression i ends before expression_bytes[expression_ends[i]] */
	const uint8_t *expression_bytes;
	size_t memory; /* bytes of all of it */
};

/* Load a table from its bytes, which are not needed afterwards. 0; -ENOMEM; -EBADMSG when they are no table's. */
int unwind_table_load(const void *bytes, size_t size, struct unwind_table **table);
void unwind_table_free(struct unwind_table *table); /* NULL is allowed */

/* The rules at file offset `offset`; NULL when there are none. */
const struct unwind_rules *unwind_table_find(const struct unwind_table *table, uint64_t offset);

/* ---- making a table's bytes ---- */

/* Rules as they are in a frame description. An expression's bytes are copied. */
struct unwind_rule {
	enum unwind_rule_kind kind;
	int64_t value;             /* of a rule without an expression */
	const uint8_t *expression; /* DWARF operations, of this machine's byte order */
	size_t size;
};

struct unwind_frame_rules {
	uint8_t cfa_register; /* or UNWIND_CFA_EXPRESSION; cfa.kind does not matter */
	bool is_signal_frame;
	struct unwind_rule cfa;
	struct unwind_rule registers[UNWIND_REGISTERS];
};

struct unwind_writer;

struct unwind_writer *unwind_writer_new(enum unwind_machine machine); /* NULL and errno (ENOMEM) */
void unwind_writer_free(struct unwind_writer *writer);                /* NULL is allowed */

/*
 * Add a row: from file offset `offset` on, `rules` apply, or none (NULL). Offsets must not descend; a row at the
 * previous one's offset takes its place. Rules that a table cannot have - a value beyond 32 bits, an expression too
 * long, one distinct set too many - count as none. 0 or -ENOMEM, -EINVAL for an offset that descends.
 */
int unwind_writer_add(struct unwind_writer *writer, uint64_t offset, const struct unwind_frame_rules *rules);

/* The table's bytes, as unwind_table_load() reads them, in new memory (free it). 0 or -ENOMEM. */
int unwind_writer_finish(struct unwind_writer *writer, uint8_t **bytes, size_t *size);

#endif
