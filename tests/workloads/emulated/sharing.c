/*
 * sharing - threads that meet at lines of memory, or do not
 *
 * sharing counter|padded|false|private|spin|ticket|queue THREADS TURNS [time]:
 *   counter, padded   each turn is an atomic addition, to a counter of all threads, or to one of the thread's own
 *   false, private    a load, an addition and a store in a word of its own: the words are in one line, or each in
 * another spin, ticket      takes a lock, adds to a counter behind it, and releases the lock queue             two
 * threads: one puts numbers into a queue of 64, and the other adds them up
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "emulated.h"

#define THREADS_MAX 64
#define LINE        128 /* the host's prefetchers fetch lines in pairs */
#define SLOTS       64
#define SPINS       100

struct own {
	_Alignas(LINE) atomic_ulong counter;
};

struct item_queue {
	_Alignas(LINE) atomic_ulong written;
	_Alignas(LINE) atomic_ulong taken;
	_Alignas(LINE) uint64_t slots[SLOTS];
};

struct sharing {
	_Alignas(LINE) atomic_ulong counter;
	_Alignas(LINE) unsigned long behind_lock; /* with the lock's own line, as in most programs */
	atomic_uint locked;
	_Alignas(LINE) atomic_ulong next_ticket;
	_Alignas(LINE) atomic_ulong serving;
	_Alignas(LINE) volatile unsigned long words[THREADS_MAX];
	struct own own[THREADS_MAX];
	struct item_queue queue;
	size_t turns;
	uint64_t sum;
};

struct sharer {
	struct sharing *sharing;
	size_t number;
	void (*turn)(struct sharing *sharing, size_t number);
};

/* Whoever is waited for may need the processor on which this one waits. */
static void
wait_a_turn(size_t turns)
{
	if (turns % SPINS == 0)
		sched_yield();
}

static void
add_to_counter(struct sharing *sharing, size_t number)
{
	(void)number;
	atomic_fetch_add(&sharing->counter, 1);
}

static void
add_to_own(struct sharing *sharing, size_t number)
{
	atomic_fetch_add(&sharing->own[number].counter, 1);
}

static void
write_word(struct sharing *sharing, size_t number)
{
	sharing->words[number]++;
}

static void
write_own(struct sharing *sharing, size_t number)
{
	volatile unsigned long *word = (volatile unsigned long *)(void *)&sharing->own[number];

	++*word;
}

static void
add_with_spin_lock(struct sharing *sharing, size_t number)
{
	(void)number;
	while (atomic_exchange_explicit(&sharing->locked, 1, memory_order_acquire)) {
		for (size_t i = 1; atomic_load_explicit(&sharing->locked, memory_order_relaxed); i++)
			wait_a_turn(i);
	}
	sharing->behind_lock++;
	atomic_store_explicit(&sharing->locked, 0, memory_order_release);
}

static void
add_with_ticket_lock(struct sharing *sharing, size_t number)
{
	const unsigned long mine = atomic_fetch_add(&sharing->next_ticket, 1);

	(void)number;
	for (size_t i = 1; atomic_load_explicit(&sharing->serving, memory_order_acquire) != mine; i++)
		wait_a_turn(i);
	sharing->behind_lock++;
	atomic_store_explicit(&sharing->serving, mine + 1, memory_order_release);
}

/* The first thread puts, and the second takes. */
static void
use_queue(struct sharing *sharing, size_t number)
{
	struct item_queue *queue = &sharing->queue;
	const unsigned long written = atomic_load_explicit(&queue->written, memory_order_acquire);
	const unsigned long taken = atomic_load_explicit(&queue->taken, memory_order_acquire);

	if (number == 0) {
		while (written - atomic_load_explicit(&queue->taken, memory_order_acquire) == SLOTS)
			sched_yield();
		queue->slots[written % SLOTS] = written;
		atomic_store_explicit(&queue->written, written + 1, memory_order_release);
	} else {
		while (atomic_load_explicit(&queue->written, memory_order_acquire) == taken)
			sched_yield();
		sharing->sum += queue->slots[taken % SLOTS];
		atomic_store_explicit(&queue->taken, taken + 1, memory_order_release);
	}
}

static void *
work(void *data)
{
	const struct sharer *sharer = data;

	for (size_t i = 0; i < sharer->sharing->turns; i++)
		sharer->turn(sharer->sharing, sharer->number);
	return NULL;
}

static const struct sharing_kind {
	const char *name;
	void (*turn)(struct sharing *sharing, size_t number);
} kinds[] = {
	{"counter", add_to_counter},  {"padded", add_to_own},           {"false", write_word}, {"private", write_own},
	{"spin", add_with_spin_lock}, {"ticket", add_with_ticket_lock}, {"queue", use_queue},
};

static uint64_t
sum_of(const struct sharing *sharing)
{
	uint64_t sum = sharing->counter + sharing->behind_lock + sharing->sum;

	for (size_t i = 0; i < THREADS_MAX; i++)
		sum += sharing->words[i] + sharing->own[i].counter;
	return sum;
}

int
main(int argc, char **argv)
{
	const bool says_time = asked_for_time(&argc, argv);
	const size_t threads = argument(argc, argv, 2, 2);
	static struct sharing sharing;
	struct sharer sharers[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	const struct sharing_kind *kind = NULL;
	double began;

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) == 0)
			kind = &kinds[i];
	}
	if (!kind || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "sharing counter|padded|false|private|spin|ticket|queue THREADS TURNS [time]\n");
		return 2;
	}
	sharing.turns = argument(argc, argv, 3, 1000);
	began = now_s();
	for (size_t i = 0; i < threads; i++) {
		sharers[i] = (struct sharer){&sharing, i, kind->turn};
		if (pthread_create(&ids[i], NULL, work, &sharers[i]))
			return 1;
	}
	for (size_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	if (says_time)
		fprintf(stderr, "%.9f s\n", now_s() - began);
	printf("%llu\n", (unsigned long long)sum_of(&sharing));
	return 0;
}
