/*
 * capture_account.h - what samples have paid for captures of packaged files, and what these are expected to cost
 *
 * Each sample pays CAPTURE_SAMPLE_PAYS_NS. A run begins when its expected cost has been saved, or the most that may be
 * saved; none begins in debt. Then its real cost is debited, whatever was expected: a run that cost more leaves a debt,
 * which later samples pay first. Hence at any time:
 *
 *     cost of all captures <= samples * CAPTURE_SAMPLE_PAYS_NS + debt
 *
 * where the debt is at most what the last run cost, storing included. So over a long time a sample pays no more than
 * CAPTURE_SAMPLE_PAYS_NS. A debt has no limit: a run that is ended after 20 s of processor time is paid for as others
 * are. What a child cost that cannot be killed is not known, and not debited.
 * The expected cost adapts to the machine: each run that had an answer corrects it by what it took.
 * Thread rule: the owner's lock.
 */
#ifndef DCPI_COLLECTORD_CAPTURE_ACCOUNT_H
#define DCPI_COLLECTORD_CAPTURE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_SAMPLE_PAYS_NS 10 /* a fifth of what perf record takes for a sample */

struct capture_account {
	int64_t saved_ns;  /* processor time; negative: a debt */
	int64_t most_ns;   /* that may be saved */
	double cost_ratio; /* of what runs took lately to what is reckoned for them */
};

/* What a run has to do. */
struct capture_work {
	uint64_t file_size;   /* bytes; 0: not known, and nothing is expected or learned of it */
	size_t granule_count; /* that have samples and are not captured yet: about as many procedures, or fewer */
};

void capture_account_init(struct capture_account *account, int64_t most_ns);

/* Samples were taken. True when there is more saved than before. */
bool capture_account_earn(struct capture_account *account, uint64_t samples);

/* Debit what was spent. */
void capture_account_spend(struct capture_account *account, uint64_t cost_ns);

/* A run that did this work took so much in all, storing included. */
void capture_account_learn(struct capture_account *account, const struct capture_work *work, uint64_t cost_ns);

/* Processor time that the work is expected to take. */
double capture_account_expected_ns(const struct capture_account *account, const struct capture_work *work);

/* May a run that does this work begin? */
bool capture_account_affords(const struct capture_account *account, const struct capture_work *work);

#endif
