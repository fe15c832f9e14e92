/*
 * What a user writes as numbers of threads is taken or refused, and what is taken keeps within its bounds; an argument
 * gets no longer than its places make it.
 */
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/emu/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
check_list(const char *text)
{
	static struct thread_list list;
	size_t count = 0;

	if (thread_list_parse(text, &list) < 0)
		return;
	for (unsigned i = 0; i <= MACHINE_CORES_MAX; i++)
		count += list.wanted[i];
	require(count > 0 && !list.wanted[0]);
	require(list.most >= 1 && list.most <= MACHINE_CORES_MAX && list.wanted[list.most]);
}

static void
check_argument(char *text)
{
	char *const arguments[] = {text, NULL};
	char **inserted = thread_count_insert(arguments, MACHINE_CORES_MAX);

	require(inserted && inserted[0] && !inserted[1]);
	require(strlen(inserted[0]) <= 2 * strlen(text));
	thread_count_free(inserted);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	check_list(text);
	check_argument(text);
	free(text);
	return 0;
}
