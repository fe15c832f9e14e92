#include <emmintrin.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "bench/silicon/silicon.h"

/* Far from everything else, and so that what is near it in a block's eyes is its own. */
#define PLACE         UINT64_C(0x3f0000000000)
#define ELSEWHERE     UINT64_C(0x35000)
#define CODE_ROOM     (UINT64_C(1) << 20)
#define APART         UINT64_C(0x1000140) /* so that two blocks share no line of a cache */
#define SEEDS         12
#define PROCESSES     4
#define COPIES_MAX    400
#define BRANCHES_MAX  128 /* that predictors know at no cost, whatever else is there */
#define COPIES_MIN    8
#define ROW_MAX       1000 /* instructions in the shorter row */
#define ROW_TARGET    60000
#define CLOCK_COPIES  512
#define CLOCK_REPEATS 40
#define CLOCK_STEADY  0.002
#define WARM_REPEATS  4 /* predictors and caches know it again */
#define NEVER         1e9
#define ROWS          4
#define RANK          3 /* the third shortest time counts: the first may be the clock that changed */
#define TRIES_MIN     40
#define TRIES_MAX     400
#define SETTLED       20 /* tries without a shorter time */
#define TIMEOUT_S     20

/* add %rax, %rax: a cycle each, on any CPU. */
static const struct silicon_block clock_block = {.bytes = {0x48, 0x01, 0xc0}, .size = 3, .instructions = 1};

static void
frame_fill(struct silicon_frame *frame, unsigned seed)
{
	static const double ones[2] = {1.0, 1.0};
	unsigned order = 2 * (seed / 3) + 1; /* the order of the registers differs with the seed */

	for (unsigned i = 0; i < 16; i++) {
		frame->general[i] = SILICON_POINTERS + (i * order % 16 + 1) * APART;
		memcpy(frame->vector[i], ones, sizeof(ones));
	}
}

/*
 * Room number `at`, elsewhere in each process: an address that looks like one of the block's to a cache that guesses by
 * a hash of it costs a miss each time.
 */
