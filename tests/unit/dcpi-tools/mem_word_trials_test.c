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
#define WORDS   (LINE / 8)
#define WRITERS 2
#define ROUNDS  2000
#define PROCESS 5 /* any number */

/* Writers have a word of it each; the others are only read. */
static _Alignas(LINE) atomic_ullong line[WORDS];
static _Alignas(LINE) atomic_ullong seldom, unused;
static atomic_bool is_over;

struct word_writer {
	pthread_t thread;
	atomic_uint tid;
	unsigned word;
};

/* What was handed on. */
struct writes {
	uint32_t often[WORDS]; /* by word: who wrote it often */
	unsigned seldom, unused, wrong;
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

	writes->wrong += process != PROCESS || sample->level != MEMORY_CACHE || !(sample->flags & MEMORY_STORE) ||
	                 sample->cost || !sample->weight;
	if (at >= first && at < first + LINE && sample->cycles)
		writes->often[(at - first) / 8] = sample->tid;
	else if (at >= first && at < first + LINE)
		return 0; /* its writer had no processor for long enough */
	else if (at == (uint64_t)(uintptr_t)&seldom)
		writes->seldom += sample->cycles ? 1000 : 1;
	else
		writes->unused++;
	return 0;
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
 * written often. A word that the test writes now and then is not one of those, and one that nobody writes is none.
 */
static void
words_that_are_written_are_found(void **state)
{
	static struct word_writer writers[WRITERS];
	struct word_trials *trials = word_trials_new(LINE);
	struct writes writes = {.wrong = 0};
	struct access_sample sample;
	bool is_found = false;

	(void)state;
	if (obstacle()) {
		word_trials_free(trials);
		skip_because(obstacle());
	}
	assert_non_null(trials);
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i].word = i * 3;
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_words, &writers[i]), 0);
	}
	while (!writers[0].tid || !writers[1].tid)
		rest();
	sample = sample_of(&line[0], writers[0].tid);
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	sample = sample_of(&seldom, (unsigned)getpid());
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	sample = sample_of(&unused, (unsigned)getpid());
	word_trials_sample(trials, PROCESS, (uint32_t)getpid(), &sample, false);
	for (unsigned i = 0; i < ROUNDS && !is_found; i++) {
		assert_int_equal(word_trials_next(trials, take, &writes), 0);
		seldom++;
		rest();
		is_found = writes.often[0] && writes.often[3] && writes.seldom;
	}
	is_over = true;
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	word_trials_free(trials);
	assert_int_equal(writes.often[0], writers[0].tid);
	assert_int_equal(writes.often[3], writers[1].tid);
	assert_in_range(writes.seldom, 1, 999);
	assert_int_equal(writes.unused, 0);
	assert_int_equal(writes.wrong, 0);
	for (unsigned i = 0; i < WORDS; i++)
		assert_true(i == 0 || i == 3 || !writes.often[i]);
}

static void
first_faults_are_no_reason_for_a_trial(void **state)
{
	struct word_trials *trials = word_trials_new(LINE);
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
		cmocka_unit_test(first_faults_are_no_reason_for_a_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
