#include "base/cpu_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
parse_number(const char **at, uint32_t *number)
{
	char *end;
	unsigned long value;

	if (**at < '0' || **at > '9')
		return false;
	value = strtoul(*at, &end, 10);
	if (value > CPU_NUMBER_MAX)
		return false;
	*at = end;
	*number = (uint32_t)value;
	return true;
}

static int
append_range(uint32_t **cpus, size_t *count, uint32_t first, uint32_t last)
{
	uint32_t *more = realloc(*cpus, (*count + last - first + 1) * sizeof(**cpus));

	if (!more)
		return -ENOMEM;
	*cpus = more;
	for (uint32_t cpu = first; cpu <= last; cpu++)
		more[(*count)++] = cpu;
	return 0;
}

int
cpu_list_parse(const char *text, uint32_t **cpus)
{
	const char *at = text;
	size_t count = 0;
	int err = -EINVAL;

	*cpus = NULL;
	for (;;) {
		uint32_t first, last;

		if (!parse_number(&at, &first))
			break;
		last = first;
		if (*at == '-' && (at++, !parse_number(&at, &last)))
			break;
		if (last < first || count + last - first > CPU_NUMBER_MAX)
			break;
		err = append_range(cpus, &count, first, last);
		if (err)
			break;
		if (*at == '\0' || *at == '\n')
			return (int)count;
		err = -EINVAL;
		if (*at++ != ',')
			break;
	}
	free(*cpus);
	*cpus = NULL;
	return err;
}

int
cpu_list_read(const char *path, uint32_t **cpus)
{
	char text[4096];
	size_t size;
	FILE *file = fopen(path, "re");

	*cpus = NULL;
	if (!file)
		return -errno;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	return cpu_list_parse(text, cpus);
}

bool
cpu_list_has(const uint32_t *cpus, int count, uint32_t cpu)
{
	for (int i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

void
cpu_list_format(const uint32_t *cpus, size_t count, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0, next; i < count; i = next) {
		char part[32];
		int length;

		for (next = i + 1; next < count && cpus[next] == cpus[next - 1] + 1;)
			next++;
		length = snprintf(part, sizeof(part), "%s%u", i ? "," : "", cpus[i]);
		if (next - i > 1)
			length += snprintf(part + length, sizeof(part) - (size_t)length, "-%u", cpus[next - 1]);
		if (used + (size_t)length >= size)
			return;
		memcpy(text + used, part, (size_t)length + 1);
		used += (size_t)length;
	}
}
