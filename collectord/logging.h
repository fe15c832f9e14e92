/*
 * logging.h - where the log of dcpid goes
 *
 * It goes to standard error, one write(2) for each line. If that is the journal ($JOURNAL_STREAM names it), a line is
 * "<6>text"; otherwise it is "dcpid: text", with a word for warnings and debugging messages ("dcpid: warning: text").
 * Thread rule: the hook may be called from every thread.
 */
#ifndef DCPI_COLLECTORD_LOGGING_H
#define DCPI_COLLECTORD_LOGGING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct logging {
	struct log log;  /* what the library gets */
	bool to_journal; /* standard error is the journal */
};

/* `journal_stream` is $JOURNAL_STREAM, "DEVICE:INODE", or NULL. */
void logging_init(struct logging *logging, enum log_level limit, const char *journal_stream);

/* The line for one message, with its newline, in `line` (of `size` bytes, at least 16). Returns its length. */
size_t logging_format(bool to_journal, enum log_level level, const char *message, char *line, size_t size);

#endif
