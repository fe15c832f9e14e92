/*
 * run.h - run a program again, under the emulator that counts
 *
 * The program has our standard streams, environment and process group, and its end is what the caller makes of it.
 * Thread rule: one thread; signals of the process are the run's until it ends.
 */
#ifndef DCPI_TOOLS_X_RUN_H
#define DCPI_TOOLS_X_RUN_H

#include <limits.h>
#include <stdint.h>

struct run {
	char directory[PATH_MAX]; /* private, with the counts; run_remove() */
	char emulator[PATH_MAX];
	int status;                /* of the program, as waitpid(2) gives it */
	uint64_t start_ns, end_ns; /* since 1970 */
};

/*
 * Run `command`, found as a shell would. STATUS_OK when it ran, whatever came of it; else an exit status after a
 * message. In both cases run_remove() comes after it.
 */
int run_program(struct run *run, char *const *command);
void run_remove(const struct run *run);

/* End as the program did: with its exit status, or by its signal. `failed`: with ours when it ended well. */
int run_exit_status(const struct run *run, int failed);

#endif
