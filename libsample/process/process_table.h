/*
 * process_table.h - the processes that live, those that ended a moment ago, and the labels of process trees
 *
 * Processes that ended are kept in the order of their ends, for samples that come late; any sign of life makes a
 * process alive again. At most PROCESS_TABLE_ENDED_MAX are kept; the one that ended first is forgotten first.
 * A label is one text with a reference count, which its processes share. For each label the table counts the time in
 * which at least one process with it lived, by record times: label_begin_process() when a process gets the label,
 * label_end_process() when it ends or gets another. The owner takes the counted times periodically; a label without
 * processes stays until its time was taken.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROCESS_TABLE_H
#define DCPI_PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/address_space.h"
#include "process/context_table.h"

#define LABEL_SET_UNUSED_MAX 16384 /* labels without owners whose time was not taken; the time of more is lost */

struct label_set;
struct label; /* NULL: no label */

struct label_set *label_set_new(void);      /* NULL and errno (ENOMEM) */
void label_set_free(struct label_set *set); /* all labels were released; NULL is allowed */

/* The label of this text, with a reference that the caller owns. NULL: no memory. */
struct label *label_set_get(struct label_set *set, const char *text);
struct label *label_share(struct label *label);    /* one reference more; NULL is allowed */
void label_release(struct label *label);           /* one less; NULL is allowed */
const char *label_text(const struct label *label); /* "" when there is none */

/*
 * One more living process has the label from `time_ns` (record time) on, or one less. The caller owns a reference
 * meanwhile, and calls the second once for each call of the first.
 */
void label_begin_process(struct label *label, uint64_t time_ns);
void label_end_process(struct label *label, uint64_t time_ns);

/* In record time: from when to when, and how much of that, since it was last taken. */
struct label_time {
	const char *text;
	uint64_t begin_ns, end_ns;
	uint64_t elapsed_ns; /* not 0 */
};

/*
 * Call `take` with what was counted for each label since the last time, up to `now_ns`, until it returns something else
 * than 0; returns that. What `take` accepted is not reported again.
 */
int label_set_take(struct label_set *set, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
                   void *context);

/* ---- the processes ---- */

#define PROCESS_TABLE_ENDED_MAX 65536

#define PROCESS_IDLE    0
#define PROCESS_FOREIGN UINT32_MAX

/* Is this pid that of no process here: the idle task's, or that of a process of another pid namespace? */
static inline bool
process_is_foreign(uint32_t pid)
{
	return pid == PROCESS_IDLE || pid == PROCESS_FOREIGN;
}

/* The context a process had with its last sample, valid while the cgroup, the name and the session stay. */
struct context_cache {
	uint32_t session; /* the session of `number`; 0: none */
	uint64_t cgroup;
	uint32_t number;
};

struct process {
	uint32_t pid;
	bool ended;
	bool incomplete;   /* a mapping could not be remembered */
	bool outlived;     /* its main thread has ended, and others run on */
	bool one_thread;   /* its whole life was recorded, and it has had the main thread only */
	uint64_t ended_ns; /* record time of its end, or of the last sign of life since */
	uint64_t scan_ns;  /* record time at which its mappings were read from /proc; 0: they come from records alone */
	uint64_t mapped_ns; /* record time of its last mapping */
	uint64_t exec_ns;   /* record time of its fork or its last exec: all older mappings are gone */
	char comm[COMM_SIZE];
	uint64_t known_ns;           /* record time at which this process is known to have had the pid; 0: none */
	struct label *label;         /* with a reference; NULL: none */
	struct label *label_at_exec; /* to be set at its next exec; NULL: none */
	struct label *counted;       /* label_begin_process() was called with it; NULL: none */
	struct address_space *space; /* NULL: empty */
	struct context_cache context;

	/* the code that it made at run time (jit.h) */
	uint32_t parent;   /* 0: not known */
	uint64_t begun_ns; /* record time; 0: not known */
	struct mapped_image *code;
	uint64_t code_generation, code_base;
	char *jitdump;
};

struct process_table;

struct process_table *process_table_new(void); /* NULL and errno (ENOMEM) */
void process_table_free(struct process_table *table);

/* The process, or NULL; valid until it is replaced or expires. */
struct process *process_find(struct process_table *table, uint32_t pid);

/* The process, which is created when it is not there, and alive again when it had ended. NULL: no memory. */
struct process *process_ensure(struct process_table *table, uint32_t pid);

/* A new process under this pid, in place of any older one: nameless, of one thread, without mappings and label. NULL:
 * no memory. */
struct process *process_replace(struct process_table *table, uint32_t pid);

/* Begin its grace, or begin it again. */
void process_end(struct process_table *table, struct process *process, uint64_t now_ns);

/* process_end() for a process whose main thread ended, while others of its threads still run at `now_ns`. */
void process_outlive_main(struct process_table *table, struct process *process, uint64_t now_ns);

void process_rename(struct process *process, const char *comm);

void process_clear(struct process *process); /* removes its mappings */

/* An exec: another name, no mappings. */
void process_exec(struct process *process, const char *comm);

/* Label a process, and those that it starts from now on; NULL: no label. The caller keeps its reference. */
void process_label(struct process *process, struct label *label);
void process_label_at_exec(struct process *process, struct label *label); /* from its next exec on */
bool process_take_label(struct process *process); /* that exec; true when a label was waiting for it */

/* After any change of its label, or of its life: from `time_ns` on it counts for the label that it has, if it lives. */
void process_count_label(struct process *process, uint64_t time_ns);

/* A process that has not ended, each call the next one, round robin; NULL when there is none. */
struct process *process_next_living(struct process_table *table);

/* The process that has not ended behind `process`, NULL: the first; NULL when there is none. Reads only. */
struct process *process_next(const struct process_table *table, const struct process *process);

/* The one that has waited longest, if it ended at `until_ns` or before, else NULL: for process_forget() or
 * process_end().
 */
struct process *process_expired(struct process_table *table, uint64_t until_ns);
void process_forget(struct process_table *table, struct process *process); /* one that ended */

size_t process_table_size(const struct process_table *table);

#endif
