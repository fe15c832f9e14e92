#include "emulator/translation.h"

#include "emulator/guest_code.h"

static bool
is_cut_off(const struct qemu_plugin_insn *insn)
{
	return guest_code_is_cut_off(qemu_plugin_insn_vaddr(insn), qemu_plugin_insn_haddr(insn),
	                             qemu_plugin_insn_size(insn));
}

void
translation_read(const struct qemu_plugin_tb *tb, bool is_x86, struct translation *translation)
{
	const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);
	size_t count = qemu_plugin_tb_n_insns(tb);

	translation->address = qemu_plugin_insn_vaddr(insn);
	translation->bytes = qemu_plugin_insn_haddr(insn);
	translation->guest_base = (uint64_t)(uintptr_t)translation->bytes - translation->address;
	translation->size = 0;
	if (is_x86 && count > 1 && is_cut_off(qemu_plugin_tb_get_insn(tb, count - 1)))
		count--;
	if (count > CODE_BLOCK_INSTRUCTIONS_MAX)
		return;
	translation->block = (struct code_block){.type = CODE_BLOCK, .instruction_count = (uint16_t)count};
	for (size_t i = 0; i < count; i++) {
		uint8_t size;

		insn = qemu_plugin_tb_get_insn(tb, i);
		size = (uint8_t)qemu_plugin_insn_size(insn);
		translation->sizes[i] = size;
		if (i + 1 == count && is_x86 && guest_code_repeats(qemu_plugin_insn_haddr(insn), size))
			translation->block.flags |= CODE_BLOCK_REPEATS;
		translation->size += size;
	}
}
