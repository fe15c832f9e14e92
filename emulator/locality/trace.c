/*
 * trace - a plugin of QEMU's user-mode emulators that sees all data that a program refers to
 *
 * What it adds up, and the file for that, is in trace_file.h. The plugin lies, or is linked to, in the directory for
 * these files. Options: see program.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emulator/guest.h"
#include "emulator/locality/trace_file.h"
#include "emulator/locality/tracing.h"
#include "emulator/plugin_api.h"

#define LIBRARY         "libdcpi-locality.so"
#define IMAGES_MAX      64 /* that are the library, or what it may call */
#define ARCH_PRCTL      158
#define ARCH_SET_FS     0x1002
#define CALL            0xe8 /* of x86 */
#define JUMP            0xe9
#define SHORT_JUMP      0xeb
#define INDIRECT        0xff
#define INDIRECT_CALL   2 /* in its second byte */
#define IS_REX(byte)    (((byte)&0xf0) == 0x40)
#define THREAD_ARGUMENT 4 /* of clone() on x86-64: its thread pointer */

/* Of x86: segments, sizes, lock, rep. */
static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};

/* One to an emulator: its callbacks have no place for a context. */
static struct {
	struct tracing *tracing;
	struct guest guest;
	uint32_t image_count;
	struct {
		uint32_t image;
		enum trace_code code;
	} special[IMAGES_MAX];
	unsigned special_count;
	uint64_t new_thread_pointer; /* of the thread that a clone() begins */
} state;

/* ---- callbacks of code ---- */

static void
refer(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct traced_access access = {
		.address = address,
		.host = (const void *)(uintptr_t)(address + guest_base(&state.guest)),
		.bytes = UINT32_C(1) << qemu_plugin_mem_size_shift(info),
		.is_store = qemu_plugin_mem_is_store(info),
	};

	tracing_refer(state.tracing, vcpu, (uint32_t)(uintptr_t)data, &access);
}

static void
library_refers(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)data;
	if (qemu_plugin_mem_is_store(info))
		tracing_library_stores(state.tracing, vcpu, address);
}

static void
enter(unsigned vcpu, void *data)
{
	tracing_enter(state.tracing, vcpu, (uint32_t)(uintptr_t)data);
}

static void
enter_library(unsigned vcpu, void *data)
{
	(void)data;
	tracing_enter_library(state.tracing, vcpu);
}

static void
refer_unrecorded(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)vcpu;
	(void)info;
	(void)address;
	(void)data;
	process_file_count_unrecorded(tracing_file(state.tracing));
}

/* ---- translation ---- */

static enum trace_code
code_of_path(const char *path)
{
	static const char *const system[] = {"ld-", "libc.so", "libc-", "libpthread"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strcmp(name, LIBRARY) == 0)
		return TRACE_LIBRARY;
	for (unsigned i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
		if (strncmp(name, system[i], strlen(system[i])) == 0)
			return TRACE_SYSTEM;
	}
	return TRACE_PROGRAM;
}

static int
add_image(void *context, const struct record_mmap *image)
{
	const enum trace_code code = code_of_path(image->path);
	int err = process_file_add_image(context, image);

	if (err)
		return err;
	state.image_count++;
	if (code != TRACE_PROGRAM && state.special_count < IMAGES_MAX) {
		state.special[state.special_count].image = state.image_count;
		state.special[state.special_count++].code = code;
	}
	return 0;
}

static enum trace_code
code_of(uint32_t image)
{
	if (image == 0)
		return TRACE_SYSTEM;
	for (unsigned i = 0; i < state.special_count; i++) {
		if (state.special[i].image == image)
			return state.special[i].code;
	}
	return TRACE_PROGRAM;
}

/* Where the last instruction of a block leads: of x86; of others it is not known. */
static void
describe_end(const struct qemu_plugin_insn *insn, struct trace_block *described)
{
	const uint8_t *bytes = qemu_plugin_insn_haddr(insn);
	const size_t size = qemu_plugin_insn_size(insn);
	size_t at = 0;

	if (!state.guest.is_x86)
		return;
	while (at < size && (IS_REX(bytes[at]) || memchr(prefixes, bytes[at], sizeof(prefixes))))
		at++;
	if (at == size)
		return;
	described->calls = bytes[at] == CALL ||
	                   (at + 1 < size && bytes[at] == INDIRECT && (bytes[at + 1] >> 3 & 7) == INDIRECT_CALL);
	described->jumps = bytes[at] == JUMP || bytes[at] == SHORT_JUMP;
}

