#include "dcpi-tools/mem/word_trials.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "memory/numbers.h"
#include "process/proc.h"

#define OFTEN          256                /* writes of a thread, after which its watchpoint is off; they are often */
#define OFTEN_NS       UINT64_C(20000000) /* if the thread ran no longer than this meanwhile */
#define TRIALS         3  /* words at a time: processors have four watchpoints, and a debugger may want one */
#define THREADS_MAX    64 /* of a process that are watched */
#define WORD_BYTES     8
#define RECENT_SAMPLES 32   /* so few that they are of the last seconds */
#define LINES_SEEN     1024 /* of samples: by whom last */
#define LINES_SHARED   64   /* of which several threads had samples, or that are written often */

/*
 * Each watchpoint of a thread that runs is set, read and removed by an interrupt of its processor, for whose answer the
 * caller waits: for microseconds, or for milliseconds where processors are virtual. Meanwhile no sample is read, and no
 * page asked for.
 */
#define ARMING_NS  UINT64_C(20000000) /* after which no more watchpoints are set */
#define REST_TIMES 1                  /* as long as it took to remove and set them, they stay at least */

enum trial_kind {
	TRIAL_FAULTED, /* the word of a fault: what is written there? */
	TRIAL_RANDOM,  /* any word of a fault's page: is the page written? */
	TRIAL_BESIDE,  /* a word of a line that several threads use: who writes it? */
	TRIAL_READ,    /* such a word, if one of the line is written often; reads count, too: who reads it? */
};

/* A word that is watched, or a sample whose word may be. */
struct word_trial {
	uint32_t process, pid;
	struct access_sample sample;
	enum trial_kind kind;
	uint64_t address;
	bool is_whole, is_written; /* all threads are watched; one wrote */
};

/* A line, and the thread that had its last sample. */
struct line_seen {
	uint32_t process, tid;
	uint64_t address;
};

/* A line that may be shared falsely. */
struct shared_line {
	struct word_trial trial; /* with the sample by which it was found; `address` is the line's */
	uint64_t turns;          /* of its words, from that of the sample on */
	bool is_hot;             /* one of its words is written often */
};

/* A watchpoint of one thread. */
struct watched_word {
	int fd;
	size_t trial;
	uint32_t thread;
};

/* What read(2) gives of a watchpoint. */
struct watch_count {
	uint64_t count;
	uint64_t running_ns; /* of the thread, with the watchpoint on */
};

struct word_trials {
	uint64_t line_bytes, page_bytes, random;
	struct word_trial now[TRIALS], recent[RECENT_SAMPLES];
	size_t count, recent_count; /* the latter: that were ever entered; the latest are there */
	size_t samples;             /* since the last trials */
	struct line_seen seen[LINES_SEEN];
	struct shared_line lines[LINES_SHARED];
	size_t line_count, rounds;
	size_t next_line[2]; /* of those that are not hot; of hot ones */
	struct watched_word *watched;
	size_t watched_count, watched_room;
	pid_t *tids; /* of a process that is being watched */
	size_t tid_room;
	uint64_t armed_ns, took_ns; /* when they were set; how long it took to remove those before, and to set these */
	struct numbers threads;     /* that had samples */
	uint8_t *nodes;             /* by these: on which the last one was */
	size_t node_count, node_room;
};

