#include "emulator/timing/callbacks.h"

#include "emulator/timing/hot.h"

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
	struct blocks *blocks;
} state;

HOT_INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + ((uint64_t)vcpu << THREAD_SHIFT));
}

static __attribute__((noinline)) void
not_plain(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, uint64_t packed)
{
	const struct access *access = hot_access_of(packed);
	const unsigned size = access->size ? access->size : 1u << qemu_plugin_mem_size_shift(info);

	slow_access(thread, access, address, size,
	            access->may_do_both ? qemu_plugin_mem_is_store(info) : access->may_store);
}

HOT_INLINE void
access_memory(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data, bool may_store, bool is_common)
{
	const uint64_t packed = (uint64_t)(uintptr_t)data;
	struct thread *thread = thread_of(vcpu);
	const uint64_t first = address + (uint64_t)(int64_t)(int8_t)(packed >> 48);
	const uint64_t last = address + (uint64_t)((int64_t)packed >> 56);

	if (!HOT_LIKELY(hot_is_plain(&thread->data_plain, first, last, may_store, is_common)))
		not_plain(thread, info, address, packed);
}

#define ACCESS_CALLBACK(name, may_store, is_common)                                                                    \
	static void name(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)                      \
	{                                                                                                              \
		access_memory(vcpu, info, address, data, may_store, is_common);                                        \
	}

ACCESS_CALLBACK(load_common, false, true)
ACCESS_CALLBACK(access_common, true, true)
ACCESS_CALLBACK(load_any, false, false)
ACCESS_CALLBACK(access_any, true, false)

#define ENTER_CALLBACK(name, parts)                                                                                    \
	static void name(unsigned vcpu, void *data)                                                                    \
	{                                                                                                              \
		hot_enter(thread_of(vcpu), data, state.blocks, parts);                                                 \
	}

ENTER_CALLBACK(enter_counts, 0)
ENTER_CALLBACK(enter_caches, SETUP_CACHES)
ENTER_CALLBACK(enter_branches, SETUP_BRANCHES)
ENTER_CALLBACK(enter_caches_branches, SETUP_CACHES | SETUP_BRANCHES)
ENTER_CALLBACK(enter_clock, SETUP_CLOCK)
ENTER_CALLBACK(enter_caches_clock, SETUP_CACHES | SETUP_CLOCK)
ENTER_CALLBACK(enter_branches_clock, SETUP_BRANCHES | SETUP_CLOCK)
ENTER_CALLBACK(enter_all, SETUP_CACHES | SETUP_BRANCHES | SETUP_CLOCK)
ENTER_CALLBACK(enter_clock_in_order, SETUP_CLOCK | HOT_IN_ORDER)
ENTER_CALLBACK(enter_caches_clock_in_order, SETUP_CACHES | SETUP_CLOCK | HOT_IN_ORDER)
ENTER_CALLBACK(enter_branches_clock_in_order, SETUP_BRANCHES | SETUP_CLOCK | HOT_IN_ORDER)
ENTER_CALLBACK(enter_all_in_order, SETUP_CACHES | SETUP_BRANCHES | SETUP_CLOCK | HOT_IN_ORDER)

struct callbacks
callbacks_choose(const struct timing *timing)
{
	static const qemu_plugin_vcpu_udata_cb_t enters[] = {
		enter_counts, enter_caches,       enter_branches,       enter_caches_branches,
		enter_clock,  enter_caches_clock, enter_branches_clock, enter_all,
	};
	static const qemu_plugin_vcpu_udata_cb_t in_order[] = {
		enter_clock_in_order,
		enter_caches_clock_in_order,
		enter_branches_clock_in_order,
		enter_all_in_order,
	};
	/* TLBs are asked where caches are: what is not modelled always is a plain hit */
	const unsigned at = (timing->memory ? 1 : 0) | (timing->parts & SETUP_BRANCHES ? 2 : 0) |
	                    (timing->parts & SETUP_CLOCK ? 4 : 0);
	struct callbacks callbacks = {.enter = at >= 4 && timing->is_in_order ? in_order[at - 4] : enters[at]};

	state.threads = timing->threads;
	state.blocks = timing->blocks;
	if (timing->memory) {
		callbacks.load = timing->is_common ? load_common : load_any;
		callbacks.access = timing->is_common ? access_common : access_any;
	}
	return callbacks;
}
