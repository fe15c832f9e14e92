/*
 * refresh.h - have a running dcpid write what it has in memory, before a tool reads
 *
 * dcpid flushes once a minute while it meets nothing new. A tool asks it for what is older than a flush interval (10
 * s). Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_REFRESH_H
#define DCPI_TOOLS_REFRESH_H

/*
 * Ask the dcpid that writes to the database in `directory`, at its control socket there or at the service's, and wait
 * three seconds at most; after one that did not answer, the process asks nobody again. Without a dcpid, without the
 * right to ask, or when it cannot write, the database is read as it is: `dcpictl status` says what is wrong.
 */
void refresh_database(const char *directory);

#endif
