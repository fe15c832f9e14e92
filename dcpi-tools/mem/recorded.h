/*
 * recorded.h - the memory profile of a recording of perf: samples of accesses by `perf mem` or `perf c2c`, or what
 * Arm's SPE wrote
 *
 * Nothing in the file is trusted. Fuzzed by tests/fuzz/mem_import_fuzz.c. Memory grows with the number of processes and
 * of different objects; samples beyond a limit are thinned.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_RECORDED_H
#define DCPI_TOOLS_MEM_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/mem/spe_areas.h"
#include "memory/data_source.h"
#include "memory/memory_profile.h"
#include "profile/epoch.h"
#include "stream/perf_data.h"

/* What a recording without such samples has instead. */
enum recorded_kind {
	RECORDED_ACCESSES, /* its events sample addresses of data, or Arm's SPE does */
	RECORDED_NO_ADDRESSES,
	RECORDED_OTHER_CLOCK, /* its times are not those of the objects in the directory */
	/* Arm's SPE sampled, but: */
	RECORDED_SPE_PIPE,        /* only a file has its records in the order of time */
	RECORDED_SPE_NO_TIME,     /* they have no times, or no one can say which */
	RECORDED_SPE_OTHER_CLOCK, /* their times are not those of the recording's other records */
	RECORDED_SPE_OBJECTS,     /* their times are not those of the objects in the directory */
};

struct recorded_request {
	int fd;                /* the caller's */
	const char *directory; /* of trackers' logs, which are consumed; NULL: none */
	size_t access_max;     /* that are kept */
};

struct recorded_outcome {
	struct memory_profile profile;    /* if samples > 0 */
	struct data_source_counts counts; /* of all samples with addresses */
	struct spe_areas_counts spe;      /* of Arm's SPE */
	enum recorded_kind kind;
	uint64_t samples, others;     /* others: of events without addresses, which are left out */
	uint64_t unmapped;            /* mappings for which there was no room: what is there is not known */
	uint64_t start_ns, end_ns;    /* since 1970, of the file's last change */
	struct epoch machine;         /* the recorded one: host, kernel, processor */
	struct perf_data_fault fault; /* text NULL: it was whole */
};

/*
 * 0; -DCPI_EDAMAGED with outcome->fault: what came before is in the outcome; -EINVAL: outcome->kind says why it cannot
 * be read; -ENOMEM, -errno of the directory, or as recording_open() and recording_read(). Call recorded_fini() in any
 * case.
 */
int recorded_read(const struct recorded_request *request, struct recorded_outcome *outcome);
void recorded_fini(struct recorded_outcome *outcome);

#endif