static void
trace_instructions(const struct qemu_plugin_tb *tb, const struct code_block *block, uint32_t first)
{
	for (uint16_t i = 0; i < block->instruction_count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		void *number = (void *)(uintptr_t)(first + i);

		qemu_plugin_register_vcpu_mem_cb(insn, refer, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, number);
	}
}

static void
trace_others(const struct qemu_plugin_tb *tb, qemu_plugin_vcpu_mem_cb_t callback)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), callback, QEMU_PLUGIN_CB_NO_REGS,
		                                 QEMU_PLUGIN_MEM_RW, NULL);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	const struct code_block *block = &translation.block;
	struct trace_block described = {.code = TRACE_PROGRAM};
	uint32_t number = 0;

	(void)id;
	translation_read(tb, state.guest.is_x86, &translation);
	guest_take_block(&state.guest, &translation);
	described.code = code_of(block->image);
	if (described.code == TRACE_LIBRARY) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_library, QEMU_PLUGIN_CB_NO_REGS, NULL);
		trace_others(tb, library_refers);
		return;
	}
	if (translation.size > 0)
		number =
			process_file_add_block(tracing_file(state.tracing), block, translation.sizes, &described.first);
	if (number) {
		described.image = block->image;
		described.offset = block->offset;
		described.end = block->offset + translation.size;
		described.count = block->instruction_count;
		describe_end(qemu_plugin_tb_get_insn(tb, block->instruction_count - 1U), &described);
		tracing_describe(state.tracing, number, &described);
		trace_instructions(tb, block, described.first);
	} else {
		trace_others(tb, refer_unrecorded);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)number);
}

/* ---- threads, system calls, processes ---- */

static void
thread_began(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	(void)tracing_begin_thread(state.tracing, vcpu, state.new_thread_pointer); /* else its references are counted */
	state.new_thread_pointer = 0;
	guest_thread_began(&state.guest);
}

static void
thread_ended(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	tracing_end_thread(state.tracing, vcpu);
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
	(void)a6;
	(void)a7;
	(void)a8;
	if (guest_call_sets_user(&state.guest, number, arguments, &user))
		process_file_give(tracing_file(state.tracing), user);
	guest_call_began(&state.guest, number, arguments);
	if (!state.guest.is_x86)
		return;
	if (number == ARCH_PRCTL && a1 == ARCH_SET_FS)
		tracing_set_thread_pointer(state.tracing, vcpu, a2);
	if (guest_call_makes_thread(&state.guest, number, a1) && (a1 & CLONE_SETTLS))
		state.new_thread_pointer = arguments[THREAD_ARGUMENT];
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
}

static void
forked(void)
{
	int err = tracing_fork(state.tracing);

	guest_forked(&state.guest);
	/* dcpiloc may have ended, and its directory with it: then nobody wants to know. */
	if (err && err != -ENOENT)
		dprintf(STDERR_FILENO, "dcpiloc: what process %d refers to is not traced: %s\n", (int)getpid(),
		        strerror(-err));
}

/* ---- the beginning ---- */

/* What the tool asks for; without that, what it asks for by default. */
static uint64_t
read_exact(const char *directory)
{
	struct trace_request request = {0};
	char path[PATH_MAX + sizeof(TRACE_REQUEST_NAME) + 1];
	int fd;

	snprintf(path, sizeof(path), "%s/" TRACE_REQUEST_NAME, directory);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return TRACE_EXACT;
	if (read(fd, &request, sizeof(request)) != (ssize_t)sizeof(request) || request.size != sizeof(request))
		request.exact = TRACE_EXACT;
	close(fd);
	return request.exact;
}

static int
install(qemu_plugin_id_t id, const char *target, int argc, char **argv)
{
	struct guest *guest = &state.guest;
	int err = guest_init(guest, target, argc, argv, (void *)(uintptr_t)qemu_plugin_install);

	if (err)
		return err;
	state.tracing =
		tracing_new(guest->started.directory, guest->started.comm, read_exact(guest->started.directory));
	if (!state.tracing)
		return -errno;
	err = guest_tell(guest, add_image, process_file_not_followed, tracing_file(state.tracing));
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
		dprintf(STDERR_FILENO, "dcpiloc: cannot trace: %s\n", strerror(-err));
	return err ? 1 : 0;
}
