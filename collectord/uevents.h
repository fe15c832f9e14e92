/*
 * uevents.h - a descriptor that wakes us when the kernel says that a device went online or offline
 *
 * CPUs are such devices. A profiler that notices a CPU seconds after it came has missed which processes began on it.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_UEVENTS_H
#define DCPI_COLLECTORD_UEVENTS_H

/* Becomes readable; what is to be read says nothing more. Negative errno where the kernel may not be listened to. */
int uevents_open(void);

/* Make `fd` wait for the next one; a negative one is allowed. */
void uevents_clear(int fd);

#endif
