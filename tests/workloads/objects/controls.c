/*
 * controls - objects whose use looks wrong and is not: the right advice is to do nothing
 *
 * controls NAME plain|tempting [THREADS [LOOPS [MIB]]] [time]
 *
 * "tempting" is what a simple rule would advise; it gains nothing, or loses. Each line says what would mislead it.
 *
 * stream: one thread reads make_matrix() from end to end, which is larger than all caches. Most accesses to memory, and
 * all traffic of one node, are this object's; but they are of the thread beside it. Tempting: interleave its pages.
 *
 * private: each thread makes and uses a make_buffer() of its own. By the place that allocates it is one large object
 * that all threads read and write. Tempting: interleave the pages.
 *
 * cached: make_table() is written by the main thread and read by all nodes, as a matrix that should be replicated; but
 * it fits the caches of each core. Tempting: a copy for each node.
 *
 * spread: the pages of make_points() are on all nodes, and all threads read and write all of it. Most accesses are
 * remote, as they have to be. Tempting: all pages on the node of the first thread.
 *
 * counter: make_total() is written by all threads, so its line is taken away at each access; but it is one word that
 * all need. Tempting: pad it.
 *
 * padded: make_counters() is one object that all threads write all the time, as with false sharing; but each has a line
 * of its own. Tempting: pad it more.
 *
 * queue: make_queue() is written by one thread and read by another of the same node, whose lines go to and fro; but
 * that is what it is for. Tempting: a line for each item.
 *
 * churn: make_node() is allocated and freed all the time, so that its addresses are those of many objects. Tempting: a
 * line for each node.
 *
 * once: each thread reads its part of make_input(), which the main thread has written, once, and then computes. All
 * accesses are remote. Tempting: its user writes it.
 *
 * rare: make_counters() is shared falsely, each 100,000 instructions. Tempting: pad it.
 *
 * replicated: each node has a copy of make_matrix() already. By the place that allocates, make_copy() is read by all
 * nodes, and the matrix itself is remote for those that copy it. Tempting: interleave the copies.
 *
 * phases: each thread writes its own part of make_grid(), and reads a line of its neighbour's in each phase. All
 * threads write the object, and lines go from core to core. Tempting: interleave its pages.
 *
 * Prints the same number in both cases.
 */
#include "tests/workloads/objects/objects.h"

#define TABLE_WORDS 2048 /* 16 KiB */
#define SLOTS       64
#define NODES       16
#define ITEM_STEPS  100   /* what an item takes to make, and to use */
#define RARE_STEPS  16000 /* of some six instructions */

static struct crew crew;

/* ---- stream ---- */

static uint64_t *matrix;

static void
read_matrix(struct worker *worker)
{
	const size_t rows = crew.bytes / sizeof(*matrix) / ROW_WORDS;

	if (worker->number != 0)
		return;
	for (size_t i = 0; i < crew.loops; i++) {
		for (size_t row = 0; row < rows; row++)
			worker->sum += multiply_row(&matrix[row * ROW_WORDS], worker->vector);
	}
}

static void
touch_matrix(struct worker *worker)
{
	touch_in_turn(worker, matrix, crew.bytes);
}

static uint64_t
stream(void)
{
	matrix = make_matrix(crew.bytes);
	if (crew.is_other)
		crew_run(&crew, touch_matrix);
	fill_matrix(matrix, crew.bytes);
	return crew_run(&crew, read_matrix);
}

/* ---- private ---- */

static uint64_t *buffers[CREW_MAX];

static void
use_buffer(struct worker *worker)
{
	const size_t bytes = crew.bytes / crew.worker_count;

	buffers[worker->number] = make_buffer(bytes);
	crew_meet(worker);
	for (unsigned i = 0; i < crew.worker_count; i++) {
		if (crew.is_other)
			touch_in_turn(worker, buffers[i], bytes);
		else if (i == worker->number)
			touch_pages(buffers[i], bytes);
	}
	crew_meet(worker);
	worker->sum += walk_buffer(buffers[worker->number], bytes, crew.loops, worker->random);
}

static uint64_t private(void)
{
	return crew_run(&crew, use_buffer);
}

/* ---- cached ---- */

static uint64_t *tables[CREW_NODES];

static NOINLINE uint64_t *
make_table(void)
{
	uint64_t *table = get_aligned(PAGE, TABLE_WORDS * sizeof(*table));

	for (size_t i = 0; i < TABLE_WORDS; i++)
		table[i] = mix_bits(i);
	return table;
}

