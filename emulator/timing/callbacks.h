/*
 * callbacks.h - what the emulator calls at each block and each access
 */
#ifndef DCPI_EMULATOR_TIMING_CALLBACKS_H
#define DCPI_EMULATOR_TIMING_CALLBACKS_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

struct callbacks {
	qemu_plugin_vcpu_udata_cb_t enter;      /* a struct code */
	qemu_plugin_vcpu_mem_cb_t load, access; /* hot_access_pack(): of loads alone; of anything */
};

/* Those that do what `timing` models, and no more. From then on it is theirs. */
struct callbacks callbacks_choose(const struct timing *timing);

#endif
