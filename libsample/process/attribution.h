/*
 * attribution.h - from (process, address) to (image, offset, context)
 *
 * The one place that knows which image was mapped where, in which process, since when. Records are applied in time
 * order (stream/merge.h gives them so), samples are looked up in between, so each meets the map that was valid when it
 * was taken. /proc is read at the start and never on behalf of a sample; the one exception is the list of kernel
 * modules, which is read again at most once a second when a kernel address lies nowhere. When records were lost, what
 * the others say is no longer true, and the owner may have /proc read again.
 *
 * Rules worth knowing
 *  - fork copies the parent's map (shared until one of them changes it), exec empties it. Exit of the main thread takes
 *    it when there was never another; else those may go on, and it is kept until `exit_grace_ns` have passed in record
 *    time. The name stays that long in any case.
 *  - What a record says of a process that /proc was read about later is known already: the record is passed by.
 *  - There is no record of munmap: a mapping lives until another covers it. New mappings cut or replace old ones.
 *  - An anonymous executable mapping that lies inside a file's text and begins and ends on a 2 MiB boundary is that
 *    text moved to huge pages: samples stay with the file. Where that happened before the scan, the file must go on
 *    behind the mapping.
 *  - A recording tells of the kernel and its modules as mappings of no process (options.elsewhere).
 *  - Labels of process trees: attribution_labels.h.
 *  - pid 0 outside the idle task, or (uint32_t)-1, is a process of another pid namespace. In a namespace below the
 *    machine's, pid 0 is the idle task and every process outside; its kernel work is nobody's.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_ATTRIBUTION_H
#define DCPI_PROCESS_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/code_maker.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/kallsyms_copy.h"
#include "stream/record.h"
#include "tally/tally.h"

/* Why a sample has no image. Stored in the database: append only. Name and sentence for each. */
#define UNKNOWN_CAUSES(X)                                                                                              \
	X(UNKNOWN_PROCESS, "no-process", "the process was never seen")                                                 \
	X(UNKNOWN_ADDRESS, "no-mapping", "the address lies in no known mapping of the process")                        \
	X(UNKNOWN_NAMESPACE, "other-pid-namespace", "the process lives in another pid namespace than dcpid")           \
	X(UNKNOWN_KERNEL_HIDDEN, "kernel-hidden",                                                                      \
	  "kernel addresses are hidden from dcpid (kptr_restrict, CAP_SYSLOG)")                                        \
	X(UNKNOWN_KERNEL_ADDRESS, "kernel-address", "the kernel address lies in no known module or function")          \
	X(UNKNOWN_GUEST, "guest", "taken in a virtual machine's guest")                                                \
	X(UNKNOWN_MODE, "mode", "the processor mode was not recorded")                                                 \
	X(UNKNOWN_MEMORY, "no-memory", "dcpid had no memory to remember the image or its mapping")                     \
	X(UNKNOWN_RECORDS, "records-missed",                                                                           \
	  "a record about the process was lost, or it began on a CPU that had just come online")

enum unknown_cause {
#define UNKNOWN_CAUSE_VALUE(name, id, text) name,
	UNKNOWN_CAUSES(UNKNOWN_CAUSE_VALUE)
#undef UNKNOWN_CAUSE_VALUE
		UNKNOWN_CAUSE_COUNT
};

const char *unknown_cause_name(unsigned cause); /* "no-process", ...; "other" for a number out of range */
const char *unknown_cause_text(unsigned cause);

struct attribution_options {
	const char *procfs;         /* "/proc" */
	const char *sysfs;          /* "/sys" */
	const char *cgroupfs;       /* "/sys/fs/cgroup": ids of the cgroups that exist already are read below it */
	uint64_t exit_grace_ns;     /* how long the map of a process that ended is kept, 0: 10 s, after a scan 1 s */
	uint64_t (*clock_ns)(void); /* the time now, as the records tell it; NULL: CLOCK_MONOTONIC */
	const struct kernel_known *kernel; /* NULL: nothing is known of it before the scan, which is when it is asked */
	const struct log *log;             /* NULL is allowed */
	bool tells_code_makers; /* processes that execute memory without a file have an image each (code_maker.h) */
	bool elsewhere; /* records of another machine, or of another time: they say what its kernel consists of, and
	                   nothing of this machine is looked at */
};

