/*
 * trace_plugin - every fetch, load and store of a program, as its instructions do them
 *
 * A plugin for the emulators, alone or beside another one; option out=FILE, a fifo perhaps. It writes a struct
 * trace_record for each instruction and each access of the first thread, in their order. Nothing of emulator/ is in it
 * but the declarations of the interface.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/plugin_api.h"
#include "tests/system/trace_record.h"

#define RECORDS 8192

static struct {
	int fd;
	size_t count;
	struct trace_record records[RECORDS];
} state = {.fd = -1};

static void
flush(void)
{
	const char *at = (const char *)state.records;
	size_t left = state.count * sizeof(state.records[0]);

	while (left > 0) {
		const ssize_t written = write(state.fd, at, left);

		if (written <= 0)
			break;
		at += written;
		left -= (size_t)written;
	}
	state.count = 0;
}

static void
add(uint64_t address, uint8_t size, char kind)
{
	state.records[state.count++] = (struct trace_record){.address = address, .size = size, .kind = kind};
	if (state.count == RECORDS)
		flush();
}

static void
executed(unsigned vcpu, void *data)
{
	const struct trace_record *instruction = data;

	if (vcpu == 0)
		add(instruction->address, instruction->size, TRACE_FETCH);
}

static void
accessed(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)data;
	if (vcpu == 0)
		add(address, (uint8_t)(1u << qemu_plugin_mem_size_shift(info)),
		    qemu_plugin_mem_is_store(info) ? TRACE_STORE : TRACE_LOAD);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	const size_t count = qemu_plugin_tb_n_insns(tb);
	struct trace_record *instructions = calloc(count, sizeof(*instructions)); /* as long as the emulator runs */

	(void)id;
	for (size_t i = 0; i < count && instructions; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		instructions[i] = (struct trace_record){.address = qemu_plugin_insn_vaddr(insn),
		                                        .size = (uint8_t)qemu_plugin_insn_size(insn)};
		qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS, &instructions[i]);
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
	}
}

static void
ended(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	flush();
	close(state.fd);
}

PLUGIN_EXPORT int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "out=", 4) == 0)
			state.fd = open(argv[i] + 4, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (state.fd < 0)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
