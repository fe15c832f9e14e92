/*
 * message.h - what a tool says when something went wrong
 *
 * One line on standard error: who, what, why, what to do. `subject` (a path, an option; NULL for none) comes from
 * outside and is escaped here.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MESSAGE_H
#define DCPI_TOOLS_MESSAGE_H

/* "dcpiprof: SUBJECT: SENTENCE" */
void message_print(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * "dcpiprof: SUBJECT: cannot ACTION: REASON (HINT)", with the reason that error_text() gives for `error` (negative);
 * `hint` may be NULL. Returns the exit status that fits the error.
 */
int message_cannot(const char *subject, const char *action, int error, const char *hint);

#endif
