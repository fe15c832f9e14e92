/*
 * blocks_plugin - is what emulator/block/ says of instructions what the emulator does?
 *
 * A plugin for the emulators; options out=FILE and machine=NUMBER (EM_...). Every access of blocks that are executed is
 * compared with what block.h says: whether the instruction loads and stores, how many callbacks it has, where each of a
 * group's members is from its leader, whether all members are accessed when the leader is, that nobody is outside of
 * what the leader's callbacks reported, and that what updates has one callback when asked for half of them. Of threads
 * that come later nothing is looked at. A guest that gets signals looks wrong: of the instruction before one the
 * emulator tells that it writes the signal's frame.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/block/block.h"
#include "emulator/translation.h"

/* An instruction's own data for its callback. */
struct watched_instruction {
	const struct block *block;
	uint16_t index;
};

/* An instruction of the block that is executed. */
struct seen_instruction {
	uint64_t address;  /* of the first callback */
	uint64_t from, to; /* of a leader: what its callbacks reported */
	unsigned loads, stores, updates;
};

static struct {
	char out[4096];
	uint16_t machine;
	struct blocks *blocks;
	uint32_t block_count;
	const struct block *block; /* that is executed */
	struct seen_instruction seen[BLOCK_INSTRUCTIONS_MAX];
	uint64_t executions, accesses, saved; /* saved: callbacks of members */
	uint64_t updates;
	uint64_t elsewhere, outside, missing, unexpected, number, size; /* what is wrong */
	uint64_t first_wrong;                                           /* its address */
} state;

static void
wrong(uint64_t *count, unsigned index)
{
	if (!state.first_wrong)
		state.first_wrong = state.block->address + state.block->instructions[index].offset;
	(*count)++;
}

static bool
has_known_count(const struct block_instruction *instruction)
{
	return instruction->leader != BLOCK_ALONE || instruction->reads_beyond;
}

/* How many callbacks block.h says that it has. */
static bool
has_all(const struct block_instruction *instruction, const struct seen_instruction *seen)
{
	const unsigned bytes = instruction->reads_beyond ? block_beyond_bytes(instruction) : instruction->access_size;
	const unsigned each = bytes / instruction->callback_size;

	return seen->loads == (instruction->loads ? each : 0) && seen->stores == (instruction->stores ? each : 0);
}

/* A load and a store of the same bytes, or it was left by a signal. */
static bool
has_updated(const struct seen_instruction *seen)
{
	return seen->loads == seen->stores && seen->stores == seen->updates && seen->updates < 2;
}

static bool
is_seen(const struct seen_instruction *seen)
{
	return seen->loads || seen->stores;
}

/* The block before is over. */
static void
check_block(void)
{
	for (unsigned i = 0; state.block && i < state.block->count; i++) {
		const struct block_instruction *instruction = &state.block->instructions[i];
		const struct seen_instruction *seen = &state.seen[i];

		if (instruction->updates && !has_updated(seen))
			wrong(&state.number, i);
		if (!has_known_count(instruction))
			continue;
		if (!is_seen(seen)) {
			if (instruction->leader != BLOCK_ALONE && is_seen(&state.seen[instruction->leader]))
				wrong(&state.missing, i);
		} else if (!has_all(instruction, seen)) {
			wrong(&state.number, i);
		}
	}
}

static void
enter_block(unsigned vcpu, void *data)
{
	if (vcpu != 0)
		return;
	check_block();
	state.executions++;
	state.block = data;
	memset(state.seen, 0, state.block->count * sizeof(state.seen[0]));
}

static void
check_member(const struct block_instruction *instruction, unsigned index, uint64_t address, unsigned size)
{
	const struct seen_instruction *leader = &state.seen[instruction->leader];
	const struct seen_instruction *seen = &state.seen[index];
	const unsigned needed =
		instruction->reads_beyond && instruction->access_size < size ? instruction->access_size : size;
	const bool is_beyond = instruction->reads_beyond && address - seen->address >= instruction->access_size;

	state.saved++;
	if (seen->address != leader->address + (uint64_t)(int64_t)instruction->displacement)
		wrong(&state.elsewhere, index);
	if (!is_beyond && (address < leader->from || address + needed > leader->to))
		wrong(&state.outside, index);
}

/* Conditional stores, and what saves or loads the processor's state. */
static bool
may_do_more(const struct block_instruction *instruction)
{
	return instruction->is_atomic || instruction->class == CLASS_SYSTEM;
}

