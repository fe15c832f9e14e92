#include "emulator/timing/callbacks.h"

#include "emulator/model/hit_filter.h"
#include "emulator/timing/access.h"
#include "emulator/timing/callback_data.h"

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline)) /* a call that ends a callback: one that hits saves no registers */

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
	qemu_plugin_meminfo_t store_bits; /* of what the emulator tells of an access: it is a store */
} state;

INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + (vcpu << THREAD_SHIFT));
}

APART void
access_missed(struct thread *thread, uint64_t address, const void *data, bool is_store)
{
	access_bytes(thread, callback_access(data), address, (unsigned)callback_last(data) + 1, is_store);
}

APART void
update_missed(struct thread *thread, uint64_t address, const void *data)
{
	access_update(thread, callback_access(data), address, (unsigned)callback_last(data) + 1);
}

APART void
group_missed(struct thread *thread, uint64_t address, const void *data)
{
	access_group(thread, callback_access(data), address);
}

/* How many bytes it is, the emulator knows. */
APART void
asked_missed(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, const void *data)
{
	access_bytes(thread, callback_access(data), address, 1u << qemu_plugin_mem_size_shift(info),
	             info & state.store_bits);
}

/*
 * Whether the load is behind the bytes that a reads_beyond instruction needs (block.h). Its callbacks come in ascending
 * order; an unexpected address starts a new load.
 */
static bool
is_beyond(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block_instruction *instruction = &access->code->block->instructions[access->index];
	const uint64_t step = instruction->callback_size;
	const uint64_t size = block_beyond_bytes(instruction);
	struct half_load *half = &thread->half;

	if (address != half->next)
		half->from = address;
	half->next = address + step < half->from + size ? address + step : THREAD_NEVER;
	return address >= half->from + size / 2;
}

/* ---- lines and pages of the usual sizes: the filter is asked here ---- */

INLINE bool
filter_has(const struct thread *thread, uint64_t address, const void *data, const bool is_store)
{
	return filter_access(thread_filter(thread), is_store, address, callback_last_byte(address, data),
	                     address >> TIMING_PAGE_SHIFT);
}

INLINE bool
filter_has_group(const struct thread *thread, uint64_t address, const void *data, const bool is_store)
{
	const uint64_t first = callback_first_byte(address, data), last = callback_last_byte(address, data);

	return filter_access_span(thread_filter(thread), is_store, first, last, first >> TIMING_PAGE_SHIFT,
	                          (first ^ last) >> TIMING_PAGE_SHIFT == 0);
}

static void
load(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, false))
		access_missed(thread_of(vcpu), address, data, false);
}

static void
store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true))
		access_missed(thread_of(vcpu), address, data, true);
}

static void
both(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (info & state.store_bits)
		store(vcpu, info, address, data);
	else
		load(vcpu, info, address, data);
}

static void
update(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true))
		update_missed(thread_of(vcpu), address, data);
}

/* Of unknown size: one that hits in its first line is not looked up in a second line. */
static void
asked(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	if (!filter_access(thread_filter(thread), info & state.store_bits, address, address,
	                   address >> TIMING_PAGE_SHIFT))
		asked_missed(thread, info, address, data);
}

static void
first_half(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (!is_beyond(thread_of(vcpu), callback_access(data), address))
		load(vcpu, info, address, data);
}

static void
group_loads(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has_group(thread_of(vcpu), address, data, false))
		group_missed(thread_of(vcpu), address, data);
}

static void
group_stores(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has_group(thread_of(vcpu), address, data, true))
		group_missed(thread_of(vcpu), address, data);
}

/* ---- of any sizes: caches are asked at each access ---- */

static void
any_load(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_missed(thread_of(vcpu), address, data, false);
}

static void
any_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	access_missed(thread_of(vcpu), address, data, true);
}

static void
any_both(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	access_missed(thread_of(vcpu), address, data, info & state.store_bits);
}

static void
any_update(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	update_missed(thread_of(vcpu), address, data);
}

static void
any_asked(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	asked_missed(thread_of(vcpu), info, address, data);
}

static void
any_first_half(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!is_beyond(thread_of(vcpu), callback_access(data), address))
		access_missed(thread_of(vcpu), address, data, false);
}

static void
any_group(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	group_missed(thread_of(vcpu), address, data);
}

/* The word says it by a bit, whichever that is: the emulator is asked once, and not at each access. */
static qemu_plugin_meminfo_t
find_store_bits(void)
{
	qemu_plugin_meminfo_t bits = 0;

	for (qemu_plugin_meminfo_t bit = 1; bit; bit <<= 1)
		bits |= qemu_plugin_mem_is_store(bit) ? bit : 0;
	return bits;
}

const qemu_plugin_vcpu_mem_cb_t *
callbacks_choose(const struct timing *timing, struct thread *first)
{
	static const qemu_plugin_vcpu_mem_cb_t filtered[ACCESS_KINDS] = {load,  store,      both,        update,
	                                                                 asked, first_half, group_loads, group_stores};
	static const qemu_plugin_vcpu_mem_cb_t any[ACCESS_KINDS] = {any_load,  any_store,      any_both,  any_update,
	                                                            any_asked, any_first_half, any_group, any_group};

	state.threads = (uint8_t *)first;
	state.store_bits = find_store_bits();
	if (!timing->memory)
		return NULL;
	return timing->is_common && thread_has_filter(first) ? filtered : any;
}
