#include "emulator/timing/callbacks.h"

#include "emulator/timing/hot.h"

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
} state;

HOT_INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + ((uint64_t)vcpu << THREAD_SHIFT));
}

static const struct access *
access_of(void *data)
{
	return (const struct access *)(uintptr_t)((uint64_t)(uintptr_t)data & UINT64_C(0xffffffffffff));
}

/* The first and the last byte that are touched. */
static inline uint64_t
first_of(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)(int8_t)((uint64_t)(uintptr_t)data >> 48);
}

static inline uint64_t
last_of(uint64_t address, const void *data)
{
	return address + (uint64_t)((int64_t)(uintptr_t)data >> 56);
}

static __attribute__((noinline)) void
ask(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	slow_access(thread, access_of(data), address, 1u << qemu_plugin_mem_size_shift(info),
	            qemu_plugin_mem_is_store(info));
}

HOT_INLINE void
access_one(unsigned vcpu, uint64_t address, void *data, bool writes)
{
	struct thread *thread = thread_of(vcpu);
	const uint64_t last = last_of(address, data);

	if (!HOT_LIKELY(hot_access_line(&thread->data_plain, address, last, writes)))
		slow_access(thread, access_of(data), address, (unsigned)(last - address) + 1, writes);
}

static void
load(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_one(vcpu, address, data, false);
}

static void
store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_one(vcpu, address, data, true);
}

static void
load_or_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_access_line(&thread->data_plain, address, last_of(address, data),
	                                qemu_plugin_mem_is_store(info))))
		ask(thread, info, address, data);
}

static void
load_group(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	if (!HOT_LIKELY(hot_use_lines(&thread->data_plain, first_of(address, data), last_of(address, data), false)))
		slow_group(thread, access_of(data), address);
}

static void
access_group(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	if (!HOT_LIKELY(hot_use_lines(&thread->data_plain, first_of(address, data), last_of(address, data), true)))
		slow_group(thread, access_of(data), address);
}

/* Lines and pages have any size. */
HOT_INLINE void
access_any(unsigned vcpu, uint64_t address, void *data, bool writes)
{
	slow_access(thread_of(vcpu), access_of(data), address, (unsigned)(last_of(address, data) - address) + 1,
	            writes);
}

static void
load_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_any(vcpu, address, data, false);
}

static void
store_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_any(vcpu, address, data, true);
}

static void
ask_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	ask(thread_of(vcpu), info, address, data);
}

static void
group_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	slow_group(thread_of(vcpu), access_of(data), address);
}

#define ENTER_CALLBACK(name, parts)                                                                                    \
	static void name(unsigned vcpu, void *data)                                                                    \
	{                                                                                                              \
		hot_enter(thread_of(vcpu), data, parts);                                                               \
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
	static const qemu_plugin_vcpu_mem_cb_t usual[ACCESS_KINDS] = {load, store, load_or_store, load_group,
	                                                              access_group};
	static const qemu_plugin_vcpu_mem_cb_t any[ACCESS_KINDS] = {load_any, store_any, ask_any, group_any, group_any};
	/* TLBs are asked where caches are: what is not modelled always is a plain hit */
	const unsigned at = (timing->memory ? 1 : 0) | (timing->parts & SETUP_BRANCHES ? 2 : 0) |
	                    (timing->parts & SETUP_CLOCK ? 4 : 0);
	struct callbacks callbacks = {.enter = at >= 4 && timing->is_in_order ? in_order[at - 4] : enters[at]};

	state.threads = timing->threads;
	if (timing->memory && timing->is_common)
		callbacks.accesses = usual;
	else if (timing->memory)
		callbacks.accesses = any;
	return callbacks;
}
