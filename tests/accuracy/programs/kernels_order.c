#include <stdlib.h>

#include "input.h"
#include "kernels.h"

static void
swap(uint32_t *a, uint32_t *b)
{
	const uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

static void
insertion_sort(uint32_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const uint32_t value = values[i];
		size_t k = i;

		for (; k && values[k - 1] > value; k--)
			values[k] = values[k - 1];
		values[k] = value;
	}
}

/* Noinline: the name is to be found in the profile. */
static __attribute__((noinline)) void
quicksort(uint32_t *values, size_t count)
{
	while (count > 12) {
		const uint32_t pivot = values[count / 2];
		size_t low = 0, high = count - 1;

		for (;;) {
			while (values[low] < pivot)
				low++;
			while (values[high] > pivot)
				high--;
			if (low >= high)
				break;
			swap(&values[low++], &values[high--]);
		}
		if (low > count - low) {
			quicksort(values + low, count - low);
			count = low;
		} else {
			quicksort(values, low);
			values += low;
			count -= low;
		}
	}
	insertion_sort(values, count);
}

uint64_t
kernel_quicksort(uint8_t *data, size_t size)
{
	uint32_t *values = (uint32_t *)(void *)data;
	const size_t count = size / sizeof(*values);

	quicksort(values, count);
	return values[0] + values[count / 2];
}

/* Events in a queue of at most 4096: the earliest goes, a later one comes. */
uint64_t
kernel_heap(uint8_t *data, size_t size)
{
	const uint32_t *values = (const uint32_t *)(const void *)data;
	uint64_t heap[4096] = {0}, sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < size / sizeof(*values); i++) {
		uint64_t value = values[i] % 100000;
		size_t at;

		if (count < sizeof(heap) / sizeof(heap[0])) {
			for (at = count++; at && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
				heap[at] = heap[(at - 1) / 2];
			heap[at] = value;
			continue;
		}
		if (value % 16 == 0)
			sum += heap[0];
		else
			value += heap[0];
		for (at = 0; 2 * at + 1 < count;) {
			size_t child = 2 * at + 1;

			if (child + 1 < count && heap[child + 1] < heap[child])
				child++;
			if (heap[child] >= value)
				break;
			heap[at] = heap[child];
			at = child;
		}
		heap[at] = value;
	}
	return sum;
}

struct node {
	uint32_t key, times;
	struct node *left, *right;
};

uint64_t
kernel_tree(uint8_t *data, size_t size)
{
	const uint32_t *values = (const uint32_t *)(const void *)data;
	const size_t count = size / sizeof(*values);
	struct node *nodes = input_require(calloc(count + 1, sizeof(*nodes))), *root = NULL;
	uint64_t steps = 0;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t key = values[i] % 50000;
		struct node **at = &root;

		while (*at && (*at)->key != key) {
			at = key < (*at)->key ? &(*at)->left : &(*at)->right;
			steps++;
		}
		if (!*at) {
			*at = &nodes[used++];
			(*at)->key = key;
		} else if (++(*at)->times % 8 == 0) {
			steps ^= key;
		}
	}
	free(nodes);
	return steps;
}

#define HASH_SLOTS (1U << 16)

uint64_t
kernel_hash(uint8_t *data, size_t size)
{
	static uint32_t keys[HASH_SLOTS], counts[HASH_SLOTS];
	const uint32_t *values = (const uint32_t *)(const void *)data;
	uint64_t probes = 0;
	uint32_t used = 0;

	memset(keys, 0, sizeof(keys));
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < size / sizeof(*values); i++) {
		const uint32_t key = values[i] % 60000 + 1;
		uint32_t slot = key * UINT32_C(2654435769) >> 16;

		for (; keys[slot] && keys[slot] != key; probes++)
			slot = (slot + 1) % HASH_SLOTS;
		if (keys[slot]) {
			counts[slot]++;
		} else if (used < HASH_SLOTS / 10 * 7) {
			keys[slot] = key;
			used++;
		}
	}
	return probes + used;
}

/* Primes, and how far they are apart. */
uint64_t
kernel_sieve(uint8_t *data, size_t size)
{
	uint64_t sum = 0;
	size_t last = 2, widest = 0;

	memset(data, 0, size);
	for (size_t i = 2; i < size; i++) {
		if (data[i])
			continue;
		if (i * i < size)
			for (size_t k = i * i; k < size; k += i)
				data[k] = 1;
		if (i - last > widest)
			widest = i - last;
		else if (i - last == 2)
			sum += i;
		last = i;
	}
	return sum + widest;
}
