/*
 * calls.h - what a program that was compiled with pass.cc calls
 *
 * Each thread has a countdown. While it is not negative, nothing is called. A loop that is entered subtracts the
 * references that it is about to make; one whose references are not known subtracts those of each iteration.
 *
 * Thread rule: any thread; also in signal handlers.
 */
#ifndef DCPI_COMPILER_CALLS_H
#define DCPI_COMPILER_CALLS_H

/* For the compiler: the names of what is below. */
#define CALL_LEFT    "dcpi_locality_left"
#define CALL_NEST    "dcpi_locality_nest"
#define CALL_PART    "dcpi_locality_part"
#define CALL_LOOP    "dcpi_locality_loop"
#define CALL_STREAM  "dcpi_locality_stream"
#define CALL_GATHER  "dcpi_locality_gather"
#define CALL_TOUCH   "dcpi_locality_touch"
#define CALL_COUNTED "dcpi_locality_counted"

/* In the number of a touch: its loop has just been described, without this reference. */
#define CALL_LAST 0x10000u

#ifndef __cplusplus
#include <stddef.h>
#include <sys/types.h>

extern _Thread_local ssize_t dcpi_locality_left;

/*
 * A nest of loops is entered, each with the next one as the only loop in it: so many iterations of each, of the
 * outermost first. `text` describes the innermost. `which`: how many loops (from bit 16 on), and what each carries, as
 * record.h has it. A call for each reference of these loops follows.
 */
void dcpi_locality_nest(const char *text, unsigned which, size_t first, size_t second, size_t third, size_t fourth);

/*
 * A reference of the nest, of the loop that `text` describes: the address of the first iteration of all, and by how
 * much an iteration of each loop changes it, of the outermost first. `which`: its number (16 bits from bit 0), and its
 * level as record.h has it (from bit 16 on).
 */
void dcpi_locality_part(const char *text, unsigned which, const void *base, ssize_t first, ssize_t second,
                        ssize_t third, ssize_t fourth);

/*
 * A loop is entered that `text` describes (locality/record.h), for so many iterations, or was left behind these. A call
 * for each of its references follows; a handler of a signal may come between them, with loops of its own.
 */
void dcpi_locality_loop(const char *text, size_t iterations);

/* A reference of that loop: the address of the first iteration, and how much later that of the next is. */
void dcpi_locality_stream(const char *text, unsigned number, const void *base, ssize_t step);

/*
 * A reference of that loop to base + coefficient * i, where i are the integers at `index`, index + index_step and so
 * on, one for each iteration: of so many bytes, with a sign if that is negative.
 */
void dcpi_locality_gather(const char *text, unsigned number, size_t iterations, const char *base, ssize_t coefficient,
                          const char *index, ssize_t index_step, int index_bytes);

/*
 * A reference to `address`, of the loop that `text` describes. Outside a burst it is not recorded, unless its number
 * has CALL_LAST: references of a loop are recorded though the burst has ended with it.
 */
void dcpi_locality_touch(const char *text, unsigned number, const void *address);

/*
 * A loop of which each reference says its address has counted down below 0, in a register perhaps. What it has counted
 * is in dcpi_locality_left.
 */
void dcpi_locality_counted(void);

/* What programs call that were compiled before there was dcpi_locality_counted(). Returns how to go on. */
ssize_t dcpi_locality_sync(ssize_t left);
#endif

#endif
