/*
 * counts - a plugin of QEMU's user-mode emulators that counts what a program executes
 *
 * Every block of instructions, and by which block it was entered, in each thread; in the file of counts_file.h. The
 * plugin lies, or is linked to, in the directory for these files. Options: see program.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emulator/counts/counting.h"
#include "emulator/guest.h"
#include "emulator/plugin_api.h"

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct counting *counting;
	struct guest guest;
} state;

static void
enter_block(unsigned vcpu, void *data)
{
	counting_enter(state.counting, vcpu, (uint32_t)(uintptr_t)data);
}

static void
count_unrecorded(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	process_file_count_unrecorded(counting_file(state.counting));
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	uint32_t number = 0, first;

	(void)id;
	translation_read(tb, state.guest.is_x86, &translation);
	guest_take_block(&state.guest, &translation);
	if (translation.size > 0)
		number = process_file_add_block(counting_file(state.counting), &translation.block, translation.sizes,
		                                &first);
	if (number)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_block, QEMU_PLUGIN_CB_NO_REGS,
		                                     (void *)(uintptr_t)number);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, count_unrecorded, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void
thread_began(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	(void)counting_add_vcpu(state.counting, vcpu); /* what is not counted is */
	guest_thread_began(&state.guest);
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
	uid_t user;

	(void)id;
	(void)vcpu;
	(void)a6;
	(void)a7;
	(void)a8;
	if (guest_call_sets_user(&state.guest, number, arguments, &user))
		process_file_give(counting_file(state.counting), user);
	guest_call_began(&state.guest, number, arguments);
}

static void
call_ended(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	(void)id;
	guest_call_ended(&state.guest, vcpu, number, result);
}

static void
about_to_fork(void)
{
	forked_cpus_note(&state.guest.forked, FORKED_CPUS_MAX);
	counting_before_fork(state.counting);
}

static void
forked(void)
{
	int err = counting_fork(state.counting);

	guest_forked(&state.guest);
	/* dcpix may have ended, and its directory with it: then nobody wants to know. */
	if (err && err != -ENOENT)
		dprintf(STDERR_FILENO, "dcpix: what process %d executes is not counted: %s\n", (int)getpid(),
		        strerror(-err));
}

static int
install(qemu_plugin_id_t id, const char *target, int argc, char **argv)
{
	struct guest *guest = &state.guest;
	int err = guest_init(guest, target, argc, argv, (void *)(uintptr_t)qemu_plugin_install);

	if (err)
		return err;
	state.counting = counting_new(guest->started.directory, guest->started.comm);
	if (!state.counting)
		return -errno;
	err = guest_tell(guest, process_file_add_image, process_file_not_followed, counting_file(state.counting));
	if (!err)
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
