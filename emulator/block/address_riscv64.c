/* See address.h. */
#include "code/riscv64.h"
#include "emulator/block/address.h"

static uint8_t
register_of(unsigned number)
{
	return number ? (uint8_t)number : REGISTER_NONE;
}

void
address_form_riscv64(const uint8_t *bytes, const struct instruction *instruction, struct address_form *form)
{
	uint32_t word;

	if (riscv64_word(bytes, instruction->size, &word) != instruction->size)
		return;
	switch (word & 0x7f) {
	case 0x03: /* loads */
	case 0x07:
		address_form_set(form, register_of(riscv64_rs1(word)), riscv64_load_offset(word));
		break;
	case 0x23: /* stores */
	case 0x27:
		address_form_set(form, register_of(riscv64_rs1(word)), riscv64_store_offset(word));
		break;
	case 0x13: /* addi */
		if ((word >> 12 & 7) == 0 && riscv64_rd(word))
			address_form_change(form, (uint8_t)riscv64_rd(word), register_of(riscv64_rs1(word)),
			                    riscv64_load_offset(word));
		break;
	case 0x33: /* add of zero: a compressed move */
		if ((word & 0xfe00707f) == 0x33 && !riscv64_rs1(word) && riscv64_rd(word))
			address_form_change(form, (uint8_t)riscv64_rd(word), register_of(riscv64_rs2(word)), 0);
		break;
	case 0x17: /* auipc */
		if (riscv64_rd(word))
			address_form_change(form, (uint8_t)riscv64_rd(word), REGISTER_NONE,
			                    (int64_t)instruction->address + (int32_t)(word & 0xfffff000));
		break;
	case 0x37: /* lui */
		if (riscv64_rd(word))
			address_form_change(form, (uint8_t)riscv64_rd(word), REGISTER_NONE,
			                    (int32_t)(word & 0xfffff000));
		break;
	default:
		break;
	}
}
