/* profile/captured.h: any bytes are refused or read, and what is read is written as it was. */
#include <stdlib.h>
#include <string.h>

#include "profile/captured.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
try_parcel(const uint8_t *data, size_t size, uint8_t *bytes)
{
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	uint32_t numbers[CAPTURED_PARCEL_MAX], again[CAPTURED_PARCEL_MAX];
	struct byte_writer writer = BYTE_WRITER_INIT;
	int count = captured_parcel_decode(data, size, numbers, bytes);

	if (count < 0)
		return;
	require(captured_parcel_blocks(data, size, again) == count);
	for (int i = 0; i < count; i++)
		blocks[i] = (struct captured_block){numbers[i], bytes + (size_t)i * CAPTURED_BLOCK_SIZE};
	require(captured_parcel_encode(blocks, (size_t)count, &writer) == 0);
	require(captured_parcel_blocks(writer.data, writer.size, again) == count);
	require(memcmp(numbers, again, (size_t)count * sizeof(again[0])) == 0);
	writer_fini(&writer);
}

static void
try_layout(const uint8_t *data, size_t size)
{
	struct byte_writer writer = BYTE_WRITER_INIT, again = BYTE_WRITER_INIT;
	struct captured_layout *layout;

	if (captured_layout_decode(data, size, &layout))
		return;
	require(captured_layout_encode(layout, &writer) == 0);
	free(layout);
	require(captured_layout_decode(writer.data, writer.size, &layout) == 0);
	require(captured_layout_encode(layout, &again) == 0);
	require(writer.size == again.size && memcmp(writer.data, again.data, again.size) == 0);
	free(layout);
	writer_fini(&writer);
	writer_fini(&again);
}

static void
try_symbols(const uint8_t *data, size_t size)
{
	struct profile_symbol *symbols, *again;
	struct byte_writer writer = BYTE_WRITER_INIT;
	size_t count, same;

	if (captured_symbols_decode(data, size, &symbols, &count))
		return;
	require(captured_symbols_encode(symbols, count, &writer) == 0);
	require(captured_symbols_decode(writer.data, writer.size, &again, &same) == 0 && same == count);
	for (size_t i = 0; i < count; i++)
		require(symbols[i].offset == again[i].offset && symbols[i].size == again[i].size);
	free(symbols);
	free(again);
	writer_fini(&writer);
}

static void
try_unwind(const uint8_t *data, size_t size)
{
	struct unwind_table *table;

	if (captured_unwind_decode(data, size, &table))
		return;
	for (uint32_t i = UNWIND_BLOCK_ROWS; i < table->row_count; i += UNWIND_BLOCK_ROWS)
		require(table->blocks[i / UNWIND_BLOCK_ROWS].offset > table->blocks[i / UNWIND_BLOCK_ROWS - 1].offset);
	unwind_table_free(table);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE];

	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		try_parcel(data + 1, size - 1, bytes);
		break;
	case 1:
		try_layout(data + 1, size - 1);
		break;
	case 2:
		try_symbols(data + 1, size - 1);
		break;
	default:
		try_unwind(data + 1, size - 1);
	}
	return 0;
}
