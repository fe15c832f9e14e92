#include "dcpi-tools/calc/listing.h"

#include <stdlib.h>
#include <string.h>

void
listing_fini(struct listing *listing)
{
	for (size_t i = 0; i < listing->block_count; i++) {
		struct listing_block *block = &listing->blocks[i];

		for (size_t k = 0; k < block->line_count; k++) {
			free(block->lines[k].text);
			free(block->lines[k].bubbles);
		}
		free(block->lines);
	}
	free(listing->blocks);
	memset(listing, 0, sizeof(*listing));
}
