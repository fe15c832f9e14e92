/* edges_read(): see edges.h. */
#include "profile/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/handle.h"
#include "profile/slice_list.h"

struct epoch_with_event {
	uint32_t id;
	uint16_t event;
};

struct reading {
	const struct store *store;
	MDB_txn *txn;
	uint32_t image;
	uint32_t epoch;                  /* 0: any */
	struct epoch_with_event *epochs; /* ascending by id */
	size_t count, capacity;
	struct slice_list slices;
	struct edge_list edges;
};

static int
add_epoch(struct reading *reading, const struct epoch *epoch, const char *event)
{
	struct epoch_with_event *grown;

	if (reading->epoch && epoch->id != reading->epoch)
		return 0;
	for (size_t i = 0; i < epoch->event_count; i++) {
		if (strcmp(epoch->events[i].name, event) != 0)
			continue;
		grown = array_grow(reading->epochs, &reading->capacity, reading->count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		reading->epochs = grown;
		grown[reading->count++] = (struct epoch_with_event){epoch->id, (uint16_t)i};
		return 0;
	}
	return 0;
}

static int
find_epochs(struct reading *reading, const char *event)
{
	struct epoch *epoch = malloc(sizeof(*epoch));
	struct store_walk walk;
	uint32_t id;
	int result;

	if (!epoch)
		return -ENOMEM;
	result = store_walk_begin(reading->store, reading->txn, TABLE_EPOCHS, &walk);
	if (!result) {
		while ((result = store_walk_next(&walk)) > 0) {
			result = store_key_number(&walk.key, &id);
			if (!result)
				result = epoch_decode(id, walk.value.mv_data, walk.value.mv_size, epoch);
			if (!result && !epoch->is_incoming)
				result = add_epoch(reading, epoch, event);
			if (result)
				break;
		}
		store_walk_end(&walk);
	}
	free(epoch);
	return result;
}

static int
read_slice(struct reading *reading, uint32_t slice, uint16_t event)
{
	const struct edges_key first = {.slice = slice, .event = event, .image = reading->image};
	uint8_t data[EDGES_KEY_SIZE];
	struct store_walk walk;
	struct edges_key key;
	int result;

	edges_key_encode(&first, data);
	result = store_walk_begin(reading->store, reading->txn, TABLE_EDGES, &walk);
	if (result)
		return result;
	result = store_walk_seek(&walk, data, sizeof(data));
	while (!result && (result = store_walk_next(&walk)) > 0) {
		result = edges_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (result || key.slice != slice || key.event != event || key.image != reading->image)
			break;
		result = edges_decode(walk.value.mv_data, walk.value.mv_size, &key, &reading->edges);
	}
	store_walk_end(&walk);
	return result;
}

static int
read_newest(struct reading *reading, const char *event, struct edge_set *set)
{
	int err = find_epochs(reading, event);

	if (!err)
		err = slice_list_read(reading->store, reading->txn, &reading->slices);
	for (size_t i = reading->count; !err && i > 0 && reading->edges.count == 0; i--) {
		const struct epoch_with_event *epoch = &reading->epochs[i - 1];

		set->epoch = epoch->id;
		for (size_t j = 0; !err && j < reading->slices.count; j++)
			if (reading->slices.slices[j].epoch == epoch->id)
				err = read_slice(reading, reading->slices.slices[j].id, epoch->event);
	}
	return err || reading->edges.count > 0 ? err : -ENOENT;
}

int
edges_read(struct profile *profile, uint32_t image, const char *event, struct edge_set *set)
{
	return edges_read_of(profile, image, event, 0, set);
}

int
edges_read_of(struct profile *profile, uint32_t image, const char *event, uint32_t epoch, struct edge_set *set)
{
	struct reading reading = {.store = &profile->store, .image = image, .epoch = epoch};
	int err;

	*set = (struct edge_set){0};
	if (!profile->store.has[TABLE_EDGES])
		return -ENOENT;
	err = store_begin(&profile->store, false, &reading.txn);
	if (err)
		return err;
	err = store_leave(&profile->store, reading.txn, read_newest(&reading, event, set));
	if (err) {
		edge_list_fini(&reading.edges);
	} else {
		edge_list_merge(&reading.edges);
		set->edges = reading.edges.edges;
		set->count = reading.edges.count;
	}
	free(reading.epochs);
	slice_list_fini(&reading.slices);
	return err;
}

void
edge_set_fini(struct edge_set *set)
{
	free(set->edges);
	*set = (struct edge_set){0};
}
