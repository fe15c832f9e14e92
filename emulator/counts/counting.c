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
	struct id_hash edges[COUNTS_VCPUS_MAX]; /* by virtual CPU: index into its edges, from 1 */
	uint32_t last[COUNTS_VCPUS_MAX];        /* each virtual CPU's block before a fork */
};

struct counting *
counting_new(const char *directory, const char *comm)
{
	static const struct process_file_kind kind = {COUNTS_PREFIX, COUNTS_MAGIC, sizeof(struct counts_vcpu),
	                                              UINT32_MAX};
	struct counting *counting = calloc(1, sizeof(*counting));
	int err;

	if (!counting)
		return NULL;
	err = process_file_init(&counting->file, directory, &kind, comm, 0);
	if (err) {
		free(counting);
		errno = -err;
		return NULL;
	}
	return counting;
}

struct process_file *
counting_file(struct counting *counting)
{
	return &counting->file;
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

int
counting_fork(struct counting *counting)
{
	struct process_file *file = &counting->file;
	int err = process_file_fork(file, 0);

	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		id_hash_fini(&counting->edges[i]);
	for (unsigned i = 0; i < file->vcpu_count && !err; i++)
		if (file->vcpus[i])
			((struct counts_vcpu *)file->vcpus[i])->last = counting->last[i];
	return err;
}

int
counting_add_vcpu(struct counting *counting, unsigned vcpu)
{
	if (vcpu >= COUNTS_VCPUS_MAX || !counting->file.vcpus[vcpu])
		return process_file_add_vcpu(&counting->file, vcpu);
	counting_clear_vcpu(counting, vcpu);
	return 0;
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
		process_file_count_unrecorded(&counting->file);
}

void
counting_enter(struct counting *counting, unsigned number, uint32_t block)
{
	struct counts_vcpu *vcpu = find_vcpu(counting, number);
	struct counts_slot *slot;
	uint32_t from;

	if (!vcpu) {
		process_file_count_unrecorded(&counting->file);
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
