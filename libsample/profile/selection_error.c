#include "profile/selection_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NAME_SIZE 128 /* what is shown of a name */

void
selection_error_append(char *why, size_t size, const char *format, ...)
{
	size_t used = strnlen(why, size);
	va_list arguments;

	if (used >= size)
		return;
	va_start(arguments, format);
	vsnprintf(why + used, size - used, format, arguments);
	va_end(arguments);
}

void
selection_error_append_name(char *why, size_t size, const char *name)
{
	char shown[NAME_SIZE];

	selection_error_append(why, size, "%s", escape_text(name, shown, sizeof(shown)));
}
