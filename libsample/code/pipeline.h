/*
 * pipeline.h - a model of a CPU's pipeline, as far as an analysis needs it
 *
 * Each CPU has a file, config/cpus/NAME.conf, in libconfig's form; scripts/cpu-models makes the files of real CPUs from
 * LLVM's scheduling models. docs/analysis.md says what each value means and where it comes from; pipeline.c has the
 * names of all values. A value that is missing but needed, unknown, or out of range is refused with file, line and
 * reason. A loaded model is never changed: any thread may read it. Fuzzed by tests/fuzz/pipeline_fuzz.c.
 */
#ifndef DCPI_CODE_PIPELINE_H
#define DCPI_CODE_PIPELINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"

#define PIPELINE_DIRECTORY    DCPI_CPU_DIRECTORY /* of the installed files: the Makefile's */
#define PIPELINE_GENERIC      "generic"          /* for CPUs without a file of their own */
#define PIPELINE_NAME_SIZE    32
#define PIPELINE_TITLE_SIZE   96
#define PIPELINE_UNITS_MAX    32
#define PIPELINE_USES_MAX     6
#define PIPELINE_MATCHES_MAX  16
#define PIPELINE_SKID_MAX     8
#define PIPELINE_SKID_UNKNOWN UINT_MAX

enum pipeline_kind {
	PIPELINE_KIND_IN_ORDER,     /* a sample is on the instruction at the head of the issue queue */
	PIPELINE_KIND_OUT_OF_ORDER, /* a sample is its skid behind the instruction that holds up retirement */
};

/* Operations that are no instruction class: in an array they follow the classes. */
enum pipeline_operation_kind {
	OPERATION_LOAD_VECTOR = CLASS_COUNT, /* CLASS_LOAD is into a general register */
	OPERATION_STORE_VECTOR,
	OPERATION_STORE_FOLDED, /* of an instruction that also does something else */
	OPERATION_TRANSFER,     /* from a general to a vector register */
	OPERATION_TRANSFER_BACK,
	OPERATION_ADDRESS_THREE,     /* lea with base, index and displacement */
	OPERATION_MULTIPLY_TWO,      /* with two results: the whole product */
	OPERATION_DIVIDE_WIDE,       /* of 64 bits */
	OPERATION_SHIFT_BY_REGISTER, /* x86's by %cl, which keep the flags when it is 0 */
	OPERATION_COUNT,
};

/* An operation occupies one of `units` (bit n: unit n) for `cycles`. */
struct pipeline_use {
	uint32_t units;
	double cycles;
};

struct pipeline_operation {
	unsigned latency;       /* cycles until another instruction can use its result */
	unsigned upper_latency; /* until it can use a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[PIPELINE_USES_MAX];
	uint64_t never_with; /* in order: classes (bit n: class n) that cannot issue after it in its cycle */
};

/* The most that an access costs that misses the level before, for each level of memory. */
struct pipeline_memory {
	unsigned level2_cycles, level3_cycles, memory_cycles; /* level3_cycles 0: there is no third level */
};

struct pipeline_tlb {
	unsigned entries;     /* of the first level */
	unsigned miss_cycles; /* of a walk, at most */
	unsigned near_cycles; /* of a miss that hits the second level; 0: not known. No CPU's file has it */
};

/* One way to recognize a CPU that the model is for. */
struct pipeline_match {
	char vendor[16];                          /* x86: of cpuid, "AuthenticAMD"; "": not by this */
	unsigned family, model_first, model_last; /* family 0: any */
	char has[16], lacks[16];                  /* x86: a flag that its text must have, or lack; "": not by this */
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
	unsigned folded_load, folded_store; /* micro-operations that a memory access adds to those of the operation */
	unsigned store_lines; /* lines of the cache that can be written in a cycle; 0: as many as there are stores */
	unsigned scaled_index_cycles, extended_sign_cycles; /* what each adds to a load's latency */
	bool fuses_compare_and_branch;    /* a compare or test and the next branch become one micro-operation */
	bool fuses_arithmetic_and_branch; /* also an add, and etc. and the next branch */
	bool eliminates_moves;            /* between registers, at renaming */
	unsigned mispredict_cycles;       /* from a mispredicted branch to the first instruction of the right path */
	unsigned taken_branches;          /* in a cycle */
	unsigned write_buffer_entries;    /* stores that wait for the cache */
	unsigned cache_line;              /* bytes */
	unsigned code_cache_bytes, data_cache_bytes;
	unsigned page_bytes;
	struct pipeline_memory code, data;
	struct pipeline_tlb code_tlb, data_tlb;
	unsigned match_count;
	struct pipeline_match matches[PIPELINE_MATCHES_MAX];
};

/*
 * Read a model from text in memory, which messages call `file`. 0; -errno or -DCPI_ECONFIG with a sentence in `why`
 * that begins with the file.
 */
int pipeline_parse(const char *file, const char *text, struct pipeline *pipeline, char *why, size_t size);

/*
 * The directory of the models: $DCPI_CPUS; else, for a program in a build folder, config/cpus of its sources; else
 * PIPELINE_DIRECTORY.
 */
void pipeline_directory(char *directory, size_t size);

/*
 * Load the model that `choice` names: a name in `directory`, or a path when it has a slash. With a NULL `choice`, load
 * the model whose `match` fits `cpu`, the text of an epoch ("AMD EPYC (AuthenticAMD family 25 model 17)"); if none
 * fits, load the generic one, and `note` is a sentence that says so (otherwise it is empty). 0; -errno or -DCPI_ECONFIG
 * with a sentence in `note`: there is no such model (similar names are listed), or its file is wrong.
 */
int pipeline_choose(const char *directory, const char *choice, const char *cpu, struct pipeline *pipeline, char *note,
                    size_t size);

/* Whether the model is for `cpu`, the text of an epoch. */
bool pipeline_is_for(const struct pipeline *pipeline, const char *cpu);

/* The operation of an instruction, without its accesses to memory. */
const struct pipeline_operation *pipeline_operation(const struct pipeline *pipeline,
                                                    const struct instruction *instruction);

#define UOPS_USES_MAX (3 * PIPELINE_USES_MAX)

/* The micro-operations of an instruction: of its operation and its accesses to memory together. */
struct uops {
	unsigned load_latency;  /* from the address to the loaded value; 0: it loads nothing */
	unsigned latency;       /* from loaded data and from data operands to the result */
	unsigned upper_latency; /* from the result to a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[UOPS_USES_MAX];
};

/* `next`: the next instruction, with which this one may be fused; NULL: none. */
void uops_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
             struct uops *uops);

/* Whether writes[write] is the address register that an access updates: it is ready before the loaded value. */
bool uops_is_written_back(const struct instruction *instruction, unsigned write);

/* Whether writes[write] is the upper half of a product whose lower half is another result. */
bool uops_is_upper_half(const struct instruction *instruction, unsigned write);

#endif