static void
use_table(struct worker *worker)
{
	const uint64_t *table;

	if (crew.is_other && worker->number == first_on_node(worker) && worker->node > 0)
		tables[worker->node] = make_table();
	crew_meet(worker);
	table = tables[crew.is_other ? worker->node : 0];
	for (size_t i = 0; i < crew.loops; i++)
		worker->sum += table[next_random(&worker->random) % TABLE_WORDS];
}

static uint64_t
cached(void)
{
	tables[0] = make_table();
	return crew_run(&crew, use_table);
}

/* ---- spread ---- */

static uint64_t *points;

static void
cost_all_points(struct worker *worker)
{
	if (!crew.is_other)
		touch_in_turn(worker, points, crew.bytes);
	else if (worker->number == 0)
		touch_pages(points, crew.bytes);
	crew_meet(worker);
	cost_blocks(worker, points);
}

static uint64_t
spread(void)
{
	points = make_points(crew.bytes);
	return crew_run(&crew, cost_all_points);
}

/* ---- counter ---- */

static atomic_uint_fast64_t *total;

static NOINLINE atomic_uint_fast64_t *
make_total(size_t bytes)
{
	return get_aligned(LINES_PAIRED, bytes);
}

static void
count_together(struct worker *worker)
{
	for (size_t i = 0; i < crew.loops; i++)
		atomic_fetch_add_explicit(total, compute(&worker->random, 1) % 3, memory_order_relaxed);
}

static uint64_t
counter(void)
{
	total = make_total(crew.is_other ? PAGE : LINES_PAIRED);
	atomic_init(total, 0);
	return crew_run(&crew, count_together) + atomic_load(total);
}

/* ---- padded, rare ---- */

static void
count_steadily(struct worker *worker)
{
	count_own(worker, 1);
}

static uint64_t
padded(void)
{
	return count_apart(&crew, (crew.is_other ? 4 : 1) * (size_t)LINES_PAIRED, count_steadily);
}

static void
count_rarely(struct worker *worker)
{
	count_own(worker, RARE_STEPS);
}

static uint64_t
rare(void)
{
	return count_apart(&crew, crew.is_other ? LINES_PAIRED : sizeof(uint64_t), count_rarely);
}

/* ---- queue ---- */

struct pair_queue {
	_Alignas(LINES_PAIRED) atomic_size_t written;
	_Alignas(LINES_PAIRED) atomic_size_t taken;
	_Alignas(LINES_PAIRED) uint64_t slots[]; /* `distance` apart */
};

static struct pair_queue *queues[CREW_MAX];
static size_t distance;

static NOINLINE struct pair_queue *
make_queue(void)
{
	struct pair_queue *queue =
		get_aligned(LINES_PAIRED, sizeof(*queue) + SLOTS * distance * sizeof(queue->slots[0]));

	atomic_init(&queue->written, 0);
	atomic_init(&queue->taken, 0);
	return queue;
}

/* The other thread may need the processor on which this one waits. */
static void
wait_for_other(const atomic_size_t *index, size_t than)
{
	while (atomic_load_explicit(index, memory_order_acquire) == than)
		sched_yield();
}

static void
put_items(struct worker *worker, struct pair_queue *queue)
{
	for (size_t i = 0; i < crew.loops; i++) {
		wait_for_other(&queue->taken, i - SLOTS);
		queue->slots[i % SLOTS * distance] = compute(&worker->random, ITEM_STEPS);
		atomic_store_explicit(&queue->written, i + 1, memory_order_release);
	}
}

static void
take_items(struct worker *worker, struct pair_queue *queue)
{
	for (size_t i = 0; i < crew.loops; i++) {
		wait_for_other(&queue->written, i);
		worker->sum += queue->slots[i % SLOTS * distance] ^ compute(&worker->random, ITEM_STEPS);
		atomic_store_explicit(&queue->taken, i + 1, memory_order_release);
	}
}

/* Neighbours are on one node. */
static void
use_queue(struct worker *worker)
{
	const unsigned pair = worker->number / 2;

	if (worker->number % 2 == 0)
		queues[pair] = make_queue();
	crew_meet(worker);
	if (worker->number % 2 == 0 && worker->number + 1 < crew.worker_count)
		put_items(worker, queues[pair]);
	else if (worker->number % 2 == 1)
		take_items(worker, queues[pair]);
}

