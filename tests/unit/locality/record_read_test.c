/* Tests of locality/record_read.h, on files that a test writes as compiler/runtime.c does. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "locality/record.h"
#include "locality/record_read.h"

#define SEEN_MAX 64
#define BASE     UINT64_C(0x7f0000000000)
#define BYTES    (sizeof(struct locality_header) + LOCALITY_TEXT_BYTES + 4 * sizeof(struct locality_chunk))

/* A file, mapped, and what was visited of it. */
struct record_stage {
	int fd;
	struct locality_header *header;
	struct locality_chunk *chunks;
	struct locality_record *record;
	struct {
		char what;
		size_t loop;
		uint64_t value;
		uint32_t reference;
	} seen[SEEN_MAX];
	unsigned count;
};

static int
set_up(void **state)
{
	struct record_stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->fd = memfd_create("locality", MFD_CLOEXEC);
	assert_int_equal(ftruncate(stage->fd, BYTES), 0);
	stage->header = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stage->fd, 0);
	assert_ptr_not_equal(stage->header, MAP_FAILED);
	stage->chunks = (struct locality_chunk *)(void *)((char *)(stage->header + 1) + LOCALITY_TEXT_BYTES);
	stage->header->magic = LOCALITY_MAGIC;
	stage->header->pid = 77;
	strcpy(stage->header->program, "/bin/program");
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct record_stage *stage = *state;

	locality_record_free(stage->record);
	munmap(stage->header, BYTES);
	close(stage->fd);
	free(stage);
	return 0;
}

/* Its place, as events have it. */
static uint32_t
add_text(struct record_stage *stage, const char *text)
{
	const uint32_t place = stage->header->text_bytes;
	struct locality_text *added = (struct locality_text *)(void *)((char *)(stage->header + 1) + place);

	added->bytes = (uint32_t)((sizeof(*added) + strlen(text) + 8) & ~(size_t)7);
	memcpy(added->text, text, strlen(text) + 1);
	stage->header->text_bytes += added->bytes;
	return place / 8;
}

static void
add_words(struct record_stage *stage, unsigned chunk, const uint64_t *words, uint32_t count)
{
	struct locality_chunk *to = &stage->chunks[chunk];

	memcpy(to->words + to->used, words, count * sizeof(*words));
	to->used += count;
	to->number = chunk + 1;
	if (stage->header->taken <= chunk)
		stage->header->taken = chunk + 1;
}

#define ADD(stage, chunk, ...)                                                                                         \
	add_words(stage, chunk, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static int
see_begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	struct record_stage *stage = context;

	stage->seen[stage->count].what = is_first ? 'B' : 'b';
	stage->seen[stage->count].loop = tid;
	stage->seen[stage->count++].value = skipped;
	return stage->count < SEEN_MAX ? 0 : -EINTR;
}

static int
see_enter(void *context, const struct locality_nest *nest)
{
	struct record_stage *stage = context;

	stage->seen[stage->count].what = 'e';
	stage->seen[stage->count].loop = nest->loops[nest->levels - 1];
	stage->seen[stage->count++].value = locality_nest_times(nest, nest->levels - 1);
	return stage->count < SEEN_MAX ? 0 : -EINTR;
}

static int
see_reference(void *context, size_t loop, uint32_t reference, uint64_t address)
{
	struct record_stage *stage = context;

	stage->seen[stage->count].what = 'r';
	stage->seen[stage->count].loop = loop;
	stage->seen[stage->count].reference = reference;
	stage->seen[stage->count++].value = address;
	return stage->count < SEEN_MAX ? 0 : -EINTR;
}

static int
see_touch(void *context, size_t loop, uint32_t reference, uint64_t address)
{
	struct record_stage *stage = context;
	const int err = see_reference(context, loop, reference, address);

	stage->seen[stage->count - 1].what = 't';
	return err;
}

static int
visit(struct record_stage *stage)
{
	const struct locality_visitor visitor = {see_begin, see_enter, see_reference, NULL, stage};
	const int err = locality_record_read(stage->fd, &stage->record);

	stage->count = 0;
	return err ? err : locality_record_visit(stage->record, &visitor);
}