static void
check_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct watched_instruction *watched = data;
	const struct block_instruction *instruction = &watched->block->instructions[watched->index];
	struct seen_instruction *seen = &state.seen[watched->index];
	const bool is_store = qemu_plugin_mem_is_store(info);

	if (vcpu != 0 || watched->block != state.block)
		return;
	state.accesses++;
	if (!is_seen(seen))
		*seen = (struct seen_instruction){.address = address, .from = UINT64_MAX};
	if (instruction->updates &&
	    (seen->address != address || 1u << qemu_plugin_mem_size_shift(info) != instruction->access_size))
		wrong(&state.elsewhere, watched->index);
	if (instruction->callback_size && instruction->may_access && !may_do_more(instruction) &&
	    1u << qemu_plugin_mem_size_shift(info) != instruction->callback_size)
		wrong(&state.size, watched->index);
	seen->loads += !is_store;
	seen->stores += is_store;
	if (!instruction->may_access ||
	    (!may_do_more(instruction) && (is_store ? !instruction->stores : !instruction->loads)))
		wrong(&state.unexpected, watched->index);
	if (instruction->leader == watched->index) {
		const uint64_t from = address + (uint64_t)(int64_t)instruction->group_from;
		const uint64_t to = address + (uint64_t)(int64_t)instruction->group_to;

		seen->from = from < seen->from ? from : seen->from;
		seen->to = to > seen->to ? to : seen->to;
	} else if (instruction->leader != BLOCK_ALONE) {
		check_member(instruction, watched->index, address, 1u << qemu_plugin_mem_size_shift(info));
	}
}

static void
check_update(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct watched_instruction *watched = data;

	(void)info;
	(void)address;
	if (vcpu != 0 || watched->block != state.block)
		return;
	state.updates++;
	state.seen[watched->index].updates++;
}

static void
leave_block(unsigned vcpu, void *data)
{
	(void)data;
	if (vcpu != 0)
		return;
	check_block();
	state.block = NULL;
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	const struct block *block = NULL;
	struct watched_instruction *watched;

	(void)id;
	translation_read(tb, state.machine == EM_X86_64, &translation);
	if (translation.size)
		block = blocks_add(state.blocks, translation.address, translation.bytes, translation.sizes,
		                   translation.block.instruction_count, ++state.block_count, 1);
	watched = block ? calloc(block->count, sizeof(*watched)) : NULL; /* as long as the emulator runs */
	if (!watched) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, leave_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_block, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)block);
	for (uint16_t i = 0; i < block->count; i++) {
		watched[i] = (struct watched_instruction){.block = block, .index = i};
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), check_access, QEMU_PLUGIN_CB_NO_REGS,
		                                 QEMU_PLUGIN_MEM_RW, &watched[i]);
		if (block->instructions[i].updates)
			qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), check_update,
			                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R, &watched[i]);
	}
}

static void
ended(qemu_plugin_id_t id, void *data)
{
	int fd = open(state.out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)id;
	(void)data;
	if (fd < 0)
		return;
	dprintf(fd,
	        "executions %" PRIu64 " accesses %" PRIu64 " saved %" PRIu64 " updates %" PRIu64 " elsewhere %" PRIu64
	        " outside %" PRIu64 " missing %" PRIu64 " unexpected %" PRIu64 " number %" PRIu64 " size %" PRIu64
	        " first %" PRIx64 "\n",
	        state.executions, state.accesses, state.saved, state.updates, state.elsewhere, state.outside,
	        state.missing, state.unexpected, state.number, state.size, state.first_wrong);
	close(fd);
}

PLUGIN_EXPORT int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	static struct pipeline pipeline = {.kind = PIPELINE_KIND_OUT_OF_ORDER, .issue_width = 4, .taken_branches = 1};

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0)
			snprintf(state.out, sizeof(state.out), "%s", argv[i] + 4);
		if (strncmp(argv[i], "machine=", 8) == 0)
			state.machine = (uint16_t)strtoul(argv[i] + 8, NULL, 10);
	}
	state.blocks = blocks_new(&pipeline, state.machine,
	                          qemu_plugin_version == PLUGIN_API_FIRST ? BLOCK_CALLBACKS_8 : BLOCK_CALLBACKS_16);
	if (!state.blocks)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
