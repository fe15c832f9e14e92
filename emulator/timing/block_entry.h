/*
 * block_entry.h - the callback at the beginning of a block: the branch before it, its code, its time
 *
 * The callback finds the edge from the block before, compares its target with the prediction, fetches the lines of the
 * block, and adds its static time to the clock. Front-end stalls, and reaching the clock's limit, are handled by calls
 * at the end of a callback, so that a callback in which everything hits saves no registers.
 *
 * Thread rule: each thread for itself.
 */
#ifndef DCPI_EMULATOR_TIMING_BLOCK_ENTRY_H
#define DCPI_EMULATOR_TIMING_BLOCK_ENTRY_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/*
 * The callback for the parts that `timing` models; its data is a struct code. To be called once, before any block
 * begins.
 */
qemu_plugin_vcpu_udata_cb_t block_entry_callback(const struct timing *timing);

#endif