static void
assert_seen(const struct record_stage *stage, unsigned at, char what, size_t loop, uint64_t value)
{
	assert_true(at < stage->count);
	assert_int_equal(stage->seen[at].what, what);
	assert_int_equal(stage->seen[at].loop, loop);
	assert_int_equal(stage->seen[at].value, value);
}

static const char text[] = "add\t/src/add.c\t12\t2\te\t1\t11,9\nRs\t8\t13\ta\nWg\t4\t14\tb.next";

static void
a_text_says_what_the_loop_is(void **state)
{
	struct record_stage *stage = *state;
	const struct locality_loop *loop;

	add_text(stage, "other\t\t0\t1\ta\t0\nWi\t1\t0\t");
	add_text(stage, text);
	assert_int_equal(visit(stage), 0);
	assert_string_equal(locality_record_program(stage->record), "/bin/program");
	assert_int_equal(locality_record_pid(stage->record), 77);
	assert_int_equal(locality_record_loop_count(stage->record), 2);
	loop = locality_record_loop(stage->record, 0);
	assert_string_equal(loop->file, "");
	assert_false(loop->by_entry);
	assert_int_equal(loop->references[0].access, 'W');
	assert_string_equal(loop->references[0].name, "");
	loop = locality_record_loop(stage->record, 1);
	assert_string_equal(loop->function, "add");
	assert_string_equal(loop->file, "/src/add.c");
	assert_int_equal(loop->line, 12);
	assert_int_equal(loop->depth, 2);
	assert_int_equal(loop->left_out, 1);
	assert_int_equal(loop->around[0], 11);
	assert_int_equal(loop->around[1], 9);
	assert_int_equal(loop->around[2], 0);
	assert_true(loop->by_entry);
	assert_int_equal(loop->count, 2);
	assert_int_equal(loop->references[0].kind, 's');
	assert_int_equal(loop->references[1].kind, 'g');
	assert_int_equal(loop->references[1].bytes, 4);
	assert_int_equal(loop->references[1].line, 14);
	assert_string_equal(loop->references[1].name, "b.next");
}

/* A stream with a negative step, and an index with a sign: in the order of iterations. */
static void
references_come_iteration_by_iteration(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);
	const int32_t indices[3] = {5, -1, 2};
	uint64_t words[2] = {0};

	memcpy(words, indices, sizeof(indices));
	ADD(stage, 0, locality_event_word(LOCALITY_BURST, 0, 0), 0);
	ADD(stage, 0, locality_event_word(LOCALITY_LOOP, 0, place), 3);
	ADD(stage, 0, locality_event_word(LOCALITY_STREAM, 0, place), BASE, (uint64_t)-8);
	ADD(stage, 0, locality_event_word(LOCALITY_GATHER, 1, place), BASE + 1000, 4, (uint64_t)(uint8_t)-4 << 56 | 3,
	    words[0], words[1]);
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 8);
	assert_seen(stage, 0, 'B', 0, 0);
	assert_seen(stage, 1, 'e', 0, 3);
	assert_seen(stage, 2, 'r', 0, BASE);
	assert_seen(stage, 3, 'r', 0, BASE + 1020);
	assert_seen(stage, 4, 'r', 0, BASE - 8);
	assert_seen(stage, 5, 'r', 0, BASE + 996);
	assert_seen(stage, 6, 'r', 0, BASE - 16);
	assert_seen(stage, 7, 'r', 0, BASE + 1008);
	assert_int_equal(stage->seen[7].reference, 1);
}

/* Its indices had no room for all iterations: the stream has all nevertheless. */
static void
a_gather_may_end_early(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);

	ADD(stage, 0, locality_event_word(LOCALITY_LOOP, 0, place), 2);
	ADD(stage, 0, locality_event_word(LOCALITY_STREAM, 0, place), BASE, 8);
	ADD(stage, 0, locality_event_word(LOCALITY_GATHER, 1, place), BASE, 1, (uint64_t)8 << 56 | 1, 77);
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 4);
	assert_seen(stage, 2, 'r', 0, BASE + 77);
	assert_seen(stage, 3, 'r', 0, BASE + 8);
}

