#include "emulator/model/contention.h"

#include <pthread.h>
#include <stdlib.h>

#include "emulator/model/memory_path.h"

#define PLACES         1024 /* of lines that are handed over; a power of two: of two with one place the last is known */
#define HANDOVERS      4    /* of a contended line, each less than QUANTA after the one before */
#define QUANTA         4
#define PUBLISH_CYCLES 4096
#define AVERAGE_CYCLES 16384.0
#define CYCLES_MOST    (UINT32_C(1) << 26)

/* How often a core accesses a line, a cycle in which it does not wait for it. */
struct rates {
	double reads, writes;
};

/* A core's part of a line: what it published, and what it knows of others. */
struct part {
	_Alignas(64) uint64_t published; /* when, by its clock; 0: never */
	struct rates rates;
	uint64_t reads, writes; /* since then */
	uint64_t last;          /* access, and how long that waited */
	uint32_t waited;
	uint64_t worked; /* cycles without those in which it waited: now, when it published, at the last access and
	                    write */
	uint64_t worked_published, worked_access, worked_write;
	uint64_t last_others;            /* when others were seen to access it */
	struct rates others, far_others; /* of all other cores; of those of other nodes */
	double taken, far_taken; /* lines that were taken away, by any core and another node's, and not counted yet */
	struct memory_path_user user;
};

struct contended_line {
	struct place *place;
	struct memory_path path; /* of transfers */
	struct part parts[];     /* of each core */
};

struct place {
	pthread_mutex_t lock; /* of changes to what follows */
	uint64_t line, last;  /* that was handed over, and when the last time */
	unsigned handovers;
	bool is_contended;
	struct contended_line *parts; /* made once: threads may still have it when the line is another one */
};

struct contention {
	unsigned core_count, node_count;
	uint32_t cycles, far_cycles;
	uint64_t quantum;
	struct place places[PLACES];
};

struct contention *
contention_new(unsigned core_count, unsigned node_count, uint32_t transfer_cycles, uint32_t far_transfer_cycles,
               uint64_t quantum_cycles)
{
	struct contention *contention = calloc(1, sizeof(*contention));

	if (!contention)
		return NULL;
	contention->core_count = core_count;
	contention->node_count = node_count;
	contention->cycles = transfer_cycles ? transfer_cycles : 1;
	contention->far_cycles = far_transfer_cycles > transfer_cycles ? far_transfer_cycles : contention->cycles;
	contention->quantum = quantum_cycles;
	for (unsigned i = 0; i < PLACES; i++) {
		pthread_mutex_init(&contention->places[i].lock, NULL);
		contention->places[i].line = UINT64_MAX;
	}
	return contention;
}

void
contention_free(struct contention *contention)
{
	if (!contention)
		return;
	for (unsigned i = 0; i < PLACES; i++) {
		if (contention->places[i].parts)
			memory_path_fini(&contention->places[i].parts->path);
		free(contention->places[i].parts);
		pthread_mutex_destroy(&contention->places[i].lock);
	}
	free(contention);
}

static struct place *
place_of(struct contention *contention, uint64_t line)
{
	return &contention->places[(line ^ line >> 10) % PLACES];
}

struct contended_line *
contention_find(struct contention *contention, uint64_t line)
{
	struct place *place = place_of(contention, line);

	if (__atomic_load_n(&place->line, __ATOMIC_RELAXED) != line ||
	    !__atomic_load_n(&place->is_contended, __ATOMIC_ACQUIRE))
		return NULL;
	return place->parts;
}

/* ---- when a line is contended ---- */

static void
set_parts(const struct contention *contention, struct contended_line *parts)
{
	for (unsigned i = 0; i < contention->core_count; i++) {
		parts->parts[i] = (struct part){.published = 0};
		memory_path_user_init(&parts->parts[i].user, &parts->path, i);
	}
}

/* NULL: no memory. */
static struct contended_line *
make_parts(const struct contention *contention, struct place *place)
{
	const size_t bytes = sizeof(struct contended_line) + contention->core_count * sizeof(struct part);
	struct contended_line *made =
		aligned_alloc(_Alignof(struct contended_line),
	                      (bytes + _Alignof(struct contended_line) - 1) & ~(_Alignof(struct contended_line) - 1));

	if (!made)
		return NULL;
	if (memory_path_init(&made->path, 1.0 / contention->cycles, contention->core_count, contention->quantum)) {
		free(made);
		return NULL;
	}
	made->path.is_shared = true;
	made->place = place;
	return made;
}

/* Under the place's lock. */
static bool
begin_contention(const struct contention *contention, struct place *place)
{
	if (!place->parts)
		place->parts = make_parts(contention, place);
	if (!place->parts)
		return false;
	set_parts(contention, place->parts);
	__atomic_store_n(&place->is_contended, true, __ATOMIC_RELEASE);
	return true;
}

static uint64_t
distance(uint64_t one, uint64_t other)
{
	return one > other ? one - other : other - one;
}

bool
contention_handed_over(struct contention *contention, uint64_t line, uint64_t now)
{
	struct place *place = place_of(contention, line);
	bool begins = false;

	if (contention->quantum == 0 || __atomic_load_n(&place->is_contended, __ATOMIC_ACQUIRE))
		return false; /* another line has the place */
	pthread_mutex_lock(&place->lock);
	if (!place->is_contended) {
		if (place->line != line || distance(place->last, now) > contention->quantum * QUANTA)
			place->handovers = 0;
		__atomic_store_n(&place->line, line, __ATOMIC_RELAXED);
		place->last = now;
		begins = ++place->handovers >= HANDOVERS && begin_contention(contention, place);
	}
	pthread_mutex_unlock(&place->lock);
	return begins;
}

