/*
 * attribution.h - from (process, address) to (image, offset, context)
 *
 * The only place that knows which image was mapped where, in which process, since when. Records are applied in time
 * order, in which stream/merge.h delivers them. Samples are looked up in between, so that each is looked up in the map
 * that was valid when it was taken. /proc is read at the start and never on behalf of a sample; the one exception is
 * the list of kernel modules, which is read again at most once a second when a kernel address lies nowhere. After
 * records were lost the map may be wrong, and the owner may have /proc read again.
 *
 * Rules worth knowing
 *  - fork copies the parent's map (shared until one of them changes it), exec empties it. The exit of the main thread
 *    frees the map if there was never another thread. Otherwise other threads may continue, and the map is kept until
 *    `exit_grace_ns` have passed in record time. The name is always kept that long.
 *  - A record that is older than the reading of its process from /proc is ignored: its effect is known already.
 *  - There is no record of munmap: a mapping lives until another covers it. New mappings cut or replace old ones.
 *  - An anonymous executable mapping that lies inside a file's text and begins and ends on a 2 MiB boundary is that
 *    text moved to huge pages: samples stay with the file. If it was moved before the scan, the file must continue
 *    behind the mapping.
 *  - A recording describes the kernel and its modules as mappings of no process (options.offline).
 *  - Labels of process trees: process_labels.h.
 *  - pid 0 outside the idle task, or (uint32_t)-1, is a process of another pid namespace. In a namespace below the
 *    machine's, pid 0 is the idle task and every process outside; its kernel work belongs to no process.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_ATTRIBUTION_H
#define DCPI_PROCESS_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/jit.h"
#include "process/kallsyms.h"
#include "process/proc.h"
#include "process/process_labels.h"
#include "stream/record.h"
#include "tally/tally.h"

struct attribution_options {
	const char *procfs;         /* "/proc" */
	const char *sysfs;          /* "/sys" */
	const char *cgroupfs;       /* "/sys/fs/cgroup": ids of the cgroups that exist already are read below it */
	uint64_t exit_grace_ns;     /* how long the map of a process that ended is kept, 0: 10 s, after a scan 1 s */
	uint64_t (*clock_ns)(void); /* the present as record time; NULL: CLOCK_MONOTONIC */
	const struct kernel_known *kernel; /* used by the scan only; NULL: nothing is known of the kernel before it */
	const struct log *log;             /* NULL is allowed */
	bool tracks_jit;                   /* processes that execute memory without a file have an image each (jit.h) */
	bool offline; /* records of another machine, or of another time: they describe its kernel, and nothing of this
	                 machine is read */
};

struct attribution;

/* Tables, and the strings of the options, are borrowed and must outlive the attribution. NULL and errno (ENOMEM). Reads
 * nothing yet. */
struct attribution *attribution_new(const struct attribution_options *options, struct image_table *images,
                                    struct context_table *contexts);
void attribution_free(struct attribution *attribution); /* NULL is allowed */

/*
 * Give numbers of these tables, which are empty, from now on. No number or name of the old tables is kept; the mappings
 * stay known.
 */
void attribution_reset_ids(struct attribution *attribution, struct image_table *images, struct context_table *contexts);

/*
 * Read what the machine itself has already: kernel, modules, BPF programs and cgroups. Call it once, after the events
 * are open (so that nothing falls between) and before the first record is applied. 0 or -ENOMEM. Processes and their
 * mappings are reported by their reader: attribution_found_process().
 */
int attribution_begin(struct attribution *attribution);

/* Log that the mappings of so many processes may not be read. */
void attribution_log_refused(const struct attribution *attribution, unsigned count, const struct log *log);

/* The kernel's symbols as the scan read them, which the caller owns from now on; NULL: it did not, or they were taken.
 */
struct kallsyms_copy *attribution_take_symbols(struct attribution *attribution);

/* ---- processes that were read from /proc ----
 *
 * Reading may wait for a process that waits for its disk, so the reader is a child of dcpid (collectord/proc_reader.h),
 * and its results arrive while records are applied: some of the records may be younger than the reading. So each
 * process comes with the time at which its reading began.
 *  - Records from before that time are known, and ignored.
 *  - What was applied from then on is newer: its mappings stay, and those that were found are put below. Of a process
 *    that has been forked or has executed another program since, the findings are ignored.
 *  - A process that has ended since is not brought back; its late samples find what it had mapped.
 * Between attribution_found_begin() and attribution_found_end() a sample whose process or mapping is not known may be
 * looked up again later: attribution_awaits().
 */

struct found_process {
	uint32_t pid;
	uint64_t time_ns; /* record time at which its reading began */
	const char *comm;
	struct proc_stat birth; /* zeros: not known */
};

