/*
 * bursts_refusal.h - why no bursts can be taken of a process. No state: any thread.
 */
#ifndef DCPI_TOOLS_X_BURSTS_REFUSAL_H
#define DCPI_TOOLS_X_BURSTS_REFUSAL_H

#include <sys/types.h>

/* Say why, as far as the error and /proc tell. An exit status. */
int bursts_refuse(pid_t pid, int err);

#endif
