/*
 * watchpoints.h - whether a word is written, how often, and by which threads: by the processor's watchpoints
 *
 * Some words at a time are watched for the threads of a process, until watchpoints_end(): each write is an exception,
 * so a thread's watchpoint is off after WATCHPOINT_COUNT of them. No PMU is needed.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_WATCHPOINTS_H
#define DCPI_TOOLS_MEM_WATCHPOINTS_H

#include <stddef.h>
#include <stdint.h>

#define WATCHPOINT_COUNT 256 /* writes that are counted, some more may be */
#define WATCHPOINT_WORDS 3   /* at a time: processors have four, and a debugger may want one */

struct watchpoints;

struct watchpoints *watchpoints_new(void); /* NULL: no memory */
void watchpoints_free(struct watchpoints *watchpoints);

/* Watch the 8 bytes around `address` for the threads of a process. `token`: the caller's, of the hits. */
void watchpoints_begin(struct watchpoints *watchpoints, uint32_t pid, uint64_t address, size_t token);

/* `thread` wrote to the word `count` times, at least. */
typedef void watchpoint_hit(void *context, size_t token, uint32_t thread, uint64_t count);

/* Hits of all words since they were begun; then none is watched. */
void watchpoints_end(struct watchpoints *watchpoints, watchpoint_hit *hit, void *context);

#endif
