#include "dcpi-tools/emu/thread_counts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 16

/* A number at *at, which moves behind it. 0: none. */
static unsigned
read_number(const char **at)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)**at))
		return 0;
	errno = 0;
	number = strtoul(*at, &end, 10);
	*at = end;
	return errno || number > MACHINE_CORES_MAX ? 0 : (unsigned)number;
}

/* "4", "4..8", "4.." at *at. */
static int
read_range(const char **at, struct thread_list *list)
{
	unsigned first = read_number(at), last = first;

	if (strncmp(*at, "..", 2) == 0) {
		*at += 2;
		last = isdigit((unsigned char)**at) ? read_number(at) : MACHINE_CORES_MAX;
		if (last < MACHINE_CORES_MAX && last > list->most)
			list->most = last;
	}
	if (first == 0 || last < first)
		return -EINVAL;
	if (first > list->most)
		list->most = first;
	for (unsigned i = first; i <= last; i++)
		list->wanted[i] = true;
	return 0;
}

int
thread_list_parse(const char *text, struct thread_list *list)
{
	int err;

	memset(list, 0, sizeof(*list));
	for (;;) {
		err = read_range(&text, list);
		if (err || *text != ',')
			break;
		text++;
	}
	return err || *text ? -EINVAL : 0;
}

static const char *const variables[] = {
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS", "RAYON_NUM_THREADS",
};

int
thread_count_announce(unsigned threads)
{
	char number[NUMBER_SIZE];

	snprintf(number, sizeof(number), "%u", threads);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (setenv(variables[i], number, 1) < 0)
			return -errno;
	return 0;
}

/* A copy of an argument with the number in the place of each %t; NULL when memory ends. */
static char *
insert_number(const char *argument, const char *number)
{
	char *text = malloc(strlen(argument) * strlen(number) + 1), *end = text;

	if (!text)
		return NULL;
	for (; *argument; argument++) {
		if (argument[0] == '%' && argument[1] == 't') {
			end = stpcpy(end, number);
			argument++;
		} else {
			argument += argument[0] == '%' && argument[1] == '%';
			*end++ = *argument;
		}
	}
	*end = '\0';
	return text;
}

char **
thread_count_insert(char *const *arguments, unsigned threads)
{
	char number[NUMBER_SIZE], **copy;
	size_t count = 0;

	snprintf(number, sizeof(number), "%u", threads);
	while (arguments[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = insert_number(arguments[i], number);
		if (!copy[i]) {
			thread_count_free(copy);
			return NULL;
		}
	}
	return copy;
}

void
thread_count_free(char **arguments)
{
	for (size_t i = 0; arguments && arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}
