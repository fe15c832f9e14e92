#include "emulator/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/process_file.h"

#define SLOTS_MAX    1024              /* that a search for a stall compares */
#define STALLS_AHEAD 2048              /* a divisor of RECORD_STALLS, and whole pages */
#define ADDRESS_MASK (UINT64_MAX >> 2) /* of what stands for an offset: readers accept no larger one */

struct recording {
	struct process_file file;
	bool expects_stalls;
	uint32_t prepared;                                          /* stalls */
	uint64_t clocks[RECORD_VCPUS_MAX], began[RECORD_VCPUS_MAX]; /* before a fork */
};

struct recording *
recording_new(const char *directory, const char *comm, uint64_t start_cycles)
{
	static const struct process_file_kind kind = {RECORD_PREFIX, RECORD_MAGIC, sizeof(struct record_vcpu),
	                                              RECORD_INSTRUCTIONS_MAX};
	struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return NULL;
	err = process_file_init(&recording->file, directory, &kind, comm, start_cycles);
	if (err) {
		free(recording);
		errno = -err;
		return NULL;
	}
	return recording;
}

struct process_file *
recording_file(struct recording *recording)
{
	return &recording->file;
}

void
recording_free(struct recording *recording)
{
	if (!recording)
		return;
	process_file_fini(&recording->file);
	free(recording);
}

struct record_vcpu *
recording_add_vcpu(struct recording *recording, unsigned vcpu)
{
	int err;

	if (vcpu < RECORD_VCPUS_MAX && recording->file.vcpus[vcpu])
		return recording->file.vcpus[vcpu];
	err = process_file_add_vcpu(&recording->file, vcpu);
	if (err) {
		errno = -err;
		return NULL;
	}
	return recording->file.vcpus[vcpu];
}

void
recording_expect_stalls(struct recording *recording)
{
	recording->expects_stalls = true;
}

void
recording_before_fork(struct recording *recording)
{
	for (unsigned i = 0; i < recording->file.vcpu_count; i++) {
		const struct record_vcpu *vcpu = recording->file.vcpus[i];

		if (!vcpu)
			continue;
		recording->clocks[i] = vcpu->counters.clock;
		recording->began[i] = vcpu->counters.began;
	}
}

int
recording_fork(struct recording *recording, uint64_t start_cycles)
{
	struct process_file *file = &recording->file;
	int err = process_file_fork(file, start_cycles);

	for (unsigned i = 0; i < file->vcpu_count && !err; i++) {
		struct record_vcpu *vcpu = file->vcpus[i];

		if (!vcpu)
			continue;
		vcpu->counters.clock = recording->clocks[i];
		vcpu->counters.began = recording->began[i];
	}
	return err;
}

/* Stands for an offset where memory has no file: by address and bytes, as other code may be there later. */
static uint64_t
identify(uint64_t address, const uint8_t *bytes, const uint8_t *sizes, size_t count)
{
	uint64_t hash = id_hash_mix(address);
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += sizes[i];
	for (size_t i = 0; i < size; i++)
		hash = id_hash_mix(hash ^ bytes[i]);
	return hash & ADDRESS_MASK;
}

/*
 * Populate the slots of stalls of instructions up to `last`, some pages at once. Otherwise each page would first be
 * read, as a hole, and then written, which are two page faults.
 */
static void
prepare_stalls(struct recording *recording, uint32_t last)
{
	while (recording->prepared <= record_stall_place(last, last, 0) && recording->prepared < RECORD_STALLS) {
		for (unsigned i = 0; i < recording->file.vcpu_count; i++) {
			struct record_vcpu *vcpu = recording->file.vcpus[i];

			if (vcpu)
				madvise(&vcpu->stalls[recording->prepared], STALLS_AHEAD * sizeof(vcpu->stalls[0]),
				        MADV_POPULATE_WRITE);
		}
		recording->prepared += STALLS_AHEAD;
	}
}

uint32_t
recording_add_block(struct recording *recording, const struct code_block *block, const uint8_t *sizes,
                    const uint8_t *bytes, uint64_t address, uint32_t *first)
{
	struct code_block known = *block;
	uint32_t number;

	if (!known.image)
		known.offset = identify(address, bytes, sizes, known.instruction_count);
	number = process_file_add_block(&recording->file, &known, sizes, first);
	if (!number)
		process_file_count_unrecorded(&recording->file);
	else if (recording->expects_stalls)
		prepare_stalls(recording, *first + known.instruction_count);
	return number;
}

void
recording_describe_block(struct recording *recording, uint32_t block, const struct code_block *does)
{
	code_log_tell_block(&recording->file.log, block, does);
}

struct record_stall *
record_stall_find(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, uint32_t reason)
{
	uint32_t at = record_stall_place(stalled, culprit, reason);

	for (unsigned i = 0; i < SLOTS_MAX; i++, at = (at + 1) & (RECORD_STALLS - 1)) {
		struct record_stall *stall = &vcpu->stalls[at];

		if (stall->stalled == stalled && stall->culprit == culprit && stall->reason == reason)
			return stall;
		if (stall->stalled)
			continue;
		*stall = (struct record_stall){.stalled = stalled, .culprit = culprit, .reason = reason};
		return stall;
	}
	return NULL;
}
