/*
 * patterns - programs whose threads meet at memory objects in a known way
 *
 * patterns PATTERN [-r] THREADS [ROUNDS [MIB]]: runs one; with -r the remedied variant. Prints a sum, which the remedy
 * does not change. MIB is the size of what is larger than the caches of a node. The object of interest is made by a
 * function of its own, which is not inlined.
 *
 * Six patterns are worth a change: replicate, interleave, local, pin, pad, split. The others are not, and each has
 * something that could mislead: see the table at the end.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline, noclone))
#define THREADS_MAX 64
#define NODES_MAX   8
#define PAGE        4096
#define LINE        64
#define WORDS       (LINE / sizeof(uint64_t))
#define MIB         20
#define OWN         ((size_t)12 << 20) /* of one thread */
#define SMALL       ((size_t)128 << 10)
#define QUEUE       64

struct run {
	unsigned threads, rounds;
	size_t large; /* bytes: more than the caches of a node */
	bool is_remedied;
	pthread_barrier_t barrier;
	uint64_t *data[NODES_MAX]; /* [0], or one for each node */
	uint64_t *own[THREADS_MAX];
	uint64_t sums[THREADS_MAX * WORDS];
};

static struct run run;

typedef uint64_t thread_work(unsigned thread);

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t
seed_of(unsigned thread)
{
	return (thread + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static unsigned
node_now(void)
{
	unsigned cpu, node;

	return getcpu(&cpu, &node) ? 0 : node % NODES_MAX;
}

/* Instructions that touch no memory. */
static uint64_t
compute(uint64_t seed, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		next_random(&seed);
	return seed;
}

static void
fill(uint64_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*data); i++)
		data[i] = i;
}

/* Pages in turn. */
static void
fill_turns(uint64_t *data, size_t bytes, unsigned thread)
{
	for (size_t at = (size_t)thread * PAGE; at < bytes; at += (size_t)run.threads * PAGE)
		for (size_t i = at / sizeof(*data); i < (at + PAGE) / sizeof(*data); i++)
			data[i] = i;
}

static void *
allocate(size_t bytes)
{
	void *memory = aligned_alloc(PAGE, bytes);

	if (!memory) {
		perror("patterns");
		exit(1);
	}
	return memory;
}

struct start {
	thread_work *work;
	unsigned thread;
};

static void *
begin(void *data)
{
	const struct start *start = data;

	run.sums[start->thread * WORDS] = start->work(start->thread);
	return NULL;
}

static uint64_t
run_threads(thread_work *work)
{
	struct start starts[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	uint64_t sum = 0;

	pthread_barrier_init(&run.barrier, NULL, run.threads);
	for (unsigned i = 0; i < run.threads; i++) {
		starts[i] = (struct start){work, i};
		if (pthread_create(&threads[i], NULL, begin, &starts[i])) {
			perror("patterns");
			exit(1);
		}
	}
	for (unsigned i = 0; i < run.threads; i++) {
		pthread_join(threads[i], NULL);
		sum += run.sums[i * WORDS];
	}
	return sum;
}

/* ---- reading and writing lines anywhere ---- */

static uint64_t
read_anywhere(const uint64_t *data, size_t bytes, unsigned thread, unsigned rounds)
{
	uint64_t random = seed_of(thread), sum = 0;

	for (unsigned i = 0; i < rounds; i++)
		sum += data[next_random(&random) % (bytes / LINE) * WORDS];
	return sum;
}

/* Adds nothing, so that the sum does not depend on the order of threads. */
static uint64_t
write_anywhere(uint64_t *data, size_t bytes, unsigned thread, unsigned rounds)
{
	uint64_t random = seed_of(thread), sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		volatile uint64_t *word = &data[next_random(&random) % (bytes / LINE) * WORDS];
		const uint64_t value = *word;

		sum += value;
		*word = value;
	}
	return sum;
}

/* ---- replicate: written once, then read by all ---- */

NOINLINE static uint64_t *
makeMatrix(void)
{
	uint64_t *matrix = allocate(run.large);

	fill(matrix, run.large);
	return matrix;
}

static uint64_t
read_matrix(unsigned thread)
{
	return read_anywhere(run.data[0], run.large, thread, run.rounds);
}

static pthread_once_t copied[NODES_MAX] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT,
                                           PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};