/* Two loops: the inner one reads, and behind it the outer one writes. */
static void
a_nest_runs_in_its_order(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t outer = add_text(stage, "sum\t/a.c\t1\t1\te\t0\nWs\t8\t3\tc\nRs\t8\t1\td"),
		       inner = add_text(stage, "sum\t/a.c\t2\t2\te\t0\nRs\t8\t2\ta");
	static const uint64_t expected[] = {3, 0, 100, 1000, 0, 3, 1, 101, 1010, 8};

	(void)inner;
	ADD(stage, 0, locality_event_word(LOCALITY_NEST, 0, inner) | locality_level_word(2), 2, 2);
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 1, outer) | locality_level_word(1), 3, 0);
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 0, outer) | locality_level_word(1 | LOCALITY_BEHIND), 1000,
	    10);
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 0, inner) | locality_level_word(2), 0, 1, 100);
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 1 + 8);
	assert_seen(stage, 0, 'e', 1, 4);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(stage->seen[1 + i].value, expected[i < 4 ? i : i + 1]);
	assert_int_equal(stage->seen[1].loop, 0);
	assert_int_equal(stage->seen[2].loop, 1);
}

/* Inner loops that never run, and one whose loops refer to nothing, end. */
static void
a_nest_without_references_ends(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t outer = add_text(stage, "sum\t/a.c\t1\t1\te\t0\nWs\t8\t3\tc"),
		       inner = add_text(stage, "sum\t/a.c\t2\t2\te\t0\nRs\t8\t2\ta");

	ADD(stage, 0, locality_event_word(LOCALITY_NEST, 0, inner) | locality_level_word(2), 3, 0);
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 0, outer) | locality_level_word(1), BASE, 8);
	ADD(stage, 0, locality_event_word(LOCALITY_NEST, 0, inner) | locality_level_word(2), UINT64_MAX, 0);
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 0, inner) | locality_level_word(2), BASE, 8, 8);
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 5);
	assert_seen(stage, 0, 'e', 1, 0);
	assert_seen(stage, 3, 'r', 0, BASE + 16);
	assert_seen(stage, 4, 'e', 1, 0);
}

/* Chunks of two threads, in the order of their numbers; what one entered does not go on in the other. */
static void
threads_follow_one_another(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);

	for (unsigned chunk = 0; chunk < 4; chunk++)
		stage->chunks[chunk].tid = chunk % 2 ? 20 : 10;
	ADD(stage, 1, locality_event_word(LOCALITY_BURST, 0, 0), 1);
	ADD(stage, 1, locality_event_word(LOCALITY_LOOP, 0, place), 1);
	ADD(stage, 0, locality_event_word(LOCALITY_BURST, 0, 0), 2);
	ADD(stage, 0, locality_event_word(LOCALITY_TOUCH, 1, place), BASE);
	ADD(stage, 2, locality_event_word(LOCALITY_BURST, 0, 0), 3);
	ADD(stage, 3, locality_event_word(LOCALITY_STREAM, 0, place), BASE + 8, 8);
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 6);
	assert_seen(stage, 0, 'B', 10, 2);
	assert_seen(stage, 1, 'r', 0, BASE);
	assert_seen(stage, 2, 'b', 10, 3);
	assert_seen(stage, 3, 'B', 20, 1);
	assert_seen(stage, 4, 'e', 0, 1);
	assert_seen(stage, 5, 'r', 0, BASE + 8);
}

/* A loop that would run for longer than a burst is entered with all iterations, and visited for some. */
static void
what_is_visited_is_bounded(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);
	const struct locality_visitor visitor = {see_begin, see_enter, see_reference, NULL, stage};

	ADD(stage, 0, locality_event_word(LOCALITY_LOOP, 0, place), UINT64_MAX);
	assert_int_equal(visit(stage), 0); /* without references it ends at once */
	locality_record_free(stage->record);
	ADD(stage, 0, locality_event_word(LOCALITY_STREAM, 0, place), BASE, 8);
	assert_int_equal(locality_record_read(stage->fd, &stage->record), 0);
	stage->count = 0;
	assert_int_equal(locality_record_visit(stage->record, &visitor), -EINTR); /* ours: there is no room for more */
	assert_seen(stage, 0, 'e', 0, UINT64_MAX);
}

