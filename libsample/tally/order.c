#include "tally/order.h"

#include <stdbool.h>

/*
 * Radix exchange ("American flag") by the highest bits in which a range's keys still differ: as many as make its parts
 * small, since each part costs, also one without an entry. Counts of one flush share most bits - few events, images
 * below a thousand - and those are skipped. qsort(3) takes three times as long and as much memory again as the entries.
 */
#define DIGIT_BITS  8
#define SMALL_RANGE 10

struct words {
	uint64_t word[3];
};

static struct words
entry_words(const struct tally_entry *entry)
{
	return (struct words){{(uint64_t)entry->event << 32 | entry->image, entry->context, entry->offset}};
}

static bool
entry_before(const struct tally_entry *a, const struct tally_entry *b)
{
	struct words left = entry_words(a), right = entry_words(b);

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
	return (unsigned)(entry_words(entry).word[digit->word] >> digit->shift) & (digit->count - 1);
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
	struct words first = entry_words(&entries[0]), differ = {{0}};
	const unsigned bits = digit_bits(count);

	for (size_t i = 1; i < count; i++) {
		struct words words = entry_words(&entries[i]);

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
entries_sort(struct tally_entry *entries, size_t count)
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
			entries_sort(entries + start, ends[d] - start);
		start = ends[d];
	}
}
