/*
 * flow_graph_build.h - from the text of a procedure to its flow graph
 *
 * What cannot be known from the text alone is asked of `struct flow_source`. Nothing here fails for what the text says:
 * random bytes have a flow graph too. Time and memory grow linearly with the text.
 * Thread rule: one thread per decoder and source.
 */
#ifndef DCPI_CODE_FLOW_GRAPH_BUILD_H
#define DCPI_CODE_FLOW_GRAPH_BUILD_H

#include "code/decoder.h"
#include "code/flow_graph.h"

/* A contiguous piece of a procedure. */
struct code_part {
	uint64_t address; /* ELF virtual address */
	const uint8_t *bytes;
	size_t size; /* bytes, at least 1 */
	bool is_cold;
};

struct flow_source {
	enum architecture architecture;
	const struct code_part *parts; /* the one that begins with the entry first; disjoint */
	size_t part_count;             /* 1 to FLOW_PARTS_MAX */
	void *argument;                /* of what follows */

	/*
	 * The image's data from ELF address `address` on, as far as nobody writes it and it lies in one section: sets
	 * *size (bytes). NULL when there is none. For jump tables; the function may be NULL: there are no data.
	 */
	const uint8_t *(*data)(void *argument, uint64_t address, size_t *size);

	/*
	 * Whether a call of `address` comes back: a procedure, a stub of the PLT, or the slot of the GOT that an
	 * indirect call or jump goes through. code/no_return.h knows by name. The function may be NULL: all come back.
	 */
	bool (*returns)(void *argument, uint64_t address);
};

/* 0 with *graph set (flow_graph_free() it), -ENOMEM, -EINVAL for parts that are not as said, -E2BIG past 2^28 bytes. */
int flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph);

/* Append the instructions of the parts, 2^28 bytes of them at most, to `list`. 0, -E2BIG, -ENOMEM. */
int flow_parts_decode(struct decoder *decoder, const struct code_part *parts, size_t count,
                      struct instruction_list *list);

/*
 * The same of instructions that were decoded already, part by part. `list` is taken over and emptied, also on failure.
 * With a NULL `decoder` operands are not looked at, so that jump tables are not read and indirect jumps stay
 * unresolved.
 */
int flow_graph_build_from(struct instruction_list *list, struct decoder *decoder, const struct flow_source *source,
                          struct flow_graph **graph);

#endif
