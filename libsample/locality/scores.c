#include "locality/scores.h"

#include <stdlib.h>
#include <string.h>

#define NEAR       32u                      /* addresses before */
#define KEPT       (LOCALITY_REUSE_MAX + 1) /* addresses: of the oldest, the distance is the largest considered */
#define SLOTS      (8 * LOCALITY_REUSE_MAX)
#define HASH_SIZE  (4 * LOCALITY_REUSE_MAX)
#define HASH_SHIFT (64 - LOCALITY_REUSE_BITS - 2)
#define NO_SLOT    UINT32_MAX

/*
 * The last KEPT addresses, in the order in which they were last referred to: each has a slot, and a tree of
 * partial sums (Fenwick, 1994) counts how many slots behind one are in use. When the slots end, those in use move to
 * the front.
 */
struct locality_window {
	bool is_whole;
	uint32_t warmed; /* references since it began, up to LOCALITY_WARM_REFERENCES */
	uint64_t near[NEAR];
	unsigned near_count, near_next;
	uint32_t used, next, oldest; /* slots */
	uint64_t addresses[SLOTS];
	bool in_use[SLOTS];
	uint32_t sums[SLOTS + 1];
	uint32_t hash[HASH_SIZE]; /* slots, + 1; 0: none */
};

struct locality_window *
locality_window_new(void)
{
	return calloc(1, sizeof(struct locality_window));
}

void
locality_window_free(struct locality_window *window)
{
	free(window);
}

void
locality_window_begin(struct locality_window *window, bool is_whole)
{
	memset(window, 0, sizeof(*window));
	window->is_whole = is_whole;
}

/* ---- the sums ---- */

static void
change_sum(struct locality_window *window, uint32_t slot, uint32_t by)
{
	for (uint32_t at = slot + 1; at <= SLOTS; at += at & -at)
		window->sums[at] += by;
}

/* How many slots up to and with this one are in use. */
static uint32_t
sum_to(const struct locality_window *window, uint32_t slot)
{
	uint32_t sum = 0;

	for (uint32_t at = slot + 1; at; at &= at - 1)
		sum += window->sums[at];
	return sum;
}

/* ---- which slot an address has ---- */

static uint32_t
hash_of(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> HASH_SHIFT);
}

/* The place in the hash: of the address, or where it would be. */
static uint32_t
find_place(const struct locality_window *window, uint64_t address)
{
	uint32_t at = hash_of(address);

	while (window->hash[at] && window->addresses[window->hash[at] - 1] != address)
		at = (at + 1) % HASH_SIZE;
	return at;
}

/* Those behind the place that would not be found with a gap there move up. */
static void
clear_place(struct locality_window *window, uint32_t gap)
{
	for (uint32_t at = (gap + 1) % HASH_SIZE; window->hash[at]; at = (at + 1) % HASH_SIZE) {
		const uint32_t home = hash_of(window->addresses[window->hash[at] - 1]);

		if ((at - home) % HASH_SIZE < (at - gap) % HASH_SIZE)
			continue;
		window->hash[gap] = window->hash[at];
		gap = at;
	}
	window->hash[gap] = 0;
}

/* ---- slots ---- */

static void
end_slot(struct locality_window *window, uint32_t slot)
{
	window->in_use[slot] = false;
	window->used--;
	change_sum(window, slot, UINT32_MAX); /* -1 */
}

static void
forget_oldest(struct locality_window *window)
{
	while (!window->in_use[window->oldest])
		window->oldest++;
	clear_place(window, find_place(window, window->addresses[window->oldest]));
	end_slot(window, window->oldest);
}

static void
move_to_front(struct locality_window *window)
{
	uint32_t kept = 0;

	memset(window->hash, 0, sizeof(window->hash));
	memset(window->sums, 0, sizeof(window->sums));
	for (uint32_t slot = 0; slot < window->next; slot++) {
		if (!window->in_use[slot])
			continue;
		window->in_use[slot] = false;
		window->addresses[kept] = window->addresses[slot];
		window->in_use[kept] = true;
		change_sum(window, kept, 1);
		kept++;
		window->hash[find_place(window, window->addresses[kept - 1])] = kept;
	}
	window->next = kept;
	window->oldest = 0;
}

/* How many other addresses were referred to since; NO_SLOT: it is not among the last ones. */
static uint32_t
refer(struct locality_window *window, uint64_t address)
{
	uint32_t place, distance = NO_SLOT;

	if (window->next == SLOTS)
		move_to_front(window);
	place = find_place(window, address);
	if (window->hash[place]) {
		const uint32_t slot = window->hash[place] - 1;

		distance = window->used - sum_to(window, slot);
		end_slot(window, slot);
	} else if (window->used == KEPT) {
		forget_oldest(window);
		place = find_place(window, address);
	}
	window->addresses[window->next] = address;
	window->in_use[window->next] = true;
	window->used++;
	change_sum(window, window->next, 1);
	window->hash[place] = ++window->next;
	return distance;
}

/* ---- scores ---- */

static double
reuse_weight(uint32_t distance)
{
	unsigned bucket = 0;

	if (distance > LOCALITY_REUSE_MAX)
		return 0;
	if (distance > 2)
		bucket = 31U - (unsigned)__builtin_clz(distance - 1);
	return (double)(LOCALITY_REUSE_BITS - bucket) / LOCALITY_REUSE_BITS;
}

/* 1 / stride, or 0. */
static double
take_stride(struct locality_window *window, uint64_t address)
{
	uint64_t least = UINT64_MAX, words;

	for (unsigned i = 0; i < window->near_count; i++) {
		const uint64_t distance =
			address > window->near[i] ? address - window->near[i] : window->near[i] - address;

		least = distance < least ? distance : least;
	}
	window->near[window->near_next] = address;
	window->near_next = (window->near_next + 1) % NEAR;
	window->near_count += window->near_count < NEAR;
	if (least == 0 || least == UINT64_MAX)
		return 0;
	words = (least + LOCALITY_WORD_BYTES - 1) / LOCALITY_WORD_BYTES;
	return 1.0 / (double)words;
}

void
locality_window_pass(struct locality_window *window, uint64_t address, struct locality_score *score)
{
	score->references++;
	score->spatial += take_stride(window, address);
}

void
locality_window_add(struct locality_window *window, uint64_t address, struct locality_score *score)
{
	const bool is_judged = window->is_whole || window->used == KEPT || window->warmed == LOCALITY_WARM_REFERENCES;
	const uint32_t distance = refer(window, address);

	locality_window_pass(window, address, score);
	window->warmed += window->warmed < LOCALITY_WARM_REFERENCES;
	if (!is_judged)
		return;
	score->judged++;
	score->temporal += reuse_weight(distance);
}

void
locality_score_add(struct locality_score *sum, const struct locality_score *score)
{
	sum->references += score->references;
	sum->judged += score->judged;
	sum->spatial += score->spatial;
	sum->temporal += score->temporal;
}

double
locality_spatial(const struct locality_score *score)
{
	return score->references ? score->spatial / (double)score->references : 0;
}

double
locality_temporal(const struct locality_score *score)
{
	return score->judged ? score->temporal / (double)score->judged : -1;
}
