/*
 * log.h - the tracker's side of memory/object_log.h: writing events, from any thread, in the traced process
 *
 * Nothing here allocates, waits for a lock, or changes errno. Without a file nothing is recorded; events for which
 * there is no room are counted in the file. What a signal handler allocates while it interrupts a call here is not
 * recorded. Room on the disk is reserved before it is written to: a full disk costs events, and raises no SIGBUS.
 *
 * The child of a fork - any fork, also a plain clone(2) - begins a file of its own with its next event. That of a
 * vfork() has its parent's memory, and writes to its parent's file.
 *
 * Thread rule: any thread; each has a chunk of its own.
 */
#ifndef DCPI_TRACKER_LOG_H
#define DCPI_TRACKER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/object_log.h"

/*
 * Whether the caller records what it does: it is the outermost of our functions in this thread, and there is a file.
 * Then it is followed by log_leave(), and only in between may the functions below be called.
 */
bool log_enter(void);
void log_leave(void);

/* In the file's clock: before what follows, and perhaps before what precedes has ended (object_log_counter()). */
uint64_t log_now(void);

/*
 * An object begins: `caller` is the return address of the function that made it, `frame` the caller's stack pointer
 * when it has been returned to.
 */
void log_born(enum object_log_kind kind, const void *address, size_t size, const void *caller, const void *frame);

/* An object ended, or changed its size, at `time`: no earlier than the thread's event before. */
void log_died(const void *address, uint64_t time);
void log_changed(enum object_log_kind kind, const void *address, size_t size, uint64_t time);

/* Before a mapping is taken away: another thread may have one there at once. size 0: what begins at the address. */
void log_unmapping(const void *address, size_t size);

/* Where the calling thread's stack is; without this it is not known, and a call chain may be one that was there before.
 */
void log_set_stack(const void *stack, size_t size);

/* ---- for the keeper (tracker/keeper.c) ---- */

/* Whether the process shall have one. log_keep_not(): it has none, now and later. */
bool log_keeps(void);
void log_keep_not(void);

/* What the calling thread does is not the program's. */
void log_ignore_thread(void);

/* Whether three quarters of the file are in use; and wait until that is so. One thread may wait. */
bool log_is_filling(void);
void log_wait_until_filling(void);

/* The file, which is filling, in this process's memory, and its size; and whether a chunk has room on the disk. */
struct object_log_header *log_file(uint64_t *size);
bool log_has_room(uint32_t chunk);

/* Open the file of this process, or the one beside it, whose name begins with `prefix`. The descriptor, or -1. */
int log_open_beside(const char *prefix, int flags);

/* Once for a process, before it has threads. */
void log_begin_process(void);

#endif
