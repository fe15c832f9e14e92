#include "code/flow_graph_build.h"

#include <errno.h>

#define TEXT_SIZE_MAX ((size_t)1 << 28) /* bytes */

int
flow_parts_decode(struct decoder *decoder, const struct code_part *parts, size_t count, struct instruction_list *list)
{
	size_t size = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (parts[i].size > TEXT_SIZE_MAX - size)
			return -E2BIG;
		err = decoder_decode(decoder, parts[i].bytes, parts[i].size, parts[i].address, list);
		size += parts[i].size;
	}
	return err;
}

int
flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph)
{
	struct instruction_list list = {0};
	int err;

	if (!source->part_count || source->part_count > FLOW_PARTS_MAX)
		return -EINVAL;
	err = flow_parts_decode(decoder, source->parts, source->part_count, &list);
	if (err) {
		instruction_list_free(&list);
		return err;
	}
	return flow_graph_build_from(&list, decoder, source, graph);
}
