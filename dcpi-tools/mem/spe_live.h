/*
 * spe_live.h - what Arm's SPE of this machine writes, as samples of accesses
 *
 * An event of SPE of a CPU writes into the auxiliary area of its ring; records of the ring say which bytes are new
 * (RECORD_AUX) and which thread ran when (RECORD_RUNNING). Times are those of CLOCK_MONOTONIC: the counter is read
 * together with that clock now and then, so each time lies on the line between two such readings, within what the clock
 * is adjusted by meanwhile.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_SPE_LIVE_H
#define DCPI_TOOLS_MEM_SPE_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "stream/merge.h"

/* CPUs of kind `arm_spe_0` alone: a machine whose cores are of several kinds has others, whose accesses are not seen.
 */
#define SPE_LIVE_DEVICE "arm_spe_0"
#define SPE_LIVE_EVENT  SPE_LIVE_DEVICE "/ts_enable=1,load_filter=1,store_filter=1,jitter=1/"

struct spe_live;

/* For `count` CPUs; `sysfs` ("/sys") has their models. NULL: no memory. */
struct spe_live *spe_live_new(const char *sysfs, const uint32_t *cpus, size_t count);
void spe_live_free(struct spe_live *live); /* NULL is allowed */

/* Read counter and clock: before records are taken, and not less often than every few seconds. */
void spe_live_set_time(struct spe_live *live);

/*
 * Take a record of the ring of CPU `index` (of those above), in the order of time. What an RECORD_AUX says is new goes
 * to `sink` as samples, and its room back to the hardware. 0, -ENOMEM, or what `sink` returned.
 */
int spe_live_take(struct spe_live *live, size_t index, struct ring *ring, const struct record *record, merge_sink *sink,
                  void *context);

/* Pieces that the hardware had no room for, records that cannot be decoded, and those without a time. */
uint64_t spe_live_lost(const struct spe_live *live);

#endif