/* Of a loop that is left in the middle of an iteration: whole ones, and then what the last one has had. */
static void
the_last_iteration_says_what_it_has_had(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);
	const struct locality_visitor visitor = {see_begin, see_enter, see_reference, see_touch, stage};

	ADD(stage, 0, locality_event_word(LOCALITY_LOOP, 0, place), 1);
	ADD(stage, 0, locality_event_word(LOCALITY_STREAM, 0, place), BASE, 8);
	ADD(stage, 0, locality_event_word(LOCALITY_TOUCH, 0, place), BASE + 8);
	assert_int_equal(locality_record_read(stage->fd, &stage->record), 0);
	stage->count = 0;
	assert_int_equal(locality_record_visit(stage->record, &visitor), 0);
	assert_int_equal(stage->count, 3);
	assert_seen(stage, 0, 'e', 0, 1);
	assert_seen(stage, 1, 'r', 0, BASE);
	assert_seen(stage, 2, 't', 0, BASE + 8);
}

static void
what_contradicts_itself_is_refused(void **state)
{
	struct record_stage *stage = *state;
	const uint32_t place = add_text(stage, text);

	ADD(stage, 0, locality_event_word(LOCALITY_LOOP, 0, place), 2);
	stage->chunks[0].used = LOCALITY_WORDS + 1;
	assert_int_equal(visit(stage), -EPROTO);
	locality_record_free(stage->record);
	stage->chunks[0].used = 1; /* half of an event */
	assert_int_equal(visit(stage), -EPROTO);
	locality_record_free(stage->record);
	stage->chunks[0].used = 2;
	ADD(stage, 0, locality_event_word(LOCALITY_STREAM, 2, place), BASE, 8); /* the loop has two */
	assert_int_equal(visit(stage), -EPROTO);
	locality_record_free(stage->record);
	stage->chunks[0].used = 2;
	ADD(stage, 0, locality_event_word(LOCALITY_PART, 0, place) | locality_level_word(2), BASE, 8,
	    8); /* it has one */
	assert_int_equal(visit(stage), -EPROTO);
	locality_record_free(stage->record);
	stage->chunks[0].used = 0;
	ADD(stage, 0, locality_event_word(LOCALITY_NEST, 0, place) | locality_level_word(5), 1, 1, 1, 1, 1);
	assert_int_equal(visit(stage), -EPROTO);
	locality_record_free(stage->record);
	stage->chunks[0].used = 0;
	ADD(stage, 0, locality_event_word(LOCALITY_TOUCH, 0, place + 1), BASE); /* no text begins there */
	assert_int_equal(visit(stage), 0);
	assert_int_equal(stage->count, 0);
	locality_record_free(stage->record);
	stage->record = NULL;
	stage->header->text_bytes = LOCALITY_TEXT_BYTES + 8;
	assert_int_equal(visit(stage), -EPROTO);
	stage->header->text_bytes = sizeof(struct locality_text) + 8;
	assert_int_equal(visit(stage), -EPROTO); /* the text is longer */
	stage->header->magic--;
	assert_int_equal(visit(stage), -EPROTO);
	stage->header->magic = 0;
	assert_int_equal(visit(stage), -EAGAIN);
	assert_int_equal(ftruncate(stage->fd, 0), 0);
	assert_int_equal(visit(stage), -EAGAIN);
}

