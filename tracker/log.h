/*
 * log.h - the tracker's side of memory/object_log.h: writing events, from any thread, in the traced process
 *
 * Nothing here allocates, takes a lock, or fails: without a file, or without room, events are not written, and the file
 * counts them. A signal handler that interrupts a call, and allocates, is not recorded either.
 *
 * Thread rule: any thread; each has a chunk of its own.
 */
#ifndef DCPI_TRACKER_LOG_H
#define DCPI_TRACKER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/object_log.h"

/* Whether the calling thread is the first to come here: between log_enter() and log_leave() it is not. */
bool log_enter(void);
void log_leave(void);

/* As the file's header says: enum object_log_clock. */
uint64_t log_now(void);

/* An object begins: `caller` is the return address of the function that made it, and `frame` its frame's address. */
void log_born(enum object_log_kind kind, const void *address, size_t size, const void *caller, const void *frame);

/* An object ended, or changed its size, at `time`. */
void log_died(const void *address, uint64_t time);
void log_changed(enum object_log_kind kind, const void *address, size_t size, uint64_t time);

/* The calling thread ends. */
void log_end_thread(void);

/* The process is a child, after fork(): it begins a file of its own with its next event. */
void log_begin_child(void);

#endif
