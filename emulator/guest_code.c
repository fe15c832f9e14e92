#include "emulator/guest_code.h"

#include "code/x86_64_encoding.h"

#define GUEST_PAGE 4096

bool
guest_code_repeats(const uint8_t *code, size_t size)
{
	bool has_prefix = false;

	for (size_t i = 0; i < size; i++) {
		const uint8_t byte = code[i];

		if (byte == 0xf2 || byte == 0xf3)
			has_prefix = true;
		else if ((byte >= 0x6c && byte <= 0x6f) || (byte >= 0xa4 && byte <= 0xa7) ||
		         (byte >= 0xaa && byte <= 0xaf))
			return has_prefix;
		else if (byte != 0x66 && byte != 0x67 && byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 &&
		         byte != 0x64 && byte != 0x65 && (byte & 0xf0) != 0x40)
			return false;
	}
	return false;
}

bool
guest_code_is_cut_off(uint64_t address, const uint8_t *code, size_t size)
{
	const uint64_t left = GUEST_PAGE - address % GUEST_PAGE;
	struct x86_encoding encoding;

	return left < X86_LONGEST && x86_encoding_parse(code, size, &encoding) < 0;
}
