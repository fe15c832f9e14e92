/*
 * perf_data.h - what `perf record` wrote, record by record
 *
 * Reads both layouts (file and pipe), both byte orders, and records compressed with zstd; memory does not depend on the
 * length of the data. Records come in the order in which they were written. This is only roughly the order of time:
 * records behind two records of type RECORD_OTHER with PERF_DATA_ROUND are no older than records before both of them. A
 * signal whose handler does not restart reading ends it with -EINTR, so a signal can stop a program that waits for a
 * pipe. Tracing data are skipped, and so are auxiliary areas: a record says where in the file each piece of one is.
 * Fuzzed by tests/fuzz/perf_data_fuzz.c.
 * Thread rule: one thread.
 */
#ifndef DCPI_STREAM_PERF_DATA_H
#define DCPI_STREAM_PERF_DATA_H

#include <linux/perf_event.h>

#include "stream/counter_time.h"
#include "stream/record.h"

#define PERF_DATA_ROUND    68         /* perf's PERF_RECORD_FINISHED_ROUND */
#define PERF_DATA_NO_EVENT UINT32_MAX /* the record names an event that the file does not describe */
#define PERF_DATA_NODES    62         /* of the recorded machine; others are as unknown */
#define PERF_DATA_NO_NODE  UINT8_MAX  /* of a CPU whose node is not known */
#define PERF_DATA_ARM_SPE  4          /* perf's PERF_AUXTRACE_ARM_SPE */

struct perf_data;

struct perf_data_event {
	char *name; /* as on the command line; NULL: the file does not have it */
	struct perf_event_attr attr;
	struct record_layout layout;
};

/* The build-id of a file on the recorded machine. */
struct perf_data_build_id {
	uint32_t pid;       /* of a guest's machine, (uint32_t)-1: this one */
	enum cpu_mode mode; /* whose image it is */
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size;
	char *path;
};

struct perf_data_machine {
	char *host, *release, *architecture; /* as uname(1) prints them; NULL: unknown */
	char *cpu;                           /* its name; NULL: unknown */
	char *cpu_id;                        /* "GenuineIntel,6,142,10", or an ARM's MIDR as "0x..."; NULL: unknown */
	uint32_t cpu_count;                  /* online; 0: unknown */
	uint64_t first_ns, last_ns;          /* of samples, by their own clock; 0: unknown */
	/* NUMA nodes, numbered as the file lists them; some have memory alone. All 0: unknown. */
	uint32_t node_count;
	uint32_t node_cpu_count; /* CPUs of the first node that has some */
	uint8_t *cpu_nodes;      /* by CPU */
	uint32_t cpu_node_count; /* of these */
};

/* What fills the auxiliary areas: perf's PERF_RECORD_AUXTRACE_INFO. */
struct perf_data_auxtrace {
	uint32_t type; /* PERF_DATA_ARM_SPE, or another; 0: there are no such areas */
	uint64_t *words;
	size_t count; /* of `words`, which the type has a meaning for */
};

/* Where and why reading ended. */
struct perf_data_fault {
	uint64_t offset;  /* in the file; for a compressed record, of the record that contains it */
	const char *text; /* NULL: no fault */
};

/*
 * Begin to read `fd`: a file, or a pipe that `perf record -o -` fills. The caller keeps `fd` and closes it. 0 with
 * *data; -DCPI_EDAMAGED with *fault; -ENOMEM, or the errno of reading.
 */
int perf_data_open(int fd, struct perf_data **data, struct perf_data_fault *fault);
void perf_data_free(struct perf_data *data); /* NULL is allowed */

/*
 * The next record: 1 with *record (its strings are valid until the next call) and *event, an index into
 * perf_data_events() or PERF_DATA_NO_EVENT. 0 at the end. -DCPI_EDAMAGED (perf_data_fault()), -ENOMEM, or the errno of
 * reading: all records before were whole, and no more follow.
 */
int perf_data_next(struct perf_data *data, struct record *record, uint32_t *event);

struct perf_data_fault perf_data_fault(const struct perf_data *data);
uint64_t perf_data_offset(const struct perf_data *data); /* bytes that were read, for progress */

/*
 * What is known so far: of a file, everything from the start; of a pipe, more with each record. Valid until the next
 * perf_data_next().
 */
const struct perf_data_event *perf_data_events(const struct perf_data *data, size_t *count);
const struct perf_data_build_id *perf_data_build_ids(const struct perf_data *data, size_t *count);
const struct perf_data_machine *perf_data_machine(const struct perf_data *data);
const struct perf_data_auxtrace *perf_data_auxtrace(const struct perf_data *data);

/* From the processor's counter to the clock of records, unless an event named a clock of its own. Zeroed: unknown. */
const struct counter_time *perf_data_counter_time(const struct perf_data *data);

#endif
