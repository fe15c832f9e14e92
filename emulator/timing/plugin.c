/*
 * timing - a plugin of QEMU's user-mode emulators that runs a program as if on another machine
 *
 * What takes time there, and where, goes into the record of record_file.h; what the machine is like, it learns from the
 * file of setup.h. Both are in the directory in which the plugin lies, or is linked to. Options: see program.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/clock/lock_model.h"
#include "emulator/guest.h"
#include "emulator/timing/instrument.h"
#include "memory/object_log.h"

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct timing timing;
	struct lock_model *locks;
	struct guest guest;
} state;

static __thread struct thread *calling; /* of the system call that this thread makes */

/* What the system call is about, when that is to move pages. */
static __thread struct {
	uint64_t from, bytes;
} moving;

static struct code *
add_code(const struct translation *translation, uint32_t number, uint32_t first)
{
	const struct block *block = blocks_add(state.timing.blocks, translation->address, translation->bytes,
	                                       translation->sizes, translation->block.instruction_count, number, first);
	struct code_block does = {.branches = 0};

	if (!block)
		return NULL;
	/* what it asks of caches and predictor each time, for readers to add up */
	does.branches = block->end == BLOCK_BRANCHES || block->end == BLOCK_JUMPS_INDIRECT ||
	                block->end == BLOCK_CALLS_INDIRECT || block->end == BLOCK_RETURNS;
	for (uint16_t i = 0; i < block->count; i++) {
		does.loads += block->instructions[i].loads;
		does.stores += block->instructions[i].stores;
	}
	recording_describe_block(state.timing.recording, block->number, &does);
	return timing_add_code(&state.timing, block);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	struct code *code = NULL;
	uint32_t number = 0, first = 0;

	(void)id;
	translation_read(tb, state.guest.is_x86, &translation);
	guest_take_block(&state.guest, &translation);
	if (translation.size > 0)
		number = recording_add_block(state.timing.recording, &translation.block, translation.sizes,
		                             translation.bytes, translation.address, &first);
	if (number && state.timing.parts == SETUP_COUNTS) {
		instrument_counts(tb, number);
		return;
	}
	if (number)
		code = add_code(&translation, number, first);
	if (code)
		instrument_block(tb, code);
	else
		instrument_passed(tb);
}

static void
thread_began(qemu_plugin_id_t id, unsigned vcpu)
{
	int err = thread_begin(&state.timing, vcpu);

	(void)id;
	guest_thread_began(&state.guest);
	if (!err)
		return;
	dprintf(STDERR_FILENO, "dcpiemu: thread %u of process %d cannot be emulated: %s", vcpu + 1, (int)getpid(),
	        strerror(-err));
	if (err == -EACCES)
		dprintf(STDERR_FILENO, " (user %u may not reach %s: set TMPDIR to a directory that it may enter)",
		        (unsigned)geteuid(), state.guest.started.directory);
	dprintf(STDERR_FILENO, "\n");
	abort();
}

static void
thread_ended(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	if (!state.guest.forked.is_forgetting)
		thread_end(timing_thread(&state.timing, vcpu));
}

/* The tracker of objects asks for the time. An address that is not mapped is a fault of the guest's, and its end. */
static void
tell_time(unsigned vcpu, uint64_t address)
{
	struct thread *thread = timing_thread(&state.timing, vcpu);
	const uint64_t now = thread_clock(thread);

	memcpy((void *)(uintptr_t)(address + guest_base(&state.guest)), &now, sizeof(now));
	thread->record->accesses.head.base = guest_base(&state.guest);
}

/* What has no room is said once: what the trial reports is too little then. */
static void
set_remedy(uint64_t address, uint64_t size, enum object_remedy kind)
{
	static atomic_bool is_said;

	if (memory_system_set_remedy(state.timing.memory, address, size, kind) || atomic_exchange(&is_said, true))
		return;
	dprintf(STDERR_FILENO,
	        "dcpiemu: objects of process %d are left without the remedy that is tried: "
	        "too many have it at once, or one is too large\n",
	        (int)getpid());
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
		.base = guest_base(&state.guest),
	};
	uid_t user;

	(void)id;
	(void)a7;
	(void)a8;
	if (number == OBJECT_LOG_TIME_CALL) {
		tell_time(vcpu, a1);
		return;
	}
	if (number == OBJECT_LOG_REMEDY_CALL) {
		if (state.timing.memory)
			set_remedy(a1, a2, (enum object_remedy)a3);
		return;
	}
	calling = timing_thread(&state.timing, vcpu);
	moving.from = a1;
	moving.bytes = a2 < a3 ? a2 : a3;
	thread_call_began(calling, &call);
	if (guest_call_sets_user(&state.guest, number, call.arguments, &user))
		process_file_give(recording_file(state.timing.recording), user);
	guest_call_began(&state.guest, number, call.arguments);
	if (guest_call_makes_thread(&state.guest, number, a1)) {
		if (state.timing.memory)
			memory_system_share(state.timing.memory);
		instrument_other_begins(vcpu);
	}
}

static void
call_ended(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	struct thread *thread = timing_thread(&state.timing, vcpu);

	(void)id;
	if (number == OBJECT_LOG_TIME_CALL || number == OBJECT_LOG_REMEDY_CALL)
		return;
	guest_call_ended(&state.guest, vcpu, number, result);
	thread_call_ended(thread, result);
	if (number == state.guest.follow.calls->mremap && result > 0 && (uint64_t)result != moving.from &&
	    thread->hierarchy)
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
	forked_cpus_note(&state.guest.forked, state.timing.thread_count);
	timing_before_fork(&state.timing);
	recording_before_fork(state.timing.recording);
}

static void
forked_from(void)
{
	timing_after_fork(&state.timing);
}

static void
forked(void)
{
	int err;

	guest_forked(&state.guest);
	timing_after_fork(&state.timing);
	lock_model_fork(state.locks);
	err = timing_fork(&state.timing, calling);
	/* dcpiemu may have ended, and its directory with it: then nobody wants to know. */
	if (err && err != -ENOENT)
		dprintf(STDERR_FILENO, "dcpiemu: what process %d executes is not recorded: %s\n", (int)getpid(),
		        strerror(-err));
}

static int
start(const char *target)
{
	const struct plugin_args *started = &state.guest.started;
	const struct setup *setup = timing_map_setup(started->directory);
	struct recording *recording;
	struct clock *clock;
	int err;

	if (!setup)
		return -errno;
	clock = clock_new(setup, started->directory, target);
	if (!clock)
		return -errno;
	recording = recording_new(started->directory, started->comm, clock_start(clock));
	if (!recording)
		return -errno;
	if (setup->parts & SETUP_TRUTH)
		recording_expect_stalls(recording);
	err = guest_tell(&state.guest, process_file_add_image, process_file_not_followed, recording_file(recording));
	if (err)
		return err;
	state.locks = lock_model_new();
	if (!state.locks)
		return -ENOMEM;
	return timing_init(&state.timing, setup, state.guest.follow.calls->machine,
	                   qemu_plugin_version == PLUGIN_API_FIRST ? BLOCK_CALLBACKS_8 : BLOCK_CALLBACKS_16, clock,
	                   recording);
}

static int
install(qemu_plugin_id_t id, const char *target, int argc, char **argv)
{
	int err = guest_init(&state.guest, target, argc, argv, (void *)(uintptr_t)qemu_plugin_install);

	if (!err)
		err = start(target);
	if (!err)
		err = -pthread_atfork(about_to_fork, forked_from, forked);
	if (err)
		return err;
	instrument_init(&state.timing, &state.guest, state.locks);
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
