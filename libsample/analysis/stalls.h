/*
 * stalls.h - why each instruction took longer than it had to, and which instructions are to blame
 *
 * DCPI's elimination (section 6.3 of "Continuous Profiling: Where Have All the Cycles Gone?", ACM TOCS 15(4), 1997):
 * whatever cannot be ruled out stays on the list - "assume the worst unless the data indicate otherwise". The explained
 * time is what an execution took beyond its best case. A reason's `high` is the most that it may have taken of this
 * time; its `low` is the rest when all other reasons took their most. So the low of an instruction's only reason is the
 * whole stall.
 *
 * In order, an instruction waits for the producers of its operands, and for the unit that it needs: culprits are found
 * by walking back over the flow graph. Out of order, the instruction that holds up retirement is itself slow: the load,
 * not the user of its value. After a mispredicted branch, both kinds of pipeline wait at the head of the block that is
 * reached (frequency.h has moved samples back by the skid before).
 *
 * What rules a reason out:
 *  - I-cache, ITB: on every edge that is not rare, the instruction before it touched its line, or page; or it is in a
 *    loop without calls that fits into the cache, or the TLB, and iterates often; or it has few samples and begins a
 *    line, or page, and all such instructions together take no longer than the others;
 *  - D-cache, DTB: it loads nothing (DTB: and stores nothing), and, in order, no operand comes from a load that is near
 *    enough. In a small loop, it can miss at most as often as its stride, if the code shows it, reaches a new line or
 *    page (a constant address: no DTB);
 *  - write buffer: it is no store;
 *  - synchronization: it is no atomic operation or barrier, and not right behind a barrier;
 *  - mispredict: it is not the head of a block to which a conditional branch or an indirect jump leads; else the most
 *    is (how often control comes over that edge) x the penalty;
 *  - multiplier, divider: the instruction does not use it; in order, no near enough instruction before it uses it, or
 *    makes an operand with it;
 *  - samples of events, if they were taken: the most is (the number of events that samples near the stall and the
 *    culprits allow) x the worst latency.
 *
 * Out of order, waiting in a chain of dependences or for units is static, as in the bounds of schedule.h, except for
 * the multiplier and the divider, which have rows of their own. With relative frequencies the best case is not known in
 * samples: it is estimated from the instructions that have no possible reason to stall, and a loop's loads count as
 * stalls. A bound in the model's cycles is then converted to samples as if the block was at its best case, which is the
 * most that it can be.
 *
 * No state: any thread. Results are finite for every input.
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
	CAUSE_OTHER, /* of unbounded time: rep movs, system calls; out of order, a long latency */
	CAUSE_COUNT,
};

/* What was counted besides time. */
enum stall_event {
	STALL_EVENT_CODE_CACHE, /* L1-icache-load-misses */
	STALL_EVENT_CODE_TLB,   /* iTLB-load-misses */
	STALL_EVENT_DATA_CACHE, /* L1-dcache-load-misses */
	STALL_EVENT_LAST_LEVEL, /* cache-misses: those that went to memory */
	STALL_EVENT_DATA_TLB,   /* dTLB-load-misses */
	STALL_EVENT_CODE_WALK,  /* iTLB-load-walks: of an emulation, misses of the second level */
	STALL_EVENT_DATA_WALK,  /* dTLB-load-walks */
	STALL_EVENT_MISPREDICT, /* branch-misses */
	STALL_EVENT_COUNT,
};

struct stall_event_samples {
	const uint64_t *samples; /* per instruction; NULL: not counted */
	double period;           /* events per sample; 0: not known, then samples are not used */
	bool is_exact;           /* they are where the events happened: samples nearby are not needed */
};

struct stalls_input {
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	const struct schedule *schedules;      /* of each block, each with the count of its block */
	const struct frequencies *frequencies; /* with samples moved back by the skid */
	double cycles_per_sample;              /* of time, at least; 0: not known, then events are not used */
	struct stall_event_samples events[STALL_EVENT_COUNT];

	/* The operands of an instruction: 0, or negative when they are not known. NULL: none are. */
	int (*detail)(void *argument, const struct instruction *instruction, struct instruction_detail *detail);
	void *argument;
};

/* A possible reason, in cycles of one execution. */
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
	double unexplained;          /* the part of it without any possible reason */
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
	double *gain_cycles;  /* of each block: how much faster it is than its best case; not positive */
};

/* 0, and free it with stalls_fini(); -EINVAL for schedules that are not the graph's; -ENOMEM. */
int stalls_find(const struct stalls_input *input, struct stalls *stalls);
void stalls_fini(struct stalls *stalls); /* a zeroed one is allowed */

/* Which of two reasons of an instruction to name first: the one that took more. Negative: `one`. */
int stall_compare(const struct stall *one, const struct stall *other);

/* 'I', 'T', 'd', 'D', 'w', 'y', 'p', 'm', 'f', 'o', and the row's name in figure 4. '?' and "?" for what is none. */
char stall_cause_letter(unsigned cause);
const char *stall_cause_name(unsigned cause);

/* The event of that name, or STALL_EVENT_COUNT. */
enum stall_event stall_event_find(const char *name);

/* Figure 4: where a procedure's time went, in samples. */
struct stall_summary {
	double best, actual; /* of all executions: the best case, and the time that was tallied */
	double instructions; /* executed, in samples x instructions a cycle: best / instructions = best-case CPI */
	double low[CAUSE_COUNT], high[CAUSE_COUNT];
	double unexplained, gain; /* gain: not positive */
	double dynamic;           /* all dynamic stalls, each once, and the gain */
	double fixed[STALL_REASON_COUNT];
	double execution;
	double sampling_error; /* dynamic + fixed + execution + sampling_error = actual */
	double all_samples;    /* of the procedure, tallied or not */
};

/* Sum up the blocks whose frequency has at least this confidence; figure 4: CONFIDENCE_MEDIUM. */
void stalls_sum(const struct stalls_input *input, const struct stalls *stalls, enum frequency_confidence least,
                struct stall_summary *summary);

/* Add `other` to `summary`, to sum up several procedures. */
void stall_summary_add(struct stall_summary *summary, const struct stall_summary *other);

/* A summary in tenths of a percent of a whole, rounded such that all printed sums are exact. */
struct stall_shares {
	int low[CAUSE_COUNT], high[CAUSE_COUNT];
	int unexplained, gain, dynamic;
	int fixed[STALL_REASON_COUNT], fixed_sum; /* the sum of the rows */
	int stall;                                /* dynamic + fixed_sum */
	int execution, sampling_error;            /* stall + execution + sampling_error = tallied */
	int tallied;                              /* `actual`; 0 when nothing was tallied */
	int tallied_of_all;                       /* actual / all_samples */
};

/* Shares of the tallied time (`actual`), and of a larger whole. */
void stall_shares(const struct stall_summary *summary, struct stall_shares *shares);
void stall_shares_of(const struct stall_summary *summary, double whole, struct stall_shares *shares);

#endif
