#include "emulator/model/remedy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX   65536
#define WORD_SHIFT   3
#define SPREAD_BASE  (UINT64_C(0x6f) << 40) /* of words with lines of their own: no program has mappings there */
#define SPREAD_BYTES (UINT64_C(1) << 40)    /* for all objects */
#define FOLLOWS      4                      /* accesses in a row after which a page is moved */
#define NODE_UNKNOWN 0xff

/* What is known of a page. */
struct remedy_page {
	uint8_t home, next, count; /* next: the node of the last accesses, count of them */
	uint8_t is_settled;
};

struct remedy_range {
	uint64_t start, end; /* end: of the last byte, + 1 */
	enum object_remedy kind;
	uint64_t base;             /* of words with lines of their own */
	struct remedy_page *pages; /* OBJECT_REMEDY_LOCAL, _MIGRATE */
};

struct remedies {
	unsigned nodes, page_shift, line_shift;
	pthread_mutex_t lock; /* of what follows, pages too */
	uint32_t count;
	uint64_t spread;             /* bytes behind SPREAD_BASE that words were given */
	struct remedy_range *ranges; /* ascending, disjoint */
	uint32_t room;
};

struct remedies *
remedies_new(unsigned nodes, unsigned page_shift, unsigned line_shift)
{
	struct remedies *remedies = calloc(1, sizeof(*remedies));

	if (!remedies)
		return NULL;
	remedies->nodes = nodes;
	remedies->page_shift = page_shift;
	remedies->line_shift = line_shift;
	pthread_mutex_init(&remedies->lock, NULL);
	return remedies;
}

void
remedies_free(struct remedies *remedies)
{
	if (!remedies)
		return;
	for (uint32_t i = 0; i < remedies->count; i++)
		free(remedies->ranges[i].pages);
	free(remedies->ranges);
	pthread_mutex_destroy(&remedies->lock);
	free(remedies);
}

/* ---- ranges ---- */

