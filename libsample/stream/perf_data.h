/*
 * perf_data.h - what `perf record` wrote, record by record
 *
 * Both layouts (file and pipe), both byte orders, records compressed with zstd; memory does not depend on the length of
 * the data. Records come in the order in which they were written, which is that of time only between two records of
 * type RECORD_OTHER with PERF_DATA_ROUND: what comes after the second is no older than what came before the first.
 * A signal whose handler does not restart reading ends it with -EINTR, so that whoever waits for a pipe can be told to
 * stop. What auxiliary areas and tracing data hold is passed over. Fuzzed by tests/fuzz/perf_data_fuzz.c.
 * Thread rule: one thread.
 */
#ifndef DCPI_STREAM_PERF_DATA_H
#define DCPI_STREAM_PERF_DATA_H

#include <linux/perf_event.h>

#include "stream/record.h"

#define PERF_DATA_ROUND    68         /* perf's PERF_RECORD_FINISHED_ROUND */
#define PERF_DATA_NO_EVENT UINT32_MAX /* the record names one that the file does not tell of */

struct perf_data;

struct perf_data_event {
	char *name; /* as the command line had it; NULL: the file does not tell */
	struct perf_event_attr attr;
	struct record_layout layout;
};

/* What a file of the recorded machine was. */
struct perf_data_build_id {
	uint32_t pid;       /* of a guest's machine, (uint32_t)-1: this one */
	enum cpu_mode mode; /* whose image it is */
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size;
	char *path;
};

struct perf_data_machine {
	char *host, *release, *architecture; /* as uname(1) tells them; NULL: unknown */
	char *cpu;                           /* its name; NULL: unknown */
	char *cpu_id;                        /* "GenuineIntel,6,142,10", or an ARM's MIDR as "0x..."; NULL: unknown */
	uint32_t cpu_count;                  /* online; 0: unknown */
	uint64_t first_ns, last_ns;          /* of samples, by their own clock; 0: unknown */
};

/* Where and why it ended. */
struct perf_data_fault {
	uint64_t offset;  /* in the file; of what was compressed: of the record that held it */
	const char *text; /* NULL: no fault */
};

/*
 * Begin to read `fd`, which stays the caller's: a file, or a pipe that `perf record -o -` fills. 0 with *data;
 * -DCPI_EDAMAGED (*fault tells more), -ENOMEM, or the errno of reading.
 */
int perf_data_open(int fd, struct perf_data **data, struct perf_data_fault *fault);
void perf_data_free(struct perf_data *data); /* NULL is allowed */

/*
 * The next record: 1 with *record (its strings are valid until the next call) and *event, an index into
 * perf_data_events() or PERF_DATA_NO_EVENT. 0 at the end. -DCPI_EDAMAGED (perf_data_fault()), -ENOMEM, or the errno of
 * reading: all that came before was whole, and nothing comes behind.
 */
int perf_data_next(struct perf_data *data, struct record *record, uint32_t *event);

struct perf_data_fault perf_data_fault(const struct perf_data *data);
uint64_t perf_data_offset(const struct perf_data *data); /* bytes that were read, for progress */

/*
 * What is known by now: all of it from the start in a file, bit by bit in a pipe. Valid until the next
 * perf_data_next().
 */
const struct perf_data_event *perf_data_events(const struct perf_data *data, size_t *count);
const struct perf_data_build_id *perf_data_build_ids(const struct perf_data *data, size_t *count);
const struct perf_data_machine *perf_data_machine(const struct perf_data *data);

#endif
