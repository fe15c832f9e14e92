#include "profile/check.h"

#include <errno.h>

#include "profile/edges.h"

static int
visit_edges(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	const struct check_slice *slice;
	struct edge_list list = {0};
	struct edges_key key;
	int err;

	if (edges_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "edges: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	slice = check_find_slice(check, key.slice);
	if (!slice)
		check_complain(check, "edges: slice %u is not in slices", key.slice);
	else if (key.event >= slice->event_count)
		check_complain(check, "edges: slice %u has no event %u", key.slice, key.event);
	if (!check_numbers_have(&check->images, key.image))
		check_complain(check, "edges: image %u is not in images", key.image);
	err = edges_decode(value->mv_data, value->mv_size, &key, &list);
	edge_list_fini(&list);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "edges: slice %u, event %u, image %u, block %u cannot be read", key.slice,
		               key.event, key.image, key.block);
	return 0;
}

int
check_edges(struct check *check)
{
	return check->store->has[TABLE_EDGES] ? check_table(check, TABLE_EDGES, visit_edges) : 0;
}
