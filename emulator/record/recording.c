#include "emulator/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/process_file.h"

#define STALLS_AHEAD 2048              /* a part of RECORD_STALLS, and whole pages */
#define ADDRESS_MASK (UINT64_MAX >> 2) /* of what stands for an offset: readers take no larger one */

struct recording {
	struct process_file file;
	struct code_log log;
	struct record_header *header;
	struct record_vcpu *vcpus[RECORD_VCPUS_MAX];
	unsigned vcpu_count; /* highest that there was, and one */
	bool expects_stalls;
	uint32_t prepared;                                          /* stalls */
	uint64_t clocks[RECORD_VCPUS_MAX], began[RECORD_VCPUS_MAX]; /* before a fork */
};

static int
map_beginning(struct recording *recording, int fd)
{
	void *header = recording->header, *log = recording->log.bytes;
	int err = process_file_map(fd, &header, RECORD_HEADER_SIZE, 0);

	if (!err)
		err = process_file_map(fd, &log, CODE_LOG_SIZE, RECORD_HEADER_SIZE);
	if (err)
		return err;
	recording->header = header;
	recording->log.bytes = log;
	return 0;
}

static int
map_vcpu(struct recording *recording, int fd, unsigned vcpu)
{
	void *mapped = recording->vcpus[vcpu];
	int err = process_file_map(fd, &mapped, sizeof(struct record_vcpu), RECORD_VCPU_OFFSET(vcpu));

	if (err)
		return err;
	recording->vcpus[vcpu] = mapped;
	if (recording->vcpu_count <= vcpu)
		recording->vcpu_count = vcpu + 1;
	recording->header->vcpu_count = recording->vcpu_count;
	return 0;
}

static void
describe(struct record_header *header, const char *comm, int32_t parent, uint64_t start_cycles, uint64_t log_size)
{
	snprintf(header->comm, sizeof(header->comm), "%s", comm);
	header->pid = getpid();
	header->parent = parent;
	header->start_cycles = start_cycles;
	header->log_size = log_size;
	header->magic = RECORD_MAGIC;
}

struct recording *
recording_new(const char *directory, const char *comm, uint64_t start_cycles)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int fd, err;

	if (!recording)
		return NULL;
	snprintf(recording->file.directory, sizeof(recording->file.directory), "%s", directory);
	recording->file.prefix = RECORD_PREFIX;
	code_log_init(&recording->log, NULL, RECORD_INSTRUCTIONS_MAX);
	fd = process_file_create(&recording->file);
	err = fd < 0 ? fd : map_beginning(recording, fd);
	if (fd >= 0)
		close(fd);
	if (err) {
		free(recording);
		errno = -err;
		return NULL;
	}
	describe(recording->header, comm, 0, start_cycles, 0);
	return recording;
}

void
recording_free(struct recording *recording)
{
	if (!recording)
		return;
	for (unsigned i = 0; i < RECORD_VCPUS_MAX; i++)
		if (recording->vcpus[i])
			munmap(recording->vcpus[i], sizeof(struct record_vcpu));
	munmap(recording->log.bytes, CODE_LOG_SIZE);
	munmap(recording->header, RECORD_HEADER_SIZE);
	code_log_fini(&recording->log);
	free(recording);
}

struct record_vcpu *
recording_add_vcpu(struct recording *recording, unsigned vcpu)
{
	int fd, err;

	if (vcpu >= RECORD_VCPUS_MAX) {
		errno = ENOSPC;
		return NULL;
	}
	if (recording->vcpus[vcpu])
		return recording->vcpus[vcpu];
	fd = process_file_open(&recording->file);
	err = fd < 0 ? fd : map_vcpu(recording, fd, vcpu);
	if (fd >= 0)
		close(fd);
	if (err)
		errno = -err;
	return recording->vcpus[vcpu];
}

void
recording_expect_stalls(struct recording *recording)
{
	recording->expects_stalls = true;
}

void
recording_before_fork(struct recording *recording)
{
	for (unsigned i = 0; i < RECORD_VCPUS_MAX; i++) {
		if (!recording->vcpus[i])
			continue;
		recording->clocks[i] = recording->vcpus[i]->counters.clock;
		recording->began[i] = recording->vcpus[i]->counters.began;
	}
}

static int
move_to_file(struct recording *recording, int fd, uint64_t start_cycles)
{
	const int32_t parent = recording->header->pid;
	char comm[COMM_SIZE];
	int err;

	memcpy(comm, recording->header->comm, sizeof(comm));
	err = code_log_copy(&recording->log, fd, RECORD_HEADER_SIZE);
	if (!err)
		err = map_beginning(recording, fd);
	if (err)
		return err;
	for (unsigned i = 0; i < RECORD_VCPUS_MAX && !err; i++) {
		if (!recording->vcpus[i])
			continue;
		err = map_vcpu(recording, fd, i);
		if (err)
			break;
		recording->vcpus[i]->counters.clock = recording->clocks[i];
		recording->vcpus[i]->counters.began = recording->began[i];
	}
	describe(recording->header, comm, parent, start_cycles, recording->log.size);
	return err;
}

/* What is shared is the parent's, which goes on and changes it. */
int
recording_fork(struct recording *recording, uint64_t start_cycles)
{
	int fd = process_file_create(&recording->file);
	int err = fd < 0 ? fd : move_to_file(recording, fd, start_cycles);

	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	for (unsigned i = 0; i < RECORD_VCPUS_MAX; i++)
		process_file_leave(recording->vcpus[i], sizeof(struct record_vcpu));
	process_file_leave(recording->log.bytes, CODE_LOG_SIZE);
	process_file_leave(recording->header, RECORD_HEADER_SIZE);
	return err;
}

int
recording_add_image(struct recording *recording, const struct record_mmap *file)
{
	return code_log_add_image(&recording->log, &recording->header->log_size, file);
}

/* Of memory without a file: what is there now may be something else later. */
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
 * Where stalls of instructions up to `last` will be looked for, some pages at once: one by one each would be read
 * first, as a hole, and then written, which are two faults.
 */
static void
prepare_stalls(struct recording *recording, uint32_t last)
{
	while (recording->prepared <= record_stall_place(last, last, 0) && recording->prepared < RECORD_STALLS) {
		for (unsigned i = 0; i < recording->vcpu_count; i++)
			if (recording->vcpus[i])
				madvise(&recording->vcpus[i]->stalls[recording->prepared],
				        STALLS_AHEAD * sizeof(struct record_stall), MADV_POPULATE_WRITE);
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
	number = code_log_add_block(&recording->log, &recording->header->log_size, &known, sizes, first);
	if (!number)
		recording_pass(recording);
	else if (recording->expects_stalls)
		prepare_stalls(recording, *first + known.instruction_count);
	return number;
}

void
recording_tell_block(struct recording *recording, uint32_t block, const struct code_block *does)
{
	code_log_tell_block(&recording->log, block, does);
}

void
recording_not_followed(struct recording *recording)
{
	__atomic_fetch_add(&recording->header->unfollowed, 1, __ATOMIC_RELAXED);
}

void
recording_pass(struct recording *recording)
{
	__atomic_fetch_add(&recording->header->unrecorded, 1, __ATOMIC_RELAXED);
}

#define PLACES_MAX 1024 /* looked at for one stall */

struct record_stall *
record_stall_find(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, uint32_t reason)
{
	uint32_t at = record_stall_place(stalled, culprit, reason);

	for (unsigned i = 0; i < PLACES_MAX; i++, at = (at + 1) & (RECORD_STALLS - 1)) {
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
