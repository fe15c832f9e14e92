#include "emulator/timing/callbacks.h"

#include "emulator/timing/callback_data.h"
#include "emulator/timing/hot.h"

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
} state;

HOT_INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + (vcpu << THREAD_SHIFT));
}

/* The first and the last byte that are touched. */
HOT_INLINE uint64_t
first_of(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)callback_first(data);
}

HOT_INLINE uint64_t
last_of(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)callback_last(data);
}

HOT_INLINE void
load(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data, unsigned size)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_access_line(thread->data_plain, address, size, false)))
		slow_load(thread, info, address, data);
}

HOT_INLINE void
store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data, unsigned size)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_access_line(thread->data_plain, address, size, true)))
		slow_store(thread, info, address, data);
}

#define ACCESS_CALLBACK(name, access, size)                                                                            \
	static void name(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)                      \
	{                                                                                                              \
		access(vcpu, info, address, data, size);                                                               \
	}

ACCESS_CALLBACK(load_1, load, 1)
ACCESS_CALLBACK(load_2, load, 2)
ACCESS_CALLBACK(load_4, load, 4)
ACCESS_CALLBACK(load_8, load, 8)
ACCESS_CALLBACK(load_16, load, 16)
ACCESS_CALLBACK(load_other, load, (unsigned)callback_last(data) + 1)
ACCESS_CALLBACK(store_1, store, 1)
ACCESS_CALLBACK(store_2, store, 2)
ACCESS_CALLBACK(store_4, store, 4)
ACCESS_CALLBACK(store_8, store, 8)
ACCESS_CALLBACK(store_16, store, 16)
ACCESS_CALLBACK(store_other, store, (unsigned)callback_last(data) + 1)

static SLOW void
ask(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const int last = callback_last(data);

	slow_access(thread, callback_access(data), address,
	            last ? (unsigned)last + 1 : 1u << qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info));
}

/* The line, a plain hit, was not written before. */
static SLOW void
ask_whether_written(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address)
{
	if (qemu_plugin_mem_is_store(info))
		plain_line(thread->data_plain, address >> TIMING_LINE_SHIFT)->key |= PLAIN_WRITTEN;
}

/* One use of a line that was written is like the other. */
static void
load_or_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_access_line(thread->data_plain, address, (unsigned)callback_last(data) + 1, false)))
		ask(thread, info, address, data);
	else if (!plain_is_written(thread->data_plain, address >> TIMING_LINE_SHIFT))
		ask_whether_written(thread, info, address);
}

static void
load_group(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_use_lines(thread->data_plain, first_of(address, data), last_of(address, data), false)))
		slow_group(thread, info, address, data);
}

static void
access_group(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	if (!HOT_LIKELY(hot_use_lines(thread->data_plain, first_of(address, data), last_of(address, data), true)))
		slow_group(thread, info, address, data);
}

/* Lines and pages have any size. */
static void
load_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	slow_load(thread_of(vcpu), info, address, data);
}

static void
store_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	slow_store(thread_of(vcpu), info, address, data);
}

static void
ask_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	ask(thread_of(vcpu), info, address, data);
}

static void
group_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	slow_group(thread_of(vcpu), info, address, data);
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
	static const qemu_plugin_vcpu_mem_cb_t usual[ACCESS_KINDS] = {
		load_1,  load_2,  load_4,   load_8,      load_16,       load_other, store_1,      store_2,
		store_4, store_8, store_16, store_other, load_or_store, load_group, access_group,
	};
	static const qemu_plugin_vcpu_mem_cb_t any[ACCESS_KINDS] = {
		load_any,  load_any,  load_any,  load_any,  load_any, load_any,  store_any, store_any,
		store_any, store_any, store_any, store_any, ask_any,  group_any, group_any,
	};
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