struct word_trials *
word_trials_new(uint64_t line_bytes, uint64_t page_bytes)
{
	struct word_trials *trials = calloc(1, sizeof(*trials));

	if (!trials)
		return NULL;
	trials->line_bytes = line_bytes;
	trials->page_bytes = page_bytes;
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
	free(trials->tids);
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

/* Words of the sample's line shall be watched, which several threads use. */
static void
enter_line(struct word_trials *trials, const struct word_trial *trial, uint64_t address, bool is_hot)
{
	const uint64_t line = address & ~(trials->line_bytes - 1);
	struct shared_line *place;

	for (size_t i = 0; i < trials->line_count; i++) {
		place = &trials->lines[i];
		if (place->trial.process != trial->process || place->trial.address != line)
			continue;
		place->is_hot |= is_hot;
		return;
	}
	if (trials->line_count < LINES_SHARED)
		place = &trials->lines[trials->line_count++];
	else
		place = &trials->lines[next_random(trials, LINES_SHARED)];
	*place = (struct shared_line){.trial = *trial, .is_hot = is_hot};
	place->trial.address = line;
}

/* Lines of which one thread after the other has a sample are few, but those that are shared falsely are of them. */
static void
look_at_line(struct word_trials *trials, const struct word_trial *trial)
{
	const uint64_t line = trial->sample.address & ~(trials->line_bytes - 1);
	struct line_seen *seen = &trials->seen[line / trials->line_bytes % LINES_SEEN];

	if (seen->address == line && seen->process == trial->process && seen->tid != trial->sample.tid)
		enter_line(trials, trial, line, false);
	*seen = (struct line_seen){trial->process, trial->sample.tid, line};
}

void
word_trials_sample(struct word_trials *trials, uint32_t process, uint32_t pid, const struct access_sample *sample,
                   bool is_first)
{
	const struct word_trial trial = {.process = process, .pid = pid, .sample = *sample};
	uint8_t *node = node_of_thread(trials, sample->tid);

	if (node)
		*node = sample->node;
	trials->samples++;
	look_at_line(trials, &trial);
	if (is_first)
		return;
	trials->recent[trials->recent_count++ % RECENT_SAMPLES] = trial;
}

/* ---- watchpoints ---- */

/* What cannot be watched - the thread has ended, a debugger has all watchpoints - is not: false. */
static bool
watch(struct word_trials *trials, uint32_t thread, size_t trial)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = trials->now[trial].kind == TRIAL_READ ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W,
		.bp_addr = trials->now[trial].address,
		.bp_len = WORD_BYTES,
		.sample_period = OFTEN,
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const long fd =
		syscall(SYS_perf_event_open, &attr, (long)thread, -1L, -1L, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	struct watched_word *place;

	if (fd < 0)
		return false;
	place = ARRAY_APPEND(trials->watched, trials->watched_count, trials->watched_room);
	if (!place) {
		close((int)fd);
		return false;
	}
	*place = (struct watched_word){(int)fd, trial, thread};
	return ioctl((int)fd, PERF_EVENT_IOC_REFRESH, 1) == 0; /* on, until the period is over once */
}

/* Whether all threads of the process are watched, in the time that there is. */
static bool
watch_threads(struct word_trials *trials, uint32_t pid, size_t trial, uint64_t end_ns)
{
	const ssize_t count = proc_list_threads((pid_t)pid, &trials->tids, &trials->tid_room);
	bool is_whole = count > 0 && count <= THREADS_MAX;

	for (ssize_t i = 0; i < count && i < THREADS_MAX && (i == 0 || is_whole); i++)
		is_whole &= monotonic_ns() < end_ns && watch(trials, (uint32_t)trials->tids[i], trial);
	return is_whole;
}

/* What one thread did with the word. 0, or what `write` returned. */
static int
end_watch(struct word_trials *trials, const struct watched_word *watched, word_trials_write *write, void *context)
{
	struct word_trial *trial = &trials->now[watched->trial];
	struct access_sample sample = trial->sample;
	const uint8_t *node = node_of_thread(trials, watched->thread);
	struct watch_count got;

	if (read(watched->fd, &got, sizeof(got)) != sizeof(got) || !got.count)
		return 0;
	sample.address = trial->address;
	sample.tid = watched->thread;
	sample.node = node ? *node : 0;
	sample.level = MEMORY_CACHE;
	sample.flags = trial->kind == TRIAL_READ ? 0 : MEMORY_STORE;
	sample.cycles = trial->kind != TRIAL_READ && got.count >= OFTEN && got.running_ns <= OFTEN_NS;
	sample.cost = 0;
	trial->is_written |= trial->kind != TRIAL_READ;
	if (sample.cycles)
		enter_line(trials, trial, trial->address, true);
	return write(context, trial->process, &sample);
}

/* A page of which a word was watched. 0, or what `write` returned. */
static int
end_trial(const struct word_trial *trial, word_trials_write *write, void *context)
{
	struct access_sample sample = trial->sample;

	if (trial->kind != TRIAL_RANDOM || !(trial->is_whole || trial->is_written))
		return 0;
	sample.level = MEMORY_WATCHED;
	sample.flags = 0;
	sample.cycles = sample.cost = 0;
	sample.weight = 1;
	return write(context, trial->process, &sample);
}

static void
begin_trial(struct word_trials *trials, const struct word_trial *trial, enum trial_kind kind, uint64_t address,
            uint64_t end_ns)
{
	const size_t at = trials->count++;
	struct word_trial *begun = &trials->now[at];

	*begun = (struct word_trial){.process = trial->process,
	                             .pid = trial->pid,
	                             .sample = trial->sample,
	                             .kind = kind,
	                             .address = address & ~(uint64_t)(WORD_BYTES - 1)};
	begun->sample.weight =
		kind == TRIAL_FAULTED || kind == TRIAL_RANDOM ? (uint32_t)(trials->samples / (TRIALS - 1) + 1) : 1;
	begun->sample.time = monotonic_ns();
	begun->is_whole = watch_threads(trials, trial->pid, at, end_ns);
}

/*
 * The next word of the next line that several threads use, and of which a word is written often, or none is known to
 * be. Words of the former are watched for writes one turn, for reads the next one.
 */
static bool
begin_line_trial(struct word_trials *trials, bool is_hot, uint64_t end_ns)
{
	for (size_t i = 0; i < trials->line_count; i++) {
		struct shared_line *line = &trials->lines[trials->next_line[is_hot]++ % trials->line_count];
		uint64_t at;

		if (line->is_hot != is_hot)
			continue;
		at = line->turns++ * WORD_BYTES;
		begin_trial(trials, &line->trial, is_hot && at / trials->line_bytes % 2 ? TRIAL_READ : TRIAL_BESIDE,
		            line->trial.address + (line->trial.sample.address + at) % trials->line_bytes, end_ns);
		return true;
	}
	return false;
}

/*
 * A word of a line that is written often, or else of another one that several threads use; in turns one of the latter,
 * and the word of a recent sample; and random ones of recent samples' pages. By the first access to a page, which a
 * fault is, a program that goes over pages in order is seen at their first words alone.
 */
static void
begin_trials(struct word_trials *trials, uint64_t end_ns)
{
	const size_t recent = trials->recent_count < RECENT_SAMPLES ? trials->recent_count : RECENT_SAMPLES;
	const bool is_odd = trials->rounds++ % 2;
	enum trial_kind kind = TRIAL_FAULTED;

	trials->count = 0;
	if ((!begin_line_trial(trials, true, end_ns) || is_odd) && begin_line_trial(trials, false, end_ns) && is_odd)
		kind = TRIAL_RANDOM;
	for (; recent && trials->count < TRIALS && monotonic_ns() < end_ns; kind = TRIAL_RANDOM) {
		const struct word_trial *trial = &trials->recent[next_random(trials, recent)];
		const uint64_t page = trial->sample.address & ~(trials->page_bytes - 1);
		const uint64_t word = next_random(trials, trials->page_bytes / WORD_BYTES);

		begin_trial(trials, trial, kind,
		            kind == TRIAL_RANDOM ? page + word * WORD_BYTES : trial->sample.address, end_ns);
	}
	trials->samples = 0;
}

int
word_trials_next(struct word_trials *trials, word_trials_write *write, void *context)
{
	const uint64_t begin_ns = monotonic_ns();
	int err = 0;

	if (begin_ns - trials->armed_ns < REST_TIMES * trials->took_ns)
		return 0;
	for (size_t i = 0; i < trials->watched_count; i++) {
		if (!err)
			err = end_watch(trials, &trials->watched[i], write, context);
		close(trials->watched[i].fd);
	}
	trials->watched_count = 0;
	for (size_t i = 0; i < trials->count && !err; i++)
		err = end_trial(&trials->now[i], write, context);
	begin_trials(trials, monotonic_ns() + ARMING_NS);
	trials->armed_ns = monotonic_ns();
	trials->took_ns = trials->armed_ns - begin_ns;
	return err;
}
