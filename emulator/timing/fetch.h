/*
 * fetch.h - fetching a line of code that is no plain hit
 *
 * The usual ones go straight on, by what level 1 and the TLBs are like; model/simple_fetch.h has what is usual.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_FETCH_H
#define DCPI_EMULATOR_TIMING_FETCH_H

struct thread;

/* Of the thread's ways those that fetch. */
void fetch_choose_ways(struct thread *thread);

#endif
