#include "emulator/counts/counting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/id_hash.h"
#include "emulator/process_file.h"

struct counting {
	struct process_file file;
	struct counts_header *header;           /* the file's */
	struct id_hash edges[COUNTS_VCPUS_MAX]; /* by virtual CPU: index into its edges, from 1 */
	uint32_t last[COUNTS_VCPUS_MAX];        /* each virtual CPU's block before a fork */
};

_Static_assert(COUNTS_HEADER_SIZE == PROCESS_FILE_HEADER_SIZE && COUNTS_VCPUS_MAX == PROCESS_FILE_VCPUS_MAX,
               "counts_file.h has the layout of process_file.h");

struct counting *
counting_new(const char *directory, const char *comm)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	int err;

	if (!counting)
		return NULL;
	err = process_file_init(&counting->file, directory, COUNTS_PREFIX, sizeof(struct counts_vcpu), UINT32_MAX);
	if (err) {
		free(counting);
		errno = -err;
		return NULL;
	}
	counting->header = counting->file.header;
	snprintf(counting->header->comm, sizeof(counting->header->comm), "%s", comm);
	counting->header->pid = getpid();
	counting->header->magic = COUNTS_MAGIC;
	return counting;
}

void
counting_free(struct counting *counting)
{
	if (!counting)
		return;
	process_file_fini(&counting->file);
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		id_hash_fini(&counting->edges[i]);
	free(counting);
}

void
counting_before_fork(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++) {
		const struct counts_vcpu *vcpu = counting->file.vcpus[i];

		counting->last[i] = vcpu ? vcpu->last : 0;
	}
}

static int
fork_file(struct counting *counting)
{
	struct process_file *file = &counting->file;
	char comm[COMM_SIZE];
	int err;

	memcpy(comm, counting->header->comm, sizeof(comm));
	err = process_file_fork(file);
	if (err)
		return err;
	memcpy(counting->header->comm, comm, sizeof(comm));
	counting->header->pid = getpid();
	counting->header->log_size = file->log.size;
	counting->header->vcpu_count = file->vcpu_count;
	err = process_file_fork_vcpus(file);
	for (unsigned i = 0; i < file->vcpu_count && !err; i++)
		if (file->vcpus[i])
			((struct counts_vcpu *)file->vcpus[i])->last = counting->last[i];
	counting->header->magic = COUNTS_MAGIC;
	return err;
}

/* The mapping is shared with the parent, which still writes to it: the child must not count there, even on failure. */
int
counting_fork(struct counting *counting)
{
	int err;

	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		id_hash_fini(&counting->edges[i]);
	err = fork_file(counting);
	if (err)
		process_file_leave(&counting->file);
	return err;
}

int
counting_add_vcpu(struct counting *counting, unsigned vcpu)
{
	int err;

	if (vcpu < COUNTS_VCPUS_MAX && counting->file.vcpus[vcpu]) {
		counting_clear_vcpu(counting, vcpu);
		return 0;
	}
	err = process_file_add_vcpu(&counting->file, vcpu);
	if (!err)
		counting->header->vcpu_count = counting->file.vcpu_count;
	return err;
}

static struct counts_vcpu *
find_vcpu(const struct counting *counting, unsigned number)
{
	return number < COUNTS_VCPUS_MAX ? counting->file.vcpus[number] : NULL;
}

void
counting_clear_vcpu(struct counting *counting, unsigned number)
{
	struct counts_vcpu *vcpu = find_vcpu(counting, number);

	if (vcpu)
		vcpu->last = 0;
}

int
counting_add_image(struct counting *counting, const struct record_mmap *file)
{
	return code_log_add_image(&counting->file.log, &counting->header->log_size, file);
}

uint32_t
counting_add_block(struct counting *counting, const struct code_block *block, const uint8_t *sizes)
{
	uint32_t first;

	return code_log_add_block(&counting->file.log, &counting->header->log_size, block, sizes, &first);
}

static uint64_t
edge_hash(uint32_t from, uint32_t to)
{
	return id_hash_mix((uint64_t)from << 32 | to);
}

static struct counts_edge *
add_edge(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->file.vcpus[number];
	struct id_hash *hash = &counting->edges[number];
	struct counts_edge *edge;
	bool is_new;

	if (vcpu->edge_count == COUNTS_EDGES_MAX || id_hash_reserve(hash, &is_new))
		return NULL;
	for (uint32_t i = 0; is_new && i < vcpu->edge_count; i++)
		id_hash_put(hash, edge_hash(vcpu->edges[i].from, vcpu->edges[i].to), i + 1);
	edge = &vcpu->edges[vcpu->edge_count];
	*edge = (struct counts_edge){.from = from, .to = to};
	vcpu->edge_count++;
	id_hash_put(hash, edge_hash(from, to), vcpu->edge_count);
	return edge;
}

/* Entered from a block that has no slot of `to` yet: take a free slot, else count in the table of edges. */
static __attribute__((noinline)) void
enter_from_others(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->file.vcpus[number];
	struct counts_slot *slot = &vcpu->slots[to];
	const struct id_hash *hash = &counting->edges[number];
	struct counts_edge *edge = NULL;

	for (unsigned i = 0; i < 2; i++) {
		if (slot->count[i])
			continue;
		slot->from[i] = from;
		slot->count[i] = 1;
		return;
	}
	for (uint32_t at = hash->size ? id_hash_begin(hash, edge_hash(from, to)) : 0; hash->size && hash->numbers[at];
	     at = id_hash_next(hash, at)) {
		edge = &vcpu->edges[hash->numbers[at] - 1];
		if (edge->from == from && edge->to == to) {
			edge->count++;
			return;
		}
	}
	edge = add_edge(counting, number, from, to);
	if (edge)
		edge->count = 1;
	else
		counting_pass(counting);
}

void
counting_enter(struct counting *counting, unsigned number, uint32_t block)
{
	struct counts_vcpu *vcpu = find_vcpu(counting, number);
	struct counts_slot *slot;
	uint32_t from;

	if (!vcpu) {
		counting_pass(counting);
		return;
	}
	slot = &vcpu->slots[block];
	from = vcpu->last;
	vcpu->last = block;
	if (slot->from[0] == from && slot->count[0])
		slot->count[0]++;
	else if (slot->from[1] == from && slot->count[1])
		slot->count[1]++;
	else
		enter_from_others(counting, number, from, block);
}

void
counting_pass(struct counting *counting)
{
	__atomic_fetch_add(&counting->header->uncounted, 1, __ATOMIC_RELAXED);
}

void
counting_not_followed(struct counting *counting)
{
	__atomic_fetch_add(&counting->header->unfollowed, 1, __ATOMIC_RELAXED);
}
