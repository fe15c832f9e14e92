/*
 * process_labels.h - process trees that have a label
 *
 * A process gets a label at a given time, or with its first exec after a given time; its samples from before do not
 * have that label. From then on the process and everything that it forks have the label, including threads, programs
 * that they execute and daemons that leave the tree, until they end or get another. Records of forks and execs are
 * followed (process_labels_follow()), so that each sample has the label that its process had when it was taken. After
 * records were lost, /proc says which parent a new process has.
 * Thread rule: that of the attribution, one thread.
 */
#ifndef DCPI_PROCESS_PROCESS_LABELS_H
#define DCPI_PROCESS_PROCESS_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"
#include "process/process_table.h"
#include "stream/record.h"

#define LABEL_SIZE          64   /* with its NUL */
#define LABELS_WAITING_MAX  4096 /* whose time has not come */
#define LABELS_WAIT_FOREVER UINT64_MAX

enum label_start {
	LABEL_AT_ONCE,
	LABEL_AT_EXEC,
};

struct process_labels; /* attribution_labels() gives that of an attribution */

/*
 * Process `pid` is to have `label` (not "", less than LABEL_SIZE bytes) from `time_ns` (record time; nothing that is
 * younger has been applied) or from its first exec after that. 0; -EBUSY when LABELS_WAITING_MAX wait; -ENOMEM.
 */
int process_labels_add(struct process_labels *labels, uint32_t pid, const char *label, enum label_start start,
                       uint64_t time_ns);

/*
 * The time of the next label that waits: the owner applies all records up to it, and no others, and then calls
 * process_labels_begin() with it. LABELS_WAIT_FOREVER: none waits.
 */
uint64_t process_labels_next_ns(const struct process_labels *labels);
void process_labels_begin(struct process_labels *labels, uint64_t time_ns);

/* Does a process that lives have a label, or wait for one? */
bool process_labels_any(const struct process_labels *labels);

/* Counts the changes of which process has which label. */
uint64_t process_labels_changes(const struct process_labels *labels);

/*
 * For how long processes had which label: as label_set_take(). All records up to `known_ns` (record time) have been
 * applied.
 */
int process_labels_take_times(struct process_labels *labels, uint64_t known_ns,
                              int (*take)(void *context, const struct label_time *time), void *context);

/* ---- from one attribution to the next: dcpid starts again, and the processes that it has labelled run on ---- */

struct labelled_process {
	uint32_t pid;
	uint64_t start_ticks; /* struct proc_stat: a later process of this pid has another */
	char label[LABEL_SIZE];
};

struct labelled_processes {
	uint64_t known_ticks; /* processes that began before, and are not in the list, have no label */
	size_t count, capacity;
	struct labelled_process *list;
};

/*
 * List the processes that live and have a label, or will have, for labelled_processes_fini(). All records up to
 * `known_ns` (record time) have been applied. 0 or -ENOMEM.
 */
int process_labels_save(const struct process_labels *labels, uint64_t known_ns, struct labelled_processes *labelled);
void labelled_processes_fini(struct labelled_processes *labelled);

/*
 * Give the processes of the list that still live their labels again, and also those that they have started since; after
 * processes were read from /proc, with the present as record time. 0 or -ENOMEM.
 */
int process_labels_restore(struct process_labels *labels, const struct labelled_processes *labelled, uint64_t time_ns);

/* ---- for the attribution ---- */

/* Both are borrowed. NULL and errno (ENOMEM). Freed after the table; NULL is allowed. */
struct process_labels *process_labels_new(struct process_table *processes, const char *procfs);
void process_labels_free(struct process_labels *labels);

/* Follow a record that was applied to the table, or that was ignored because a scan has read the process later. */
void process_labels_follow(struct process_labels *labels, const struct record *record);

/* The process was found to have ended, without a record. */
void process_labels_ended(struct process_labels *labels, const struct process *process);

/*
 * A scan of /proc: each process with its birth (0 or -ENOMEM), and at the end those that are new, and of which no
 * record came, get the labels of their parents. `time_ns` is the record time at which the scan began.
 */
void process_labels_scan_begin(struct process_labels *labels);
int process_labels_scanned(struct process_labels *labels, uint32_t pid, const struct proc_stat *birth);
void process_labels_scan_end(struct process_labels *labels, uint64_t time_ns);

#endif
