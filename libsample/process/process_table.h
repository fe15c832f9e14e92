/*
 * process_table.h - the processes that live, and those that ended a moment ago
 *
 * A process that ended waits in the order of endings for its late samples; any sign of life takes it back. At most
 * PROCESS_TABLE_ENDED_MAX wait; the one that has waited longest goes first.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_PROCESS_TABLE_H
#define DCPI_PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/address_space.h"
#include "process/context_table.h"
#include "process/label.h"

#define PROCESS_TABLE_ENDED_MAX 65536

/* The context a process had with its last sample, valid while the cgroup, the name and the session stay. */
struct context_cache {
	uint32_t session; /* whose number it is; 0: nobody's */
	uint64_t cgroup;
	uint32_t number;
};

struct process {
	uint32_t pid;
	bool ended;
	bool incomplete;   /* a mapping could not be remembered */
	bool outlived;     /* its main thread has ended, and others go on */
	bool one_thread;   /* all its life was seen, and no thread but the main one */
	uint64_t ended_ns; /* record time of its end, or of the last sign of life since */
	uint64_t scan_ns;  /* record time at which its mappings were read from /proc; 0: they come from records alone */
	uint64_t mapped_ns; /* record time at which it was last told to map something */
	uint64_t exec_ns;   /* record time at which all that was mapped before was gone: its fork or its last exec */
	char comm[COMM_SIZE];
	uint64_t known_ns;           /* record time at which it was this process that has the pid; 0: nobody told */
	struct label *label;         /* its own share; NULL: none */
	struct label *label_at_exec; /* that it gets with its next exec; NULL: none */
	struct label *counted;       /* the label that it was begun for (label.h); NULL: none */
	struct address_space *space; /* NULL: empty */
	struct context_cache context;

	/* what it made at run time (code_maker.h) */
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

/* The process, made when it is not there, alive again when it had ended. NULL: no memory. */
struct process *process_ensure(struct process_table *table, uint32_t pid);

/* A new process under this pid: nameless, of one thread, without mappings and label, whatever was there before. NULL:
 * no memory. */
struct process *process_renew(struct process_table *table, uint32_t pid);

/* Begin its grace, or begin it anew. */
void process_end(struct process_table *table, struct process *process, uint64_t now_ns);

/* As process_end(), for a process whose main thread ended, while others of its threads still run at `now_ns`. */
void process_go_on(struct process_table *table, struct process *process, uint64_t now_ns);

void process_rename(struct process *process, const char *comm);

void process_clear(struct process *process); /* takes its mappings */

/* What exec does to it: another name, no mappings. */
void process_exec(struct process *process, const char *comm);

/* Its label, and of what it begins, is this from now on; NULL: it has none. `label` remains the caller's. */
void process_label(struct process *process, struct label *label);
void process_label_at_exec(struct process *process, struct label *label); /* with its next exec, not yet */
bool process_take_label(struct process *process); /* that exec has come; true when a label was waiting for it */

/* After any change of its label, or of its life: from `time_ns` on it counts for the label that it has, if it lives. */
void process_count_label(struct process *process, uint64_t time_ns);

/* A process that has not ended, each in its turn; NULL when there is none. */
struct process *process_next_living(struct process_table *table);

/* Call `visit` with each process that has not ended, until it says something else than 0; returns that. */
int process_each(const struct process_table *table, int (*visit)(void *context, struct process *process),
                 void *context);

/* The one that has waited longest, if it ended at `until_ns` or before, else NULL: to be forgotten or ended anew. */
struct process *process_expired(struct process_table *table, uint64_t until_ns);
void process_forget(struct process_table *table, struct process *process); /* one that ended */

size_t process_table_size(const struct process_table *table);

#endif
