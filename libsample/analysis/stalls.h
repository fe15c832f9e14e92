/*
 * stalls.h - why each instruction took longer than it had to, and which instructions are to blame
 *
 * DCPI's elimination (section 6.3 of "Continuous Profiling: Where Have All the Cycles Gone?", ACM TOCS 15(4), 1997):
 * whatever cannot be ruled out stays on the list - "assume the worst unless the data indicate otherwise". The time that
 * is explained is what an execution took beyond its best case. A reason's `high` is the most that it may have taken of
 * it, its `low` what is left when all others took their most; so the low of an instruction's only reason is the stall.
 *
 * In order, an instruction waits for what makes its operands, and for the unit it needs: culprits are found by walking
 * back over the flow graph. Out of order, the instruction that holds up retirement is the one that is slow itself: the
 * load, not what uses it. After a mispredicted branch both wait at the head of the block that is reached (samples are
 * moved back by the skid before; frequency.h does it).
 *
 * What rules a reason out:
 *  - I-cache, ITB: its line, or page, was touched by the instruction before it, on every edge that is not rare; or it
 *    is in a loop without calls that fits into the cache, or the TLB, and iterates often; or, with few samples, it is
 *    one of those that begin a line, or page, and all of them take no longer than the others;
 *  - D-cache, DTB: it loads nothing (DTB: and stores nothing), and, in order, no operand comes from a load that is
 *    near enough; in a small loop at most as often as its stride, where the code shows it, makes it touch lines and
 *    pages that it did not just touch (an address that stays: no DTB);
 *  - write buffer: it is no store;
 *  - synchronization: it is no atomic operation or barrier, and not right behind a barrier;
 *  - mispredict: it is no head of a block that a conditional branch or an indirect jump leads to; else it is at most
 *    (how often it is reached over that edge) x the penalty;
 *  - multiplier, divider: it does not use it; in order, also: nothing before it, near enough, does, or makes an
 *    operand;
 *  - samples of events, where they were taken: at most (how many there may be, by their number near the stall and the
 *    culprits) x the worst latency.
 *
 * Out of order, waiting in a chain of dependences or for units is static, as schedule.h's bounds have it, except for
 * the multiplier and the divider, whose rows it goes to. With relative frequencies the best case is not known in
 * samples: it is taken from the instructions that have no possible reason to stall, and a loop's loads count as stalls.
 * A bound of the model's cycles is then worth at most what it is if the block was at its best case.
 *
 * No state: any thread. Results are finite whatever comes in.
 */
#ifndef DCPI_ANALYSIS_STALLS_H
#define DCPI_ANALYSIS_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/frequency.h"
#include "code/decoder.h"
#include "code/flow_graph.h"
#include "code/pipeline.h"
#include "code/schedule.h"

/* Dynamic reasons, in the order of figure 4. */
enum stall_cause {
	CAUSE_CODE_CACHE,
	CAUSE_CODE_TLB,
	CAUSE_DATA_CACHE,
	CAUSE_DATA_TLB,
	CAUSE_WRITE_BUFFER,
	CAUSE_SYNCHRONIZATION,
	CAUSE_MISPREDICT,
	CAUSE_MULTIPLIER,
	CAUSE_DIVIDER,
	CAUSE_OTHER, /* takes as long as it likes: rep movs, system calls; out of order, a long latency */
	CAUSE_COUNT,
};

/* What was counted besides time. */
enum stall_event {
	STALL_EVENT_CODE_CACHE, /* L1-icache-load-misses */
	STALL_EVENT_CODE_TLB,   /* iTLB-load-misses */
	STALL_EVENT_DATA_CACHE, /* L1-dcache-load-misses */
	STALL_EVENT_LAST_LEVEL, /* cache-misses: those that went to memory */
	STALL_EVENT_DATA_TLB,   /* dTLB-load-misses */
	STALL_EVENT_CODE_WALK,  /* iTLB-load-walks: of an emulation, those that the second level has not */
	STALL_EVENT_DATA_WALK,  /* dTLB-load-walks */
	STALL_EVENT_MISPREDICT, /* branch-misses */
	STALL_EVENT_COUNT,
};

struct stall_event_samples {
	const uint64_t *samples; /* per instruction; NULL: not counted */
	double period;           /* events a sample; 0: not known, then it says nothing */
	bool is_exact;           /* they lie where the events happened: no need to look at what is near */
};

