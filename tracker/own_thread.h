/*
 * own_thread.h - threads of the tracker in the traced process
 *
 * They take no signals, are not seen by the tracker, and end with the process.
 */
#ifndef DCPI_TRACKER_OWN_THREAD_H
#define DCPI_TRACKER_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* The C library's pthread_create(): ours would record the thread's stack. */
typedef int own_thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                              void *data);

/* False: there is no such thread, for want of memory. */
bool own_thread_start(own_thread_create *create, void *(*function)(void *));

#endif
