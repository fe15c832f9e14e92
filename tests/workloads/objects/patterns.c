/*
 * patterns - objects whose use is wrong on a machine with several nodes, or several caches, and the remedy is known
 *
 * patterns NAME plain|remedied [THREADS [LOOPS [MIB]]] [time]
 *
 * replicate: make_matrix() is written once by the main thread, then read by all threads. Remedied: each other node has
 * a copy.
 *
 * interleave: make_points() is touched first by the main thread, then read and written by all threads, in blocks that
 * others have next. Remedied: all threads touch the pages first, in turn.
 *
 * local: make_buffer() is of each thread alone, but touched first by the main thread. Remedied: its user makes it.
 *
 * pin: make_pool() and make_relocations() are of the threads of one process, which are on all nodes. Remedied: the
 * threads of a process are on one node.
 *
 * migrate: one thread on each node has make_block() for long, one after the other. Remedied: each moves it to its own
 * node first.
 *
 * pad: make_counters() has a counter of each thread, 8 bytes apart. Remedied: 128 bytes apart.
 *
 * split: one member of make_session() is read by all threads, the one beside it is written by the first thread.
 * Remedied: they are in lines of their own.
 *
 * Prints the same number in both cases.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/objects/objects.h"

#define RELOCATIONS 4096
#define WORK_STEPS  8 /* between two accesses to a line that is shared falsely */

static struct crew crew;

/* ---- replicate ---- */

static uint64_t *matrix;

static void
use_matrix(struct worker *worker)
{
	multiply_rows(worker, crew.is_other ? copy_matrix(worker, matrix) : matrix);
}

static uint64_t
replicate(void)
{
	matrix = make_matrix(crew.bytes);
	fill_matrix(matrix, crew.bytes);
	crew.copies[0] = matrix; /* the main thread is on the first node */
	return crew_run(&crew, use_matrix);
}

/* ---- interleave ---- */

static uint64_t *points;

static void
cost_all_points(struct worker *worker)
{
	if (crew.is_other) {
		touch_in_turn(worker, points, crew.bytes);
		crew_meet(worker);
	}
	cost_blocks(worker, points);
}

static uint64_t
interleave(void)
{
	points = make_points(crew.bytes);
	if (!crew.is_other)
		touch_pages(points, crew.bytes);
	return crew_run(&crew, cost_all_points);
}

/* ---- local ---- */

static uint64_t *buffers[CREW_MAX];

/* The first touch decides where it is. */
static uint64_t *
make_and_touch_buffer(size_t bytes)
{
	uint64_t *buffer = make_buffer(bytes);

	touch_pages(buffer, bytes);
	return buffer;
}

static void
use_buffer(struct worker *worker)
{
	const size_t bytes = crew.bytes / crew.worker_count;

	if (crew.is_other)
		buffers[worker->number] = make_and_touch_buffer(bytes);
	worker->sum += walk_buffer(buffers[worker->number], bytes, crew.loops, worker->random);
}

static uint64_t
local(void)
{
	for (unsigned i = 0; i < crew.worker_count && !crew.is_other; i++)
		buffers[i] = make_and_touch_buffer(crew.bytes / crew.worker_count);
	return crew_run(&crew, use_buffer);
}

/* ---- pin ---- */

static atomic_uint_fast64_t *pool;
static uint64_t *relocations;

