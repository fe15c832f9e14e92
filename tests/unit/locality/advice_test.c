/* What may be done about nests of loops: which orders their references allow. */
#include "locality/advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES (sizeof(struct locality_header) + LOCALITY_TEXT_BYTES + sizeof(struct locality_chunk))
#define BASE  UINT64_C(0x100000)
#define ROW   8000 /* bytes; loops have 1,000 iterations, of 8 bytes each */

struct advice_stage {
	int fd;
	struct locality_header *header;
	struct locality_chunk *chunk;
	struct locality_record *record;
	struct locality_advice advice[LOCALITY_ADVICE_MAX];
	size_t count;
	double lines;
	const struct locality_caches *caches;
};

static int
set_up(void **state)
{
	struct advice_stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->fd = memfd_create("locality", MFD_CLOEXEC);
	assert_int_equal(ftruncate(stage->fd, BYTES), 0);
	stage->header = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stage->fd, 0);
	assert_ptr_not_equal(stage->header, MAP_FAILED);
	stage->chunk = (struct locality_chunk *)(void *)((char *)(stage->header + 1) + LOCALITY_TEXT_BYTES);
	stage->header->magic = LOCALITY_MAGIC;
	stage->header->taken = 1;
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct advice_stage *stage = *state;

	locality_record_free(stage->record);
	munmap(stage->header, BYTES);
	close(stage->fd);
	free(stage);
	return 0;
}

static void
begin(struct advice_stage *stage, const char *text, unsigned levels, unsigned carries)
{
	struct locality_text *added = (struct locality_text *)(void *)(stage->header + 1);

	added->bytes = (uint32_t)((sizeof(*added) + strlen(text) + 8) & ~(size_t)7);
	memcpy(added->text, text, strlen(text) + 1);
	stage->header->text_bytes = added->bytes;
	stage->chunk->used = 0;
	stage->chunk->words[stage->chunk->used++] =
		locality_event_word(LOCALITY_NEST, carries, 0) | locality_level_word(levels);
	for (unsigned i = 0; i < levels; i++)
		stage->chunk->words[stage->chunk->used++] = 1000;
}

/* A reference of the innermost of two loops. */
static void
refer(struct advice_stage *stage, unsigned number, uint64_t base, int64_t outer, int64_t inner)
{
	uint64_t *words = stage->chunk->words + stage->chunk->used;

	words[0] = locality_event_word(LOCALITY_PART, number, 0) | locality_level_word(2);
	words[1] = base;
	words[2] = (uint64_t)outer;
	words[3] = (uint64_t)inner;
	stage->chunk->used += 4;
}

static int
see_begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	(void)context;
	(void)tid;
	(void)skipped;
	(void)is_first;
	return 0;
}

static int
see_nest(void *context, const struct locality_nest *nest)
{
	struct advice_stage *stage = context;

	stage->count = locality_advise(stage->record, nest, stage->caches, stage->advice, &stage->lines);
	return 0;
}

/* How many of the kind there are; *found is the first of them. */
static unsigned
count_advice(struct advice_stage *stage, enum locality_remedy kind, const struct locality_advice **found)
{
	const struct locality_visitor visitor = {see_begin, see_nest, NULL, NULL, stage};
	unsigned count = 0;

	locality_record_free(stage->record);
	assert_int_equal(locality_record_read(stage->fd, &stage->record), 0);
	assert_int_equal(locality_record_visit(stage->record, &visitor), 0);
	for (size_t i = stage->count; i-- > 0;) {
		if (stage->advice[i].kind != kind)
			continue;
		count++;
		*found = &stage->advice[i];
	}
	return count;
}

static const char read_write[] = "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta\nWs\t8\t3\ta";

static void
a_walk_down_columns_is_interchanged(void **state)
{
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	begin(stage, "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta", 2, 5);
	refer(stage, 0, BASE, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 1);
	assert_int_equal(found->order.count, 2);
	assert_int_equal(found->order.loops[0].level, 1);
	assert_true(found->sums_reordered);
	assert_true(stage->lines == 1);
	assert_true(found->lines == 0.125);
	assert_int_equal(count_advice(stage, LOCALITY_TRANSPOSE, &found), 1);
	assert_int_equal(found->array_size, 1);
	assert_int_equal(count_advice(stage, LOCALITY_TILE, &found), 0); /* it has no cache to fit */

	begin(stage, "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta", 2, 0);
	refer(stage, 0, BASE, ROW, 8);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0); /* it is by rows */
}

/* What a loop hands on, and is no sum, forbids another order. */
static void
what_is_handed_on_forbids_it(void **state)
{
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	begin(stage, "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta", 2, LOCALITY_CARRIES_OTHER << 2);
	refer(stage, 0, BASE, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0);
	assert_int_equal(count_advice(stage, LOCALITY_TRANSPOSE, &found), 1);
}

/* a[i][j] = a[i - 1][j], down the columns: values go from row to row, in either order. */
static void
distances_that_point_forward_allow_it(void **state)
{
	static const struct locality_caches caches = {.line = 64, .levels = {32768, 262144}};
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	stage->caches = &caches;
	begin(stage, read_write, 2, 0);
	refer(stage, 0, BASE - ROW, 8, ROW);
	refer(stage, 1, BASE, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 1);
	assert_false(found->sums_reordered);
	assert_true(count_advice(stage, LOCALITY_TILE, &found) > 0);
}

