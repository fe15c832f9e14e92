/*
 * ending.h - signals that ask a program to end: SIGHUP, SIGINT, SIGQUIT and SIGTERM
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_ENDING_H
#define DCPI_TOOLS_ENDING_H

#include <signal.h>
#include <stdbool.h>

/* Block them, so that what was begun can be ended well; what was blocked before goes to *before. */
void ending_hold(sigset_t *before);

/* One that came since then, and is taken by this; 0: none. Those that are ignored are not among them. */
int ending_take(void);

/* As it was before ending_hold(): what came and was not taken ends us. */
void ending_release(const sigset_t *before);

/* Is it such a signal, and not ignored? */
bool ending_is_asked(int signal_number);

/* End by the signal, whatever was made of it. Returns an exit status when it cannot be. */
int ending_by(int signal_number);

#endif
