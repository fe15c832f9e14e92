#include "emulator/timing/instrument.h"

#include <stdatomic.h>

#include "emulator/model/hit_filter.h"
#include "emulator/qemu_functions.h"
#include "emulator/timing/block_entry.h"
#include "emulator/timing/core.h"

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline)) /* a call that ends a callback: one that hits saves no registers */

enum access_kind {
	ACCESS_LOAD,
	ACCESS_STORE,
	ACCESS_LOAD_STORE,        /* a load, and then a store, of as many bytes each: two callbacks */
	ACCESS_READ_MODIFY_WRITE, /* a load and a store at one address, of 1, 2, 4, 8 bytes: one callback */
	ACCESS_ATOMIC,       /* of several threads: one callback, which is a store's, or two as ACCESS_LOAD_STORE */
	ACCESS_UNKNOWN_SIZE, /* alone as those above; the emulator must be asked how many bytes */
	ACCESS_FIRST_HALF,   /* a load alone that reads beyond (block.h) */
	ACCESS_GROUP_LOADS,
	ACCESS_GROUP_STORES, /* some of it */
	ACCESS_KINDS,
};

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads;
	qemu_plugin_meminfo_t store_bits; /* of what the emulator tells of an access: it is a store */
	struct timing *timing;
	const struct guest *guest;
	struct lock_model *locks;
	qemu_plugin_vcpu_udata_cb_t enter;
	struct tb_flush tb_flush;
	atomic_bool has_threads; /* a second one begins, or what is translated now will be kept when one begins */
} state;

/*
 * ---- what the callback of an access is given: one word ----
 *
 * Its struct access is at the lower 48 bits; above them are the first and the last byte that are touched, from the
 * access's address on.
 */

#define CALLBACK_DATA_ADDRESS UINT64_C(0xffffffffffff)

/* `first`, `last`: -128 to 127. */
static inline void *
callback_data(const struct access *access, int first, int last)
{
	return (void *)(uintptr_t)(((uint64_t)(uintptr_t)access & CALLBACK_DATA_ADDRESS) |
	                           (uint64_t)(uint8_t)first << 48 | (uint64_t)(uint8_t)last << 56);
}

static inline const struct access *
callback_access(const void *data)
{
	return (const struct access *)(uintptr_t)((uint64_t)(uintptr_t)data & CALLBACK_DATA_ADDRESS);
}

static inline int
callback_last(const void *data)
{
	return (int)((int64_t)(uintptr_t)data >> 56);
}

/* The first and the last byte that are touched. */
static inline uint64_t
callback_first_byte(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)(int8_t)((uint64_t)(uintptr_t)data >> 48);
}

static inline uint64_t
callback_last_byte(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)callback_last(data);
}

/* ---- accesses: the hit filter, and the caches where that does not know them ---- */

INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + (vcpu << THREAD_SHIFT));
}

APART void
access_missed(struct thread *thread, uint64_t address, const void *data, bool is_store)
{
	core_access_bytes(thread, callback_access(data), address, (unsigned)callback_last(data) + 1, is_store);
}

APART void
read_modify_write_missed(struct thread *thread, uint64_t address, const void *data)
{
	core_access_update(thread, callback_access(data), address, (unsigned)callback_last(data) + 1);
}

APART void
group_missed(struct thread *thread, uint64_t address, const void *data)
{
	core_access_group(thread, callback_access(data), address);
}

/* How many bytes it is, the emulator knows. */
APART void
unknown_size_missed(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, const void *data)
{
	core_access_bytes(thread, callback_access(data), address, 1u << qemu_plugin_mem_size_shift(info),
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

INLINE bool
filter_has(const struct thread *thread, uint64_t address, const void *data, const bool is_store, const bool is_coherent)
{
	return filter_access(thread_filter(thread), is_store, is_coherent, address, callback_last_byte(address, data),
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
	if (!filter_has(thread_of(vcpu), address, data, false, false))
		access_missed(thread_of(vcpu), address, data, false);
}

static void
store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true, false))
		access_missed(thread_of(vcpu), address, data, true);
}

