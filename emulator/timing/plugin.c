/*
 * timing - a plugin of QEMU's user-mode emulators that runs a program as if on another machine
 *
 * What takes time there, and where, goes into the record of record_file.h; what the machine is like, it learns from the
 * file of setup.h. Both are in the directory in which the plugin lies, or is linked to. Options: see started.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/clock/locks.h"
#include "emulator/follow.h"
#include "emulator/forked_cpus.h"
#include "emulator/inherited_signals.h"
#include "emulator/places.h"
#include "emulator/started.h"
#include "emulator/timing/callbacks.h"
#include "emulator/timing/core.h"
#include "emulator/timing/hot.h"
#include "emulator/translation.h"

int qemu_plugin_version = PLUGIN_API_VERSION;

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct timing timing;
	struct callbacks callbacks;
	struct places *places;
	struct locks *locks;
	struct follow follow;
	struct forked_cpus forked;
	struct started started;
	atomic_uint_fast64_t guest_base;
	atomic_bool has_threads; /* a second one began: all code is translated again */
	uint32_t ignored_signals;
	bool is_x86;
} state;

static __thread struct thread *calling; /* of the system call that this thread makes */

/* What the system call is about, when that is to move pages. */
static __thread struct {
	uint64_t from, bytes;
} moving;

static void
pass_block(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	recording_pass(state.timing.recording);
}

static void
count_block(unsigned vcpu, void *data)
{
	timing_thread(&state.timing, vcpu)->executions[(uintptr_t)data]++;
}

static void
settle_delay(unsigned vcpu, void *data)
{
	(void)data;
	clock_settle(state.timing.clock, vcpu, timing_thread(&state.timing, vcpu)->clock);
}

static bool
is_zero(uint64_t address, unsigned size_shift)
{
	const void *place =
		(const void *)(uintptr_t)(address + atomic_load_explicit(&state.guest_base, memory_order_relaxed));

	return size_shift == 2   ? *(const volatile uint32_t *)place == 0
	       : size_shift == 3 ? *(const volatile uint64_t *)place == 0
	                         : *(const volatile uint8_t *)place == 0;
}

/* Others may have been there since: then who holds it is known by the next access. */
static void
atomic_done(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = timing_thread(&state.timing, vcpu);
	uint64_t now;

	(void)data;
	if (!qemu_plugin_mem_is_store(info))
		return;
	now = locks_access(state.locks, vcpu, address, thread->clock,
	                   is_zero(address, qemu_plugin_mem_size_shift(info)));
	if (now > thread->clock)
		thread_step(thread, &(struct clock_step){
					    .now = now,
					    .limit = thread->next_turn,
					    .blocked_cycles = now - thread->clock,
				    });
}

/* Blocks alone. As long as there is one thread, the emulator counts by itself. */
static void
register_counts(struct qemu_plugin_tb *tb, uint32_t number)
{
	const struct thread *first = timing_thread(&state.timing, 0);

	if (!atomic_load_explicit(&state.has_threads, memory_order_relaxed))
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &first->executions[number], 1);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, count_block, QEMU_PLUGIN_CB_NO_REGS,
		                                     (void *)(uintptr_t)number);
}

static void
register_access(struct qemu_plugin_insn *insn, struct code *code, uint16_t index)
{
	const struct block_instruction *instruction = &code->block->instructions[index];
	struct access *access = &code->accesses[index];
	bool may_store = instruction->stores || !instruction->loads;
	uint64_t packed;

	access->is_group = instruction->leader == index;
	for (unsigned i = index; access->is_group && i != BLOCK_NOT_USED; i = code->block->instructions[i].next_member)
		may_store |= code->block->instructions[i].stores;
	access->may_store = may_store;
	access->may_do_both = !access->is_group && instruction->loads == instruction->stores;
	access->size = (uint8_t)(access->is_group ? 1 : instruction->group_to);
	packed = hot_access_pack(access, instruction->group_from,
	                         instruction->group_to > 0 ? instruction->group_to - 1 : 0);
	qemu_plugin_register_vcpu_mem_cb(insn, may_store ? state.callbacks.access : state.callbacks.load,
	                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)packed);
}

/* Threads that have a time each. */
static bool
can_meet(void)
{
	return (state.timing.parts & SETUP_CLOCK) && atomic_load_explicit(&state.has_threads, memory_order_relaxed);
}

static void
register_block(struct qemu_plugin_tb *tb, struct code *code)
{
	const struct block *block = code->block;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, state.callbacks.enter, QEMU_PLUGIN_CB_NO_REGS, code);
	for (uint16_t i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (state.callbacks.access && (instruction->leader == i || instruction->leader == BLOCK_ALONE))
			register_access(qemu_plugin_tb_get_insn(tb, i), code, i);
		if (state.timing.setup->delay == DELAY_REAL && instruction->is_blocking)
			qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), settle_delay,
			                                       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (instruction->is_atomic && can_meet())
			qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), atomic_done,
			                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
	}
}

/* What the block asks of caches and predictor each time, for who adds it up. */
static void
tell_block(const struct block *block)
{
	struct code_block does = {.branches = block->end == BLOCK_BRANCHES || block->end == BLOCK_JUMPS_INDIRECT ||
	                                      block->end == BLOCK_CALLS_INDIRECT || block->end == BLOCK_RETURNS};

	for (uint16_t i = 0; i < block->count; i++) {
		does.loads += block->instructions[i].loads;
		does.stores += block->instructions[i].stores;
	}
	recording_tell_block(state.timing.recording, block->number, &does);
}

