/*
 * check.h - `dcpictl check`: read the whole database and say what is wrong with it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_CHECK_H
#define DCPI_TOOLS_CTL_CHECK_H

/* Works without a daemon, and beside one. An exit status; STATUS_DAMAGED after the sentences that say what is wrong. */
int check_database(const char *directory);

#endif