static void
copy_matrix(void)
{
	const unsigned node = node_now();

	if (run.data[node])
		return;
	run.data[node] = allocate(run.large);
	memcpy(run.data[node], run.data[0], run.large);
}

static uint64_t
read_copy(unsigned thread)
{
	const unsigned node = node_now();

	pthread_once(&copied[node], copy_matrix);
	return read_anywhere(run.data[node], run.large, thread, run.rounds);
}

static uint64_t
replicate(void)
{
	run.data[0] = makeMatrix();
	return run_threads(run.is_remedied ? read_copy : read_matrix);
}

/* ---- interleave: read and written by all ---- */

NOINLINE static uint64_t *
makePoints(void)
{
	return allocate(run.large);
}

static uint64_t
use_points(unsigned thread)
{
	if (run.is_remedied)
		fill_turns(run.data[0], run.large, thread);
	pthread_barrier_wait(&run.barrier);
	return write_anywhere(run.data[0], run.large, thread, run.rounds);
}

static uint64_t
interleave(void)
{
	run.data[0] = makePoints();
	if (!run.is_remedied)
		fill(run.data[0], run.large);
	return run_threads(use_points);
}

/* ---- local: one thread's, made by another ---- */

NOINLINE static uint64_t *
makeBuffer(void)
{
	uint64_t *buffer = allocate(OWN);

	fill(buffer, OWN);
	return buffer;
}

static uint64_t
use_buffer(unsigned thread)
{
	if (!run.own[thread])
		run.own[thread] = makeBuffer();
	pthread_barrier_wait(&run.barrier);
	return write_anywhere(run.own[thread], OWN, thread, run.rounds);
}

static uint64_t
local(void)
{
	for (unsigned i = 0; i < run.threads && !run.is_remedied; i++)
		run.own[i] = makeBuffer();
	return run_threads(use_buffer);
}

/* ---- pin: processes, whose threads share the data of their process alone ---- */

NOINLINE static uint64_t *
makePool(void)
{
	uint64_t *pool = allocate(run.large);

	fill(pool, run.large);
	return pool;
}

/* Run on the processors of one node only: the kernel says of each where it is. */
static void
stay_on_node(unsigned node)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t one, chosen;

	CPU_ZERO(&chosen);
	for (long i = 0; i < processors && i < CPU_SETSIZE; i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0 && node_now() == node)
			CPU_SET(i, &chosen);
	}
	if (CPU_COUNT(&chosen))
		(void)sched_setaffinity(0, sizeof(chosen), &chosen);
}

static uint64_t
use_pool(unsigned thread)
{
	if (!run.is_remedied)
		stay_on_node(thread % 2);
	return write_anywhere(run.data[0], run.large, thread, run.rounds);
}

static uint64_t
be_process(unsigned number)
{
	if (run.is_remedied)
		stay_on_node(number);
	run.data[0] = makePool();
	return run_threads(use_pool);
}