static void
end_contention(struct place *place)
{
	pthread_mutex_lock(&place->lock);
	place->handovers = 0;
	__atomic_store_n(&place->is_contended, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&place->lock);
}

/* ---- an access to it ---- */

/* After so long without a report, a core accesses the line no longer. */
static uint64_t
stale_cycles(const struct contention *contention)
{
	return 2 * contention->quantum + 8 * PUBLISH_CYCLES;
}

/* Sum what others published, but for those that have published nothing for longer than clocks may differ. */
static void
look_at_others(const struct contention *contention, struct contended_line *line, const struct contender *contender)
{
	const unsigned in_node = contention->core_count / contention->node_count;
	const uint64_t stale = stale_cycles(contention);
	struct part *mine = &line->parts[contender->core];

	mine->others = mine->far_others = (struct rates){.reads = 0};
	for (unsigned i = 0; i < contention->core_count; i++) {
		const struct part *part = &line->parts[i];
		const uint64_t published = __atomic_load_n(&part->published, __ATOMIC_RELAXED);
		struct rates rates;

		if (i == contender->core || !published || published + stale < contender->asked)
			continue;
		__atomic_load(&part->rates.reads, &rates.reads, __ATOMIC_RELAXED);
		__atomic_load(&part->rates.writes, &rates.writes, __ATOMIC_RELAXED);
		mine->others.reads += rates.reads;
		mine->others.writes += rates.writes;
		if (i / in_node != contender->node) {
			mine->far_others.reads += rates.reads;
			mine->far_others.writes += rates.writes;
		}
	}
}

static void
set_rate(double *rate, uint64_t count, double cycles)
{
	const double now = (double)count / cycles;
	double mean = now;

	if (*rate > 0)
		mean = *rate + (now - *rate) * cycles / (cycles + AVERAGE_CYCLES);
	__atomic_store(rate, &mean, __ATOMIC_RELAXED);
}

/* Publish this core's rates, and look at those of others. */
static void
publish(const struct contention *contention, struct contended_line *line, const struct contender *contender)
{
	struct part *mine = &line->parts[contender->core];
	const double cycles = (double)(mine->worked - mine->worked_published);

	if (mine->published && cycles > 0) {
		set_rate(&mine->rates.reads, mine->reads, cycles);
		set_rate(&mine->rates.writes, mine->writes, cycles);
	} else {
		mine->last_others = contender->asked;
	}
	mine->reads = mine->writes = 0;
	mine->worked_published = mine->worked;
	__atomic_store_n(&mine->published, contender->asked ? contender->asked : 1, __ATOMIC_RELAXED);
	look_at_others(contention, line, contender);
	if (mine->others.reads + mine->others.writes > 0)
		mine->last_others = contender->asked;
	else if (contender->asked > mine->last_others + stale_cycles(contention))
		end_contention(line->place);
}

/* How long the core waits until the line is its own: until it is its turn, and then for the transfer. */
static uint32_t
wait_for_turn(const struct contention *contention, struct part *mine, const struct contender *contender, bool is_far)
{
	const uint32_t cycles = is_far ? contention->far_cycles : contention->cycles;
	uint64_t wait = 0;

	for (uint32_t i = 0; contender->writes && i < cycles / contention->cycles; i++)
		wait += memory_path_transfer(&mine->user, contender->now + wait);
	return wait + cycles < CYCLES_MOST ? (uint32_t)(wait + cycles) : CYCLES_MOST;
}

/* A store that waits in the write buffer does not hold its core up: then less time has passed than it takes. */
static void
work_until(struct part *mine, uint64_t now)
{
	const uint64_t passed = mine->last && now > mine->last ? now - mine->last : 0;

	mine->worked += passed >= mine->waited ? passed - mine->waited : passed;
	mine->waited = 0;
	mine->last = now;
}

uint32_t
contention_access(struct contention *contention, struct contended_line *line, const struct contender *contender,
                  bool *is_far)
{
	struct part *mine = &line->parts[contender->core];
	const uint64_t now = contender->asked;
	const double all = contender->writes ? mine->others.reads + mine->others.writes : mine->others.writes;
	const double far =
		contender->writes ? mine->far_others.reads + mine->far_others.writes : mine->far_others.writes;
	double came;

	work_until(mine, now);
	came = all * (double)(mine->worked - (contender->writes ? mine->worked_write : mine->worked_access));
	mine->reads += !contender->writes;
	mine->writes += contender->writes;
	mine->worked_access = mine->worked;
	if (contender->writes)
		mine->worked_write = mine->worked;
	if (!mine->published || now >= mine->published + PUBLISH_CYCLES)
		publish(contention, line, contender);
	mine->taken += came < 1 ? came : 1;
	if (mine->taken < 1)
		return 0;
	mine->taken -= 1;
	if (all > 0)
		mine->far_taken += far / all;
	*is_far = mine->far_taken >= 1;
	mine->far_taken -= *is_far;
	mine->waited = wait_for_turn(contention, mine, contender, *is_far);
	return mine->waited;
}
