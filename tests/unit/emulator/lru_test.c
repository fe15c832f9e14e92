/* Tests of emulator/model/lru.h: ways leave in the order in which they were used. */
#include <stdint.h>
#include <string.h>

#include "emulator/model/lru.h"
#include "tests/unit/test.h"

#define WAYS_MOST 32
#define USES      2000

/* The slow and obvious one: ways in the order of their last uses, the oldest first. */
struct queue {
	uint32_t ways[WAYS_MOST];
	unsigned count;
};

static struct queue
queue_of(unsigned count)
{
	struct queue queue = {.count = count};

	for (unsigned i = 0; i < count; i++)
		queue.ways[i] = i;
	return queue;
}

static void
queue_use(struct queue *queue, uint32_t way)
{
	unsigned at = 0;

	while (queue->ways[at] != way)
		at++;
	memmove(&queue->ways[at], &queue->ways[at + 1], (queue->count - at - 1) * sizeof(queue->ways[0]));
	queue->ways[queue->count - 1] = way;
}

static uint32_t
next_way(uint32_t *random, unsigned count)
{
	*random = *random * 1664525 + 1013904223;
	return (*random >> 8) % count;
}

static void
bits_know_which_of_up_to_eight_ways_was_used_the_longest_ago(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (unsigned ways = 1; ways <= LRU_WAYS; ways++) {
		struct queue queue = queue_of(ways);
		uint64_t order = lru_first(ways);

		for (unsigned i = 0; i < USES; i++) {
			const uint32_t way = next_way(&random, ways);

			assert_int_equal(lru_oldest(order, lru_present(ways)), queue.ways[0]);
			order = lru_used(order, way);
			queue_use(&queue, way);
		}
	}
}

static void
bytes_know_it_of_more_ways(void **state)
{
	uint32_t random = 2;

	(void)state;
	for (unsigned ways = LRU_WAYS + 1; ways <= WAYS_MOST; ways++) {
		const unsigned bytes = ways <= LRU_BYTES ? LRU_BYTES : ways <= 24 ? 24 : 32;
		struct queue queue = queue_of(ways);
		uint8_t ages[WAYS_MOST];

		memset(ages, LRU_NEVER, sizeof(ages));
		for (unsigned i = 0; i < ways; i++)
			ages[i] = (uint8_t)(ways - 1 - i);
		for (unsigned i = 0; i < USES; i++) {
			const uint32_t way = next_way(&random, ways);

			assert_int_equal(lru_bytes_oldest(ages, bytes, ways), queue.ways[0]);
			lru_bytes_use(ages, bytes, way);
			queue_use(&queue, way);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_know_which_of_up_to_eight_ways_was_used_the_longest_ago),
		cmocka_unit_test(bytes_know_it_of_more_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
