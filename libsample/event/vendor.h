/*
 * vendor.h - events by the names in the manuals of a CPU's vendor, from libpfm4
 *
 * libpfm4 is loaded when a name is looked up and unloaded afterwards: its tables would cost a daemon 1.1 MB, and few
 * configurations need them. It need not be installed. Private to the room. Thread rule: any thread; a lock serves one
 * at a time.
 */
#ifndef DCPI_EVENT_VENDOR_H
#define DCPI_EVENT_VENDOR_H

#include "event/event.h"

/*
 * Encode `name` (UOPS_ISSUED.ANY, without regard to case; libpfm4's attributes may follow: UOPS_ISSUED.ANY.c=2). Only
 * events of type PERF_TYPE_RAW are found: the others are perf's own events, or not events of a core, or events of one
 * of several kinds of core.
 * 0; -ENOENT when this CPU has no such event or libpfm4 does not know the CPU; -ENOPKG when libpfm4 is not installed.
 * *encoding is changed only with 0.
 */
int vendor_event_encode(const char *name, struct event_encoding *encoding);

#endif