/* All processes are being read, or some. */
void attribution_found_begin(struct attribution *attribution, bool all);

/* A process, then its mappings in ascending order. 0 or -ENOMEM: it is not remembered. */
int attribution_found_process(struct attribution *attribution, const struct found_process *process);
void attribution_found_mapping(struct attribution *attribution, const struct record_mmap *mmap);
int attribution_found_cgroup(struct attribution *attribution, uint64_t id, const char *path);

/* The last process of attribution_found_process() is complete. */
void attribution_found_process_end(struct attribution *attribution);

/* All, or some, have been read; `all` as in the beginning. */
void attribution_found_end(struct attribution *attribution, bool all);

/* The sample has no image for `cause` (enum unknown_cause), and may get one from what is being read. */
bool attribution_awaits(const struct attribution *attribution, const struct record *record, unsigned cause);

/* ---- records and samples ---- */

/* Records were lost, or a CPU was not recorded for a while: a sample without process or mapping is UNKNOWN_RECORDS,
 * until /proc is read again. */
void attribution_records_lost(struct attribution *attribution);

/* Apply a record that is not a sample; others than mmap, comm, fork, exit, ksymbol and cgroup are ignored. 0;
 * -ENOSPC: there are as many mappings as it follows, samples there are UNKNOWN_MEMORY; -ENOMEM: as that, or the process
 * is not known. */
int attribution_apply(struct attribution *attribution, const struct record *record);

/* The labels of its processes, borrowed. */
struct process_labels *attribution_labels(const struct attribution *attribution);

/* With `tracks_jit`: as jit_processes_take() and jit_processes_reset(). */
bool attribution_take_jit_process(struct attribution *attribution, struct jit_process *process);
void attribution_reset_jit(struct attribution *attribution, uint32_t pid, uint64_t generation);

/* Fill key->image, ->offset and ->context for a sample. 0, or 1 + the enum unknown_cause. key->event is left alone. */
int attribution_sample(struct attribution *attribution, const struct record *record, struct sample_key *key);

/* ---- samples that are looked up later, in what their process had mapped when they were taken ---- */

struct address_space;

struct attribution_moment {
	struct address_space *space; /* the owner's, who releases it (address_space_release()) */
	uint32_t context;            /* of the sample */
};

/* What the process has mapped now. NULL: nothing, or it is not known. */
struct address_space *attribution_share_space(struct attribution *attribution, uint32_t pid);

/* attribution_sample() for an address of user mode in the sample's process, in the maps of that moment. */
int attribution_sample_then(struct attribution *attribution, const struct attribution_moment *moment,
                            const struct record *record, struct sample_key *key);

/* attribution_sample() for a sample that has waited: it does not belong to a program that was executed since. */
int attribution_sample_late(struct attribution *attribution, const struct record *record, struct sample_key *key);

/*
 * Forget processes whose grace has passed by `now_ns` (record time). After a scan the kernel is asked, too: whether
 * they have threads that outlived the main one, and, of a few of those that should live, whether they do, so that a
 * lost record of an end does not keep a process for ever. Cgroups that are gone are forgotten, too, because no record
 * announces their end. Cheap; once a drain round.
 */
void attribution_expire(struct attribution *attribution, uint64_t now_ns);

/* The process that was last seen to run an image: a hint, for it may have ended, and the mapping may be gone. */
struct image_place {
	uint32_t pid;        /* 0: none, as for the kernel */
	uint64_t start, end; /* addresses of the mapping; the kernel's text exactly, a module with its data */
};

/* The place of image `number` of the present tables; zeros when there is none. */
struct image_place attribution_place(const struct attribution *attribution, uint32_t number);

/* A file that got samples, and that attribution_take_file() has not returned since it was mapped. */
struct sampled_file {
	const struct image *image; /* of the present tables */
	struct image_place place;
};

/*
 * The next file of a live machine whose build-id is to be read, or read again: it was mapped again a second or more
 * after the last time, and may have been written to. False: none.
 */
bool attribution_take_file(struct attribution *attribution, struct sampled_file *file);

/* The file of `image` has other content now, the `content`th after the first: its samples belong to another image.
 * 0 or -ENOMEM. */
int attribution_change_file(struct attribution *attribution, const struct image *image, uint32_t content);

/* How much is remembered: for status and for tests that watch memory. */
struct attribution_stats {
	size_t processes; /* alive or in their grace */
	size_t mappings;  /* in all address spaces, shared ones once */
	size_t images;
	size_t contexts;
	bool is_full;     /* a new image or context had no room in the session's tables */
	size_t cgroups;   /* whose names are known */
	uint64_t scan_ns; /* how long the last scan took */
};
void attribution_stats(const struct attribution *attribution, struct attribution_stats *stats);

#endif
