/*
 * jail.h - a process that gives up all it might do, before it reads what may be hostile
 *
 * Afterwards it can read and write what it has open, ask for memory, and end; anything else ends it. Memory and
 * processor time are bounded, no core is dumped, and it dies with whoever started it.
 * Thread rule: a process of one thread.
 */
#ifndef DCPI_CAPTURE_JAIL_H
#define DCPI_CAPTURE_JAIL_H

/* First thing: bounds for what comes before the jail, too. 0 or -errno. */
int jail_prepare(void);

/* For good. 0 or -errno: then nothing must be read. */
int jail_enter(void);

#endif
