/*
 * jail.h - a process that gives up its rights before it reads a file that may be hostile
 *
 * Afterwards it can read and write what it has open, ask for memory, and end; anything else ends it. Memory and
 * processor time are bounded, no core is dumped, and it dies with its parent.
 * Thread rule: a process of one thread.
 */
#ifndef DCPI_CAPTURE_JAIL_H
#define DCPI_CAPTURE_JAIL_H

/* Bounds on memory and time that hold before the jail, too: to be called first. 0 or -errno. */
int jail_prepare(void);

/* Enter the jail, for good. 0 or -errno: then no file may be read. */
int jail_enter(void);

#endif
