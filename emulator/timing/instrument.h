/*
 * instrument.h - add callbacks to a block that the emulator translates; the callbacks of accesses
 *
 * The callback of an access looks in the hit filter in its thread's area; on a miss it calls core.h. If lines or pages
 * have other sizes than the callbacks are made for, that filter is empty (thread.h).
 *
 * Calls the emulator: only the plugin can link it. Thread rule: as the emulator translates, one thread at a time.
 */
#ifndef DCPI_EMULATOR_TIMING_INSTRUMENT_H
#define DCPI_EMULATOR_TIMING_INSTRUMENT_H

#include "emulator/clock/lock_model.h"
#include "emulator/guest.h"
#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/* To be called once, before the other functions. All three arguments are borrowed from then on. */
void instrument_init(struct timing *timing, const struct guest *guest, struct lock_model *locks);

/*
 * A second thread makes more callbacks necessary, so all code is translated again. The thread that begins another,
 * `parent`, calls it, before the new thread executes anything.
 */
void instrument_other_begins(unsigned parent);

/*
 * One of these is called for each block: for all that `timing` models; to count only executions, by this number; if
 * there was no room for the block.
 */
void instrument_block(struct qemu_plugin_tb *tb, struct code *code);
void instrument_counts(struct qemu_plugin_tb *tb, uint32_t number);
void instrument_passed(struct qemu_plugin_tb *tb);

#endif
