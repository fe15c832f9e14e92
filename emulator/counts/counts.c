/*
 * counts - a plugin of QEMU's user-mode emulators that counts what a program executes
 *
 * Every block of instructions, and by which block it was entered, in each thread; in the file of counts_file.h. The
 * plugin lies, or is linked to, in the directory for these files. Options: see started.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emulator/counts/counting.h"
#include "emulator/follow.h"
#include "emulator/forked_cpus.h"
#include "emulator/inherited_signals.h"
#include "emulator/places.h"
#include "emulator/plugin_api.h"
#include "emulator/started.h"
#include "emulator/translation.h"

int qemu_plugin_version = PLUGIN_API_VERSION;

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct counting *counting;
	struct places *places;
	struct follow follow;
	struct forked_cpus forked;
	atomic_uint_fast64_t guest_base;
	uint32_t ignored_signals;
	bool is_x86;
	struct started started;
} state;

static void
enter_block(unsigned vcpu, void *data)
{
	counting_enter(state.counting, vcpu, (uint32_t)(uintptr_t)data);
}

static void
pass_block(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	counting_pass(state.counting);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	struct code_block *block = &translation.block;
	uint32_t number = 0;

	(void)id;
	inherited_signals_ignore(&state.ignored_signals);
	translation_read(tb, state.is_x86, &translation);
	atomic_store_explicit(&state.guest_base, translation.guest_base, memory_order_relaxed);
	if (translation.size > 0) {
		block->image = places_find(state.places, translation.bytes, translation.size, &block->offset);
		if (!block->image)
			block->offset = 0;
		number = counting_add_block(state.counting, block, translation.sizes);
	}
	if (number)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_block, QEMU_PLUGIN_CB_NO_REGS,
		                                     (void *)(uintptr_t)number);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, pass_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static int
add_image(void *context, const struct record_mmap *file)
{
	return counting_add_image(context, file);
}

static void
thread_began(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	(void)counting_add_vcpu(state.counting, vcpu); /* what is not counted is */
}

static void
thread_ended(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	counting_clear_vcpu(state.counting, vcpu);
}

/* As the emulator calls it. */
static void
/* NOLINTNEXTLINE(readability-function-size) */
call_began(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
           uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	const uint64_t arguments[] = {a1, a2, a3, a4, a5};

	(void)id;
	(void)vcpu;
	(void)a6;
	(void)a7;
	(void)a8;
	if (number == state.follow.calls->execve || number == state.follow.calls->execveat)
		follow_call(&state.follow, number, arguments,
		            atomic_load_explicit(&state.guest_base, memory_order_relaxed));
}

static void
call_ended(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	const struct follow_calls *calls = state.follow.calls;

	(void)id;
	(void)result;
	forked_cpus_forget(&state.forked, vcpu);
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		places_forget(state.places);
}

static void
about_to_fork(void)
{
	forked_cpus_note(&state.forked, FORKED_CPUS_MAX);
	counting_before_fork(state.counting);
}

static void
forked(void)
{
	int err = counting_fork(state.counting);

	forked_cpus_begin(&state.forked);
	/* dcpix may have ended, and its directory with it: then nobody wants to know. */
	if (err && err != -ENOENT)
		dprintf(STDERR_FILENO, "dcpix: what process %d executes is not counted: %s\n", (int)getpid(),
		        strerror(-err));
}

static void
not_followed(void *context)
{
	counting_not_followed(context);
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
	state.counting = counting_new(state.started.directory, state.started.comm);
	if (!state.counting)
		return -errno;
	state.places = places_new(add_image, state.counting);
	if (!state.places)
		return -errno;
	state.follow.not_followed = not_followed;
	state.follow.context = state.counting;
	state.follow.emulation = started_emulation(&state.started);
	err = -pthread_atfork(about_to_fork, NULL, forked);
	if (err)
		return err;
	qemu_plugin_register_vcpu_init_cb(id, thread_began);
	qemu_plugin_register_vcpu_exit_cb(id, thread_ended);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_vcpu_syscall_cb(id, call_began);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, call_ended);
	return 0;
}

int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int err = info->system_emulation ? -ENOSYS : install(id, info->target_name, argc, argv);

	if (err)
		dprintf(STDERR_FILENO, "dcpix: cannot count: %s\n", strerror(-err));
	return err ? 1 : 0;
}