struct attribution;

/* Tables, and the strings of the options, are borrowed and must outlive the attribution. NULL and errno (ENOMEM). Reads
 * nothing yet. */
struct attribution *attribution_new(const struct attribution_options *options, struct image_table *images,
                                    struct context_table *contexts);
void attribution_free(struct attribution *attribution); /* NULL is allowed */

/*
 * Give numbers of these tables, which are empty, from now on: nothing keeps a number or a name of the old ones, and
 * what is mapped where stays known.
 */
void attribution_renew(struct attribution *attribution, struct image_table *images, struct context_table *contexts);

/*
 * Read what is there already of the machine itself: kernel, modules, BPF programs and cgroups. To be called once, after
 * the events are open (so that nothing falls between) and before the first record is applied. 0 or -ENOMEM. Processes
 * and their mappings are told by who has read them: attribution_found.h.
 */
int attribution_begin(struct attribution *attribution);

/*
 * attribution_begin(), and read processes and their mappings at once, which may take as long as any of them waits for
 * its disk. 0, -ENOMEM, or the errno of /proc itself; a process that ends while it is read is no error, nor is one with
 * more mappings than can be remembered.
 */
int attribution_scan(struct attribution *attribution);

/* Say that so many processes may not be looked at. */
void attribution_say_refused(const struct attribution *attribution, unsigned count, const struct log *log);

/* The kernel's symbols as the scan read them, the caller's from now on; NULL: it did not, or they were taken. */
struct kallsyms_copy *attribution_take_symbols(struct attribution *attribution);

/*
 * Read cgroups, processes and their mappings again at once, because records were lost: between two records, as late as
 * can be. Errors as above; what cannot be read has been said.
 */
int attribution_rescan(struct attribution *attribution);

/*
 * Records were lost, or nobody recorded on a CPU for a while: what finds no process or no mapping is UNKNOWN_RECORDS,
 * until /proc is read again.
 */
void attribution_miss_records(struct attribution *attribution);

/* Apply a record that is not a sample; others than mmap, comm, fork, exit, ksymbol and cgroup are ignored. 0 or
 * -ENOMEM. */
int attribution_apply(struct attribution *attribution, const struct record *record);

/* With `tells_code_makers`: as code_makers_take() and code_makers_renew(). */
bool attribution_take_code_maker(struct attribution *attribution, struct code_maker *maker);
void attribution_renew_code(struct attribution *attribution, uint32_t pid, uint64_t generation);

/* Fill key->image, ->offset and ->context for a sample. 0, or 1 + the enum unknown_cause. key->event is left alone. */
int attribution_sample(struct attribution *attribution, const struct record *record, struct sample_key *key);

/*
 * Forget processes whose grace has passed by `now_ns` (record time). After a scan the kernel is asked, too: whether
 * they have threads that outlived the main one, and, of a few of those that should live, whether they do, so that a
 * lost record of an end does not keep a process for ever. Cgroups that are gone are forgotten, too, for no record tells
 * of their end. Cheap; once a drain round.
 */
void attribution_expire(struct attribution *attribution, uint64_t now_ns);

/* Who was last seen to run an image: a hint, for the process may have ended, and the mapping gone. */
struct image_place {
	uint32_t pid;        /* 0: nobody's, as the kernel's */
	uint64_t start, end; /* addresses of the mapping; the kernel's text exactly, a module with its data */
};

/* The place of image `number` of the present tables; zeros when there is none. */
struct image_place attribution_place(const struct attribution *attribution, uint32_t number);

/* A file that got samples, and that nobody was asked about since it was mapped. */
struct sampled_file {
	const struct image *image; /* of the present tables */
	struct image_place place;
};

/*
 * The next file of a live machine whose build-id is to be found out, or looked at again: it was mapped again a second
 * or more after the last time, and may have been written to. False: none.
 */
bool attribution_take_file(struct attribution *attribution, struct sampled_file *file);

/* The file of `image` holds something else now, the `content`th after the first: its samples belong to another image.
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