/* a[i][j] = a[i - 1][j + 1], down the columns: the value of the next column is overwritten first, if rows are. */
static void
distances_that_turn_round_forbid_it(void **state)
{
	static const struct locality_caches caches = {.line = 64, .levels = {32768, 262144}};
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	stage->caches = &caches;
	begin(stage, read_write, 2, 0);
	refer(stage, 0, BASE - ROW + 8, 8, ROW);
	refer(stage, 1, BASE, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0);
	assert_int_equal(count_advice(stage, LOCALITY_TILE, &found), 0);
}

/* What is written and read with other strides, or behind rows that overlap, is not known well enough. */
static void
what_is_not_known_forbids_it(void **state)
{
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	begin(stage, read_write, 2, 0);
	refer(stage, 0, BASE, ROW, 8); /* a[i][j] = a[j][i] */
	refer(stage, 1, BASE, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0);
	begin(stage, read_write, 2, 0);
	refer(stage, 0, BASE + 80, 8, 800); /* rows of 100 elements, and columns of 1,000 */
	refer(stage, 1, BASE, 8, 800);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0);
	begin(stage, read_write, 2, 0);
	refer(stage, 0, BASE, 8, ROW);
	refer(stage, 1, BASE + 1000 * ROW, ROW, 8);                             /* another array: they never meet */
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 0); /* as many lines */
	begin(stage, "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta\nWs\t8\t3\tb\nRs\t8\t3\tc", 2, 0);
	refer(stage, 0, BASE, 8, ROW);
	refer(stage, 1, BASE + 1000 * ROW, ROW, 8);
	refer(stage, 2, BASE + 2000 * ROW, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 1);
}

/* A sum in memory, a[j] += b[i][j], down the columns: each element's additions keep their order. */
static void
sums_in_memory_allow_it(void **state)
{
	struct advice_stage *stage = *state;
	const struct locality_advice *found;

	begin(stage, "f\t/f.c\t2\t2\te\t0\t1\nRs\t8\t3\ta\nWs\t8\t3\ta\nRs\t8\t3\tb", 2, 0);
	refer(stage, 0, BASE, 8, 0);
	refer(stage, 1, BASE, 8, 0);
	refer(stage, 2, BASE + ROW, 8, ROW);
	assert_int_equal(count_advice(stage, LOCALITY_INTERCHANGE, &found), 1);
	assert_false(found->sums_reordered);
}

static void
members_get_arrays_of_their_own(void **state)
{
	struct advice_stage *stage = *state;
	const struct locality_advice *found;
	struct locality_part parts[2];
	const struct locality_part seen[2] = {
		{.reference = 0, .level = 0, .base = BASE, .steps = {32}},
		{.reference = 1, .level = 0, .base = BASE + 16, .steps = {32}},
	};
	struct locality_nest nest = {.levels = 1, .iterations = {1000}, .count = 2};

	begin(stage, "f\t/f.c\t2\t1\te\t0\t\nRs\t8\t3\ts.x\nRs\t4\t3\ts.y", 1, 0);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t *words = stage->chunk->words + stage->chunk->used;

		words[0] = locality_event_word(LOCALITY_PART, (unsigned)i, 0) | locality_level_word(1);
		words[1] = seen[i].base;
		words[2] = 32;
		stage->chunk->used += 3;
	}
	assert_int_equal(count_advice(stage, LOCALITY_SPLIT, &found), 1);
	assert_int_equal(found->used, 12);
	assert_int_equal(found->bytes, 32);
	assert_int_equal(found->array_size, 1);
	nest.parts = (struct locality_part *)(uintptr_t)seen;
	nest = locality_advised(stage->record, &nest, found, parts);
	assert_int_equal(nest.parts[0].base, BASE);
	assert_int_equal(nest.parts[0].steps[0], 8);
	assert_true(nest.parts[1].base >= BASE + 8000); /* behind the first */
	assert_int_equal(nest.parts[1].steps[0], 4);
}

static int
add_up(void *context, const struct locality_part *part, uint64_t address)
{
	uint64_t *sums = context;

	(void)part;
	sums[0] += address;
	sums[1] = sums[1] * 31 + address;
	sums[2]++;
	return 0;
}

/* In tiles that do not fit the bounds, each iteration comes once. */
static void
tiles_have_all_iterations(void **state)
{
	struct locality_part part = {.level = 1, .steps = {1000, 1}};
	const struct locality_nest nest = {.levels = 2, .iterations = {10, 7}, .count = 1, .parts = &part};
	const struct locality_order own = locality_order_of(&nest);
	const struct locality_order tiles = {
		.count = 4, .loops = {{.level = 0, .tile = 4}, {.level = 1, .tile = 4}, {.level = 1}, {.level = 0}}};
	uint64_t one[3] = {0}, other[3] = {0};

	(void)state;
	assert_int_equal(locality_order_replay(&nest, &own, UINT64_MAX, add_up, one), 0);
	assert_int_equal(locality_order_replay(&nest, &tiles, UINT64_MAX, add_up, other), 0);
	assert_int_equal(one[2], 70);
	assert_int_equal(other[2], 70);
	assert_int_equal(one[0], other[0]);
	assert_int_not_equal(one[1], other[1]);
	assert_int_equal(locality_order_references(&nest, &tiles), 70);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_walk_down_columns_is_interchanged),   TEST(what_is_handed_on_forbids_it),
		TEST(distances_that_point_forward_allow_it), TEST(distances_that_turn_round_forbid_it),
		TEST(what_is_not_known_forbids_it),          TEST(sums_in_memory_allow_it),
		TEST(members_get_arrays_of_their_own),       TEST(tiles_have_all_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
