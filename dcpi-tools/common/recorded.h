/*
 * recorded.h - what was seen of an image's paths, beside its samples
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_RECORDED_H
#define DCPI_TOOLS_RECORDED_H

#include "analysis/procedure.h"
#include "profile/profile.h"

struct recorded_event {
	uint32_t epoch; /* 0: there is nothing */
	struct procedure_paths paths;
};

struct recorded {
	struct recorded_event exact;    /* event `executions` */
	bool is_emulated;               /* by dcpiemu, while it sampled; else by dcpix */
	struct recorded_event branches; /* events `branch-stacks` and `branch-runs` */
	struct recorded_event bursts;   /* event `bursts` */
};

/*
 * Read the newest of each kind for image `number` (the database's); but what dcpiemu samples it counts as well. 0, also
 * when there is nothing; an error of the database; -ENOMEM.
 */
int recorded_read(struct profile *profile, const struct selection *selection, uint32_t number,
                  struct recorded *recorded);
void recorded_fini(struct recorded *recorded); /* a zeroed one is allowed */

/* The newest epoch of a selection with samples that match, if dcpiemu made it; else 0. */
uint32_t recorded_emulated_epoch(const struct selection *selection);

#endif
