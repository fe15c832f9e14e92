/*
 * instrument.h - what the emulator is asked to call in a block of code that it translates
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
 * The first thread says what is called, before anything is translated. A second one makes more necessary, and so all is
 * translated again: by the thread that begins another, which is `parent`, before that executes anything.
 */
void instrument_first_began(void);
void instrument_other_begins(unsigned parent);

/* One of these for each block: all that `timing` models; executions alone, of this number; it has no place. */
void instrument_block(struct qemu_plugin_tb *tb, struct code *code);
void instrument_counts(struct qemu_plugin_tb *tb, uint32_t number);
void instrument_passed(struct qemu_plugin_tb *tb);

#endif
