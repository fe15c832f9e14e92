/* What is counted, and by which way: see counting.h. */
#include "emulator/counts/counting_state.h"

static uint64_t
edge_hash(uint32_t from, uint32_t to)
{
	return number_index_mix((uint64_t)from << 32 | to);
}

static struct counts_edge *
add_edge(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct number_index *index = &counting->edges[number];
	struct counts_edge *edge;
	bool is_new;

	if (vcpu->edge_count == COUNTS_EDGES_MAX || number_index_reserve(index, &is_new))
		return NULL;
	for (uint32_t i = 0; is_new && i < vcpu->edge_count; i++)
		number_index_put(index, edge_hash(vcpu->edges[i].from, vcpu->edges[i].to), i + 1);
	edge = &vcpu->edges[vcpu->edge_count];
	*edge = (struct counts_edge){.from = from, .to = to};
	vcpu->edge_count++;
	number_index_put(index, edge_hash(from, to), vcpu->edge_count);
	return edge;
}

static __attribute__((noinline)) void
enter_from_others(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct counts_slot *slot = &vcpu->slots[to];
	const struct number_index *index = &counting->edges[number];
	struct counts_edge *edge = NULL;

	for (unsigned i = 0; i < 2; i++) {
		if (slot->count[i])
			continue;
		slot->from[i] = from;
		slot->count[i] = 1;
		return;
	}
	for (uint32_t at = index->size ? number_index_begin(index, edge_hash(from, to)) : 0;
	     index->size && index->numbers[at]; at = number_index_next(index, at)) {
		edge = &vcpu->edges[index->numbers[at] - 1];
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
	struct counts_vcpu *vcpu = number < COUNTS_VCPUS_MAX ? counting->vcpus[number] : NULL;
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
