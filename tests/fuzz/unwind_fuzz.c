/*
 * unwind_fuzz - any registers, stack and rules
 *
 * The input: the size of the table (two bytes, big-endian) and its bytes; how many registers (one byte; the others are
 * not known), and eight bytes of each; the stack. The stack pointer is where the stack was copied from. Code is all
 * over memory, of each kind.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "unwind/unwind.h"

#define FRAMES 128
#define STACK  UINT64_C(0x7fff00000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum unwind_code
find(void *context, uint64_t pc, const struct unwind_table **table, uint64_t *offset)
{
	*table = context;
	*offset = pc & 0xffff;
	return (enum unwind_code)(pc < 0x10000 ? UNWIND_CODE_TABLE : pc >> 16 & 3);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_registers registers = {0};
	struct unwind_process process = {.find = find};
	struct unwind_frame frames[FRAMES];
	struct unwind_stack stack;
	struct unwind_table *table;
	struct byte_reader reader;
	const uint8_t *bytes;
	enum unwind_end end;
	uint16_t table_size;
	size_t count;
	uint8_t known;

	reader_init(&reader, data, size);
	table_size = read_u16_be(&reader);
	bytes = read_bytes(&reader, table_size);
	if (!bytes || unwind_table_load(bytes, table_size, &table))
		return 0;
	process.machine = table->machine;
	process.context = table;
	known = read_u8(&reader);
	for (unsigned i = 0; i < known && i < UNWIND_REGISTERS && reader_left(&reader) >= sizeof(uint64_t); i++) {
		registers.values[i] = read_u64_native(&reader);
		registers.known |= UINT64_C(1) << i;
	}
	/* without a pc there is nothing to try */
	registers.known |= table->machine == UNWIND_X86_64 ? 1 << UNWIND_X86_64_RIP : UINT64_C(1) << UNWIND_AARCH64_PC;
	registers.values[table->machine == UNWIND_X86_64 ? UNWIND_X86_64_RSP : UNWIND_AARCH64_SP] = STACK;
	stack = (struct unwind_stack){STACK, reader.at, reader_left(&reader)};
	end = unwind_stack(&process, &registers, &stack, frames, FRAMES, &count);
	if (count > FRAMES || !unwind_end_name(end) || (end == UNWIND_DEPTH_LIMIT && count != FRAMES))
		abort();
	unwind_table_free(table);
	return 0;
}
