#include "dcpi-tools/emu/thread_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
