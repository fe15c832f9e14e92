/*
 * callbacks.h - what the emulator calls at each access: the hit filter, and the caches where that does not know it
 *
 * Thread rule: callbacks_choose() once, by the first thread; the callbacks on the thread of their vcpu.
 */
#ifndef DCPI_EMULATOR_TIMING_CALLBACKS_H
#define DCPI_EMULATOR_TIMING_CALLBACKS_H

#include "emulator/plugin_api.h"
#include "emulator/timing/timing.h"

enum access_kind {
	ACCESS_LOAD,
	ACCESS_STORE,
	ACCESS_LOAD_STORE,        /* a load, and then a store, of as many bytes each: two callbacks */
	ACCESS_READ_MODIFY_WRITE, /* the same of one place, of 1, 2, 4, 8 bytes: one callback */
	ACCESS_UNKNOWN_SIZE,      /* alone as those above; the emulator must be asked how many bytes */
	ACCESS_FIRST_HALF,        /* a load alone that reads beyond (block.h) */
	ACCESS_GROUP_LOADS,
	ACCESS_GROUP_STORES, /* some of it */
	ACCESS_KINDS,
};

/*
 * By enum access_kind, of what `timing` models, whose first thread has begun; each is given a callback_data(). NULL:
 * none is wanted.
 */
const qemu_plugin_vcpu_mem_cb_t *callbacks_choose(const struct timing *timing, struct thread *first);

#endif
