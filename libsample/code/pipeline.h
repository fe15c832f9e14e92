/*
 * pipeline.h - what a CPU's pipeline is, as far as an analysis needs it
 *
 * One file per CPU, config/cpus/NAME.conf, in libconfig's form; scripts/cpu-models makes those of real CPUs out of
 * LLVM's scheduling models. docs/analysis.md says what each value means and where it comes from; every name of it is in
 * pipeline.c. A value that is missing where it is needed, unknown, or out of range is refused with file, line and
 * reason. Plain data once it is loaded: any thread. Fuzzed by tests/fuzz/pipeline_fuzz.c.
 */
#ifndef DCPI_CODE_PIPELINE_H
#define DCPI_CODE_PIPELINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"

#define PIPELINE_DIRECTORY    DCPI_CPU_DIRECTORY /* of the installed files: the Makefile's */
#define PIPELINE_GENERIC      "generic"          /* for CPUs that no file is about */
#define PIPELINE_NAME_SIZE    32
#define PIPELINE_TITLE_SIZE   96
#define PIPELINE_UNITS_MAX    32
#define PIPELINE_USES_MAX     6
#define PIPELINE_MATCHES_MAX  16
#define PIPELINE_SKID_MAX     8
#define PIPELINE_SKID_UNKNOWN UINT_MAX

enum pipeline_kind {
	PIPELINE_KIND_IN_ORDER,     /* a sample lies on the instruction at the head of the issue queue */
	PIPELINE_KIND_OUT_OF_ORDER, /* a sample lies its skid after the one that holds up retirement */
};

/* Operations that no instruction class stands for: they follow the classes in an array. */
enum pipeline_operation_kind {
	OPERATION_LOAD_VECTOR = CLASS_COUNT, /* CLASS_LOAD is into a general register */
	OPERATION_STORE_VECTOR,
	OPERATION_STORE_FOLDED, /* of an instruction that does something else, too */
	OPERATION_TRANSFER,     /* from a general to a vector register */
	OPERATION_TRANSFER_BACK,
	OPERATION_ADDRESS_THREE,     /* lea with base, index and displacement */
	OPERATION_MULTIPLY_TWO,      /* with two results: the whole product */
	OPERATION_DIVIDE_WIDE,       /* of 64 bits */
	OPERATION_SHIFT_BY_REGISTER, /* x86's by %cl, which keep the flags when it is 0 */
	OPERATION_COUNT,
};

/* It takes one of `units` (bit n: unit n) for `cycles`. */
struct pipeline_use {
	uint32_t units;
	double cycles;
};

struct pipeline_operation {
	unsigned latency;       /* cycles until an instruction can use its result */
	unsigned upper_latency; /* until it can use a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[PIPELINE_USES_MAX];
	uint64_t never_with; /* in order: classes (bit n: class n) that do not issue in the same cycle after it */
};

/* A level of memory: what an access that misses the one before it costs at most. */
struct pipeline_memory {
	unsigned level2_cycles, level3_cycles, memory_cycles; /* level3_cycles 0: there is no third level */
};

struct pipeline_tlb {
	unsigned entries;     /* of the first level */
	unsigned miss_cycles; /* of a walk, at most */
	unsigned near_cycles; /* of a miss that the second level has; 0: not known. No CPU's file says */
};

/* One way to recognize a CPU that the model is for. */
struct pipeline_match {
	char vendor[16];                          /* x86: of cpuid, "AuthenticAMD"; "": not by this */
	unsigned family, model_first, model_last; /* family 0: any */
	char has[16], lacks[16];                  /* x86: a flag that its text has, or has not; "": not by this */
	unsigned implementer, part;               /* Arm: of MIDR; 0: not by this */
	char text[PIPELINE_TITLE_SIZE];           /* a pattern (fnmatch) for the CPU's name; "": not by this */
};