static uint64_t
pin(void)
{
	uint64_t *sums = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;
	const unsigned processes = 2;

	if (sums == MAP_FAILED)
		return 0;
	run.threads = run.threads / processes ? run.threads / processes : 1;
	for (unsigned i = 0; i < processes; i++) {
		if (fork() == 0) {
			sums[i] = be_process(i);
			_exit(0);
		}
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
	for (unsigned i = 0; i < processes; i++)
		sum += sums[i];
	return sum;
}

/* ---- pad: a counter of each thread, side by side; and what looks like it ---- */

NOINLINE static uint64_t *
makeCounters(size_t bytes)
{
	uint64_t *counters = allocate(bytes);

	memset(counters, 0, bytes);
	return counters;
}

static size_t stride; /* words from counter to counter */
static unsigned pause_steps;

static uint64_t
count(unsigned thread)
{
	volatile uint64_t *counter = &run.data[0][thread * stride];
	uint64_t random = seed_of(thread);

	for (unsigned i = 0; i < run.rounds; i++) {
		random = compute(random, pause_steps);
		*counter += 1 + (random >> 63) * 0;
	}
	return *counter;
}

static uint64_t
count_with(size_t words, unsigned steps)
{
	stride = words;
	pause_steps = steps;
	run.data[0] = makeCounters((run.threads * words * sizeof(uint64_t) + PAGE - 1) / PAGE * PAGE);
	return run_threads(count);
}

static uint64_t
pad(void)
{
	return count_with(run.is_remedied ? WORDS * 2 : 1, 8);
}

static uint64_t
padded(void)
{
	return count_with(WORDS * 2, 8);
}

static uint64_t
rarely(void)
{
	run.rounds = run.rounds / 1000 + 1;
	return count_with(1, 30000);
}

/* ---- split: a member that all read beside one that all write ---- */

struct state {
	uint64_t limit;
	char before[LINE * 2];
	uint64_t done;
};

struct packed_state {
	uint64_t limit;
	uint64_t done;
};

static volatile uint64_t *limit, *done;

NOINLINE static void *
makeState(void)
{
	void *state = allocate(PAGE);

	memset(state, 0, PAGE);
	return state;
}

static uint64_t
use_state(unsigned thread)
{
	uint64_t random = seed_of(thread), sum = 0;

	for (unsigned i = 0; i < run.rounds; i++) {
		random = compute(random, 4);
		sum += *limit;
		if (thread == 0)
			++*done;
	}
	return sum;
}

static uint64_t
split(void)
{
	void *state = makeState();

	limit = run.is_remedied ? &((struct state *)state)->limit : &((struct packed_state *)state)->limit;
	done = run.is_remedied ? &((struct state *)state)->done : &((struct packed_state *)state)->done;
	*limit = 3;
	return run_threads(use_state);
}

/* ---- not worth a change ---- */

/* One thread, all local. */
static uint64_t
alone(void)
{
	run.threads = 1;
	run.data[0] = makePoints();
	fill(run.data[0], run.large);
	return run_threads(use_points);
}

/* Each thread's own, made by itself. */
static uint64_t private(void)
{
	return run_threads(use_buffer);
}

/* Read by all, from every core's own cache. */
static uint64_t
read_small(unsigned thread)
{
	return read_anywhere(run.data[0], SMALL, thread, run.rounds * 4);
}

static uint64_t
cached(void)
{
	run.data[0] = allocate(SMALL);
	fill(run.data[0], SMALL);
	return run_threads(read_small);
}

/* Read and written by all, and spread already: half of it is remote for anybody. */
static uint64_t
spread(void)
{
	run.is_remedied = true;
	return interleave();
}

/* Truly shared: no placement helps. */
static uint64_t
add_to_counter(unsigned thread)
{
	uint64_t *counter = run.data[0];
	uint64_t random = seed_of(thread);

	for (unsigned i = 0; i < run.rounds; i++) {
		random = compute(random, 8);
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static uint64_t
shared(void)
{
	uint64_t sum;

	run.data[0] = makeCounters(PAGE);
	sum = run_threads(add_to_counter);
	return sum + run.data[0][0];
}

/* A queue of one producer and one consumer: each waits for the other's word, which is its purpose. */
struct queue {
	_Alignas(LINE) volatile uint64_t in;
	_Alignas(LINE) volatile uint64_t out;
	_Alignas(LINE) volatile uint64_t items[QUEUE];
};

static struct queue *queue;

static uint64_t
hand_on(unsigned thread)
{
	uint64_t random = seed_of(thread), sum = 0;

	for (unsigned i = 0; i < run.rounds; i++) {
		random = compute(random, 100);
		if (thread == 0) {
			while (queue->in - __atomic_load_n(&queue->out, __ATOMIC_ACQUIRE) == QUEUE)
				;
			queue->items[queue->in % QUEUE] = i;
			__atomic_store_n(&queue->in, queue->in + 1, __ATOMIC_RELEASE);
		} else {
			while (__atomic_load_n(&queue->in, __ATOMIC_ACQUIRE) == queue->out)
				;
			sum += queue->items[queue->out % QUEUE];
			__atomic_store_n(&queue->out, queue->out + 1, __ATOMIC_RELEASE);
		}
	}
	return sum;
}

static uint64_t
hand(void)
{
	run.threads = 2;
	queue = allocate(PAGE);
	memset(queue, 0, PAGE);
	return run_threads(hand_on);
}

/* Many small objects that live for a moment. */
NOINLINE static uint64_t *
makeItem(uint64_t value)
{
	uint64_t *item = malloc(sizeof(*item) * 4);

	if (item)
		*item = value;
	return item;
}

static uint64_t
churn_items(unsigned thread)
{
	uint64_t *items[16] = {NULL}, random = seed_of(thread), sum = 0;

	for (unsigned i = 0; i < run.rounds; i++) {
		uint64_t **item = &items[next_random(&random) % 16];

		sum += *item ? **item : 0;
		free(*item);
		*item = makeItem(i);
	}
	for (unsigned i = 0; i < 16; i++)
		free(items[i]);
	return sum;
}

static uint64_t
churn(void)
{
	return run_threads(churn_items);
}

/* Remote, but touched once; then the threads compute. */
static uint64_t
touch_once(unsigned thread)
{
	uint64_t sum = read_anywhere(run.data[0], run.large / 16, thread, 200);

	return sum + compute(seed_of(thread), run.rounds * 20) * 0;
}

static uint64_t
once(void)
{
	run.data[0] = allocate(run.large / 16);
	fill(run.data[0], run.large / 16);
	return run_threads(touch_once);
}

/* A copy on each node already. */
static uint64_t
copies(void)
{
	run.is_remedied = true;
	return replicate();
}

/* No memory at all. */
static uint64_t
compute_only(unsigned thread)
{
	volatile uint64_t result = compute(seed_of(thread), run.rounds * 20);

	return result * 0 + thread;
}

static uint64_t
computing(void)
{
	return run_threads(compute_only);
}

/* What one thread wrote in a phase, the next reads in the following one, once: data is handed on. */
static uint64_t
phases(unsigned thread)
{
	const size_t part = SMALL / WORDS / sizeof(uint64_t);
	uint64_t sum = 0;

	for (unsigned phase = 0; phase < 4; phase++) {
		uint64_t *own = run.data[0] + (size_t)thread * part * WORDS;
		const uint64_t *other = run.data[0] + (size_t)((thread + 1) % run.threads) * part * WORDS;

		for (size_t i = 0; i < part; i++)
			own[i * WORDS] = i + phase;
		pthread_barrier_wait(&run.barrier);
		for (size_t i = 0; i < part; i += 16)
			sum += other[i * WORDS];
		sum += compute(seed_of(thread), run.rounds) * 0;
		pthread_barrier_wait(&run.barrier);
	}
	return sum;
}

static uint64_t
phased(void)
{
	run.data[0] = allocate(run.threads * SMALL);
	return run_threads(phases);
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
	unsigned rounds;
} patterns[] = {
	{"replicate", replicate, 60000},
	{"interleave", interleave, 60000},
	{"local", local, 60000},
	{"pin", pin, 60000},
	{"pad", pad, 60000},
	{"split", split, 60000},
	{"alone", alone, 60000},         /* much memory, and waiting for it, but one thread */
	{"private", private, 60000},     /* much memory for each thread, all local */
	{"cached", cached, 60000},       /* read by the threads of all nodes */
	{"spread", spread, 60000},       /* half of the accesses are remote, and nothing better is possible */
	{"shared", shared, 20000},       /* lines travel, for a word that all write */
	{"padded", padded, 60000},       /* counters of threads in one object */
	{"rarely", rarely, 60000},       /* shared falsely, once in 100,000 instructions */
	{"hand", hand, 10000},           /* lines travel, because they hand something over */
	{"churn", churn, 20000},         /* many objects of one site */
	{"once", once, 60000},           /* all accesses are remote, but they are few */
	{"copies", copies, 60000},       /* replicated already */
	{"computing", computing, 60000}, /* threads of all nodes, no memory */
	{"phased", phased, 60000},       /* each line has two threads, of two phases */
};

int
main(int argc, char **argv)
{
	int at = 1;
	const char *name = argc > at ? argv[at++] : "";

	if (argc > at && strcmp(argv[at], "-r") == 0) {
		run.is_remedied = true;
		at++;
	}
	run.threads = argc > at ? (unsigned)atoi(argv[at++]) : 8;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (strcmp(patterns[i].name, name) != 0)
			continue;
		run.rounds = argc > at ? (unsigned)atoi(argv[at]) : patterns[i].rounds;
		run.large = (argc > at + 1 ? (size_t)atoi(argv[at + 1]) : 96) << MIB;
		if (run.threads == 0 || run.threads > THREADS_MAX)
			break;
		printf("%llu\n", (unsigned long long)patterns[i].run());
		return 0;
	}
	fprintf(stderr, "usage: patterns PATTERN [-r] THREADS [ROUNDS [MIB]]\n");
	return 2;
}
