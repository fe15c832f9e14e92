/*
 * objects.h - what the programs share that use objects of memory in known ways
 *
 * A crew is the threads of a program, each pinned to a processor of its own: they are spread evenly over the processors
 * that the program may use, those of one node beside each other. What a crew computes depends on the arguments alone.
 *
 * Each object of interest is allocated in a function of its own, make_NAME(), which is not inlined, so that tools can
 * name it; beside them are objects of no interest: make_settings(), make_log(), make_vector().
 */
#ifndef DCPI_WORKLOADS_OBJECTS_H
#define DCPI_WORKLOADS_OBJECTS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/workloads/emulated/emulated.h"

#define CREW_MAX     64
#define CREW_NODES   8
#define PAGE         4096
#define LINE         64
#define LINES_PAIRED 128 /* processors fetch lines in pairs */
#define LINE_WORDS   (LINE / sizeof(uint64_t))
#define SETTINGS     40
#define LOG_BYTES    65536
#define VECTOR_WORDS 1024
#define ROW_WORDS    VECTOR_WORDS /* of a matrix */
#define BLOCK_BYTES  (2 * PAGE)   /* of points */
#define POINT_WORDS  (8 * LINE_WORDS)

#define NOINLINE __attribute__((noinline, noclone, unused))

struct crew;

struct worker {
	_Alignas(LINES_PAIRED) struct crew *crew;
	unsigned number, node;
	uint64_t random; /* state of next_random() */
	uint64_t *vector;
	uint64_t sum; /* its part of the result */
	pthread_t id;
};

struct crew {
	unsigned threads; /* of all processes */
	size_t loops, bytes;
	bool is_other; /* remedied, or what tempts */
	unsigned cpu_count, node_count;
	unsigned cpus[CPU_SETSIZE], nodes[CPU_SETSIZE]; /* processors by node; the node of each, from 0 on */
	unsigned process, process_count;
	bool is_dealt; /* each process has workers on all nodes, not on as few as possible */
	unsigned worker_count;
	struct worker workers[CREW_MAX];
	pthread_barrier_t barrier;
	void (*work)(struct worker *worker);
	char *settings[SETTINGS];
	char *log;
	uint64_t *copies[CREW_NODES]; /* of a matrix; the first node's may be the matrix */
	volatile uint64_t *counters;  /* one of each worker */
	size_t counter_bytes;         /* from one to the next */
};

/* Always inlined: tools then see the calling function allocate. The program ends when there is no memory. */
__attribute__((always_inline)) static inline void *
get_aligned(size_t alignment, size_t bytes)
{
	void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);

	if (!memory) {
		perror("aligned_alloc");
		exit(1);
	}
	return memory;
}

static inline uint64_t
mix_bits(uint64_t bits)
{
	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

/* The first touch of each page. */
static inline void
touch_pages(void *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		((volatile char *)memory)[at] = 0;
}

static inline void
pin_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

/* The processors that the program may use, those of the first node first. It is then pinned to the first of them. */
static inline void
crew_find_cpus(struct crew *crew)
{
	unsigned node_of[CPU_SETSIZE], highest = 0;
	cpu_set_t may;

	if (sched_getaffinity(0, sizeof(may), &may)) {
		perror("sched_getaffinity");
		exit(1);
	}
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &may))
			continue;
		pin_to(cpu);
		if (syscall(SYS_getcpu, NULL, &node_of[cpu], NULL)) /* not getcpu(): the vDSO of QEMU 10 has no nodes */
			node_of[cpu] = 0;
		highest = node_of[cpu] > highest ? node_of[cpu] : highest;
	}
	for (unsigned node = 0; node <= highest; node++) {
		const unsigned before = crew->cpu_count;

		for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &may) || node_of[cpu] != node)
				continue;
			crew->nodes[crew->cpu_count] = crew->node_count;
			crew->cpus[crew->cpu_count++] = cpu;
		}
		crew->node_count += crew->cpu_count > before;
	}
	pin_to(crew->cpus[0]);
}

/* ---- objects of no interest ---- */

static NOINLINE char *
make_setting(unsigned number)
{
	char *setting = get_aligned(16, 48);

	snprintf(setting, 48, "setting %u = %u", number, number * number);
	return setting;
}

static NOINLINE char *
make_log(void)
{
	char *log = get_aligned(LINES_PAIRED, LOG_BYTES);

	memset(log, ' ', LOG_BYTES);
	return log;
}

static NOINLINE uint64_t *
make_vector(uint64_t seed)
{
	uint64_t *vector = get_aligned(LINES_PAIRED, VECTOR_WORDS * sizeof(*vector));

	for (size_t i = 0; i < VECTOR_WORDS; i++)
		vector[i] = mix_bits(seed * VECTOR_WORDS + i);
	return vector;
}

/* ---- its life ---- */

