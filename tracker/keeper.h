/*
 * keeper.h - keep which objects live, while nobody reads the log
 *
 * A thread in the traced process reads the log when it is three quarters full, and applies it to the objects that are
 * alive, which it has in a file (memory/live_objects.h). So a process may run for any time before dcpimem reads its
 * log, and again afterwards. It sleeps otherwise.
 *
 * Thread rule: from the constructor.
 */
#ifndef DCPI_TRACKER_KEEPER_H
#define DCPI_TRACKER_KEEPER_H

#include "tracker/own_thread.h"

/* Begin, unless somebody reads all the time (OBJECT_LOG_READ), also in children of fork(). */
void keeper_begin(own_thread_create *create);

#endif
