#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "image/symbols.h"

char *
symbol_demangle(const char *name)
{
	if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
		return cplus_demangle(name, DMGL_AUTO);
	if (strncmp(name, "_D", 2) == 0)
		return cplus_demangle(name, DMGL_DLANG);
	return NULL;
}