/* False: there cannot be so many threads. */
static inline bool
crew_init(struct crew *crew, size_t threads)
{
	if (threads < 1 || threads > CREW_MAX)
		return false;
	crew->threads = (unsigned)threads;
	crew->process_count = 1;
	crew->worker_count = crew->threads;
	crew_find_cpus(crew);
	for (unsigned i = 0; i < SETTINGS; i++)
		crew->settings[i] = make_setting(i);
	crew->log = make_log();
	return true;
}

static inline void
crew_meet(struct worker *worker)
{
	pthread_barrier_wait(&worker->crew->barrier);
}

/* The number of the first worker on the worker's node: those of a node have numbers in a row. For workers that have
 * met: each sets its node before. */
static inline unsigned
first_on_node(const struct worker *worker)
{
	const struct worker *workers = worker->crew->workers;
	unsigned first = worker->number;

	while (first > 0 && workers[first - 1].node == worker->node)
		first--;
	return first;
}

static inline unsigned
crew_on_node(const struct crew *crew, unsigned node)
{
	unsigned count = 0;

	for (unsigned i = 0; i < crew->worker_count; i++)
		count += crew->workers[i].node == node;
	return count;
}

static void *
crew_begin_worker(void *data)
{
	struct worker *worker = data;
	struct crew *crew = worker->crew;
	const unsigned process = crew->process, number = worker->number;
	const unsigned seat =
		crew->is_dealt ? number * crew->process_count + process : process * crew->worker_count + number;
	const unsigned at = seat * crew->cpu_count / crew->threads % crew->cpu_count;

	worker->random = mix_bits(seat + 1) | 1;
	pin_to(crew->cpus[at]);
	worker->node = crew->nodes[at];
	worker->vector = make_vector(number);
	worker->sum = (uint64_t)strlen(crew->settings[number % SETTINGS]);
	crew_meet(worker);
	crew->work(worker);
	crew->log[number * LINES_PAIRED] = 'e';
	return NULL;
}

/* All workers do `work`; returns the sum of what they sum up. */
static inline uint64_t
crew_run(struct crew *crew, void (*work)(struct worker *worker))
{
	uint64_t sum = 0;

	crew->work = work;
	pthread_barrier_init(&crew->barrier, NULL, crew->worker_count);
	for (unsigned i = 0; i < crew->worker_count; i++) {
		struct worker *worker = &crew->workers[i];

		worker->crew = crew;
		worker->number = i;
		if (pthread_create(&worker->id, NULL, crew_begin_worker, worker)) {
			fprintf(stderr, "no more threads\n");
			exit(1);
		}
	}
	for (unsigned i = 0; i < crew->worker_count; i++) {
		pthread_join(crew->workers[i].id, NULL);
		sum += crew->workers[i].sum;
	}
	return sum;
}

/* ---- objects, and ways of using them, of several programs ---- */

/* A word of each line is written, once. */
static inline void
fill_matrix(uint64_t *matrix, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*matrix); i += LINE_WORDS)
		matrix[i] = mix_bits(i);
}

static NOINLINE uint64_t *
make_matrix(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

static NOINLINE uint64_t *
make_copy(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

/* The workers of a node make its copy of the matrix, if that is not the matrix itself; returns it. */
static inline const uint64_t *
copy_matrix(struct worker *worker, const uint64_t *matrix)
{
	struct crew *crew = worker->crew;
	const size_t rows = crew->bytes / sizeof(*matrix) / ROW_WORDS;
	const unsigned node = worker->node, first = first_on_node(worker), count = crew_on_node(crew, node);

	if (worker->number == first && !crew->copies[node])
		crew->copies[node] = make_copy(crew->bytes);
	crew_meet(worker);
	for (size_t i = worker->number - first; i < rows && crew->copies[node] != matrix; i += count)
		memcpy(&crew->copies[node][i * ROW_WORDS], &matrix[i * ROW_WORDS], ROW_WORDS * sizeof(*matrix));
	crew_meet(worker);
	return crew->copies[node];
}

static NOINLINE uint64_t
multiply_row(const uint64_t *row, const uint64_t *vector)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ROW_WORDS; i += LINE_WORDS)
		sum += row[i] * vector[i] + row[i + LINE_WORDS / 2];
	return sum;
}

/* Multiply rows in random order. */
static inline void
multiply_rows(struct worker *worker, const uint64_t *matrix)
{
	const struct crew *crew = worker->crew;
	const size_t rows = crew->bytes / sizeof(*matrix) / ROW_WORDS;

	for (size_t i = 0; i < crew->loops; i++)
		worker->sum += multiply_row(&matrix[next_random(&worker->random) % rows * ROW_WORDS], worker->vector);
}

