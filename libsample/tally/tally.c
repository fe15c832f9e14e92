#include "tally/tally.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Open addressing with linear probing; a slot is free when its count is 0. Nothing is ever taken out one by one, so
 * there are no tombstones. At most three quarters of the slots are used, so a search always meets a free one.
 */
#define CAPACITY_FIRST 1024
#define HUGE_PAGE_SIZE ((size_t)2 << 20)

/*
 * Samples come from everywhere, so nearly each one's slot is far from the processor: a miss of the cache, often one of
 * the TLB as well, a few hundred cycles in a virtual machine. So they wait here while their slots are fetched, and the
 * misses overlap. There is always room for the keys that wait, lest one be refused when its caller has gone.
 */
#define WAITING_MAX 16

static_assert(sizeof(struct tally_entry) == 32, "two entries a cache line");

struct tally_waiting {
	struct sample_key key;
	size_t hash;
	uint64_t count; /* 0: nothing waits here */
};

struct tally {
	struct tally_entry *slots;
	size_t capacity; /* a power of two */
	size_t size;
	size_t limit;
	size_t room; /* keys that still fit into this capacity */
	bool sorted;
	/* slot of the oldest waiting key: that is added to the table before the next one takes the slot */
	unsigned waiting_next;
	struct tally_waiting waiting[WAITING_MAX];
};

static size_t
capacity_keys(size_t capacity)
{
	return capacity / 4 * 3;
}

/* Which page a slot is on is as random as which line: those that fill huge pages get them, and a TLB for it all. */
static struct tally_entry *
slots_new(size_t capacity)
{
	const size_t size = capacity * sizeof(struct tally_entry);
	struct tally_entry *slots;

	if (size % HUGE_PAGE_SIZE)
		return calloc(capacity, sizeof(struct tally_entry));
	slots = aligned_alloc(HUGE_PAGE_SIZE, size);
	if (!slots)
		return NULL;
	(void)madvise(slots, size, MADV_HUGEPAGE); /* else they are small */
	memset(slots, 0, size);
	return slots;
}

static size_t
room_of(const struct tally *tally, size_t capacity)
{
	size_t keys = capacity_keys(capacity);

	return (keys < tally->limit ? keys : tally->limit) - tally->size;
}

struct tally *
tally_new(size_t limit)
{
	struct tally *tally;
	size_t capacity = 4;

	if (limit == 0 || limit > SIZE_MAX / sizeof(struct tally_entry) / 4) {
		errno = EINVAL;
		return NULL;
	}
	while (capacity < CAPACITY_FIRST && capacity_keys(capacity) < limit)
		capacity *= 2;
	tally = calloc(1, sizeof(*tally));
	if (!tally)
		return NULL;
	tally->slots = slots_new(capacity);
	if (!tally->slots) {
		free(tally);
		errno = ENOMEM;
		return NULL;
	}
	tally->capacity = capacity;
	tally->limit = limit;
	tally->room = room_of(tally, capacity);
	return tally;
}

void
tally_free(struct tally *tally)
{
	if (!tally)
		return;
	free(tally->slots);
	free(tally);
}

