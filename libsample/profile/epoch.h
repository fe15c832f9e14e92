/*
 * epoch.h - epochs and slices as the database keeps them
 *
 * An epoch is a stretch of collection with one configuration; slices are its resolution in time. Encoders and decoders
 * are inverse to each other; decoders are bounded and give -DCPI_EDAMAGED. Times are nanoseconds since 1970 (UTC).
 * Thread rule: stateless; functions on a store are its thread's.
 */
#ifndef DCPI_PROFILE_EPOCH_H
#define DCPI_PROFILE_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "event/event.h"
#include "process/image_table.h"

struct MDB_txn;
struct profile;
struct store;
struct store_walk;

#define EPOCH_TEXT_SIZE  256
#define EPOCH_LABEL_SIZE 64 /* with its NUL */

struct epoch {
	uint32_t id; /* the key, counts from 1 */
	uint64_t start_ns;
	uint64_t end_ns; /* of the last flush */
	char label[EPOCH_LABEL_SIZE];
	char host[EPOCH_TEXT_SIZE];
	char kernel[EPOCH_TEXT_SIZE]; /* release, version and machine, as uname -rvm */
	char cpu[EPOCH_TEXT_SIZE];    /* model name, of an x86 with vendor, family, model, flags */
	uint32_t cpu_count;           /* online */
	uint32_t overhead_limit_ppm;  /* of the machine, from which rates were chosen; 0: they were given */
	uint64_t start_cpu_ns;        /* processor time of dcpid's start; in no slice */
	bool is_kept;                 /* never dropped for age or size */
	bool is_imported;             /* from another database: "latest" prefers others */
	bool is_incoming;             /* its import has not ended: readers ignore it (merge_database.h) */
	bool continues;               /* with other rates, the epoch before: both are one collection */
	size_t event_count;
	struct event events[EVENTS_MAX];
};

struct slice_event {
	uint64_t samples; /* all that reached the daemon: attributed and unknown */
	uint64_t lost;
	uint64_t throttled; /* times the kernel stopped the event for a tick */
	uint64_t dropped;   /* given up because the database could not be written and memory was full; not in `lost` */
	uint64_t enabled_ns,
		running_ns; /* summed over CPUs; less running than enabled: events share counters. 0: not known */
	uint64_t unknown[UNKNOWN_CAUSE_COUNT];
};

/* Losses of one event on one CPU; only those that are not all zero are kept. */
struct slice_cpu {
	uint32_t cpu;
	uint16_t event; /* index into the epoch's events, or SLICE_SIDEBAND */
	uint64_t lost;
	uint64_t throttled;
	uint64_t skipped; /* records that could not be decoded; a ring's, said under the CPU's first event */
};
#define SLICE_SIDEBAND 0xffff /* mapping and process records, not an event */
#define SLICE_CPUS_MAX 65536

struct slice {
	uint32_t id; /* the key, counts from 1 */
	uint32_t epoch;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t daemon_cpu_ns; /* processor time dcpid used in it */
	uint64_t sideband_lost; /* mapping and process records lost: what follows may be unknown because of them */
	uint64_t skipped;       /* records that could not be decoded */
	size_t event_count;
	struct slice_event events[EVENTS_MAX];
	size_t cpu_count;
	struct slice_cpu *cpus; /* sorted by cpu, event; owned by the slice */
};

void slice_fini(struct slice *slice);

/*
 * The share of an event's enabled time in which it was on a counter, in percent: less than 100 when there are more
 * events than counters, or other users of counters. Negative when it is not known. Its counts are of that time only.
 */
#define SLICE_RUNNING_WHOLE 99.5 /* percent; from here on reports do not mention it */
double slice_event_running_percent(const struct slice_event *event);

/* The samples that could not be attributed, of all causes. */
uint64_t slice_event_unknown(const struct slice_event *event);

/* Add all numbers of `more` to `sum`; what would overflow stays at the largest number. */
void slice_event_add(struct slice_event *sum, const struct slice_event *more);

