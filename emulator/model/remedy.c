#include "emulator/model/remedy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 4096
#define WORD_SHIFT 3
#define SPREAD_BASE                                                                                                    \
	(UINT64_C(0x6f) << 40)           /* where words with lines of their own are: no program has mappings there     \
	                                  */
#define SPREAD_BYTES (UINT64_C(1) << 32) /* for each object */
#define FOLLOWS      4                   /* accesses in a row after which a page is moved */
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

/* Memory of ranges that were removed: readers may still use it. */
struct retired {
	struct retired *next;
	void *memory;
};

struct remedies {
	unsigned nodes, page_shift, line_shift;
	pthread_mutex_t lock;
	uint32_t version; /* odd while ranges are changed */
	uint32_t count;
	uint64_t spread; /* objects whose words were given lines */
	struct retired *retired;
	struct remedy_range ranges[RANGES_MAX]; /* ascending, disjoint */
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
	struct retired *retired;

	if (!remedies)
		return;
	for (uint32_t i = 0; i < remedies->count; i++)
		free(remedies->ranges[i].pages);
	while ((retired = remedies->retired)) {
		remedies->retired = retired->next;
		free(retired->memory);
		free(retired);
	}
	pthread_mutex_destroy(&remedies->lock);
	free(remedies);
}

/* ---- ranges ---- */

/* Without memory for that it stays allocated. */
static void
retire(struct remedies *remedies, void *memory)
{
	struct retired *retired = memory ? malloc(sizeof(*retired)) : NULL;

	if (!retired)
		return;
	*retired = (struct retired){remedies->retired, memory};
	remedies->retired = retired;
}

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

static void
begin_change(struct remedies *remedies)
{
	__atomic_store_n(&remedies->version, remedies->version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void
end_change(struct remedies *remedies)
{
	__atomic_store_n(&remedies->version, remedies->version + 1, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void
remove_range(struct remedies *remedies, uint32_t at)
{
	retire(remedies, remedies->ranges[at].pages);
	remedies->count--;
	memmove(&remedies->ranges[at], &remedies->ranges[at + 1], (remedies->count - at) * sizeof(remedies->ranges[0]));
}

/* What the range needs. False: no memory. */
static bool
prepare(struct remedies *remedies, struct remedy_range *range)
{
	const uint64_t pages = (range->end >> remedies->page_shift) - (range->start >> remedies->page_shift) + 1;

	switch (range->kind) {
	case OBJECT_REMEDY_SPREAD:
		range->base = SPREAD_BASE + remedies->spread++ % 256 * SPREAD_BYTES;
		return (range->end - range->start) << (remedies->line_shift - WORD_SHIFT) < SPREAD_BYTES;
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

void
remedies_set(struct remedies *remedies, uint64_t address, uint64_t size, enum object_remedy kind)
{
	struct remedy_range range = {.start = address, .end = address + size, .kind = kind};
	uint32_t at;

	if (size > UINT64_MAX - address)
		return;
	pthread_mutex_lock(&remedies->lock);
	begin_change(remedies);
	at = find_place(remedies, address);
	if (kind == OBJECT_REMEDY_NONE) {
		if (at < remedies->count && remedies->ranges[at].start == address)
			remove_range(remedies, at);
	} else if (size) {
		while (at < remedies->count && remedies->ranges[at].start < range.end)
			remove_range(remedies, at); /* its end was missed */
		if (remedies->count < RANGES_MAX && prepare(remedies, &range)) {
			memmove(&remedies->ranges[at + 1], &remedies->ranges[at],
			        (remedies->count - at) * sizeof(range));
			remedies->ranges[at] = range;
			remedies->count++;
		}
	}
	end_change(remedies);
	pthread_mutex_unlock(&remedies->lock);
}

/* A copy of the range that has `address`; false: none has. */
static bool
find_range(const struct remedies *remedies, uint64_t address, struct remedy_range *range)
{
	uint32_t version, at;
	bool is_found;

	do {
		while ((version = __atomic_load_n(&remedies->version, __ATOMIC_ACQUIRE)) % 2)
			;
		at = find_place(remedies, address);
		is_found = at < RANGES_MAX && at < remedies->count && remedies->ranges[at].start <= address;
		if (is_found)
			*range = remedies->ranges[at];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&remedies->version, __ATOMIC_RELAXED) != version);
	return is_found;
}

/* ---- what they do ---- */

uint64_t
remedies_address(const struct remedies *remedies, uint64_t address)
{
	struct remedy_range range;
	uint64_t word;

	if (!find_range(remedies, address, &range) || range.kind != OBJECT_REMEDY_SPREAD)
		return address;
	word = (address >> WORD_SHIFT) - (range.start >> WORD_SHIFT);
	return range.base + (word << remedies->line_shift) + address % (1 << WORD_SHIFT);
}

/* Threads that are in it at once may each see what was before the other: that is as good an order as any. */
static unsigned
follow_user(struct remedy_page *page, const struct remedy_range *range, unsigned toucher, unsigned home)
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

unsigned
remedies_node(struct remedies *remedies, uint64_t address, unsigned toucher, unsigned home)
{
	struct remedy_range range;

	if (!find_range(remedies, address, &range))
		return home;
	switch (range.kind) {
	case OBJECT_REMEDY_INTERLEAVE:
		return (unsigned)((address >> remedies->page_shift) % remedies->nodes);
	case OBJECT_REMEDY_REPLICATE:
		return toucher;
	case OBJECT_REMEDY_LOCAL:
	case OBJECT_REMEDY_MIGRATE:
		return follow_user(
			&range.pages[(address >> remedies->page_shift) - (range.start >> remedies->page_shift)], &range,
			toucher, home);
	default:
		return home;
	}
}
