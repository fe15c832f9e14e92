/*
 * apart.h - work that must come to its end whatever becomes of us
 *
 * Who is killed while it steps a thread takes that with it: the step's trap, which nobody waits for any more, is
 * a signal to the thread. So the work is done by a process of its own, that is told when we end, by whatever, and then
 * finishes what it does. Only who kills that process itself does harm.
 * Thread rule: a process with one thread.
 */
#ifndef DCPI_TOOLS_X_APART_H
#define DCPI_TOOLS_X_APART_H

/*
 * Run `work` in a process of its own, and return what it returned; -errno when there can be none. Signals that we get
 * are handed on; SIGINT, SIGTERM and SIGHUP are blocked in it, for the work to look for, and our end is a SIGTERM.
 */
int apart_run(int (*work)(void *context), void *context);

#endif
