/*
 * pages.h - keep pages on the nodes on which they are, while their accesses are sampled by faults
 *
 * NUMA balancing takes pages away from a process and sees by the fault who accesses them next: dcpimem's samples where
 * there is no PMU. It then moves the page to that node, and what was remote is local. A page whose policy is
 * MPOL_BIND|MPOL_F_NUMA_BALANCING of its own node is sampled alike, and stays (mpol_misplaced() in Linux's
 * mm/mempolicy.c). So a thread in the traced process gives this policy to pages that it finds, again and again: only a
 * process itself can.
 *
 * Thread rule: from the constructor.
 */
#ifndef DCPI_TRACKER_PAGES_H
#define DCPI_TRACKER_PAGES_H

#include "tracker/own_thread.h"

/* Begin, if the environment asks for it (OBJECT_LOG_BIND), also in children of fork(). `create`: the C library's. */
void pages_begin(own_thread_create *create);

#endif
