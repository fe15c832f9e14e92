/*
 * callbacks.h - what the emulator calls at each access
 */
#ifndef DCPI_EMULATOR_TIMING_CALLBACKS_H
#define DCPI_EMULATOR_TIMING_CALLBACKS_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

#define ACCESS_SIZES 5

enum access_kind {
	ACCESS_LOAD, /* of 1, 2, 4, 8 bytes, of others: never more at once (block.h) */
	ACCESS_STORE = ACCESS_LOAD + ACCESS_SIZES,
	ACCESS_BOTH = ACCESS_STORE + ACCESS_SIZES,  /* a load, and then a store, of so many bytes each */
	ACCESS_UPDATE = ACCESS_BOTH + ACCESS_SIZES, /* the same of one place, of 1, 2, 4, 8 bytes, told of once */
	/* alone as those above; the emulator must be asked how many bytes */
	ACCESS_ASKED = ACCESS_UPDATE + ACCESS_SIZES - 1,
	ACCESS_FIRST_HALF, /* a load alone that reads beyond (block.h) */
	ACCESS_GROUP_LOADS,
	ACCESS_GROUP_STORES, /* some of it */
	ACCESS_KINDS,
};

struct callbacks {
	const qemu_plugin_vcpu_mem_cb_t *accesses; /* by enum access_kind: callback_data(); NULL: not wanted */
	const qemu_plugin_vcpu_mem_cb_t *alone;    /* the same as long as the first thread has been the only one */
};

/* Those that do what `timing` models, and no more, for its first thread, which has begun, and the others. */
struct callbacks callbacks_choose(const struct timing *timing, struct thread *first);

#endif