static void
store_coherent(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true, true))
		access_missed(thread_of(vcpu), address, data, true);
}

static void
load_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (info & state.store_bits)
		store(vcpu, info, address, data);
	else
		load(vcpu, info, address, data);
}

static void
load_store_coherent(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (info & state.store_bits)
		store_coherent(vcpu, info, address, data);
	else
		load(vcpu, info, address, data);
}

static void
read_modify_write(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true, false))
		read_modify_write_missed(thread_of(vcpu), address, data);
}

static void
read_modify_write_coherent(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!filter_has(thread_of(vcpu), address, data, true, true))
		read_modify_write_missed(thread_of(vcpu), address, data);
}

static void
atomic_coherent(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (info & state.store_bits)
		read_modify_write_coherent(vcpu, info, address, data);
	else
		load(vcpu, info, address, data);
}

/* An access whose size the block does not tell: when its first line hits, a second one is not looked up. */
INLINE void
access_of_unknown_size(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, const void *data,
                       const bool is_coherent)
{
	struct thread *thread = thread_of(vcpu);

	if (!filter_access(thread_filter(thread), info & state.store_bits, is_coherent, address, address,
	                   address >> TIMING_PAGE_SHIFT))
		unknown_size_missed(thread, info, address, data);
}

static void
unknown_size(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	access_of_unknown_size(vcpu, info, address, data, false);
}

static void
unknown_size_coherent(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	access_of_unknown_size(vcpu, info, address, data, true);
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

/*
 * [0]: as long as there is one thread. [1]: with several, where a store hits only if no other core has a copy of its
 * line (emulator/model/coherence.h).
 */
static const qemu_plugin_vcpu_mem_cb_t access_callbacks[ACCESS_KINDS][2] = {
	[ACCESS_LOAD] = {load, load},
	[ACCESS_STORE] = {store, store_coherent},
	[ACCESS_LOAD_STORE] = {load_store, load_store_coherent},
	[ACCESS_READ_MODIFY_WRITE] = {read_modify_write, read_modify_write_coherent},
	[ACCESS_ATOMIC] = {load_store, atomic_coherent},
	[ACCESS_UNKNOWN_SIZE] = {unknown_size, unknown_size_coherent},
	[ACCESS_FIRST_HALF] = {first_half, first_half},
	[ACCESS_GROUP_LOADS] = {group_loads, group_loads},
	[ACCESS_GROUP_STORES] = {group_stores, group_stores}, /* which must have its lines as written in any case */
};

/* The word says it by a bit, whichever that is: the emulator is asked once, and not at each access. */
static qemu_plugin_meminfo_t
find_store_bits(void)
{
	qemu_plugin_meminfo_t bits = 0;

	for (qemu_plugin_meminfo_t bit = 1; bit; bit <<= 1)
		bits |= qemu_plugin_mem_is_store(bit) ? bit : 0;
	return bits;
}

void
instrument_init(struct timing *timing, const struct guest *guest, struct lock_model *locks)
{
	state.timing = timing;
	state.threads = timing->threads;
	state.store_bits = find_store_bits();
	state.guest = guest;
	state.locks = locks;
	atomic_store_explicit(&state.has_threads, !tb_flush_init(&state.tb_flush), memory_order_relaxed);
	state.enter = block_entry_callback(timing);
}

static bool
has_threads(void)
{
	return atomic_load_explicit(&state.has_threads, memory_order_relaxed);
}

void
instrument_other_begins(unsigned parent)
{
	if (has_threads())
		return;
	atomic_store_explicit(&state.has_threads, true, memory_order_relaxed);
	tb_flush_all(&state.tb_flush, parent);
}

static void
count_unrecorded(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	process_file_count_unrecorded(recording_file(state.timing->recording));
}

static void
count_block(unsigned vcpu, void *data)
{
	timing_thread(state.timing, vcpu)->executions[(uintptr_t)data]++;
}

static void
settle_delay(unsigned vcpu, void *data)
{
	(void)data;
	clock_settle(state.timing->clock, vcpu, thread_clock(timing_thread(state.timing, vcpu)));
}

static bool
is_zero(uint64_t address, unsigned size_shift)
{
	const void *place = (const void *)(uintptr_t)(address + guest_base(state.guest));

	return size_shift == 2   ? *(const volatile uint32_t *)place == 0
	       : size_shift == 3 ? *(const volatile uint64_t *)place == 0
	                         : *(const volatile uint8_t *)place == 0;
}

/* Other cores may have accessed the line since: which of them holds it is then found out by the next access. */
static void
atomic_done(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = timing_thread(state.timing, vcpu);
	uint64_t now;

	(void)data;
	if (!qemu_plugin_mem_is_store(info))
		return;
	now = lock_model_access(state.locks, vcpu, address, thread_clock(thread),
	                        is_zero(address, qemu_plugin_mem_size_shift(info)));
	if (now > thread_clock(thread))
		thread_step(thread, &(struct clock_step){
					    .now = now,
					    .limit = thread->next_turn,
					    .blocked_cycles = now - thread_clock(thread),
				    });
}

/* Blocks alone. As long as there is one thread, the emulator of interface 1 counts by itself. */
void
instrument_counts(struct qemu_plugin_tb *tb, uint32_t number)
{
	const struct thread *first = timing_thread(state.timing, 0);

	if (!has_threads() && qemu_plugin_register_vcpu_tb_exec_inline)
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &first->executions[number], 1);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, count_block, QEMU_PLUGIN_CB_NO_REGS,
		                                     (void *)(uintptr_t)number);
}

