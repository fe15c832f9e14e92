/*
 * within.c - loops in which something else counts its references, too
 *
 * within parallel|handler|allocator
 *
 * parallel: steps one after the other, each with loops of OpenMP's. handler: of a signal, with a loop, while a list is
 * followed. allocator: the program's own malloc(), with -DALLOCATOR.
 *
 * Prints by how much the countdown of its thread has gone down, in hundredths of the references that were made. Nothing
 * must be recorded, as the countdown is set.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>

#define NOINLINE __attribute__((noinline))
#define SIZE     20000
#define STEPS    200
#define NODES    64
#define FAR      ((ssize_t)1 << 50)

extern _Thread_local ssize_t dcpi_locality_left;

static double a[SIZE], b[SIZE];
static volatile uint64_t handled;
static volatile double handled_sum;

static struct listed {
	struct listed *next;
	uint64_t value;
} nodes[NODES];

/* ---- parallel ---- */

NOINLINE static uint64_t
run_steps(void)
{
	uint64_t made = 0;

	for (int step = 0; step < STEPS; step++) {
#ifdef _OPENMP
#pragma omp parallel for
#endif
		for (int i = 0; i < SIZE; i++)
			a[i] += b[i];
		for (struct listed *at = nodes; at; at = at->next) {
			at->value ^= (uint64_t)step;
			made += 3;
		}
		made += (uint64_t)SIZE * 3;
	}
	return made;
}

/* ---- handler ---- */

static void
on_alarm(int number)
{
	double sum = 0;

	(void)number;
	for (int times = 0; times < 20; times++)
		for (int i = 0; i < SIZE; i++)
			sum += b[i];
	handled_sum = sum;
	handled = handled + 1;
}

/* Until the handler has run so often. */
NOINLINE static uint64_t
follow(uint64_t times)
{
	uint64_t made = 0, sum = 0;

	while (handled < times) {
		made++; /* of the condition: a volatile is a reference, too */
		for (const struct listed *at = nodes; at; at = at->next) {
			sum += at->value;
			made += 2;
		}
	}
	nodes[0].value = sum;
	return made;
}

static uint64_t
run_handler(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	uint64_t made;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	made = follow(100);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	return made + handled * 20 * SIZE;
}

/* ---- allocator ---- */

#ifdef ALLOCATOR
static char arena[1 << 20];
static volatile uint64_t looked_at; /* the compiler takes for granted that malloc() changes nothing else */

/* The first of all places that were never given. */
NOINLINE void *
malloc(size_t size)
{
	static unsigned char is_given[sizeof(arena) / 1024];
	size_t i = 0;

	while (i < sizeof(is_given) && is_given[i])
		i++;
	looked_at = looked_at + i + 1;
	if (i == sizeof(is_given) || size > 1024)
		return NULL;
	is_given[i] = 1;
	return arena + i * 1024;
}

NOINLINE void
free(void *unused)
{
	(void)unused;
}

static void *volatile given[NODES];

NOINLINE static uint64_t
run_allocator(void)
{
	uint64_t made = 0;

	looked_at = 0;
	for (size_t i = 0; i < 4 * NODES; i++) {
		given[i % NODES] = malloc(16 + i);
		for (const struct listed *at = nodes; at; at = at->next)
			made += 2 + (at->value == 7);
		made++; /* a volatile is a reference, too */
	}
	return made + looked_at;
}
#endif

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	uint64_t made = 0;
	ssize_t counted;

	for (size_t i = 0; i + 1 < NODES; i++)
		nodes[i].next = &nodes[i + 1];
	for (size_t i = 0; i < SIZE; i++)
		b[i] = (double)i;
	dcpi_locality_left = FAR;
	if (strcmp(name, "parallel") == 0)
		made = run_steps();
	else if (strcmp(name, "handler") == 0)
		made = run_handler();
#ifdef ALLOCATOR
	else if (strcmp(name, "allocator") == 0)
		made = run_allocator();
#endif
	counted = FAR - dcpi_locality_left;
	if (!made)
		return 2;
	printf("%.0f\n", 100 * (double)counted / (double)made);
	return 0;
}
