/*
 * streamcluster - clusters a stream of points in threads, with what is wrong in PARSEC's program of that name
 *
 * streamcluster plain|placed|padded|remedied [THREADS [CANDIDATES [POINTS [BLOCKS]]]] [time]
 *
 * Written after what is published of it: S. Guha et al., "Clustering Data Streams", FOCS 2000 (a block of the stream is
 * reduced to weighted centers, and the centers of all blocks are clustered in the end); L. O'Callaghan et al.,
 * "Streaming-Data Algorithms For High-Quality Clustering", ICDE 2002 (local search for facilities); C. Bienia et al.,
 * "The PARSEC Benchmark Suite", PACT 2008 (threads have a part of the block each; a candidate's gain is computed by
 * all).
 *
 * A center costs `facility`, and a point costs its distance to its center. A candidate becomes a center when points
 * that are nearer to it, and centers that are then not worth their costs, save more than `facility`.
 *
 * What is wrong in plain: make_block() and make_point_array() are touched first by the main thread, which reads the
 * stream, and then used by the threads, of all nodes: MemProf (USENIX ATC 2012) found that four of five remote accesses
 * are to one object. make_partials() has a row of each thread that ends at a multiple of 32 bytes, not of a line.
 * Placed: before the main thread fills them, each thread touches its part. Padded: rows are 128 bytes apart. Remedied:
 * both.
 *
 * Prints the same in all cases: the centers of the stream, and their cost.
 */
#include "tests/workloads/objects/objects.h"

#define DIMENSIONS    128
#define CENTERS_LEAST 10
#define CENTERS_MOST  20
#define CENTERS_ROOM  256 /* while the costs of a facility are searched for */
#define SEARCHES_MOST 12
#define ROW_BYTES     32 /* of which a row of `partials` is a multiple in plain */

struct point {
	float weight;
	float *coordinates;
	size_t center; /* index of a point */
	float cost;    /* weight times distance to its center */
};

/* One clustering. Written by the first worker, but for what says otherwise, while the others wait. */
static struct clustering {
	struct point *points; /* each worker writes its part */
	float *block;         /* their coordinates */
	size_t count;
	double facility, cost, change;
	size_t centers[CENTERS_ROOM];
	size_t center_count;
	unsigned searches;
	bool closes[CENTERS_ROOM]; /* by rank */
	bool is_accepted, has_ended;
	unsigned *ranks;  /* of points that are centers: which in `centers` */
	bool *switches;   /* of points: they would change to the candidate; each worker writes its part */
	double *partials; /* a row of each worker: by rank, what its points would lose without that center; then the
	                     gain */
	size_t row_words;
	size_t candidate;
	uint64_t random;
} clustering;

static struct crew crew;
static bool is_placed, is_padded;
static size_t candidates; /* of a search */

static NOINLINE float *
make_block(size_t count)
{
	return get_aligned(PAGE, count * DIMENSIONS * sizeof(float));
}

static NOINLINE struct point *
make_point_array(size_t count)
{
	return get_aligned(PAGE, count * sizeof(struct point));
}

static NOINLINE unsigned *
make_ranks(size_t count)
{
	return get_aligned(LINES_PAIRED, count * sizeof(unsigned));
}

static NOINLINE bool *
make_switches(size_t count)
{
	return get_aligned(LINES_PAIRED, count * sizeof(bool));
}

static NOINLINE double *
make_partials(size_t words)
{
	double *made = get_aligned(LINES_PAIRED, words * sizeof(*made));

	memset(made, 0, words * sizeof(*made));
	return made;
}

/* ---- the stream ---- */

/* Points lie around 16 places. */
static void
read_stream(float *block, size_t count, size_t block_number)
{
	uint64_t random = mix_bits(block_number + 1) | 1;

	for (size_t i = 0; i < count; i++) {
		const uint64_t place = next_random(&random) % 16;

		for (size_t d = 0; d < DIMENSIONS; d++) {
			const float middle = (float)(mix_bits(place * DIMENSIONS + d) % 1024);

			block[i * DIMENSIONS + d] = middle + (float)(next_random(&random) % 256);
		}
	}
}

/* ---- what a worker does for its part of the points ---- */

static NOINLINE float
distance(const float *one, const float *other)
{
	float sum = 0;

	for (size_t d = 0; d < DIMENSIONS; d++)
		sum += (one[d] - other[d]) * (one[d] - other[d]);
	return sum;
}

static inline float
cost_with(const struct point *point, const struct point *center)
{
	return point->weight * distance(point->coordinates, center->coordinates);
}

static inline size_t
part_begin(const struct worker *worker, size_t count)
{
	return count * worker->number / crew.worker_count;
}

static inline size_t
part_end(const struct worker *worker, size_t count)
{
	return count * (worker->number + 1) / crew.worker_count;
}

