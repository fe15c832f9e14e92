/*
 * jail.h - a process gives up its rights before it reads a file that may be malicious
 *
 * Afterwards it can read and write its open descriptors, allocate memory, and exit; any other system call kills it.
 * Memory and processor time are bounded, no core is dumped, and it dies with its parent.
 * Thread rule: a process of one thread.
 */
#ifndef DCPI_CAPTURE_JAIL_H
#define DCPI_CAPTURE_JAIL_H

/* Set bounds on memory and time, which hold already before jail_enter(): to be called first. 0 or -errno. */
int jail_prepare(void);

/* Enter the jail, for good. 0 or -errno: then no file may be read. */
int jail_enter(void);

#endif