struct stalls_input {
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	const struct schedule *schedules;      /* of each block, each of its block's count */
	const struct frequencies *frequencies; /* with samples moved back by the skid */
	double cycles_per_sample;              /* of time, at least; 0: not known, then events say nothing */
	struct stall_event_samples events[STALL_EVENT_COUNT];

	/* The operands of an instruction: 0, or negative when they are not known. NULL: none are. */
	int (*detail)(void *argument, const struct instruction *instruction, struct instruction_detail *detail);
	void *argument;
};

/* A reason that is possible, in cycles of one execution. */
struct stall {
	double low, high;
	double likely; /* what samples of events account for, perhaps more than there was; of a reason without, what
	                  those leave */
	uint32_t culprit, culprit_count; /* culprits[culprit .. culprit + culprit_count); 0: itself, or not known */
	uint8_t cause;                   /* enum stall_cause */
};

struct instruction_stalls {
	double cycles;               /* of one execution: samples / frequency; 0 where no frequency is known */
	double least_cycles;         /* of them, what it had to take */
	double stall_cycles;         /* the dynamic stall; 0 below half a cycle, which is within the errors */
	double unexplained;          /* of that, what no reason is left for */
	uint32_t stall, stall_count; /* its reasons are stalls[stall .. stall + stall_count), ascending by cause */
};

struct stalls {
	struct instruction_stalls *instructions;
	struct stall *stalls;
	size_t stall_count;
	uint64_t *culprits; /* addresses, ascending for each stall */
	size_t culprit_count;
	double *fixed_cycles; /* of block b and enum stall_reason r, of one execution: fixed_cycles[b *
	                         STALL_REASON_COUNT + r] */
	double *issue_cycles; /* of each block, of one execution without any stall */
	double *gain_cycles;  /* of each block: what it is faster than its best case; not positive */
};

/* 0, and free it with stalls_fini(); -EINVAL for schedules that are not the graph's; -ENOMEM. */
int stalls_find(const struct stalls_input *input, struct stalls *stalls);
void stalls_fini(struct stalls *stalls); /* a zeroed one is allowed */

/* Which of two reasons of an instruction is to be named first: the one that took more. Negative: `one`. */
int stall_compare(const struct stall *one, const struct stall *other);

/* 'I', 'T', 'd', 'D', 'w', 'y', 'p', 'm', 'f', 'o', and the row's name in figure 4. '?' and "?" for what is none. */
char stall_cause_letter(unsigned cause);
const char *stall_cause_name(unsigned cause);

/* The event of that name, or STALL_EVENT_COUNT. */
enum stall_event stall_event_find(const char *name);

/* Figure 4: where a procedure's time went, in samples. */
struct stall_summary {
	double best, actual; /* all executions at their best, and as they were: the time that was tallied */
	double instructions; /* executed, in samples x instructions a cycle: best / instructions = best-case CPI */
	double low[CAUSE_COUNT], high[CAUSE_COUNT];
	double unexplained, gain; /* gain: not positive */
	double dynamic;           /* all dynamic stalls, each once, and the gain */
	double fixed[STALL_REASON_COUNT];
	double execution;
	double sampling_error; /* with dynamic, fixed and execution: actual */
	double all_samples;    /* of the procedure, tallied or not */
};

/* Sum up the blocks whose frequency is known at least so well; figure 4: CONFIDENCE_MEDIUM. */
void stalls_sum(const struct stalls_input *input, const struct stalls *stalls, enum frequency_confidence least,
                struct stall_summary *summary);

/* Add what `other` sums up: of several procedures. */
void stall_summary_add(struct stall_summary *summary, const struct stall_summary *other);

/* A summary in tenths of a percent of a whole, such that all that is added up is right to the digit. */
struct stall_shares {
	int low[CAUSE_COUNT], high[CAUSE_COUNT];
	int unexplained, gain, dynamic;
	int fixed[STALL_REASON_COUNT], fixed_sum; /* the sum of the rows */
	int stall;                                /* dynamic + fixed_sum */
	int execution, sampling_error;            /* stall + execution + sampling_error = tallied */
	int tallied;                              /* `actual`; 0 when nothing was tallied */
	int tallied_of_all;                       /* actual / all_samples */
};

/* Shares of what was tallied (`actual`), and of a larger whole. */
void stall_shares(const struct stall_summary *summary, struct stall_shares *shares);
void stall_shares_of(const struct stall_summary *summary, double whole, struct stall_shares *shares);

#endif
