/*
 * emulated_profile.h - write what the timing plugin recorded of a run as an epoch of the profile database
 *
 * For each process and program the epoch has samples of the machine's events, how often each instruction was executed,
 * and stall cycles. These are edges of the events `truth.REASON`, from the instruction that waited to the culprit; the
 * events have no counts, so reports do not add them up. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_EMULATED_PROFILE_H
#define DCPI_TOOLS_EMU_EMULATED_PROFILE_H

#include <stdint.h>

#include "emulator/record/record_file.h"

struct emulated_profile {
	const struct setup *setup;
	const char *records;              /* directory */
	const char *label;                /* of the epoch and of contexts; NULL: "dcpiemu", and none */
	uint64_t start_ns, end_ns;        /* since 1970 */
	const struct memory_rows *memory; /* that go with it; NULL: none */
};

/*
 * Write it into the database in `directory`, also while a dcpid writes there. 0 with the epoch's number (else 0),
 * -DCPI_EDAMAGED when nothing could be read, -ENOMEM, -errno of the records' directory, or an error of profile_open()
 * and profile_flush().
 */
int emulated_profile_write(const struct emulated_profile *profile, const char *directory, uint32_t *epoch);

#endif
