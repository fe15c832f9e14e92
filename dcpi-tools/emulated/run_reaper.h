/*
 * run_reaper.h - a process that outlives its tool when that is killed, and ends what the tool has started
 *
 * SIGKILL cannot be caught: without a reaper, emulators of a killed tool would run on, for hours perhaps. The reaper
 * sleeps until its tool is gone, and then calls run_directory_end_stale(). It blocks all signals and has no terminal.
 * Thread rule: one thread, and no other threads when it is started.
 */
#ifndef DCPI_TOOLS_EMULATED_RUN_REAPER_H
#define DCPI_TOOLS_EMULATED_RUN_REAPER_H

#include <sys/types.h>

struct run_reaper {
	pid_t pid; /* 0: none */
	int line;  /* a socket; its end says that the tool is gone */
};

/* For the directory of a run, which it keeps locked by a copy of `lock`. 0 or -errno. */
int run_reaper_start(struct run_reaper *reaper, const char *directory, int lock);

/* End the reaper without killing anything. One that was not started is allowed. */
void run_reaper_dismiss(struct run_reaper *reaper);

#endif
