/*
 * callbacks.h - what the emulator calls at each block and each access
 */
#ifndef DCPI_EMULATOR_TIMING_CALLBACKS_H
#define DCPI_EMULATOR_TIMING_CALLBACKS_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

enum access_kind {
	ACCESS_LOAD,
	ACCESS_STORE,
	ACCESS_ASKED, /* alone as the two above; the emulator must be asked which it is, or how many bytes */
	ACCESS_GROUP_LOADS,
	ACCESS_GROUP_STORES, /* some of it */
	ACCESS_KINDS,
};

struct callbacks {
	qemu_plugin_vcpu_udata_cb_t enter;         /* a struct code */
	const qemu_plugin_vcpu_mem_cb_t *accesses; /* by enum access_kind: callback_data(); NULL: not wanted */
};

/* What the callback of an access is given: where its struct access is, and which bytes are touched, from its address
 * on. */
static inline void *
callback_data(const struct access *access, int from, int last)
{
	return (void *)(uintptr_t)(((uint64_t)(uintptr_t)access & UINT64_C(0xffffffffffff)) |
	                           (uint64_t)(uint8_t)from << 48 | (uint64_t)(uint8_t)last << 56);
}

/* Those that do what `timing` models, and no more. From then on it is theirs. */
struct callbacks callbacks_choose(const struct timing *timing);

#endif
