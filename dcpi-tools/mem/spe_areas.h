/*
 * spe_areas.h - what Arm's SPE wrote into the auxiliary areas of a recording, as samples in the order of time
 *
 * A record of SPE comes into the file when its area is read, perhaps seconds after records of other CPUs that are
 * younger. So the file is read once before, to find the pieces of all areas; then samples are taken from all areas
 * together, each time up to the record that is to be taken next. Nothing in the file is trusted. Memory: a window for
 * each area and 32 bytes for each piece.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_SPE_AREAS_H
#define DCPI_TOOLS_MEM_SPE_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/perf_data.h"

struct spe_areas;

/* What is not in the samples, or not sure in them. */
struct spe_areas_counts {
	uint64_t timeless;  /* loads and stores without a time; they are left out */
	uint64_t unowned;   /* samples whose thread is not known */
	uint64_t damaged;   /* records that cannot be decoded, or are cut */
	uint64_t truncated; /* times that the hardware had to drop records, for lack of room */
	uint64_t collided;  /* times that it dropped an operation, because the one before was not through */
	uint64_t left_out;  /* pieces beyond what areas and pieces there may be */
};

/*
 * Find the pieces in `fd`, which stands at the beginning of a recording and stands there again afterwards. 0 with
 * *areas; NULL there: it has no areas of SPE, or is a pipe, which cannot be read twice. -ENOMEM, or the errno of
 * reading. Damage ends the search, and is left for the reader of the records to report.
 */
int spe_areas_find(int fd, struct spe_areas **areas);
void spe_areas_free(struct spe_areas *areas); /* NULL is allowed */

/* The type of SPE's events on the recorded machine, as in perf_event_attr. */
uint32_t spe_areas_event_type(const struct spe_areas *areas);

/* Whether times of samples are those of records: not so if events named a clock of their own (perf record -k). */
bool spe_areas_has_clock_of_records(const struct spe_areas *areas);

/* A sample, with its thread if that is known, else UINT32_MAX. 0; anything else ends spe_areas_take(). */
typedef int spe_areas_sink(void *context, const struct record *sample);

/*
 * Hand on the samples before `horizon` (ns; UINT64_MAX: all). Threads are as spe_areas_follow() has them. 0, -ENOMEM,
 * the errno of reading, or what `sink` returned.
 */
int spe_areas_take(struct spe_areas *areas, uint64_t horizon, spe_areas_sink *sink, void *context);

/* A record of the recording, in the order of time: of whom threads are, and which runs where. 0 or -ENOMEM. */
int spe_areas_follow(struct spe_areas *areas, const struct record *record);

struct spe_areas_counts spe_areas_counts(const struct spe_areas *areas);

#endif