/* Under the lock: the first range that ends behind `address`. */
static uint32_t
find_place(const struct remedies *remedies, uint64_t address)
{
	uint32_t low = 0, high = remedies->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (remedies->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Under the lock. */
static void
remove_range(struct remedies *remedies, uint32_t at)
{
	free(remedies->ranges[at].pages);
	remedies->count--;
	memmove(&remedies->ranges[at], &remedies->ranges[at + 1], (remedies->count - at) * sizeof(remedies->ranges[0]));
}

/* Addresses at which each word has a line. False: there are not so many. */
static bool
spread_words(struct remedies *remedies, struct remedy_range *range)
{
	const uint64_t words = ((range->end - 1) >> WORD_SHIFT) - (range->start >> WORD_SHIFT) + 1;

	if (words > (SPREAD_BYTES - remedies->spread) >> remedies->line_shift)
		return false;
	range->base = SPREAD_BASE + remedies->spread;
	remedies->spread += words << remedies->line_shift;
	return true;
}

/* What the range needs. False: there is no room for it. */
static bool
prepare(struct remedies *remedies, struct remedy_range *range)
{
	const uint64_t pages = (range->end >> remedies->page_shift) - (range->start >> remedies->page_shift) + 1;

	switch (range->kind) {
	case OBJECT_REMEDY_SPREAD:
		return spread_words(remedies, range);
	case OBJECT_REMEDY_LOCAL:
	case OBJECT_REMEDY_MIGRATE:
		range->pages = calloc(pages, sizeof(*range->pages));
		for (uint64_t i = 0; range->pages && i < pages; i++)
			range->pages[i].home = NODE_UNKNOWN;
		return range->pages;
	default:
		return true;
	}
}

/* Room for one range more. False: there is none. */
static bool
make_room(struct remedies *remedies)
{
	const uint32_t room = remedies->room ? 2 * remedies->room : 64;
	struct remedy_range *grown;

	if (remedies->count < remedies->room)
		return true;
	grown = room <= RANGES_MAX ? realloc(remedies->ranges, room * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	remedies->ranges = grown;
	remedies->room = room;
	return true;
}

/* Under the lock. */
static bool
add_range(struct remedies *remedies, struct remedy_range range)
{
	const uint32_t at = find_place(remedies, range.start);

	while (at < remedies->count && remedies->ranges[at].start < range.end)
		remove_range(remedies, at); /* its end was missed */
	if (!make_room(remedies) || !prepare(remedies, &range))
		return false;
	memmove(&remedies->ranges[at + 1], &remedies->ranges[at], (remedies->count - at) * sizeof(range));
	remedies->ranges[at] = range;
	remedies->count++;
	return true;
}

/* Under the lock: those that are within `size` bytes; 0: the one that begins there. */
static void
end_ranges(struct remedies *remedies, uint64_t start, uint64_t size)
{
	uint32_t at = find_place(remedies, start);

	at += at < remedies->count && remedies->ranges[at].start < start;
	if (!size && at < remedies->count && remedies->ranges[at].start == start)
		remove_range(remedies, at);
	while (at < remedies->count && remedies->ranges[at].end <= start + size)
		remove_range(remedies, at);
}

bool
remedies_set(struct remedies *remedies, uint64_t address, uint64_t size, enum object_remedy kind)
{
	bool has_room = true;

	if (size >= UINT64_MAX - address)
		return false;
	pthread_mutex_lock(&remedies->lock);
	if (kind == OBJECT_REMEDY_NONE)
		end_ranges(remedies, address, size);
	else if (size)
		has_room = add_range(remedies, (struct remedy_range){address, address + size, kind, 0, NULL});
	pthread_mutex_unlock(&remedies->lock);
	return has_room;
}

/* Under the lock: the range that has `address`; NULL: none has. */
static const struct remedy_range *
find_range(const struct remedies *remedies, uint64_t address)
{
	const uint32_t at = find_place(remedies, address);

	return at < remedies->count && remedies->ranges[at].start <= address ? &remedies->ranges[at] : NULL;
}

/* ---- what they do ---- */

uint64_t
remedies_address(struct remedies *remedies, uint64_t address)
{
	const struct remedy_range *range;

	pthread_mutex_lock(&remedies->lock);
	range = find_range(remedies, address);
	if (range && range->kind == OBJECT_REMEDY_SPREAD) {
		const uint64_t word = (address >> WORD_SHIFT) - (range->start >> WORD_SHIFT);

		address = range->base + (word << remedies->line_shift) + address % (1 << WORD_SHIFT);
	}
	pthread_mutex_unlock(&remedies->lock);
	return address;
}

static unsigned
follow_user(const struct remedy_range *range, struct remedy_page *page, unsigned toucher, unsigned home)
{
	if (page->home == NODE_UNKNOWN)
		page->home = (uint8_t)home;
	if (toucher == page->home || page->is_settled) {
		page->count = 0;
		return page->home;
	}
	if (page->next != toucher) {
		page->next = (uint8_t)toucher;
		page->count = 0;
	}
	if (range->kind == OBJECT_REMEDY_LOCAL) {
		page->is_settled = true;
	} else if (++page->count < FOLLOWS) {
		return page->home;
	}
	page->home = (uint8_t)toucher;
	page->count = 0;
	return page->home;
}

/* Under the lock. */
static unsigned
node_of(const struct remedies *remedies, uint64_t address, unsigned toucher, unsigned home)
{
	const struct remedy_range *range = find_range(remedies, address);

	if (!range)
		return home;
	switch (range->kind) {
	case OBJECT_REMEDY_INTERLEAVE:
		return (unsigned)((address >> remedies->page_shift) % remedies->nodes);
	case OBJECT_REMEDY_REPLICATE:
		return toucher;
	case OBJECT_REMEDY_LOCAL:
	case OBJECT_REMEDY_MIGRATE:
		return follow_user(
			range,
			&range->pages[(address >> remedies->page_shift) - (range->start >> remedies->page_shift)],
			toucher, home);
	default:
		return home;
	}
}

unsigned
remedies_node(struct remedies *remedies, uint64_t address, unsigned toucher, unsigned home)
{
	unsigned node;

	pthread_mutex_lock(&remedies->lock);
	node = node_of(remedies, address, toucher, home);
	pthread_mutex_unlock(&remedies->lock);
	return node;
}