static struct code *
add_code(const struct translation *translation, uint32_t number, uint32_t first)
{
	const struct block *block = blocks_add(state.timing.blocks, translation->address, translation->bytes,
	                                       translation->sizes, translation->block.instruction_count, number, first);

	if (!block)
		return NULL;
	tell_block(block);
	return timing_add_code(&state.timing, block);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	struct code_block *block = &translation.block;
	struct code *code = NULL;
	uint32_t number = 0, first = 0;

	(void)id;
	inherited_signals_ignore(&state.ignored_signals);
	translation_read(tb, state.is_x86, &translation);
	atomic_store_explicit(&state.guest_base, translation.guest_base, memory_order_relaxed);
	if (translation.size > 0) {
		block->image = places_find(state.places, translation.bytes, translation.size, &block->offset);
		number = recording_add_block(state.timing.recording, block, translation.sizes, translation.bytes,
		                             translation.address, &first);
	}
	if (number && state.timing.parts == SETUP_COUNTS) {
		register_counts(tb, number);
		return;
	}
	if (number)
		code = add_code(&translation, number, first);
	if (code)
		register_block(tb, code);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, pass_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static int
add_image(void *context, const struct record_mmap *file)
{
	return recording_add_image(context, file);
}

static void
thread_began(qemu_plugin_id_t id, unsigned vcpu)
{
	int err = thread_begin(&state.timing, vcpu);

	(void)id;
	if (vcpu > 0)
		atomic_store_explicit(&state.has_threads, true, memory_order_relaxed);
	if (!err)
		return;
	dprintf(STDERR_FILENO, "dcpiemu: thread %u of process %d cannot be emulated: %s\n", vcpu + 1, (int)getpid(),
	        strerror(-err));
	abort();
}

static void
thread_ended(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	if (!state.forked.is_forgetting)
		thread_end(timing_thread(&state.timing, vcpu));
}

/* As the emulator calls it. */
static void
/* NOLINTNEXTLINE(readability-function-size) */
call_began(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
           uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct clock_call call = {
		.number = number,
		.arguments = {a1, a2, a3, a4, a5, a6},
		.base = atomic_load_explicit(&state.guest_base, memory_order_relaxed),
	};

	(void)id;
	(void)a7;
	(void)a8;
	calling = timing_thread(&state.timing, vcpu);
	moving.from = a1;
	moving.bytes = a2 < a3 ? a2 : a3;
	thread_call_began(calling, &call);
	if (number == state.follow.calls->execve || number == state.follow.calls->execveat)
		follow_call(&state.follow, number, call.arguments, call.base);
}

static void
call_ended(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	const struct follow_calls *calls = state.follow.calls;
	struct thread *thread = timing_thread(&state.timing, vcpu);

	(void)id;
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		places_forget(state.places);
	forked_cpus_forget(&state.forked, vcpu);
	thread_call_ended(thread, result);
	if (number == calls->mremap && result > 0 && (uint64_t)result != moving.from && thread->hierarchy)
		hierarchy_move_pages(thread->hierarchy, moving.from, (uint64_t)result, moving.bytes);
}

static void
ended(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	timing_publish(&state.timing);
}

static void
about_to_fork(void)
{
	forked_cpus_note(&state.forked, state.timing.thread_count);
	blocks_before_fork(state.timing.blocks);
	recording_before_fork(state.timing.recording);
}

static void
forked_from(void)
{
	blocks_after_fork(state.timing.blocks);
}

static void
forked(void)
{
	int err;

	forked_cpus_begin(&state.forked);
	blocks_after_fork(state.timing.blocks);
	locks_fork(state.locks);
	err = timing_fork(&state.timing, calling);
	/* dcpiemu may have ended, and its directory with it: then nobody wants to know. */
	if (err && err != -ENOENT)
		dprintf(STDERR_FILENO, "dcpiemu: what process %d executes is not recorded: %s\n", (int)getpid(),
		        strerror(-err));
}

static void
not_followed(void *context)
{
	recording_not_followed(context);
}

static int
start(const char *target)
{
	const struct setup *setup = timing_map_setup(state.started.directory);
	struct recording *recording;
	struct clock *clock;

	if (!setup)
		return -errno;
	clock = clock_new(setup, state.started.directory, target);
	if (!clock)
		return -errno;
	recording = recording_new(state.started.directory, state.started.comm, clock_start(clock));
	if (!recording)
		return -errno;
	state.places = places_new(add_image, recording);
	if (!state.places)
		return -errno;
	state.locks = locks_new();
	if (!state.locks)
		return -ENOMEM;
	state.follow.not_followed = not_followed;
	state.follow.context = recording;
	state.follow.emulation = started_emulation(&state.started);
	return timing_init(&state.timing, setup, state.follow.calls->machine, clock, recording);
}

static int
install(qemu_plugin_id_t id, const char *target, int argc, char **argv)
{
	int err = started_read(&state.started, argc, argv, (void *)(uintptr_t)qemu_plugin_install);

	if (err)
		return err;
	state.follow.calls = follow_calls_of(target);
	if (!state.follow.calls)
		return -ENOSYS;
	state.is_x86 = strcmp(target, "x86_64") == 0;
	state.ignored_signals = inherited_signals_read();
	err = start(target);
	if (!err)
		err = -pthread_atfork(about_to_fork, forked_from, forked);
	if (err)
		return err;
	state.callbacks = callbacks_choose(&state.timing);
	qemu_plugin_register_vcpu_init_cb(id, thread_began);
	qemu_plugin_register_vcpu_exit_cb(id, thread_ended);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_vcpu_syscall_cb(id, call_began);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, call_ended);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}

int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int err = info->system_emulation ? -ENOSYS : install(id, info->target_name, argc, argv);

	if (err)
		dprintf(STDERR_FILENO, "dcpiemu: cannot emulate: %s\n", strerror(-err));
	return err ? 1 : 0;
}
