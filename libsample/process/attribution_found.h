/*
 * attribution_found.h - what /proc says of processes, told by whoever has read it
 *
 * Reading may wait for a process that waits for its disk, so the reader is a child of dcpid (collectord/proc_reader.h),
 * and what it found comes while records are applied: some of them may be younger than the reading. So each process
 * comes with the time at which its reading began.
 *  - Records from before that time are known, and passed by.
 *  - What was applied from then on is newer: where it mapped something, that stays, and what was found is put below.
 *    Of a process that has been forked or has executed another program since, nothing that was found is true.
 *  - A process that has ended since is not brought back; its late samples find what it had mapped.
 * Between attribution_found_begin() and attribution_found_end() a sample whose process or mapping is not known may be
 * looked up again later: attribution_awaits().
 */
#ifndef DCPI_PROCESS_ATTRIBUTION_FOUND_H
#define DCPI_PROCESS_ATTRIBUTION_FOUND_H

#include "process/attribution.h"
#include "process/process_birth.h"

struct found_process {
	uint32_t pid;
	uint64_t time_ns; /* record time at which its reading began */
	const char *comm;
	struct process_birth birth; /* zeros: not known */
};

/* All processes are being read, or some. */
void attribution_found_begin(struct attribution *attribution, bool all);

/* A process, then its mappings in ascending order. 0 or -ENOMEM: it is not remembered. */
int attribution_found_process(struct attribution *attribution, const struct found_process *process);
void attribution_found_mapping(struct attribution *attribution, const struct record_mmap *mmap);
int attribution_found_cgroup(struct attribution *attribution, uint64_t id, const char *path);

/* Nothing more comes of the process that was told last. */
void attribution_found_whole(struct attribution *attribution);

/* All, or some, have been read; `all` as in the beginning. */
void attribution_found_end(struct attribution *attribution, bool all);

/* The sample has no image for `cause` (enum unknown_cause), and what is being read may tell. */
bool attribution_awaits(const struct attribution *attribution, const struct record *record, unsigned cause);

/* As attribution_sample(), of a sample that waited: a program that was executed since is not its. */
int attribution_sample_late(struct attribution *attribution, const struct record *record, struct sample_key *key);

#endif
