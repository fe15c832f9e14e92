#include "dcpi-tools/emu/thread_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 16

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

static char *
insert(const char *argument, const char *number)
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
		copy[i] = insert(arguments[i], number);
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
