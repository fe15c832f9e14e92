#include "dcpi-tools/mem/word_trials.h"

#include <dirent.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "memory/numbers.h"

#define OFTEN          256 /* writes of a thread while a word is watched, which then ends */
#define TRIALS         3   /* words at a time: processors have four watchpoints, and a debugger may want one */
#define THREADS_MAX    64  /* of a process that are watched */
#define WORD_BYTES     8
#define RECENT_SAMPLES 128
#define HOT_WORDS      64

/* A sample whose word is watched, or may be. */
struct word_trial {
	uint32_t process, pid;
	struct access_sample sample;
};

/* A watchpoint of one thread. */
struct watched_word {
	int fd;
	size_t trial;
	uint32_t thread;
};

struct word_trials {
	uint64_t line_bytes, random;
	struct word_trial now[TRIALS], recent[RECENT_SAMPLES], hot[HOT_WORDS];
	size_t count, recent_count, hot_count; /* the latter two: that were ever entered; later ones replace others */
	size_t samples;                        /* since the last trials */
	struct watched_word *watched;
	size_t watched_count, watched_room;
	struct numbers threads; /* that had samples */
	uint8_t *nodes;         /* by these: on which the last one was */
	size_t node_count, node_room;
};

struct word_trials *
word_trials_new(uint64_t line_bytes)
{
	struct word_trials *trials = calloc(1, sizeof(*trials));

	if (!trials)
		return NULL;
	trials->line_bytes = line_bytes;
	trials->random = 1;
	return trials;
}

void
word_trials_free(struct word_trials *trials)
{
	if (!trials)
		return;
	while (trials->watched_count > 0)
		close(trials->watched[--trials->watched_count].fd);
	free(trials->watched);
	numbers_fini(&trials->threads);
	free(trials->nodes);
	free(trials);
}

static uint64_t
next_random(struct word_trials *trials, uint64_t below)
{
	trials->random = trials->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (trials->random >> 33) % below;
}

/* ---- samples ---- */

/* Where the node of a thread's last sample is kept. NULL: no memory. */
static uint8_t *
node_of_thread(struct word_trials *trials, uint32_t tid)
{
	const uint32_t number = numbers_of(&trials->threads, tid, 0);

	while (number != NUMBER_NONE && number >= trials->node_count) {
		uint8_t *node = ARRAY_APPEND(trials->nodes, trials->node_count, trials->node_room);

		if (!node)
			return NULL;
		*node = 0;
	}
	return number == NUMBER_NONE ? NULL : &trials->nodes[number];
}

void
word_trials_sample(struct word_trials *trials, uint32_t process, uint32_t pid, const struct access_sample *sample,
                   bool is_first)
{
	uint8_t *node = node_of_thread(trials, sample->tid);
	size_t at = trials->recent_count;

	if (node)
		*node = sample->node;
	trials->samples++;
	if (is_first)
		return;
	if (at >= RECENT_SAMPLES)
		at = next_random(trials, RECENT_SAMPLES);
	trials->recent[at] = (struct word_trial){process, pid, *sample};
	trials->recent_count++;
}

/* ---- watchpoints ---- */

/* What cannot be watched - the thread has ended, a debugger has all watchpoints - is not. */
static void
watch(struct word_trials *trials, uint32_t thread, uint64_t address, size_t trial)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = address & ~(uint64_t)(WORD_BYTES - 1),
		.bp_len = WORD_BYTES,
		.sample_period = OFTEN,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const long fd =
		syscall(SYS_perf_event_open, &attr, (long)thread, -1L, -1L, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	struct watched_word *place;

	if (fd < 0)
		return;
	place = ARRAY_APPEND(trials->watched, trials->watched_count, trials->watched_room);
	if (!place) {
		close((int)fd);
		return;
	}
	*place = (struct watched_word){(int)fd, trial, thread};
	(void)ioctl((int)fd, PERF_EVENT_IOC_REFRESH, 1); /* on, until the period is over once */
}

static void
watch_threads(struct word_trials *trials, uint32_t pid, uint64_t address, size_t trial)
{
	const struct dirent *entry;
	unsigned count = 0;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && count < THREADS_MAX && (entry = readdir(tasks))) {
		const unsigned long thread = strtoul(entry->d_name, NULL, 10);

		if (!thread)
			continue;
		watch(trials, (uint32_t)thread, address, trial);
		count++;
	}
	if (tasks)
		closedir(tasks);
}

static int
end_trial(struct word_trials *trials, const struct watched_word *watched, word_trials_write *write, void *context)
{
	const struct word_trial *trial = &trials->now[watched->trial];
	struct access_sample sample = trial->sample;
	const uint8_t *node = node_of_thread(trials, watched->thread);
	uint64_t count = 0;

	if (read(watched->fd, &count, sizeof(count)) != sizeof(count) || !count)
		return 0;
	sample.tid = watched->thread;
	sample.node = node ? *node : 0;
	sample.level = MEMORY_CACHE;
	sample.flags = MEMORY_STORE;
	sample.cycles = count >= OFTEN;
	sample.cost = 0;
	if (sample.cycles)
		trials->hot[trials->hot_count++ % HOT_WORDS] = *trial;
	return write(context, trial->process, &sample);
}

static void
begin_trial(struct word_trials *trials, const struct word_trial *trial, uint64_t address, uint32_t weight)
{
	struct word_trial *begun = &trials->now[trials->count];

	*begun = *trial;
	begun->sample.address = address;
	begun->sample.weight = weight;
	begun->sample.time = monotonic_ns();
	watch_threads(trials, trial->pid, address, trials->count++);
}

/* A word of a line of which one is known to be written often - who writes the others? - and words of recent samples. */
static void
begin_trials(struct word_trials *trials)
{
	const size_t recent = trials->recent_count < RECENT_SAMPLES ? trials->recent_count : RECENT_SAMPLES;
	const size_t hot = trials->hot_count < HOT_WORDS ? trials->hot_count : HOT_WORDS;
	const uint32_t weight = (uint32_t)(trials->samples / (TRIALS - 1) + 1);

	trials->count = 0;
	if (hot) {
		const struct word_trial *trial = &trials->hot[next_random(trials, hot)];
		const uint64_t line = trial->sample.address & ~(trials->line_bytes - 1);

		begin_trial(trials, trial, line + next_random(trials, trials->line_bytes / WORD_BYTES) * WORD_BYTES, 1);
	}
	while (recent && trials->count < TRIALS) {
		const struct word_trial *trial = &trials->recent[next_random(trials, recent)];

		begin_trial(trials, trial, trial->sample.address, weight);
	}
	trials->samples = 0;
}

int
word_trials_next(struct word_trials *trials, word_trials_write *write, void *context)
{
	int err = 0;

	for (size_t i = 0; i < trials->watched_count; i++) {
		if (!err)
			err = end_trial(trials, &trials->watched[i], write, context);
		close(trials->watched[i].fd);
	}
	trials->watched_count = 0;
	begin_trials(trials);
	return err;
}
