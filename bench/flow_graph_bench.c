/*
 * flow_graph_bench.c - how long flow graphs and classes of equal frequency take
 *
 * flow_graph_bench: a procedure of 10,000 instructions - comparisons, branches, calls and a loop around them - decoded
 * and built, its classes, and the classes of a random graph of 100,000 blocks and 180,000 edges; the best of ten.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "code/cycle_equivalence.h"
#include "code/flow_graph.h"

#define RUNS         10
#define PIECES       1250 /* of 8 instructions */
#define RANDOM_EDGES 180000
#define BLOCKS       100000

/* cmp $5,%edi; jne +10; mov 8(%rdi),%rax; call +0; nop; add $1,%rax; test %eax,%eax; je to the next piece */
static const uint8_t piece[] = {
	0x83, 0xff, 0x05, 0x75, 0x0a, 0x48, 0x8b, 0x47, 0x08, 0xe8, 0x00, 0x00,
	0x00, 0x00, 0x90, 0x48, 0x83, 0xc0, 0x01, 0x85, 0xc0, 0x74, 0x00,
};

static double
elapsed_ms(uint64_t start)
{
	return (double)(bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e6;
}

static void
best(double *least, double took)
{
	if (!*least || took < *least)
		*least = took;
}

static void
procedure_measure(void)
{
	uint8_t *bytes = malloc(PIECES * sizeof(piece) + 6);
	struct code_part part = {.address = 0x1000, .bytes = bytes, .size = PIECES * sizeof(piece) + 6};
	const struct flow_source source = {.architecture = ARCHITECTURE_X86_64, .parts = &part, .part_count = 1};
	int32_t back = -(int32_t)(PIECES * sizeof(piece) + 5);
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct flow_graph *graph = NULL;
	double built = 0, classes = 0;

	bench_require(bytes && decoder ? 0 : -ENOMEM, "cannot begin");
	for (size_t i = 0; i < PIECES; i++)
		memcpy(bytes + i * sizeof(piece), piece, sizeof(piece));
	bytes[PIECES * sizeof(piece)] = 0xe9; /* jmp to the first */
	memcpy(bytes + PIECES * sizeof(piece) + 1, &back, sizeof(back));
	bytes[PIECES * sizeof(piece) + 5] = 0xc3;
	for (int i = 0; i < RUNS; i++) {
		struct cycle_equivalence equivalence;
		uint64_t start = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		flow_graph_free(graph);
		bench_require(flow_graph_build(decoder, &source, &graph), "cannot build");
		best(&built, elapsed_ms(start));
		start = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		bench_require(cycle_equivalence_find(graph, &equivalence), "cannot find classes");
		best(&classes, elapsed_ms(start));
		cycle_equivalence_fini(&equivalence);
	}
	printf("procedure of %zu instructions, %zu blocks: decoded and built %.2f ms, classes %.2f ms\n",
	       graph->instruction_count, graph->block_count, built, classes);
	flow_graph_free(graph);
	decoder_free(decoder);
	free(bytes);
}

static uint32_t
next_random(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*seed >> 33) % limit);
}

/* Each block falls to the next; the other edges go at random, most of them nearby. */
static void
classes_measure(void)
{
	struct flow_edge *edges = calloc(RANDOM_EDGES, sizeof(*edges));
	struct flow_graph graph = {.edges = edges, .edge_count = RANDOM_EDGES, .block_count = BLOCKS};
	struct cycle_equivalence equivalence = {0};
	uint64_t seed = 1;
	double took = 0;

	bench_require(edges ? 0 : -ENOMEM, "cannot begin");
	for (uint32_t i = 0; i < RANDOM_EDGES; i++) {
		uint32_t from = i < BLOCKS ? i : next_random(&seed, BLOCKS);
		uint32_t to = i < BLOCKS ? i + 1 : (from + next_random(&seed, 40)) % BLOCKS;

		edges[i] = (struct flow_edge){from, to < BLOCKS ? to : FLOW_OUTSIDE, EDGE_TAKEN};
	}
	edges[RANDOM_EDGES - 1] = (struct flow_edge){FLOW_OUTSIDE, 0, EDGE_ENTRY};
	for (int i = 0; i < RUNS; i++) {
		uint64_t start = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		cycle_equivalence_fini(&equivalence);
		bench_require(cycle_equivalence_find(&graph, &equivalence), "cannot find classes");
		best(&took, elapsed_ms(start));
	}
	printf("%d blocks, %d edges: %zu classes in %.2f ms\n", BLOCKS, RANDOM_EDGES, equivalence.class_count, took);
	cycle_equivalence_fini(&equivalence);
	free(edges);
}

int
main(void)
{
	procedure_measure();
	classes_measure();
	return 0;
}
