/*
 * clock_bell.h - a descriptor that wakes us when CLOCK_REALTIME was set, or the machine slept
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_CLOCK_BELL_H
#define DCPI_COLLECTORD_CLOCK_BELL_H

/* Becomes readable; what is to be read says nothing more. Negative errno where the kernel does not tell. */
int clock_bell_open(void);

/* Make `fd` wait for the next time; a negative one is allowed. */
void clock_bell_clear(int fd);

#endif
