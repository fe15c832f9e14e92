#include "dcpi-tools/common/title_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/hash.h"

struct titled_procedure {
	UT_hash_handle hh;
	uint32_t number;
	char key[]; /* title, NUL, title of the image, NUL */
};

int
title_table_intern(struct title_table *table, const char *title, const char *image, uint32_t *number)
{
	const size_t title_size = strlen(title) + 1, image_size = strlen(image) + 1, size = title_size + image_size;
	struct titled_procedure *procedure = calloc(1, sizeof(*procedure) + size), *known;

	if (!procedure)
		return -ENOMEM;
	memcpy(procedure->key, title, title_size);
	memcpy(procedure->key + title_size, image, image_size);
	HASH_FIND(hh, table->procedures, procedure->key, (unsigned)size, known);
	if (known) {
		*number = known->number;
		free(procedure);
		return 0;
	}
	procedure->number = *number = HASH_COUNT(table->procedures);
	HASH_ADD(hh, table->procedures, key[0], (unsigned)size, procedure);
	if (hash_added(procedure))
		return 0;
	free(procedure);
	return -ENOMEM;
}

void
title_table_fini(struct title_table *table)
{
	struct titled_procedure *procedure = table->procedures, *next;

	HASH_CLEAR(hh, table->procedures);
	for (; procedure; procedure = next) {
		next = procedure->hh.next;
		free(procedure);
	}
}
