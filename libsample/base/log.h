/*
 * log.h - messages of the library for its owner
 *
 * The library never prints. Its owner passes a `struct log`, whose hook gets the messages; a NULL log drops all of
 * them.
 * Thread rule: log_write() may be called from every thread, so the hook must allow that.
 */
#ifndef DCPI_BASE_LOG_H
#define DCPI_BASE_LOG_H

#include <stdarg.h>

/* The numbers are those of syslog(3), because systemd takes "<N>" before a line as such a level. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* `message` is one line without a newline, valid during the call. */
typedef void log_hook(void *context, enum log_level level, const char *message);

struct log {
	log_hook *hook;
	void *context;
	enum log_level limit; /* messages above it are dropped; changed atomically once other threads log */
};

void log_write(const struct log *log, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