/* A text belongs to what the program was linked from then, or to a library; one without a build-id to none. */
static void
a_text_says_of_which_build_it_is(void **state)
{
	struct record_stage *stage = *state;
	struct locality_text *first = (struct locality_text *)(void *)(stage->header + 1);
	const struct locality_loop *loop;

	add_text(stage, text);
	add_text(stage, text);
	first->build_id_size = 3;
	memcpy(first->build_id, "\1\2\3", 3);
	assert_int_equal(visit(stage), 0);
	loop = locality_record_loop(stage->record, 0);
	assert_int_equal(loop->build_id_size, 3);
	assert_memory_equal(loop->build_id, "\1\2\3", 3);
	assert_int_equal(locality_record_loop(stage->record, 1)->build_id_size, 0);
	locality_record_free(stage->record);
	first->build_id_size = LOCALITY_BUILD_ID_MAX + 1;
	assert_int_equal(visit(stage), -EPROTO);
}

static void
basic_blocks_have_numbers_where_the_source_was_looked_at(void **state)
{
	struct record_stage *stage = *state;
	const struct locality_loop *loop;

	add_text(stage, "add\tadd.c\t9\t0\tf\t0\nB\t_Z3addv\t5\t0>2 2>3 3>5 5>3 3>4 4>1 ");
	add_text(stage, "add\tadd.c\t12\t1\te\t0\nB\t_Z3addv\t3\t2\t3\t3,4\nRs\t8\t13\ta\nWs\t8\t13\tb");
	add_text(stage, text);
	assert_int_equal(visit(stage), 0);
	loop = locality_record_loop(stage->record, 0);
	assert_true(loop->is_function);
	assert_false(loop->by_entry);
	assert_string_equal(loop->unique_name, "_Z3addv");
	assert_int_equal(loop->blocks, 5);
	assert_int_equal(loop->edge_count, 6);
	assert_int_equal(loop->edges[3].from, 5);
	assert_int_equal(loop->edges[3].to, 3);
	loop = locality_record_loop(stage->record, 1);
	assert_false(loop->is_function);
	assert_string_equal(loop->unique_name, "_Z3addv");
	assert_int_equal(loop->header, 3);
	assert_int_equal(loop->preheader, 2);
	assert_int_equal(loop->counted, 3);
	assert_int_equal(loop->references[0].block, 3);
	assert_int_equal(loop->references[1].block, 4);
	assert_string_equal(loop->references[1].name, "b");
	loop = locality_record_loop(stage->record, 2);
	assert_string_equal(loop->unique_name, "");
	assert_int_equal(loop->references[0].block, LOCALITY_NO_BLOCK);
}

static void
a_text_that_is_damaged_is_refused(void **state)
{
	static const char *const damaged[] = {
		"f\tf.c\t1\t1\te\t0\nXs\t8\t13\ta",
		"f\tf.c\t1\t1\te\t0\nRs\t0\t13\ta",                       /* a reference of no bytes */
		"f\tf.c\t1\t0\tf\t0",                                     /* a function without blocks */
		"f\tf.c\t1\t0\tf\t0\nB\tf\t0\t",                          /* likewise */
		"f\tf.c\t1\t0\tf\t0\nB\tf\t3\t0>99999 ",                  /* numbers are limited */
		"f\tf.c\t1\t1\te\t0\nB\tf\t99999\t2\t3\t3",               /* the header's */
		"f\tf.c\t1\t1\te\t0\nB\tf\t3\t2\t3\t99999\nRs\t8\t13\ta", /* a reference's */
	};
	struct record_stage *stage = *state;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		memset(stage->header + 1, 0, 4096);
		stage->header->text_bytes = 0;
		add_text(stage, damaged[i]);
		assert_int_equal(visit(stage), -EPROTO);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_says_what_the_loop_is),
		TEST(references_come_iteration_by_iteration),
		TEST(a_gather_may_end_early),
		TEST(a_nest_runs_in_its_order),
		TEST(a_nest_without_references_ends),
		TEST(threads_follow_one_another),
		TEST(what_is_visited_is_bounded),
		TEST(the_last_iteration_says_what_it_has_had),
		TEST(what_contradicts_itself_is_refused),
		TEST(a_text_says_of_which_build_it_is),
		TEST(a_text_that_is_damaged_is_refused),
		TEST(basic_blocks_have_numbers_where_the_source_was_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