static enum access_kind
alone_kind_of(const struct block_instruction *instruction)
{
	if (instruction->group_to == 0)
		return ACCESS_UNKNOWN_SIZE;
	if (instruction->reads_beyond)
		return ACCESS_FIRST_HALF;
	if (instruction->updates)
		return ACCESS_READ_MODIFY_WRITE;
	if (instruction->loads && instruction->stores)
		return instruction->is_atomic ? ACCESS_ATOMIC : ACCESS_LOAD_STORE;
	return instruction->stores ? ACCESS_STORE : ACCESS_LOAD;
}

static enum access_kind
kind_of(const struct block *block, struct access *access)
{
	const struct block_instruction *instruction = &block->instructions[access->index];
	struct block_span stores;

	if (instruction->leader != access->index)
		return alone_kind_of(instruction);
	stores = block_group_stores(block, access->index);
	access->may_store = stores.from < stores.to;
	if (!access->may_store)
		return ACCESS_GROUP_LOADS;
	access->store_first = (int8_t)stores.from;
	access->store_last = (int8_t)(stores.to - 1);
	return ACCESS_GROUP_STORES;
}

static void
register_access(struct qemu_plugin_insn *insn, const struct block *block, struct access *access)
{
	const struct block_instruction *instruction = &block->instructions[access->index];
	const enum access_kind kind = kind_of(block, access);

	qemu_plugin_register_vcpu_mem_cb(insn, access_callbacks[kind][has_threads()], QEMU_PLUGIN_CB_NO_REGS,
	                                 kind == ACCESS_READ_MODIFY_WRITE ? QEMU_PLUGIN_MEM_R : QEMU_PLUGIN_MEM_RW,
	                                 callback_data(access, instruction->group_from,
	                                               instruction->group_to > 0 ? instruction->group_to - 1 : 0));
}

void
instrument_block(struct qemu_plugin_tb *tb, struct code *code)
{
	const struct block *block = code->block;
	struct access *access = code->accesses;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, state.enter, QEMU_PLUGIN_CB_NO_REGS, code);
	for (uint16_t i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (state.timing->memory && block_instruction_is_called_for(instruction, i))
			register_access(qemu_plugin_tb_get_insn(tb, i), block, access++);
		if (state.timing->setup->delay == DELAY_REAL && instruction->is_blocking)
			qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), settle_delay,
			                                       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (instruction->is_atomic && state.timing->parts & SETUP_CLOCK && has_threads())
			qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), atomic_done,
			                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
	}
}

void
instrument_passed(struct qemu_plugin_tb *tb)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count_unrecorded, QEMU_PLUGIN_CB_NO_REGS, NULL);
}