/* Folded 64x64 multiplication: every bit of the product's middle depends on every bit of the key. */
static size_t
key_hash(uint64_t offset, uint32_t image, uint32_t context, uint16_t event)
{
	uint64_t left = (offset ^ (uint64_t)event << 48) ^ UINT64_C(0x9e3779b97f4a7c15);
	uint64_t right = ((uint64_t)image << 32 | context) ^ UINT64_C(0xd6e8feb86659fd93);
	unsigned __int128 product = (unsigned __int128)left * right;

	return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

static struct tally_entry *
slot_free(struct tally_entry *slots, size_t capacity, size_t hash)
{
	size_t at = hash & (capacity - 1);

	while (slots[at].count)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int
tally_grow(struct tally *tally)
{
	size_t capacity = tally->capacity * 2;
	struct tally_entry *slots = slots_new(capacity);

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < tally->capacity; i++) {
		const struct tally_entry *entry = &tally->slots[i];

		if (entry->count)
			*slot_free(slots, capacity,
			           key_hash(entry->offset, entry->image, entry->context, entry->event)) = *entry;
	}
	free(tally->slots);
	tally->slots = slots;
	tally->capacity = capacity;
	tally->room = room_of(tally, capacity);
	return 0;
}

/* Not inlined: most samples are of a key that is there. */
__attribute__((noinline)) static int
add_key(struct tally *tally, struct tally_entry *entry, const struct sample_key *key, size_t hash, uint64_t count)
{
	int err;

	if (tally->size == tally->limit)
		return -ENOSPC;
	if (tally->room == 0) {
		err = tally_grow(tally);
		if (err)
			return err;
		entry = slot_free(tally->slots, tally->capacity, hash);
	}
	entry->offset = key->offset;
	entry->image = key->image;
	entry->context = key->context;
	entry->event = key->event;
	entry->count = count;
	tally->size++;
	tally->room--;
	return 0;
}

static inline int
add_now(struct tally *tally, const struct sample_key *key, size_t hash, uint64_t count)
{
	size_t mask = tally->capacity - 1;
	size_t at = hash & mask;

	for (;; at = (at + 1) & mask) {
		struct tally_entry *entry = &tally->slots[at];

		if (entry->count == 0)
			return add_key(tally, entry, key, hash, count);
		if (entry->offset == key->offset && entry->image == key->image && entry->context == key->context &&
		    entry->event == key->event) {
			if (__builtin_add_overflow(entry->count, count, &entry->count))
				entry->count = UINT64_MAX;
			return 0;
		}
	}
}

/* Add all that waits, which there is room for. */
static void
settle(struct tally *tally)
{
	for (unsigned i = 0; i < WAITING_MAX; i++) {
		struct tally_waiting *waiting = &tally->waiting[i];

		if (waiting->count)
			(void)add_now(tally, &waiting->key, waiting->hash, waiting->count);
		waiting->count = 0;
	}
}

int
tally_add(struct tally *tally, const struct sample_key *key, uint64_t count)
{
	const size_t hash = key_hash(key->offset, key->image, key->context, key->event);
	struct tally_waiting *waiting = &tally->waiting[tally->waiting_next];

	assert(!tally->sorted);
	if (count == 0)
		return 0;
	if (tally->room <= WAITING_MAX) {
		settle(tally);
		return add_now(tally, key, hash, count);
	}
	if (waiting->count)
		(void)add_now(tally, &waiting->key, waiting->hash, waiting->count); /* there is room for it */
	*waiting = (struct tally_waiting){.key = *key, .hash = hash, .count = count};
	tally->waiting_next = (tally->waiting_next + 1) % WAITING_MAX;
	__builtin_prefetch(&tally->slots[hash & (tally->capacity - 1)], 1);
	return 0;
}

int
tally_add_with_sum(struct tally *tally, const struct sample_key *key, uint64_t count, uint16_t sum_event, uint64_t sum)
{
	struct sample_key sum_key = *key;
	int err;

	if (tally->room <= WAITING_MAX + 1) { /* else neither can be refused */
		settle(tally);
		if (tally->limit - tally->size < 2)
			return -ENOSPC;
		err = tally->room < 2 ? tally_grow(tally) : 0;
		if (err)
			return err;
	}
	sum_key.event = sum_event;
	err = tally_add(tally, key, count);
	return err ? err : tally_add(tally, &sum_key, sum);
}

size_t
tally_size(struct tally *tally)
{
	settle(tally);
	return tally->size;
}

size_t
tally_limit(const struct tally *tally)
{
	return tally->limit;
}

size_t
tally_memory(const struct tally *tally)
{
	return sizeof(*tally) + tally->capacity * sizeof(struct tally_entry);
}

/*
 * Radix exchange ("American flag") by the highest bits in which a range's keys still differ: as many as make its parts
 * small, since each part costs, also one without an entry. Counts of one flush share most bits - few events, images
 * below a thousand - and those are skipped. qsort(3) takes three times as long and as much memory again as the entries.
 */
#define DIGIT_BITS  8
#define SMALL_RANGE 10

struct key_words {
	uint64_t word[3];
};

static struct key_words
key_words(const struct tally_entry *entry)
{
	return (struct key_words){{(uint64_t)entry->event << 32 | entry->image, entry->context, entry->offset}};
}

static bool
entry_before(const struct tally_entry *a, const struct tally_entry *b)
{
	struct key_words left = key_words(a), right = key_words(b);

	for (unsigned i = 0; i < 3; i++)
		if (left.word[i] != right.word[i])
			return left.word[i] < right.word[i];
	return false;
}

static void
sort_small(struct tally_entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct tally_entry entry = entries[i];
		size_t at = i;

		for (; at > 0 && entry_before(&entry, &entries[at - 1]); at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
}

/* Which bits of which word to sort by. */
struct digit {
	unsigned word;
	unsigned shift;
	unsigned count; /* a power of two */
};

static unsigned
digit_of(const struct digit *digit, const struct tally_entry *entry)
{
	return (unsigned)(key_words(entry).word[digit->word] >> digit->shift) & (digit->count - 1);
}

/* Parts of two to four entries: sort_small() takes what is left. */
static unsigned
digit_bits(size_t count)
{
	const unsigned bits = 62 - (unsigned)__builtin_clzll(count);

	return bits < DIGIT_BITS ? bits : DIGIT_BITS;
}

/* False when all keys are equal. */
static bool
digit_choose(const struct tally_entry *entries, size_t count, struct digit *digit)
{
	struct key_words first = key_words(&entries[0]), differ = {{0}};
	const unsigned bits = digit_bits(count);

	for (size_t i = 1; i < count; i++) {
		struct key_words words = key_words(&entries[i]);

		for (unsigned w = 0; w < 3; w++)
			differ.word[w] |= words.word[w] ^ first.word[w];
	}
	for (unsigned w = 0; w < 3; w++) {
		unsigned width;

		if (differ.word[w] == 0)
			continue;
		width = 64 - (unsigned)__builtin_clzll(differ.word[w]);
		digit->word = w;
		digit->shift = width > bits ? width - bits : 0;
		digit->count = 1U << bits;
		return true;
	}
	return false;
}

/* Put every entry into its digit's bucket; ends[d] becomes where bucket d ends. */
static void
partition(struct tally_entry *entries, size_t count, const struct digit *digit, size_t ends[1 << DIGIT_BITS])
{
	size_t next[1 << DIGIT_BITS], sum = 0;

	for (unsigned d = 0; d < digit->count; d++)
		ends[d] = 0;
	for (size_t i = 0; i < count; i++)
		ends[digit_of(digit, &entries[i])]++;
	for (unsigned d = 0; d < digit->count; d++) {
		next[d] = sum;
		sum += ends[d];
		ends[d] = sum;
	}
	for (unsigned d = 0; d < digit->count; d++) {
		while (next[d] < ends[d]) {
			struct tally_entry entry = entries[next[d]];
			unsigned home;

			while ((home = digit_of(digit, &entry)) != d) {
				struct tally_entry displaced = entries[next[home]];

				entries[next[home]++] = entry;
				entry = displaced;
			}
			entries[next[d]++] = entry;
		}
	}
}

/* Each level sorts by a bit at least in which its keys differ: at most 144 levels, the bits of a key, of 4 KB each. */
void
tally_entries_sort(struct tally_entry *entries, size_t count)
{
	size_t ends[1 << DIGIT_BITS], start = 0;
	struct digit digit;

	if (count <= SMALL_RANGE) {
		sort_small(entries, count);
		return;
	}
	if (!digit_choose(entries, count, &digit))
		return;
	partition(entries, count, &digit, ends);
	for (unsigned d = 0; d < digit.count; d++) {
		if (ends[d] - start > 1)
			tally_entries_sort(entries + start, ends[d] - start);
		start = ends[d];
	}
}

const struct tally_entry *
tally_sort(struct tally *tally, size_t *count)
{
	size_t used = 0;

	settle(tally);
	for (size_t i = 0; !tally->sorted && i < tally->capacity; i++)
		if (tally->slots[i].count)
			tally->slots[used++] = tally->slots[i];
	if (!tally->sorted)
		tally_entries_sort(tally->slots, used);
	tally->sorted = true;
	*count = tally->size;
	return tally->slots;
}

/* Halve a table that a peak made large. Without memory for the smaller one it stays large. */
static void
tally_shrink(struct tally *tally)
{
	struct tally_entry *slots;

	if (tally->capacity <= CAPACITY_FIRST || tally->size > tally->capacity / 16)
		return;
	slots = slots_new(tally->capacity / 2);
	if (!slots)
		return;
	free(tally->slots);
	tally->slots = slots;
	tally->capacity /= 2;
}

void
tally_clear(struct tally *tally)
{
	settle(tally); /* how large it was decides how large it stays */
	tally_shrink(tally);
	/* Sorting has moved all entries to the front, but left their old slots as they were. */
	memset(tally->slots, 0, tally->capacity * sizeof(struct tally_entry));
	tally->size = 0;
	tally->room = room_of(tally, tally->capacity);
	tally->sorted = false;
}
