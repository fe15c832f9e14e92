/* Tests of dcpi-tools/mem/word_trials.h by this machine's watchpoints, on words that threads of this test write. */
#include "dcpi-tools/mem/word_trials.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define LINE    64
#define PAGE    4096
#define WORDS   (LINE / 8)
#define WRITERS 2
#define ROUNDS  2000
#define PROCESS 5 /* any number */

/* Writers have a word of it each, a reader reads another. */
static _Alignas(LINE) atomic_ullong line[WORDS];
static _Alignas(LINE) atomic_ullong seldom, unused;
static atomic_bool is_over;

#define READ_WORD 5

struct word_writer {
	pthread_t thread;
	atomic_uint tid;
	unsigned word;
};

/* What was handed on. */
struct writes {
	uint32_t often[WORDS]; /* by word: who wrote it often */
	uint32_t used[WORDS];  /* who read or wrote it last */
	unsigned seldom, unused, wrong, watched;
};

static void *
write_words(void *data)
{
	struct word_writer *writer = data;

	writer->tid = (unsigned)syscall(SYS_gettid);
	while (!is_over)
		atomic_fetch_add_explicit(&line[writer->word], 1, memory_order_relaxed);
	return NULL;
}

static int
take(void *context, uint32_t process, const struct access_sample *sample)
{
	struct writes *writes = context;
	const uint64_t first = (uint64_t)(uintptr_t)line, at = sample->address;

	writes->wrong += process != PROCESS || sample->cost || !sample->weight;
	if (sample->level == MEMORY_WATCHED) {
		writes->wrong += sample->flags || sample->cycles;
		writes->watched++;
		return 0;
	}
	writes->wrong += sample->level != MEMORY_CACHE;
	if (!(sample->flags & MEMORY_STORE)) {
		writes->wrong += at < first || at >= first + LINE || sample->cycles;
		writes->used[at % LINE / 8] = sample->tid;
		return 0;
	}
	if (at >= first && at < first + LINE && sample->cycles)
		writes->often[(at - first) / 8] = sample->tid;
	else if (at >= first && at < first + LINE)
		return 0; /* its writer had no processor for long enough */
	else if (at == (uint64_t)(uintptr_t)&seldom)
		writes->seldom += sample->cycles ? 1000 : 1;
	else
		writes->unused += at == (uint64_t)(uintptr_t)&unused;
	return 0;
}

static void *
read_word(void *data)
{
	struct word_writer *reader = data;

	reader->tid = (unsigned)syscall(SYS_gettid);
	while (!is_over)
		(void)atomic_load_explicit(&line[READ_WORD], memory_order_relaxed);
	return NULL;
}

/* The writers, and the reader behind them, until end_threads(). */
static struct word_writer threads[WRITERS + 1];

static void
begin_threads(void)
{
	is_over = false;
	for (unsigned i = 0; i <= WRITERS; i++) {
		threads[i].tid = 0;
		threads[i].word = i * 3;
		assert_int_equal(
			pthread_create(&threads[i].thread, NULL, i < WRITERS ? write_words : read_word, &threads[i]),
			0);
		while (!threads[i].tid)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static void
end_threads(void)
{
	is_over = true;
	for (unsigned i = 0; i <= WRITERS; i++)
		pthread_join(threads[i].thread, NULL);
}

static struct access_sample
sample_of(const void *address, unsigned tid)
{
	return (struct access_sample){.address = (uint64_t)(uintptr_t)address, .tid = tid, .weight = 1, .node = 1};
}

/* Why this machine's words cannot be watched; NULL: they can. */
static const char *
obstacle(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)(uintptr_t)&unused,
		.bp_len = 8,
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);

	if (fd < 0)
		return strerror(errno);
	close((int)fd);
	return NULL;
}

static void
rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/*
 * The word of the first writer is known by its fault; that of the second, beside it, is found because the first one is
 * written often, and who reads a word of that line, too. A word that the test writes now and then is not one of those,
 * and one that nobody writes is none.
 */
static void
words_that_are_written_are_found(void **state)
{
	struct word_trials *trials = word_trials_new(LINE, PAGE);
	struct writes writes = {.wrong = 0};
	struct access_sample sample;
	bool is_found = false;

	(void)state;
	if (obstacle()) {
		word_trials_free(trials);
		skip_because(obstacle());
	}
	assert_non_null(trials);
	begin_threads();
	sample = sample_of(&line[0], threads[0].tid);
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	sample = sample_of(&seldom, (unsigned)getpid());
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	sample = sample_of(&unused, (unsigned)getpid());
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	for (unsigned i = 0; i < ROUNDS && !is_found; i++) {
		assert_int_equal(word_trials_next(trials, take, &writes), 0);
		seldom++;
		rest();
		is_found =
			writes.often[0] && writes.often[3] && writes.seldom && writes.used[READ_WORD] && writes.watched;
	}
	end_threads();
	word_trials_free(trials);
	assert_int_equal(writes.often[0], threads[0].tid);
	assert_int_equal(writes.often[3], threads[1].tid);
	assert_int_equal(writes.used[READ_WORD], threads[WRITERS].tid);
	assert_true(writes.watched > 0);
	assert_in_range(writes.seldom, 1, 999);
	assert_int_equal(writes.unused, 0);
	assert_int_equal(writes.wrong, 0);
	for (unsigned i = 0; i < WORDS; i++)
		assert_true(i == 0 || i == 3 || !writes.often[i]);
}

/* One thread after the other has a fault in the line, at a word that nobody writes: its words take turns. */
static void
lines_of_several_threads_are_watched_word_by_word(void **state)
{
	struct word_trials *trials = word_trials_new(LINE, PAGE);
	struct writes writes = {.wrong = 0};
	struct access_sample sample;

	(void)state;
	if (obstacle()) {
		word_trials_free(trials);
		skip_because(obstacle());
	}
	assert_non_null(trials);
	begin_threads();
	for (unsigned i = 0; i < WRITERS; i++) {
		sample = sample_of(&line[READ_WORD], threads[i].tid);
		word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, true);
	}
	for (unsigned i = 0; i < ROUNDS && (!writes.often[0] || !writes.often[3]); i++) {
		assert_int_equal(word_trials_next(trials, take, &writes), 0);
		rest();
	}
	end_threads();
	word_trials_free(trials);
	assert_int_equal(writes.often[0], threads[0].tid);
	assert_int_equal(writes.often[3], threads[1].tid);
	assert_int_equal(writes.watched, 0); /* no page of recent samples is known */
	assert_int_equal(writes.wrong, 0);
}

static void
first_faults_are_no_reason_for_a_trial(void **state)
{
	struct word_trials *trials = word_trials_new(LINE, PAGE);
	const struct access_sample sample = sample_of(&seldom, (unsigned)getpid());
	struct writes writes = {.wrong = 0};

	(void)state;
	assert_non_null(trials);
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, true);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(word_trials_next(trials, take, &writes), 0);
		seldom++;
	}
	word_trials_free(trials);
	assert_int_equal(writes.seldom, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_are_written_are_found),
		cmocka_unit_test(lines_of_several_threads_are_watched_word_by_word),
		cmocka_unit_test(first_faults_are_no_reason_for_a_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
