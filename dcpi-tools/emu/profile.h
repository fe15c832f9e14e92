/*
 * profile.h - what the timing plugin recorded of a run, as an epoch of the profile database
 *
 * Of each process and program: samples of the machine's events, how often each instruction was executed, and, as edges
 * of the events `truth.REASON` (from the instruction that waited to the one to blame; without counts, so that reports
 * do not add them up), its stall cycles. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_PROFILE_H
#define DCPI_TOOLS_EMU_PROFILE_H

#include <stdint.h>

#include "emulator/record/record_file.h"

struct emulated_profile {
	const struct setup *setup;
	const char *records;       /* directory */
	const char *label;         /* of the epoch and of contexts; NULL: "dcpiemu", and none */
	uint64_t start_ns, end_ns; /* since 1970 */
};

struct emulated_summary {
	uint32_t epoch;      /* 0: nothing was written */
	uint64_t processes;  /* that were begun */
	uint64_t programs;   /* that ran in them */
	uint64_t running;    /* processes that had not ended */
	uint64_t damaged;    /* files that were not what they should be */
	uint64_t unfollowed; /* programs executed without the emulator */
	uint64_t unrecorded; /* blocks or stalls that found no room */
	uint64_t samples;    /* of cycles */
	uint64_t anonymous;  /* of them, in memory that is no file's */
	uint32_t images;
};

/*
 * Write it into the database in `directory`, also while a dcpid writes there. 0, -DCPI_EDAMAGED when nothing could be
 * read, -ENOMEM, -errno of the records' directory, or an error of profile_open() and profile_flush().
 */
int emulated_profile_write(const struct emulated_profile *profile, const char *directory,
                           struct emulated_summary *summary);

#endif
