/*
 * instrument.h - what the emulator is asked to call in a block of code that it translates, and the callbacks of
 * accesses
 *
 * A callback of an access asks the hit filter in the area of its thread; what that does not know goes to core.h.
 * Where lines or pages have other sizes than the callbacks are made for, that filter is one that knows of nothing
 * (thread.h).
 *
 * Calls the emulator: of the plugin only. Thread rule: as the emulator translates, one thread at a time.
 */
#ifndef DCPI_EMULATOR_TIMING_INSTRUMENT_H
#define DCPI_EMULATOR_TIMING_INSTRUMENT_H

#include "emulator/clock/lock_model.h"
#include "emulator/guest.h"
#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/* Once, before anything else here. All three are borrowed from then on. */
void instrument_init(struct timing *timing, const struct guest *guest, struct lock_model *locks);

/*
 * A second thread makes more callbacks necessary, and so all is translated again: by the thread that begins another,
 * which is `parent`, before that executes anything.
 */
void instrument_other_begins(unsigned parent);

/* One of these for each block: all that `timing` models; executions alone, of this number; it has no place. */
void instrument_block(struct qemu_plugin_tb *tb, struct code *code);
void instrument_counts(struct qemu_plugin_tb *tb, uint32_t number);
void instrument_passed(struct qemu_plugin_tb *tb);

#endif