static NOINLINE uint64_t *
make_buffer(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

/* Each step needs the word before it, as in a hash table with chains. */
static NOINLINE uint64_t
walk_buffer(uint64_t *buffer, size_t bytes, size_t steps, uint64_t at)
{
	for (size_t i = 0; i < steps; i++) {
		uint64_t *word = &buffer[at % (bytes / LINE) * LINE_WORDS];

		*word += at;
		at = mix_bits(*word + i);
	}
	return at;
}

/* The worker touches its share of the pages first. Which those are has nothing to do with who uses them later. */
static inline void
touch_in_turn(const struct worker *worker, void *memory, size_t bytes)
{
	for (size_t page = 0; page < bytes / PAGE; page++) {
		if (mix_bits(page) % worker->crew->worker_count == worker->number)
			touch_pages((char *)memory + page * PAGE, PAGE);
	}
}

static NOINLINE uint64_t *
make_points(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

/* A point has its coordinates, which are read, and then what it costs, which is also written. */
static NOINLINE uint64_t
cost_points(uint64_t *block, uint64_t more)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BLOCK_BYTES / sizeof(*block); i += POINT_WORDS) {
		for (size_t line = 0; line < POINT_WORDS; line += LINE_WORDS)
			sum += block[i + line] + block[i + line + LINE_WORDS / 2];
		sum += block[i + POINT_WORDS - 1];
		block[i + POINT_WORDS - 1] += more;
	}
	return sum;
}

/* Each phase, a thread has other blocks. */
static inline void
cost_blocks(struct worker *worker, uint64_t *points)
{
	const struct crew *crew = worker->crew;
	const size_t blocks = crew->bytes / BLOCK_BYTES, threads = crew->worker_count;

	for (size_t phase = 0; phase < crew->loops; phase++) {
		for (size_t i = (worker->number + phase * (threads / 2 + 1)) % threads; i < blocks; i += threads)
			worker->sum += cost_points(&points[i * (BLOCK_BYTES / sizeof(*points))], phase + 1);
		crew_meet(worker);
	}
}

static NOINLINE volatile uint64_t *
make_counters(size_t count, size_t bytes_each)
{
	volatile uint64_t *made = get_aligned(LINES_PAIRED, count * bytes_each);

	for (size_t i = 0; i < count * bytes_each / sizeof(*made); i++)
		made[i] = 0;
	return made;
}

/* Random numbers, in a register. */
static NOINLINE uint64_t
compute(uint64_t *random, size_t steps)
{
	for (size_t i = 0; i < steps; i++)
		next_random(random);
	return *random;
}

/* `steps`: of compute() between two counts; where it is a constant, it is one in compute(). */
__attribute__((always_inline)) static inline void
count_own(struct worker *worker, size_t steps)
{
	const struct crew *crew = worker->crew;
	volatile uint64_t *mine = &crew->counters[worker->number * crew->counter_bytes / sizeof(*mine)];

	for (size_t i = 0; i < crew->loops; i++)
		*mine += compute(&worker->random, steps) % 3;
}

/* Each worker calls `count`, for a counter of its own that is `counter_bytes` behind that of the worker before it. */
static inline uint64_t
count_apart(struct crew *crew, size_t counter_bytes, void (*count)(struct worker *worker))
{
	uint64_t sum;

	crew->counter_bytes = counter_bytes;
	crew->counters = make_counters(crew->worker_count, counter_bytes);
	sum = crew_run(crew, count);
	for (unsigned i = 0; i < crew->worker_count; i++)
		sum += crew->counters[i * counter_bytes / sizeof(*crew->counters)];
	return sum;
}

/* ---- main() ---- */

struct program_mode {
	const char *name;
	uint64_t (*run)(void); /* returns the result */
	size_t loops, mib;     /* if they are not given */
};

/* PROGRAM NAME plain|OTHER [THREADS [LOOPS [MIB]]] [time] */
static inline int
crew_main(struct crew *crew, int argc, char **argv, const struct program_mode *modes, size_t count, const char *other)
{
	const bool says_time = asked_for_time(&argc, argv);
	const struct program_mode *mode = NULL;
	uint64_t result;
	double began;

	for (size_t i = 0; argc > 2 && i < count; i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	crew->is_other = argc > 2 && strcmp(argv[2], other) == 0;
	if (mode) {
		crew->loops = argument(argc, argv, 4, mode->loops);
		crew->bytes = argument(argc, argv, 5, mode->mib) << 20;
	}
	if (!mode || (!crew->is_other && strcmp(argv[2], "plain") != 0) || !crew->loops || !crew->bytes ||
	    !crew_init(crew, argument(argc, argv, 3, 8))) {
		fprintf(stderr, "NAME plain|%s [THREADS [LOOPS [MIB]]] [time], with a NAME of\n", other);
		for (size_t i = 0; i < count; i++)
			fprintf(stderr, " %s", modes[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	began = now_s();
	result = mode->run();
	if (says_time)
		fprintf(stderr, "%.9f s\n", now_s() - began);
	printf("%llu\n", (unsigned long long)result);
	return 0;
}

#endif