static struct silicon_frame *
code_place(unsigned at, unsigned process, struct silicon_code *code)
{
	uint8_t *room =
		mmap((void *)(PLACE + at * 16 * CODE_ROOM + process * ELSEWHERE), CODE_ROOM,
	             PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (room == MAP_FAILED)
		return NULL;
	*code = (struct silicon_code){.bytes = room + SILICON_FRAME_ROOM, .capacity = CODE_ROOM - SILICON_FRAME_ROOM};
	return (struct silicon_frame *)room;
}

struct job {
	const struct silicon_block *block;
	unsigned seed;
	unsigned process; /* 0 to PROCESSES - 1 */
	bool is_timed;    /* else it is only tried */
};

struct row {
	struct silicon_frame *frame;
	void (*run)(void);
	double best[RANK]; /* the shortest times by that of the clock row, ascending */
};

static int
row_make(struct row *row, unsigned at, const struct job *job, const struct silicon_block *block, unsigned copies)
{
	struct silicon_code code;

	*row = (struct row){.frame = code_place(at, job->process, &code), .best = {NEVER, NEVER, NEVER}};
	if (!row->frame)
		return -ENOMEM;
	frame_fill(row->frame, job->seed);
	silicon_emit_row(&code, block, copies);
	row->run = (void (*)(void))(void *)code.bytes;
	return code.is_over ? -E2BIG : 0;
}

/* Of the clock that the machine has, not the core's. */
static uint64_t
row_time(const struct row *row, unsigned repeats)
{
	uint64_t begin, took;
	unsigned cpu;

	row->frame->counter = WARM_REPEATS;
	row->run();
	row->frame->counter = repeats;
	begin = __rdtscp(&cpu);
	_mm_lfence();
	row->run();
	took = __rdtscp(&cpu) - begin;
	_mm_lfence();
	return took;
}

/* Of the shorter row. */
static unsigned
copies_of(const struct silicon_block *block)
{
	const unsigned copies = (unsigned)(ROW_MAX / block->instructions);
	const unsigned most = block->displacement_size ? BRANCHES_MAX : COPIES_MAX;

	return copies > most ? most : copies < COPIES_MIN ? COPIES_MIN : copies;
}

/* Whether the loop goes on for as many iterations as a row has. */
static int
loop_try(const struct job *job, unsigned at, bool *goes_on)
{
	struct silicon_code code;
	struct silicon_frame *frame = code_place(at, job->process, &code);

	if (!frame)
		return -ENOMEM;
	frame_fill(frame, job->seed);
	frame->counter = 2 * copies_of(job->block);
	silicon_emit_loop(&code, job->block);
	if (code.is_over)
		return -E2BIG;
	((void (*)(void))(void *)code.bytes)();
	*goes_on = frame->counter == 0;
	return 0;
}

static bool
best_note(double best[RANK], double share)
{
	size_t at = RANK;

	if (share >= best[RANK - 1])
		return false;
	for (; at > 0 && share < best[at - 1]; at--)
		if (at < RANK)
			best[at] = best[at - 1];
	best[at] = share;
	return true;
}

/*
 * All rows once. The last one, additions in a chain, is run at both ends: when it took as long, no clock changed
 * meanwhile, and the time of every row is divided by its time. True: something became shorter.
 */
static bool
rows_try(struct row rows[ROWS], unsigned repeats)
{
	const uint64_t before = row_time(&rows[ROWS - 1], CLOCK_REPEATS);
	uint64_t took[ROWS];
	bool is_shorter = false;

	for (unsigned i = 0; i < ROWS; i++)
		took[i] = row_time(&rows[i], i < 2 ? repeats : CLOCK_REPEATS);
	if (fabs((double)took[ROWS - 1] / (double)before - 1) > CLOCK_STEADY)
		return true;
	for (unsigned i = 0; i < ROWS; i++) {
		const double share = 2.0 * (double)took[i] / (double)(before + took[ROWS - 1]);

		is_shorter |= best_note(rows[i].best, share);
	}
	return is_shorter;
}

/*
 * The row of twice as many copies less the other one is what the copies take; the shortest of many tries is the one in
 * which nothing came between. That difference for a chain of additions is the length of a cycle.
 */
static int
rows_measure(const struct job *job, double shares[ROWS])
{
	const unsigned copies = copies_of(job->block);
	const unsigned repeats = ROW_TARGET / (unsigned)(copies * job->block->instructions) + 1;
	struct row rows[ROWS];
	unsigned quiet = 0;
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = row_make(&rows[i], 1 + i, job, job->block, copies << i);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = row_make(&rows[2 + i], 3 + i, job, &clock_block, CLOCK_COPIES << i);
	if (err)
		return err;
	for (unsigned try = 0; try < TRIES_MAX && (try < TRIES_MIN || quiet < SETTLED); try++)
		quiet = rows_try(rows, repeats) ? 0 : quiet + 1;
	for (unsigned i = 0; i < ROWS; i++)
		shares[i] = rows[i].best[RANK - 1] / (i < 2 ? repeats : CLOCK_REPEATS);
	return shares[1] >= NEVER / repeats ? -EBUSY : 0;
}

/* What children say: how rows did, by the clock row. */
struct measured_shares {
	int err;
	bool goes_on;
	double shares[ROWS]; /* a repeat of each */
};

/* As far as one is allowed to: nobody takes the CPU, or moves the child to another. */
static void
undisturbed(void)
{
	const struct sched_param first = {.sched_priority = 1};
	int cpu = sched_getcpu();
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu < 0 ? 0 : cpu, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	(void)sched_setscheduler(0, SCHED_FIFO, &first);
}

static void
child_run(const struct job *job, struct measured_shares *shared)
{
	int err = silicon_catch_faults(job->seed);

	alarm(TIMEOUT_S);
	undisturbed();
	_mm_setcsr(_mm_getcsr() | 0x8040); /* no denormals */
	if (!err)
		err = loop_try(job, 0, &shared->goes_on);
	if (!err && job->is_timed)
		err = rows_measure(job, shared->shares);
	/* Once more, as it may have written into what it reads. */
	if (!err && job->is_timed && shared->goes_on)
		err = loop_try(job, 5, &shared->goes_on);
	_exit(-err);
}

static int
job_do(const struct job *job, struct measured_shares *shared)
{
	int status;
	pid_t child;

	*shared = (struct measured_shares){0};
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0)
		child_run(job, shared);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	shared->err = WIFEXITED(status) ? -WEXITSTATUS(status) : -ETIMEDOUT;
	return 0;
}

/* Where the loop goes on, or else one from which it runs. 0 or -errno. */
static int
seed_find(const struct silicon_block *block, struct measured_shares *shared, unsigned *seed)
{
	bool runs = false;

	*seed = 0;
	for (unsigned i = 0; i < SEEDS; i++) {
		const struct job job = {.block = block, .seed = i};
		int err = job_do(&job, shared);

		if (err)
			return err;
		if (!shared->err && (shared->goes_on || !runs))
			*seed = i;
		if (!shared->err && shared->goes_on)
			return 0;
		runs |= !shared->err;
	}
	return 0;
}

/* What is in the way - of a cache, of a predictor - differs from process to process: it only makes things longer. */
static int
processes_measure(struct job *job, struct measured_shares *shared, struct silicon_result *result)
{
	double best[ROWS] = {NEVER, NEVER, NEVER, NEVER};

	for (job->process = 0; job->process < PROCESSES; job->process++) {
		int err = job_do(job, shared);

		if (err)
			return err;
		result->err = shared->err;
		result->goes_on = shared->goes_on;
		if (shared->err)
			return 0;
		for (unsigned row = 0; row < ROWS; row++)
			best[row] = fmin(best[row], shared->shares[row]);
	}
	result->cycles = (best[1] - best[0]) / copies_of(job->block) / ((best[3] - best[2]) / CLOCK_COPIES);
	return 0;
}

int
silicon_measure(const struct silicon_block *block, struct silicon_result *result)
{
	struct measured_shares *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct job job = {.block = block, .is_timed = true};
	int err;

	if (shared == MAP_FAILED)
		return -errno;
	err = seed_find(block, shared, &job.seed);
	if (!err)
		err = processes_measure(&job, shared, result);
	munmap(shared, sizeof(*shared));
	return err;
}
