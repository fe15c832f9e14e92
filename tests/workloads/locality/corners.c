/*
 * corners.c - loops whose control flow is unusual, for dcpiloc
 *
 * corners NAME
 *
 * within: a loop of references that not each iteration has, in another one with two of its own. cycle: two labels
 * that lead to each other, and can be entered at either; so one reference is made several times in an iteration. first:
 * a search that ends at once. label: inline assembly with a name that may be there once.
 *
 * Prints a number that depends on all results.
 */
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define SIZE     1000
#define END      900 /* of `cycle` */

static int numbers[SIZE], others[SIZE];

NOINLINE static void
within(int rounds)
{
	for (int k = 0; k < rounds; k++) {
		for (int i = 0; i < 100; i++)
			if (others[i] > k)
				numbers[i]++;
		numbers[k] = others[k];
	}
}

NOINLINE static int
cycle(int most, int enters_second)
{
	int sum = 0;

	for (int i = 0;; i++) {
		if (others[i] == -1)
			break;
		if (enters_second)
			goto second;
	first:
		sum += numbers[i];
		if ((sum & 3) == 1)
			goto second;
		if (i > most)
			break;
		continue;
	second:
		sum++;
		goto first;
	}
	return sum;
}

NOINLINE static int
first(int wanted, int step)
{
	int i = 0;

	for (;; i += step) {
		if (numbers[i] == wanted)
			break;
		others[i] = i;
	}
	return i;
}

NOINLINE static void
label(int count)
{
	for (int i = 0; i < count; i++) {
		__asm__ volatile("there_once: nop");
		if (others[i])
			numbers[i]++;
	}
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int result = 0;

	for (int i = 0; i < SIZE; i++) {
		numbers[i] = 1;
		others[i] = i % 7;
	}
	if (strcmp(name, "within") == 0)
		within(500);
	else if (strcmp(name, "label") == 0)
		label(SIZE);
	others[END] = -1;
	if (strcmp(name, "cycle") == 0)
		result = cycle(SIZE, 0);
	numbers[0] = 0;
	for (int i = 0; i < 2000 && strcmp(name, "first") == 0; i++)
		result += first(0, argc - 1);
	for (int i = 0; i < SIZE; i++)
		result = result * 7 + numbers[i] + others[i];
	printf("%d\n", result);
	return 0;
}
