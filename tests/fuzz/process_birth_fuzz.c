/* Whatever a process calls itself, /proc/PID/stat is read within its bounds, or refused. */
#include <stdlib.h>
#include <string.h>

#include "process/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* without a NUL behind it */
	struct proc_stat birth;

	if (!text)
		abort();
	memcpy(text, data, size);
	(void)proc_stat_parse(text, size, &birth);
	free(text);
	return 0;
}
