#include "code/flow_graph_build.h"

#include <errno.h>

#define TEXT_SIZE_MAX ((size_t)1 << 28) /* bytes */

int
flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph)
{
	struct instruction_list list = {0};
	size_t size = 0;
	int err = 0;

	if (!source->part_count || source->part_count > FLOW_PARTS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < source->part_count && !err; i++) {
		const struct code_part *part = &source->parts[i];

		if (part->size > TEXT_SIZE_MAX - size)
			err = -E2BIG;
		else
			err = decoder_decode(decoder, part->bytes, part->size, part->address, &list);
		size += part->size;
	}
	if (err) {
		instruction_list_free(&list);
		return err;
	}
	return flow_graph_build_from(&list, decoder, source, graph);
}
