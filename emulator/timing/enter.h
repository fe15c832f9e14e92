/*
 * enter.h - what the emulator calls when a block begins
 */
#ifndef DCPI_EMULATOR_TIMING_ENTER_H
#define DCPI_EMULATOR_TIMING_ENTER_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

/* From then on what is called is for what `timing` models, and no more. */
void enter_init(const struct timing *timing);

/* Of any thread's; it is given the code. Of a loop it is made for the kind of the edge to itself. */
qemu_plugin_vcpu_udata_cb_t enter_any(const struct code *code);

/*
 * As long as the first thread has been the only one: made for the kind of the first edge to `code`, which is there from
 * then on, or will be of a loop. Code is translated when it is about to be executed: else that edge is the one from the
 * block that runs.
 */
qemu_plugin_vcpu_udata_cb_t enter_alone(struct timing *timing, struct code *code);

#endif
