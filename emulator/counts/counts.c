/*
 * counts - a plugin of QEMU's user-mode emulators that counts what a program executes
 *
 * Every block of instructions, and by which block it was entered, in each thread; in the file of counts_file.h. The
 * plugin lies, or is linked to, in the directory for these files. Options: comm=HEX, the program's name; cpu=MODEL and
 * prefix=PATH, what the emulator was started with, for programs that are executed later.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/counts/counting.h"
#include "emulator/follow.h"
#include "emulator/guest_code.h"
#include "emulator/places.h"
#include "emulator/plugin_api.h"

int qemu_plugin_version = PLUGIN_API_VERSION;

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct counting *counting;
	struct places *places;
	struct follow follow;
	atomic_uint_fast64_t guest_base;
	bool is_x86;
	char emulator[PATH_MAX];
	char plugin[2 * PATH_MAX + 256];
	char cpu[64];
	char prefix[PATH_MAX];
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

static bool
is_cut_off(const struct qemu_plugin_insn *insn)
{
	return guest_code_is_cut_off(qemu_plugin_insn_vaddr(insn), qemu_plugin_insn_haddr(insn),
	                             qemu_plugin_insn_size(insn));
}

/* Fill what a block says of its instructions; how many bytes they have. */
static size_t
read_block(struct qemu_plugin_tb *tb, struct code_block *block, uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX])
{
	size_t count = qemu_plugin_tb_n_insns(tb), size = 0;

	if (state.is_x86 && count > 1 && is_cut_off(qemu_plugin_tb_get_insn(tb, count - 1)))
		count--;

	if (count > CODE_BLOCK_INSTRUCTIONS_MAX)
		return 0;
	*block = (struct code_block){.type = CODE_BLOCK, .instruction_count = (uint16_t)count};
	for (size_t i = 0; i < count; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		sizes[i] = (uint8_t)qemu_plugin_insn_size(insn);
		if (i + 1 == count && state.is_x86 && guest_code_repeats(qemu_plugin_insn_haddr(insn), sizes[i]))
			block->flags |= CODE_BLOCK_REPEATS;
		size += sizes[i];
	}
	return size;
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	const void *address = qemu_plugin_insn_haddr(first);
	uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX];
	struct code_block block;
	uint32_t number = 0;
	size_t size;

	(void)id;
	atomic_store_explicit(&state.guest_base, (uint64_t)(uintptr_t)address - qemu_plugin_insn_vaddr(first),
	                      memory_order_relaxed);
	size = read_block(tb, &block, sizes);
	if (size > 0) {
		block.image = places_find(state.places, address, size, &block.offset);
		if (!block.image)
			block.offset = 0;
		number = counting_add_block(state.counting, &block, sizes);
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
	(void)vcpu;
	(void)result;
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		places_forget(state.places);
}

static void
about_to_fork(void)
{
	counting_before_fork(state.counting);
}

static void
forked(void)
{
	int err = counting_fork(state.counting);

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

static void
read_comm(const char *digits, char comm[COUNTS_COMM_SIZE])
{
	unsigned byte;
	size_t i = 0;

	for (; i < COUNTS_COMM_SIZE - 1 && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++) {
		comm[i] = (char)byte;
		if (!digits[2 * i + 1] || !digits[2 * i + 2]) {
			i++;
			break;
		}
	}
	comm[i] = '\0';
}

/* The options, which are kept for the emulators that follow. */
static void
read_options(int argc, char **argv, char comm[COUNTS_COMM_SIZE])
{
	comm[0] = '\0';
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "comm=", 5) == 0)
			read_comm(argv[i] + 5, comm);
		else if (strncmp(argv[i], "cpu=", 4) == 0)
			snprintf(state.cpu, sizeof(state.cpu), "%s", argv[i] + 4);
		else if (strncmp(argv[i], "prefix=", 7) == 0)
			snprintf(state.prefix, sizeof(state.prefix), "%s", argv[i] + 7);
	}
}

/* Where the plugin lies, as it was named, and what starts the emulator with it again. */
static int
find_self(char directory[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", state.emulator, sizeof(state.emulator) - 1);
	char *slash;
	Dl_info self;

	if (length <= 0)
		return -errno;
	state.emulator[length] = '\0';
	if (!dladdr((void *)(uintptr_t)qemu_plugin_install, &self))
		return -ENOENT;
	snprintf(directory, PATH_MAX, "%s", self.dli_fname);
	snprintf(state.plugin, sizeof(state.plugin), "%s%s%s%s%s", directory, state.cpu[0] ? ",cpu=" : "", state.cpu,
	         state.prefix[0] ? ",prefix=" : "", state.prefix);
	slash = strrchr(directory, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

static int
install(qemu_plugin_id_t id, const char *target, int argc, char **argv)
{
	char directory[PATH_MAX], comm[COUNTS_COMM_SIZE];
	int err;

	read_options(argc, argv, comm);
	err = find_self(directory);
	if (err)
		return err;
	state.follow.calls = follow_calls_of(target);
	if (!state.follow.calls)
		return -ENOSYS;
	state.is_x86 = strcmp(target, "x86_64") == 0;
	state.counting = counting_new(directory, comm);
	if (!state.counting)
		return -errno;
	state.places = places_new(add_image, state.counting);
	if (!state.places)
		return -errno;
	state.follow.not_followed = not_followed;
	state.follow.context = state.counting;
	state.follow.emulation = (struct emulation){
		.emulator = state.emulator,
		.plugin = state.plugin,
		.cpu = state.cpu[0] ? state.cpu : NULL,
		.prefix = state.prefix[0] ? state.prefix : NULL,
	};
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
