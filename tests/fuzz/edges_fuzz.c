/* profile/edges.h: what is read is written as it was, and any bytes are either refused or read. */
#include <stdlib.h>

#include "profile/edges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct edge_list list = {0}, again = {0};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct edges_key key;

	if (size < EDGES_KEY_SIZE || edges_key_decode(data, EDGES_KEY_SIZE, &key))
		return 0;
	if (edges_decode(data + EDGES_KEY_SIZE, size - EDGES_KEY_SIZE, &key, &list) == 0) {
		edges_encode(&list, &key, &writer);
		if (edges_decode(writer.data, writer.size, &key, &again) || again.count != list.count)
			abort();
		for (size_t i = 0; i < list.count; i++)
			if (list.edges[i].from != again.edges[i].from || list.edges[i].to != again.edges[i].to ||
			    list.edges[i].count != again.edges[i].count)
				abort();
	}
	writer_fini(&writer);
	edge_list_fini(&list);
	edge_list_fini(&again);
	return 0;
}