static void
touch_part(struct worker *worker)
{
	const size_t begin = part_begin(worker, clustering.count), count = part_end(worker, clustering.count) - begin;

	touch_pages(&clustering.block[begin * DIMENSIONS], count * DIMENSIONS * sizeof(float));
	touch_pages(&clustering.points[begin], count * sizeof(struct point));
}

/* Points of the part change to a new center that is nearer, all of them to the first one. */
static void
move_to_nearer(const struct worker *worker, size_t center, bool is_first)
{
	struct point *points = clustering.points;

	for (size_t i = part_begin(worker, clustering.count); i < part_end(worker, clustering.count); i++) {
		const float cost = cost_with(&points[i], &points[center]);

		if (is_first || cost < points[i].cost) {
			points[i].cost = cost;
			points[i].center = center;
		}
	}
}

/* What the part would gain and lose with a candidate, into the worker's row. */
static NOINLINE void
weigh_candidate(const struct worker *worker, size_t candidate)
{
	const struct point *points = clustering.points;
	double *row = &clustering.partials[worker->number * clustering.row_words];
	double *gain = &row[clustering.center_count];

	for (size_t i = part_begin(worker, clustering.count); i < part_end(worker, clustering.count); i++) {
		const float difference = points[i].cost - cost_with(&points[i], &points[candidate]);

		clustering.switches[i] = difference > 0;
		if (difference > 0)
			*gain += difference;
		else
			row[clustering.ranks[points[i].center]] -= difference;
	}
}

/* Points of the part change to the candidate that became a center: those nearer to it, and those whose center ends. */
static void
move_to_accepted(const struct worker *worker, size_t candidate)
{
	struct point *points = clustering.points;

	for (size_t i = part_begin(worker, clustering.count); i < part_end(worker, clustering.count); i++) {
		if (!clustering.switches[i] && !clustering.closes[clustering.ranks[points[i].center]])
			continue;
		points[i].cost = cost_with(&points[i], &points[candidate]);
		points[i].center = candidate;
	}
}

/* ---- what the first worker does for all ---- */

static void
add_center(size_t center)
{
	if (clustering.center_count == CENTERS_ROOM) {
		fprintf(stderr, "more than %d centers\n", CENTERS_ROOM);
		exit(1);
	}
	clustering.ranks[center] = (unsigned)clustering.center_count;
	clustering.centers[clustering.center_count++] = center;
}

/* A row for each worker, of a word for each center and one more. */
static void
begin_candidate(void)
{
	const size_t multiple = (is_padded ? LINES_PAIRED : ROW_BYTES) / sizeof(double);

	clustering.candidate = next_random(&clustering.random) % clustering.count;
	clustering.row_words = (clustering.center_count + 1 + multiple - 1) / multiple * multiple;
	clustering.partials = make_partials(crew.worker_count * clustering.row_words);
}

static double
sum_partials(size_t column)
{
	double sum = 0;

	for (unsigned i = 0; i < crew.worker_count; i++)
		sum += clustering.partials[i * clustering.row_words + column];
	return sum;
}

static void
judge_candidate(void)
{
	clustering.change = clustering.facility - sum_partials(clustering.center_count);
	for (size_t rank = 0; rank < clustering.center_count; rank++) {
		const double saved = clustering.facility - sum_partials(rank);

		clustering.closes[rank] = saved > 0;
		if (saved > 0)
			clustering.change -= saved;
	}
	clustering.is_accepted = clustering.change < 0;
}

static void
end_candidate(void)
{
	size_t kept = 0;

	free(clustering.partials);
	if (!clustering.is_accepted)
		return;
	for (size_t rank = 0; rank < clustering.center_count; rank++) {
		const size_t center = clustering.centers[rank];

		if (clustering.closes[rank])
			continue;
		clustering.ranks[center] = (unsigned)kept;
		clustering.centers[kept++] = center;
	}
	clustering.center_count = kept;
	add_center(clustering.candidate);
	clustering.cost += clustering.change;
}

/* The next point, from the candidate on, that becomes a center: the more probable, the more it costs. */
static void
find_opening(void)
{
	struct point *points = clustering.points;
	size_t i = clustering.candidate + 1;

	while (i < clustering.count &&
	       (double)(next_random(&clustering.random) % 65536) / 65536 * clustering.facility >= points[i].cost)
		i++;
	clustering.candidate = i;
	clustering.has_ended = i >= clustering.count;
	if (!clustering.has_ended)
		add_center(i);
}

static void
sum_cost(void)
{
	clustering.cost = clustering.facility * (double)clustering.center_count;
	for (size_t i = 0; i < clustering.count; i++)
		clustering.cost += clustering.points[i].cost;
}

/* Facilities cost more when there are too many centers, and less when there are too few. */
static void
end_search(void)
{
	const size_t count = clustering.center_count,
		     least = clustering.count < CENTERS_LEAST ? clustering.count : CENTERS_LEAST;
	double facility = clustering.facility;

	clustering.has_ended = ++clustering.searches == SEARCHES_MOST || (count >= least && count <= CENTERS_MOST);
	if (clustering.has_ended)
		return;
	facility *= count > CENTERS_MOST ? 2 : 0.5;
	clustering.cost += (facility - clustering.facility) * (double)count;
	clustering.facility = facility;
}

