#include "emulator/timing/instrument.h"

#include <stdatomic.h>

#include "emulator/tb_flush.h"
#include "emulator/timing/block_entry.h"
#include "emulator/timing/callback_data.h"
#include "emulator/timing/callbacks.h"
#include "emulator/timing/core.h"

/* Callbacks have no place for a context. */
static struct {
	struct timing *timing;
	const struct guest *guest;
	struct lock_model *locks;
	qemu_plugin_vcpu_udata_cb_t enter;
	const qemu_plugin_vcpu_mem_cb_t *accesses; /* by enum access_kind; NULL: none is wanted */
	struct tb_flush tb_flush;
	atomic_bool has_threads; /* a second one begins, or what is translated now will be kept when one begins */
} state;

void
instrument_init(struct timing *timing, const struct guest *guest, struct lock_model *locks)
{
	state.timing = timing;
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
instrument_first_began(void)
{
	state.accesses = callbacks_choose(state.timing, timing_thread(state.timing, 0));
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
	recording_count_unrecorded(state.timing->recording);
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

/* Others may have been there since: then who holds it is known by the next access. */
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
		return ACCESS_LOAD_STORE;
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

	qemu_plugin_register_vcpu_mem_cb(insn, state.accesses[kind], QEMU_PLUGIN_CB_NO_REGS,
	                                 kind == ACCESS_READ_MODIFY_WRITE ? QEMU_PLUGIN_MEM_R : QEMU_PLUGIN_MEM_RW,
	                                 callback_data(access, instruction->group_from,
	                                               instruction->group_to > 0 ? instruction->group_to - 1 : 0));
}

/* Threads that have a time each. */
static bool
threads_are_timed(void)
{
	return (state.timing->parts & SETUP_CLOCK) && has_threads();
}

void
instrument_block(struct qemu_plugin_tb *tb, struct code *code)
{
	const struct block *block = code->block;
	struct access *access = code->accesses;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, state.enter, QEMU_PLUGIN_CB_NO_REGS, code);
	for (uint16_t i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (state.accesses && block_instruction_is_called_for(instruction, i))
			register_access(qemu_plugin_tb_get_insn(tb, i), block, access++);
		if (state.timing->setup->delay == DELAY_REAL && instruction->is_blocking)
			qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), settle_delay,
			                                       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (instruction->is_atomic && threads_are_timed())
			qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), atomic_done,
			                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
	}
}

void
instrument_passed(struct qemu_plugin_tb *tb)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count_unrecorded, QEMU_PLUGIN_CB_NO_REGS, NULL);
}
