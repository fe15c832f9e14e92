/* Whoever makes a program chooses its symbols: demangling any string must be safe, and bounded in time and memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size);

	if (name)
		free(symbol_demangle(name));
	free(name);
	return 0;
}
