/*
 * recording.h - a recording of perf: its records in the order of time, and the machine that it was made on
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_RECORDING_H
#define DCPI_TOOLS_IMPORT_RECORDING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/epoch.h"
#include "stream/perf_data.h"
#include "stream/time_order.h"

struct perf_recording {
	struct perf_data *data;
	struct time_order *order;
	time_order_sink *take;
	void *context;
	bool is_ordered; /* records have times */
	bool has_samples;
	uint64_t records;
	uint64_t size; /* of the file; 0: not known */
};

/*
 * Begin to read `fd`, which stays the caller's, for `take`. 0, or as perf_data_open(); then *fault has the place of
 * damage. Call recording_close() in any case.
 */
int recording_open(struct perf_recording *recording, int fd, time_order_sink *take, void *context,
                   struct perf_data_fault *fault);
void recording_close(struct perf_recording *recording); /* a zeroed one is allowed */

/*
 * Hand all records to `take`, in the order of time where they have times, with progress on the terminal. 0;
 * -DCPI_EDAMAGED (perf_data_fault()) after the records before the damage were taken; -EINTR when *stop is not 0 (`stop`
 * may be NULL); what `take` returned; -ENOMEM or the errno of reading.
 */
int recording_read(struct perf_recording *recording, const volatile sig_atomic_t *stop);

/* Nanoseconds since 1970: of a file, when it was last written to; of a pipe, now. 0 or -errno. */
int recording_find_end(int fd, uint64_t *end_ns);

/* Host, kernel and processor of an epoch, as dcpid has them; `host` NULL: as the recording says. */
void recording_describe(const struct perf_data_machine *machine, const char *host, struct epoch *epoch);

#endif