static NOINLINE atomic_uint_fast64_t *
make_pool(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

static NOINLINE uint64_t *
make_relocations(void)
{
	uint64_t *made = get_aligned(PAGE, RELOCATIONS * sizeof(*made));

	for (size_t i = 0; i < RELOCATIONS; i++)
		made[i] = mix_bits(i);
	return made;
}

static void
serve(struct worker *worker)
{
	const size_t lines = crew.bytes / crew.process_count / LINE;

	if (worker->number == 0) {
		pool = make_pool(lines * LINE);
		for (size_t i = 0; i < lines; i++)
			atomic_init(&pool[i * LINE_WORDS], 0);
		relocations = make_relocations();
	}
	crew_meet(worker);
	for (size_t i = 0; i < crew.loops; i++) {
		const uint64_t random = next_random(&worker->random);

		atomic_fetch_add_explicit(&pool[random % lines * LINE_WORDS], 1, memory_order_relaxed);
		worker->sum += relocations[(random >> 32) % RELOCATIONS];
	}
	crew_meet(worker);
	for (size_t i = worker->number; i < lines; i += crew.worker_count)
		worker->sum += mix_bits(i) * atomic_load_explicit(&pool[i * LINE_WORDS], memory_order_relaxed);
}

/* A process; its result goes into the pipe. */
static void
serve_as_process(unsigned process, int pipe_end)
{
	uint64_t sum;

	crew.process = process;
	sum = crew_run(&crew, serve);
	if (write(pipe_end, &sum, sizeof(sum)) != sizeof(sum))
		_exit(1);
	_exit(0);
}

/* As many processes as there are nodes. */
static uint64_t
pin(void)
{
	uint64_t sum = 0, part;
	int ends[2];

	crew.process_count = crew.node_count;
	crew.worker_count = crew.threads / crew.process_count;
	crew.is_dealt = !crew.is_other;
	if (!crew.worker_count || pipe(ends)) {
		fprintf(stderr, "no pipe, or less threads than nodes\n");
		exit(1);
	}
	for (unsigned i = 0; i < crew.process_count; i++) {
		const pid_t child = fork();

		if (child < 0)
			exit(1);
		if (child == 0)
			serve_as_process(i, ends[1]);
	}
	for (unsigned i = 0; i < crew.process_count; i++) {
		if (read(ends[0], &part, sizeof(part)) != sizeof(part))
			exit(1);
		sum += part;
	}
	while (wait(NULL) > 0)
		;
	return sum;
}

/* ---- migrate ---- */

static uint64_t *block_of_all;

static NOINLINE uint64_t *
make_block(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

static void
use_block_in_turn(struct worker *worker)
{
	for (unsigned node = 0; node < crew.node_count; node++) {
		if (worker->node == node && worker->number == first_on_node(worker)) {
			if (crew.is_other && node > 0) {
				uint64_t *moved = make_block(crew.bytes);

				memcpy(moved, block_of_all, crew.bytes);
				block_of_all = moved;
			}
			worker->sum += walk_buffer(block_of_all, crew.bytes, crew.loops, node + 1);
		}
		crew_meet(worker);
	}
}

static uint64_t
migrate(void)
{
	block_of_all = make_block(crew.bytes);
	touch_pages(block_of_all, crew.bytes);
	return crew_run(&crew, use_block_in_turn);
}

/* ---- pad ---- */

static void
count_work(struct worker *worker)
{
	count_own(worker, WORK_STEPS);
}

static uint64_t
pad(void)
{
	return count_apart(&crew, crew.is_other ? LINES_PAIRED : sizeof(uint64_t), count_work);
}

/* ---- split ---- */

struct session {
	volatile uint64_t limit;  /* constant */
	volatile uint64_t served; /* by the first thread */
};

/* The members, wherever they are. */
static volatile uint64_t *limit, *served;

static NOINLINE struct session *
make_session(void)
{
	return get_aligned(LINES_PAIRED, sizeof(struct session));
}

static NOINLINE void *
make_split_session(void)
{
	return get_aligned(LINES_PAIRED, 2 * (size_t)LINES_PAIRED);
}

static void
serve_session(struct worker *worker)
{
	for (size_t i = 0; i < crew.loops; i++) {
		worker->sum += compute(&worker->random, WORK_STEPS) % *limit;
		if (worker->number == 0)
			++*served;
	}
}

static uint64_t
split(void)
{
	if (crew.is_other) {
		limit = make_split_session();
		served = limit + LINES_PAIRED / sizeof(*limit);
	} else {
		struct session *session = make_session();

		limit = &session->limit;
		served = &session->served;
	}
	*limit = 1000;
	*served = 0;
	return crew_run(&crew, serve_session) + *served;
}

static const struct program_mode modes[] = {
	{"replicate", replicate, 40000, 96}, {"interleave", interleave, 4, 96},
	{"local", local, 100000, 192},       {"pin", pin, 100000, 8},
	{"migrate", migrate, 4000000, 128},  {"pad", pad, 100000, 1},
	{"split", split, 100000, 1},
};

int
main(int argc, char **argv)
{
	return crew_main(&crew, argc, argv, modes, sizeof(modes) / sizeof(modes[0]), "remedied");
}