/* Add the numbers of `more` (same epoch and events) to `slice`; its end becomes that of `more`. 0, or -ENOMEM. */
int slice_add(struct slice *slice, const struct slice *more);

/*
 * The event whose samples event `index` weighs: event `E.sum` (EVENT_SUM_SUFFIX) has, for each offset, the events that
 * the samples of `E` at this offset stand for beyond their number times the period of `E`. An index into epoch->events;
 * epoch->event_count for an event that has samples of its own.
 */
size_t epoch_weighed_event(const struct epoch *epoch, size_t index);

/* Whether the epoch in a value is incoming, without the rest of it; false for what cannot be read. */
bool epoch_value_is_incoming(const void *data, size_t size);

void epoch_encode(const struct epoch *epoch, struct byte_writer *writer);
int epoch_decode(uint32_t id, const void *data, size_t size, struct epoch *epoch);
void slice_encode(const struct slice *slice, struct byte_writer *writer);
int slice_decode(uint32_t id, const void *data, size_t size, struct slice *slice);

/* ---- in the store (for profile/ and salvage/) ---- */

/*
 * Step through TABLE_EPOCHS, from store_walk_begin() on: 1 with the next epoch that is not incoming (merge_database.h),
 * 0 at the end; -DCPI_EDAMAGED, ...
 */
int epoch_walk_next(struct store_walk *walk, struct epoch *epoch);

/* Each: 0; -ENOENT when there is none with this id; -DCPI_EDAMAGED, ... */
int epoch_read(const struct store *store, struct MDB_txn *txn, uint32_t id, struct epoch *epoch);
int epoch_write(const struct store *store, struct MDB_txn *txn, const struct epoch *epoch);
int slice_read(const struct store *store, struct MDB_txn *txn, uint32_t id, struct slice *slice);
int slice_write(const struct store *store, struct MDB_txn *txn, const struct slice *slice);

struct slice_entry {
	uint32_t id;
	uint32_t epoch;
	uint64_t start_ns, end_ns;
	bool is_kept, is_incoming; /* flags of its epoch, set by epoch_marks_read() */
};

struct slice_list {
	struct slice_entry *slices; /* ascending by id */
	size_t count, capacity;
};

/* 0 or an error; *list is the caller's to free, also after an error. */
int slice_list_read(const struct store *store, struct MDB_txn *txn, struct slice_list *list);
void slice_list_fini(struct slice_list *list);

/* How many epochs are kept, and how many are incoming; none is both. */
struct epoch_marks {
	uint64_t kept, incoming;
};

/* Count them into *marks, and set the flags of their slices in `list`; each may be NULL. 0 or an error. */
int epoch_marks_read(const struct store *store, struct MDB_txn *txn, struct slice_list *list,
                     struct epoch_marks *marks);

/*
 * Take at most `max` blocks - of counts, then of edges, then times of labels - from slice `from` and add them to slice
 * `to`, or drop them when it is 0. taken[event] is the samples that were in them. How many blocks, or an error.
 */
int64_t slice_take_blocks(struct profile *profile, struct MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                          uint64_t taken[EVENTS_MAX]);

/* Subtract the samples that were taken. */
void slice_subtract(struct slice *slice, const uint64_t taken[EVENTS_MAX]);

/* ---- the machine that an epoch is of ---- */

/* Fill host, kernel and cpu of `epoch` from uname(2) and files below `procfs` ("/proc"). Never fails: "" is unknown. */
void epoch_host_describe(const char *procfs, struct epoch *epoch);

/*
 * The model of the first processor in the text of /proc/cpuinfo; "" when it has none. code/pipeline.c reads it:
 * "AMD EPYC (AuthenticAMD family 25 model 17)", "ARM implementer 0x41, part 0xd0c". An x86 with AMX has it,
 * "... (GenuineIntel family 6 model 167 with amx_tile)": hypervisors give the numbers of an older model, but the
 * instructions identify it.
 */
void epoch_host_cpu_model(const char *cpuinfo, char *model, size_t size);

#endif
