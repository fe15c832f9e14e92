#include "emulator/block/address.h"

void
address_form_set(struct address_form *form, uint8_t base, int64_t displacement)
{
	form->is_known = true;
	form->base = base;
	form->displacement = displacement;
}

void
address_form_change(struct address_form *form, uint8_t reg, uint8_t from, int64_t amount)
{
	if (form->change_count < ADDRESS_CHANGES_MAX)
		form->changes[form->change_count++] =
			(struct address_change){.reg = reg, .from = from, .amount = amount};
}

void
address_form_fill(enum architecture architecture, const struct encoded_instruction *encoded,
                  const struct instruction *instruction, struct address_form *form)
{
	*form = (struct address_form){.base = REGISTER_NONE, .index = REGISTER_NONE, .scale = 1};
	switch (architecture) {
	case ARCHITECTURE_X86_64:
		address_form_x86_64(encoded, instruction, form);
		break;
	case ARCHITECTURE_AARCH64:
		address_form_aarch64(encoded->bytes, instruction, form);
		break;
	case ARCHITECTURE_RISCV64:
		address_form_riscv64(encoded->bytes, instruction, form);
		break;
	default:
		break;
	}
	if (!instruction->loads && !instruction->stores)
		form->is_known = false;
}