/* ---- a block ---- */

/* When all have met, the first worker calls `action`; the others wait for it. */
static void
first_does(struct worker *worker, void (*action)(void))
{
	crew_meet(worker);
	if (worker->number == 0)
		action();
	crew_meet(worker);
}

/* The costs of a facility are at first what they would be for CENTERS_MOST centers that save half of what one costs. */
static void
begin_facility(void)
{
	double sum = 0;

	for (size_t i = 0; i < clustering.count; i++)
		sum += clustering.points[i].cost;
	clustering.facility = sum / (2 * CENTERS_MOST);
}

static void
cluster_points(struct worker *worker)
{
	if (worker->number == 0) {
		clustering.center_count = 0;
		clustering.searches = 0;
		add_center(0);
		clustering.candidate = 0;
	}
	crew_meet(worker);
	move_to_nearer(worker, 0, true);
	first_does(worker, begin_facility);
	for (;;) {
		first_does(worker, find_opening);
		if (clustering.has_ended)
			break;
		move_to_nearer(worker, clustering.candidate, false);
	}
	first_does(worker, sum_cost);
	do {
		for (size_t i = 0; i < candidates; i++) {
			first_does(worker, begin_candidate);
			weigh_candidate(worker, clustering.candidate);
			first_does(worker, judge_candidate);
			if (clustering.is_accepted)
				move_to_accepted(worker, clustering.candidate);
			first_does(worker, end_candidate);
		}
		first_does(worker, end_search);
	} while (!clustering.has_ended);
}

/* Cluster `count` points, by all workers. */
static void
cluster_block(struct point *points, size_t count)
{
	clustering.points = points;
	clustering.count = count;
	clustering.ranks = make_ranks(count);
	clustering.switches = make_switches(count);
	crew_run(&crew, cluster_points);
	free(clustering.ranks);
	free(clustering.switches);
}

static void
point_at_block(struct point *points, float *block, size_t count)
{
	for (size_t i = 0; i < count; i++)
		points[i] = (struct point){.weight = 1, .coordinates = &block[i * DIMENSIONS]};
}

/* A center weighs what its points weigh. Returns how many centers there are then in `kept`. */
static size_t
keep_centers(struct point *kept, size_t kept_count)
{
	const struct point *points = clustering.points;

	for (size_t rank = 0; rank < clustering.center_count; rank++) {
		struct point *center = &kept[kept_count + rank];

		center->weight = 0;
		for (size_t i = 0; i < clustering.count; i++)
			center->weight += points[i].center == clustering.centers[rank] ? points[i].weight : 0;
		memcpy(center->coordinates, points[clustering.centers[rank]].coordinates, DIMENSIONS * sizeof(float));
	}
	return kept_count + clustering.center_count;
}

static void
cluster_stream(size_t count, size_t blocks)
{
	const size_t room = blocks * CENTERS_ROOM;
	float *block = make_block(count), *kept_block = make_block(room);
	struct point *points = make_point_array(count), *kept = make_point_array(room);
	size_t kept_count = 0;

	point_at_block(kept, kept_block, room);
	if (is_placed) {
		clustering.points = points;
		clustering.block = block;
		clustering.count = count;
		crew_run(&crew, touch_part);
	}
	clustering.random = 1;
	for (size_t i = 0; i < blocks; i++) {
		read_stream(block, count, i);
		point_at_block(points, block, count);
		cluster_block(points, count);
		kept_count = keep_centers(kept, kept_count);
	}
	cluster_block(kept, kept_count);
	printf("%zu centers of %zu, cost %.6g\n", clustering.center_count, kept_count, clustering.cost);
}

int
main(int argc, char **argv)
{
	const bool says_time = asked_for_time(&argc, argv);
	const char *variant = argc > 1 ? argv[1] : "";
	const size_t count = argument(argc, argv, 4, 16384), blocks = argument(argc, argv, 5, 2);
	double began;

	candidates = argument(argc, argv, 3, 16);
	is_placed = strcmp(variant, "placed") == 0 || strcmp(variant, "remedied") == 0;
	is_padded = strcmp(variant, "padded") == 0 || strcmp(variant, "remedied") == 0;
	if ((!is_placed && !is_padded && strcmp(variant, "plain") != 0) || candidates < 1 || count < 1 || blocks < 1 ||
	    !crew_init(&crew, argument(argc, argv, 2, 8))) {
		fprintf(stderr, "plain|placed|padded|remedied [THREADS [CANDIDATES [POINTS [BLOCKS]]]] [time]\n");
		return 2;
	}
	began = now_s();
	cluster_stream(count, blocks);
	if (says_time)
		fprintf(stderr, "%.9f s\n", now_s() - began);
	return 0;
}