struct pipeline {
	char name[PIPELINE_NAME_SIZE];   /* "amd-zen3" */
	char title[PIPELINE_TITLE_SIZE]; /* "AMD Zen 3" */
	enum pipeline_kind kind;
	unsigned issue_width;  /* in order: instructions a cycle; else micro-operations that enter the back end */
	unsigned retire_width; /* instructions a cycle */
	unsigned window;       /* micro-operations in flight; 0 in order */
	unsigned timer_skid;   /* of a timer's sample, in instructions */
	unsigned pmu_skid;     /* of a counter's that is not precise; PIPELINE_SKID_UNKNOWN: not measured */
	unsigned unit_count;
	char units[PIPELINE_UNITS_MAX][PIPELINE_NAME_SIZE];
	struct pipeline_operation operations[OPERATION_COUNT];
	unsigned folded_load, folded_store; /* micro-operations that an access adds to another operation's */
	unsigned store_lines; /* of the cache that can be written in a cycle; 0: no less than there are stores */
	unsigned scaled_index_cycles, extended_sign_cycles; /* that it adds to a load's latency */
	bool fuses_compare_and_branch;    /* a compare or test and the branch behind it are one micro-operation */
	bool fuses_arithmetic_and_branch; /* an add, and or the like and the branch, too */
	bool eliminates_moves;            /* between registers, by renaming */
	unsigned mispredict_cycles;    /* from a branch that was predicted wrongly to the first instruction behind it */
	unsigned taken_branches;       /* in a cycle */
	unsigned write_buffer_entries; /* stores that wait for the cache */
	unsigned cache_line;           /* bytes */
	unsigned code_cache_bytes, data_cache_bytes;
	unsigned page_bytes;
	struct pipeline_memory code, data;
	struct pipeline_tlb code_tlb, data_tlb;
	unsigned match_count;
	struct pipeline_match matches[PIPELINE_MATCHES_MAX];
};

/*
 * Read text in memory; `file` stands for it in messages. 0; -errno or -DCPI_ECONFIG with a sentence in `why` that
 * begins with the file.
 */
int pipeline_parse(const char *file, const char *text, struct pipeline *pipeline, char *why, size_t size);

/*
 * Where the models are: $DCPI_CPUS; else, of a program in a build folder, config/cpus of its sources; else
 * PIPELINE_DIRECTORY.
 */
void pipeline_directory(char *directory, size_t size);

/*
 * The model that `choice` names - a name in `directory`, or a path when it has a slash - or, when that is NULL, the one
 * whose `match` fits `cpu`, the text of an epoch ("AMD EPYC (AuthenticAMD family 25 model 17)"); else the generic one.
 * `note` is then a sentence that says so, and else empty. 0; -errno or -DCPI_ECONFIG with a sentence in `note`: no such
 * model (those near are named), or a file that is wrong.
 */
int pipeline_choose(const char *directory, const char *choice, const char *cpu, struct pipeline *pipeline, char *note,
                    size_t size);

/* Whether `cpu` is one of those that the model is for. */
bool pipeline_is_for(const struct pipeline *pipeline, const char *cpu);

/* What an instruction without its accesses to memory takes: its operation. */
const struct pipeline_operation *pipeline_operation(const struct pipeline *pipeline,
                                                    const struct instruction *instruction);

#define UOPS_USES_MAX (3 * PIPELINE_USES_MAX)

/* The micro-operations of an instruction: of its operation and its accesses to memory together. */
struct uops {
	unsigned load_latency;  /* from an address to what is loaded; 0: it loads nothing */
	unsigned latency;       /* from loaded data and from data operands to the result */
	unsigned upper_latency; /* from there to a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[UOPS_USES_MAX];
};

/* `next`: the instruction behind it, with which it may be fused; NULL: none. */
void uops_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
             struct uops *uops);

/* Whether writes[write] is the address register of an access, updated by it: ready before what is loaded. */
bool uops_is_written_back(const struct instruction *instruction, unsigned write);

/* Whether writes[write] is the upper half of a product whose lower half is another result. */
bool uops_is_upper_half(const struct instruction *instruction, unsigned write);

#endif
