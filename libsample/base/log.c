#include "base/log.h"

#include <stdio.h>

void
log_write(const struct log *log, enum log_level level, const char *format, ...)
{
	char message[1024];
	va_list arguments;

	if (!log || !log->hook || level > __atomic_load_n(&log->limit, __ATOMIC_RELAXED))
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	log->hook(log->context, level, message);
}
