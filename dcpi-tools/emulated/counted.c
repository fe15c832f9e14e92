#include "dcpi-tools/emulated/counted.h"

#include <errno.h>
#include <string.h>

#define KEYS_MAX ((size_t)1 << 28) /* distinct instructions */

int
counted_init(struct counted *counted)
{
	memset(counted, 0, sizeof(*counted));
	counted->images = image_table_new();
	counted->contexts = context_table_new();
	counted->tally = tally_new(KEYS_MAX);
	return counted->images && counted->contexts && counted->tally ? 0 : -ENOMEM;
}

void
counted_fini(struct counted *counted)
{
	image_table_free(counted->images);
	context_table_free(counted->contexts);
	tally_free(counted->tally);
	edge_list_fini(&counted->edges);
	memset(counted, 0, sizeof(*counted));
}

int
counted_add(struct counted *counted, const struct sample_key *key, uint64_t count)
{
	if (count == 0)
		return 0;
	counted->totals[key->event] += count;
	return tally_add(counted->tally, key, count);
}

void
counted_add_anonymous(struct counted *counted, uint16_t event, uint64_t count)
{
	counted->totals[event] += count;
	counted->anonymous[event] += count;
}
