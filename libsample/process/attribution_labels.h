/*
 * attribution_labels.h - process trees that have a label
 *
 * A process gets a label at a moment, or with its first exec after a moment: what it did before is not of that name.
 * From then on it and all that it forks have it, threads, programs that they execute and daemons that leave the tree
 * included, until they end or are given another. Forks and execs are followed as the records tell of them, so that each
 * sample meets the label that its process had when it was taken; after records were lost, /proc tells whose child is
 * new. Thread rule: that of the attribution, one thread.
 */
#ifndef DCPI_PROCESS_ATTRIBUTION_LABELS_H
#define DCPI_PROCESS_ATTRIBUTION_LABELS_H

#include "process/attribution.h"
#include "process/label.h"

#define LABEL_SIZE          64   /* with its NUL */
#define LABELS_WAITING_MAX  4096 /* for their moment */
#define LABELS_WAIT_FOREVER UINT64_MAX

enum label_start {
	LABEL_AT_ONCE,
	LABEL_AT_EXEC,
};

/*
 * Process `pid` is to have `label` (not "", less than LABEL_SIZE bytes) from `time_ns` (record time, nothing that is
 * younger has been applied) or from its first exec after that. 0; -EBUSY when too many wait for their moment; -ENOMEM.
 */
int attribution_label(struct attribution *attribution, uint32_t pid, const char *label, enum label_start start,
                      uint64_t time_ns);

/*
 * The moment of the next label that waits: records up to it are to be applied, all of them and no others, before
 * attribution_begin_labels() is called with it. LABELS_WAIT_FOREVER: none waits.
 */
uint64_t attribution_next_label_ns(const struct attribution *attribution);
void attribution_begin_labels(struct attribution *attribution, uint64_t time_ns);

/* Does a process that lives have a label, or wait for one? */
bool attribution_has_labels(const struct attribution *attribution);

/* Counts the changes of which process has which label. */
uint64_t attribution_label_changes(const struct attribution *attribution);

/*
 * For how long processes had which label: as labels_take() (label.h). `known_ns` is the record time up to which all has
 * been applied.
 */
int attribution_take_label_times(struct attribution *attribution, uint64_t known_ns,
                                 int (*take)(void *context, const struct label_time *time), void *context);

/* ---- from one attribution to the next: dcpid begins anew, what it has labelled runs on ---- */

struct labelled_process {
	uint32_t pid;
	uint64_t start_ticks; /* process_birth.h: a later process of this pid is another one */
	char label[LABEL_SIZE];
};

struct labelled_processes {
	uint64_t known_ticks; /* processes that began before, and are not in the list, have no label */
	size_t count, capacity;
	struct labelled_process *list;
};

/*
 * Which processes live and have a label, or will have, for labelled_processes_fini(). `known_ns` is the record time up
 * to which all has been applied. 0 or -ENOMEM.
 */
int attribution_labelled(const struct attribution *attribution, uint64_t known_ns, struct labelled_processes *labelled);
void labelled_processes_fini(struct labelled_processes *labelled);

/*
 * Give those of them that still live their labels again, and so what they began since; after attribution_scan(), with
 * the present as record time. 0 or -ENOMEM.
 */
int attribution_label_again(struct attribution *attribution, const struct labelled_processes *labelled,
                            uint64_t time_ns);

#endif