static uint64_t
queue(void)
{
	distance = crew.is_other ? LINE_WORDS : 1;
	return crew_run(&crew, use_queue);
}

/* ---- churn ---- */

struct list_node {
	struct list_node *next;
	uint64_t value;
};

static NOINLINE struct list_node *
make_node(size_t bytes)
{
	struct list_node *node = crew.is_other ? aligned_alloc(LINE, LINE) : malloc(bytes);

	if (!node)
		exit(1);
	return node;
}

static void
use_nodes(struct worker *worker)
{
	for (size_t i = 0; i < crew.loops; i++) {
		struct list_node *list = NULL;

		for (size_t j = 0; j < NODES; j++) {
			struct list_node *node = make_node(sizeof(*node) + j % 3 * 16);

			node->next = list;
			node->value = next_random(&worker->random);
			list = node;
		}
		while (list) {
			struct list_node *node = list;

			list = node->next;
			worker->sum += node->value;
			free(node);
		}
	}
}

static uint64_t
churn(void)
{
	return crew_run(&crew, use_nodes);
}

/* ---- once ---- */

static uint64_t *inputs[CREW_MAX];

static NOINLINE uint64_t *
make_input(size_t bytes)
{
	uint64_t *input = get_aligned(PAGE, bytes);

	fill_matrix(input, bytes);
	return input;
}

static void
compute_from_input(struct worker *worker)
{
	const size_t bytes = crew.bytes / crew.worker_count;

	if (crew.is_other)
		inputs[worker->number] = make_input(bytes);
	for (size_t i = 0; i < bytes / sizeof(**inputs); i += LINE_WORDS)
		worker->sum += inputs[worker->number][i];
	worker->sum += compute(&worker->random, crew.loops);
}

static uint64_t
once(void)
{
	for (unsigned i = 0; i < crew.worker_count && !crew.is_other; i++)
		inputs[i] = make_input(crew.bytes / crew.worker_count);
	return crew_run(&crew, compute_from_input);
}

/* ---- replicated ---- */

static void
multiply_copy(struct worker *worker)
{
	if (crew.is_other) {
		if (worker->number == first_on_node(worker))
			crew.copies[worker->node] = make_copy(crew.bytes);
		crew_meet(worker);
		for (unsigned i = 0; i < crew.node_count; i++)
			touch_in_turn(worker, crew.copies[i], crew.bytes);
		crew_meet(worker);
	}
	multiply_rows(worker, copy_matrix(worker, matrix));
}

static uint64_t
replicated(void)
{
	matrix = make_matrix(crew.bytes);
	fill_matrix(matrix, crew.bytes);
	return crew_run(&crew, multiply_copy);
}

/* ---- phases ---- */

static uint64_t *grid;

static NOINLINE uint64_t *
make_grid(size_t bytes)
{
	return get_aligned(PAGE, bytes);
}

static void
relax_part(struct worker *worker)
{
	const size_t part = crew.bytes / crew.worker_count / PAGE * PAGE / sizeof(*grid);
	const size_t next = (worker->number + 1) % crew.worker_count;
	uint64_t *mine = &grid[worker->number * part];

	if (crew.is_other)
		touch_in_turn(worker, grid, crew.bytes);
	else
		touch_pages(mine, part * sizeof(*mine));
	crew_meet(worker);
	for (size_t phase = 0; phase < crew.loops; phase++) {
		const uint64_t border = grid[next * part];

		crew_meet(worker);
		for (size_t i = 0; i < part; i += LINE_WORDS)
			mine[i] = mine[i] * 3 + border + phase;
		crew_meet(worker);
	}
	worker->sum += mine[0];
}

static uint64_t
phases(void)
{
	grid = make_grid(crew.bytes);
	return crew_run(&crew, relax_part);
}

static const struct program_mode modes[] = {
	{"stream", stream, 4, 96},
	{"private", private, 100000, 192},
	{"cached", cached, 500000, 1},
	{"spread", spread, 4, 96},
	{"counter", counter, 20000, 1},
	{"padded", padded, 200000, 1},
	{"queue", queue, 50000, 1},
	{"churn", churn, 5000, 1},
	{"once", once, 10000000, 1},
	{"rare", rare, 200, 1},
	{"replicated", replicated, 20000, 96},
	{"phases", phases, 4, 96},
};

int
main(int argc, char **argv)
{
	return crew_main(&crew, argc, argv, modes, sizeof(modes) / sizeof(modes[0]), "tempting");
}
