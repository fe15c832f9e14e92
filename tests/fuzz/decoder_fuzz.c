/*
 * Code comes from files of anybody, and may be no code at all: any bytes decode into instructions whose sizes add up,
 * whose registers exist, and whose texts end. The bytes lie at the end of their memory: to read behind them is seen.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "code/decoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
check_one(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address,
          const struct instruction *instruction)
{
	char text[INSTRUCTION_TEXT_SIZE];
	struct instruction_detail detail;

	require(instruction->address == address && instruction->size > 0 && instruction->size <= size);
	require(instruction->class < CLASS_COUNT && instruction->flow <= FLOW_STOP);
	require(instruction->read_count <= INSTRUCTION_READS_MAX && instruction->write_count <= INSTRUCTION_WRITES_MAX);
	require(instruction->address_reads <= instruction->read_count);
	for (size_t i = 0; i < instruction->read_count; i++)
		require(instruction->reads[i] < REGISTER_COUNT);
	for (size_t i = 0; i < instruction->write_count; i++)
		require(instruction->writes[i] < REGISTER_COUNT);
	for (int syntax = LISTING_ATT; syntax <= LISTING_INTEL; syntax++) {
		memset(text, 'x', sizeof(text));
		decoder_text(decoder, code, size, address, (enum listing_syntax)syntax, text, sizeof(text));
		require(memchr(text, '\0', sizeof(text)) != NULL && text[0] != '\0');
		decoder_text(decoder, code, size, address, (enum listing_syntax)syntax, text, 5);
		require(memchr(text, '\0', 5) != NULL);
	}
	if (decoder_detail(decoder, code, size, address, &detail) == 0)
		require(detail.operand_count <= INSTRUCTION_OPERANDS_MAX && memchr(detail.mnemonic, '\0', 32) != NULL);
	else
		require(instruction->class == CLASS_UNKNOWN);
}

/* One decoder for all inputs: what it remembers of one must not hurt the next. */
static void
check_all(enum architecture architecture, const uint8_t *code, size_t size)
{
	static struct decoder *decoders[ARCHITECTURE_COUNT];
	struct instruction_list list = {0};
	size_t at = 0;

	if (!decoders[architecture])
		decoders[architecture] = decoder_new(architecture);
	if (!decoders[architecture] || decoder_decode(decoders[architecture], code, size, 0x401000, &list) != 0)
		return;
	for (size_t i = 0; i < list.count; i++) {
		check_one(decoders[architecture], code + at, size - at, 0x401000 + at, &list.instructions[i]);
		at += list.instructions[i].size;
	}
	require(at == size);
	instruction_list_free(&list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *code;

	if (size == 0 || size > 4096)
		return 0;
	code = malloc(size);
	if (!code)
		return 0;
	memcpy(code, data, size);
	check_all(ARCHITECTURE_X86_64, code, size);
	check_all(ARCHITECTURE_AARCH64, code, size);
	check_all(ARCHITECTURE_RISCV64, code, size);
	free(code);
	return 0;
}
