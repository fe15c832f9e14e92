/*
 * keeper.h - a process that outlives a tool that is killed, and ends what that has started
 *
 * Nobody can do anything about SIGKILL: emulators would go on for nobody, for hours perhaps. The keeper sleeps until
 * its tool is gone, and then does what abandoned_end() does. Signals and the terminal are not for it.
 * Thread rule: one thread, and no other threads when it is started.
 */
#ifndef DCPI_TOOLS_KEEPER_H
#define DCPI_TOOLS_KEEPER_H

#include <sys/types.h>

struct keeper {
	pid_t pid; /* 0: there is none */
	int line;  /* as long as it is open, the tool lives */
};

/* For the directory of a run, which it keeps locked by a copy of `lock`. 0 or -errno. */
int keeper_start(struct keeper *keeper, const char *directory, int lock);

/* There is nothing left to be done. One that was not started is allowed. */
void keeper_dismiss(struct keeper *keeper);

#endif
