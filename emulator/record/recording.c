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
	struct record_header *header; /* the file's */
	bool expects_stalls;
	uint32_t prepared;                                          /* stalls */
	uint64_t clocks[RECORD_VCPUS_MAX], began[RECORD_VCPUS_MAX]; /* before a fork */
};

_Static_assert(RECORD_HEADER_SIZE == PROCESS_FILE_HEADER_SIZE && RECORD_VCPUS_MAX == PROCESS_FILE_VCPUS_MAX,
               "record_file.h has the layout of process_file.h");

static void
describe(struct recording *recording, const char *comm, int32_t parent, uint64_t start_cycles)
{
	struct record_header *header = recording->header;

	snprintf(header->comm, sizeof(header->comm), "%s", comm);
	header->pid = getpid();
	header->parent = parent;
	header->vcpu_count = recording->file.vcpu_count;
	header->start_cycles = start_cycles;
	header->log_size = recording->file.log.size;
	header->magic = RECORD_MAGIC;
}

struct recording *
recording_new(const char *directory, const char *comm, uint64_t start_cycles)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return NULL;
	err = process_file_init(&recording->file, directory, RECORD_PREFIX, sizeof(struct record_vcpu),
	                        RECORD_INSTRUCTIONS_MAX);
	if (err) {
		free(recording);
		errno = -err;
		return NULL;
	}
	recording->header = recording->file.header;
	describe(recording, comm, 0, start_cycles);
	return recording;
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
	recording->header->vcpu_count = recording->file.vcpu_count;
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

static int
fork_file(struct recording *recording, uint64_t start_cycles)
{
	const int32_t parent = recording->header->pid;
	struct process_file *file = &recording->file;
	char comm[COMM_SIZE];
	int err;

	memcpy(comm, recording->header->comm, sizeof(comm));
	err = process_file_fork(file);
	if (err)
		return err;
	err = process_file_fork_vcpus(file);
	for (unsigned i = 0; i < file->vcpu_count && !err; i++) {
		struct record_vcpu *vcpu = file->vcpus[i];

		if (!vcpu)
			continue;
		vcpu->counters.clock = recording->clocks[i];
		vcpu->counters.began = recording->began[i];
	}
	describe(recording, comm, parent, start_cycles);
	return err;
}

/* The mapping is shared with the parent, which still writes to it: the child must not record there, even on failure. */
int
recording_fork(struct recording *recording, uint64_t start_cycles)
{
	int err = fork_file(recording, start_cycles);

	if (err)
		process_file_leave(&recording->file);
	return err;
}

int
recording_add_image(struct recording *recording, const struct record_mmap *file)
{
	return code_log_add_image(&recording->file.log, &recording->header->log_size, file);
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
	number = code_log_add_block(&recording->file.log, &recording->header->log_size, &known, sizes, first);
	if (!number)
		recording_count_unrecorded(recording);
	else if (recording->expects_stalls)
		prepare_stalls(recording, *first + known.instruction_count);
	return number;
}

void
recording_describe_block(struct recording *recording, uint32_t block, const struct code_block *does)
{
	code_log_tell_block(&recording->file.log, block, does);
}

void
recording_not_followed(struct recording *recording)
{
	__atomic_fetch_add(&recording->header->unfollowed, 1, __ATOMIC_RELAXED);
}

void
recording_count_unrecorded(struct recording *recording)
{
	__atomic_fetch_add(&recording->header->unrecorded, 1, __ATOMIC_RELAXED);
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
