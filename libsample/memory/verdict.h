/*
 * verdict.h - which memory object is worth a change, and which change
 *
 * Objects with one allocation site, or one name, are a group. Of each group the report has what it costs, who accesses
 * it from where, and a verdict with its evidence. The features are those by which MemProf decides (Lachaize, Lepers,
 * Quéma, USENIX ATC'12, section 3): remote accesses, those that pinning or allocation would avoid, accesses by the
 * allocating thread, from and to which nodes. What the verdicts need beyond them - phases, first writes, lines that are
 * shared falsely (shared_bytes.h) - is in verdict.c, with its thresholds.
 *
 * Costs are cycles that were not hidden, as far as the source knows: what a remedy gains is at most that.
 *
 * Thread rule: one thread per report; the profile must not change while it lives.
 */
#ifndef DCPI_MEMORY_VERDICT_H
#define DCPI_MEMORY_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/memory_profile.h"
#include "memory/object_type.h"
#include "memory/shared_bytes.h"

enum memory_verdict {
	VERDICT_NOTHING,
	VERDICT_REPLICATE,
	VERDICT_INTERLEAVE,
	VERDICT_LOCAL,
	VERDICT_PIN,
	VERDICT_MIGRATE,
	VERDICT_PAD,
	VERDICT_SPLIT,
};
#define VERDICTS 8

const char *verdict_text(enum memory_verdict verdict); /* "replicate", ... */

/* Sums over samples, each as often as it stands for. */
struct memory_evidence {
	uint64_t accesses, stores, cycles;
	uint64_t memory, remote; /* that memory served, or a prefetcher from it; of another node's memory */
	uint64_t excess_cycles;  /* that memory took longer than idle local memory would have */
	uint64_t transfers, transfer_cycles, far_cycles; /* far_cycles: of lines of another node's cores */
	uint64_t false_cycles; /* of transfers for bytes that no other thread wrote, in lines that are contended */
	uint64_t avoidable_by_pinning;    /* remote, by threads that have run on several nodes */
	uint64_t avoidable_by_allocation; /* remote, of an object that one node uses, or parts of which one node each */
	uint64_t of_parts;                /* these of objects with parts */
	uint64_t by_maker, before_others; /* by the thread that made it; of these, before any other thread came */
	uint64_t used, used_remote;       /* of `memory` and `remote`: since the object was filled */
	uint64_t late, late_stores;       /* since a second node came: accesses, and stores of them */
	uint32_t late_written;            /* samples of these stores */
	uint32_t late_watched;            /* since then: random words of its pages that were watched for writes */
	uint64_t from_node[MEMORY_NODES_MAX], to_node[MEMORY_NODES_MAX];
	uint64_t pages;   /* that were accessed; only where totals.counts */
	uint32_t threads; /* that accessed an object of the group; the most of one object */
	uint32_t samples;
};

struct memory_group {
	const char *name; /* of the profile */
	uint32_t site;    /* MEMORY_NOTHING: its objects have only a name */
	uint8_t kind;     /* enum memory_kind */
	enum memory_verdict verdict;
	uint32_t first_object; /* of memory_report.objects, `object_count` of them */
	uint32_t object_count;
	uint64_t bytes;       /* of all its objects */
	uint64_t cost_cycles; /* what the verdict's remedy could gain at most; of VERDICT_NOTHING: of any */
	struct object_type type;
	struct memory_evidence evidence;
};

/* An object with accesses. */
struct memory_member {
	uint32_t object;             /* of the profile */
	uint32_t first, count;       /* of memory_report.order */
	uint32_t watched;            /* of memory_report.order, behind these: MEMORY_WATCHED */
	enum memory_verdict verdict; /* by its own accesses, however few; of a group without one: VERDICT_NOTHING */
	uint64_t cost_cycles;
	uint32_t turns; /* how often its only user's node changes, with VERDICT_MIGRATE */
	struct memory_evidence evidence;
};

struct memory_report {
	const struct memory_profile *profile;
	struct memory_group *groups;   /* by what they cost, the most first */
	struct memory_member *objects; /* those of a group are together, by cost */
	uint32_t *order; /* accesses, by object, then by time; MEMORY_WATCHED ones of an object at its end */
	bool *is_user;   /* by thread: it has accesses */
	size_t group_count, object_count;
	struct memory_evidence all;
	uint64_t base_cycles; /* of which costs are shares: busy cycles; where those are not known, of all samples */
};

/* 0 or -ENOMEM. */
int memory_report_init(struct memory_report *report, const struct memory_profile *profile);
void memory_report_fini(struct memory_report *report); /* a zeroed one is allowed */

/* An access of an object, from 0 to member->count, in the order of time. */
const struct memory_access *memory_member_access(const struct memory_report *report, const struct memory_member *member,
                                                 uint32_t index);

/* Share of the run, 0 to 1. */
double memory_report_share(const struct memory_report *report, uint64_t cycles);

/* The sentence on which the group's verdict is based, into `text`. */
void memory_group_explain(const struct memory_report *report, const struct memory_group *group, char *text,
                          size_t size);

/* shared_bytes_list() of one object. *bytes is the caller's to free. 0 or -ENOMEM. */
int memory_member_bytes(const struct memory_report *report, const struct memory_member *member,
                        struct shared_byte **bytes, size_t *count);

#endif
