/*
 * block_entry.h - what the emulator calls when a block begins: the branch before it, its code, its time
 *
 * In turn: the edge from the block before is found; where that one went is compared with what the predictor said; the
 * lines of the block are fetched; its static time is added to the clock. What holds the front end up, or reaches the
 * clock's limit, is done by calls that end a callback, so that one in which all hits saves no registers.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_BLOCK_ENTRY_H
#define DCPI_EMULATOR_TIMING_BLOCK_ENTRY_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/* The callback for what `timing` models, and no more; it is given the struct code. Once, before any block begins. */
qemu_plugin_vcpu_udata_cb_t block_entry_callback(const struct timing *timing);

#endif
