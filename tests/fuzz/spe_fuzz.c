/*
 * spe_fuzz - memory/spe.h: bytes that no processor would write
 *
 * The first byte says how the rest is cut into windows: what is decoded must not depend on it. Behind the bytes, a
 * whole record after padding is always found.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/data_source.h"
#include "memory/spe.h"
#include "tests/fuzz/touch_record.h"

#define PADDING 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All records of the bytes, in windows of `step` bytes; a digest of them. */
static uint64_t
decode(const uint8_t *bytes, size_t size, size_t step, struct spe_decoder *decoder, struct spe_record *last)
{
	uint64_t digest = 0;
	size_t begin = 0;

	spe_decoder_init(decoder, 0);
	for (size_t end = 0; end < size;) {
		const size_t window = size - end < step ? size - end : step;
		struct record sample;
		uint8_t *copy;

		end += window;
		copy = malloc(end - begin);
		require(copy != NULL);
		memcpy(copy, bytes + begin, end - begin);
		spe_decoder_put(decoder, copy, end - begin);
		while (spe_decoder_next(decoder, last)) {
			const struct spe_record *record = last;

			digest = digest * 31 + record->time + record->pc + record->virtual_address + record->events +
			         record->has + record->context + record->source + record->operation;
			if (spe_sample(record, record->time & 1 ? 0x413fd0c1 : 0, &sample)) {
				struct data_source_access access;

				require(sample.sample.data_source != 0);
				(void)data_source_access(sample.sample.data_source, &access);
			}
		}
		require(spe_decoder_left(decoder) < SPE_PACKET_MAX);
		begin = end - spe_decoder_left(decoder);
		spe_decoder_put(decoder, bytes + begin, end - begin);
		free(copy);
	}
	spe_decoder_end(decoder);
	return digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t whole[] = {0x49, 0x01, 0xb2, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x71, 7, 0, 0, 0, 0, 0, 0, 0};
	struct spe_decoder decoder, cut;
	struct spe_record record, last;
	uint8_t *bytes;
	size_t total;

	if (size < 1)
		return 0;
	total = size - 1 + PADDING + 2 * sizeof(whole);
	bytes = calloc(total, 1);
	require(bytes != NULL);
	memcpy(bytes, data + 1, size - 1);
	memcpy(bytes + size - 1 + PADDING, whole, sizeof(whole));
	memcpy(bytes + total - sizeof(whole), whole, sizeof(whole));
	require(decode(bytes, total, total, &decoder, &last) == decode(bytes, total, 1 + data[0], &cut, &record));
	require(decoder.records == cut.records && decoder.damaged == cut.damaged && decoder.skipped == cut.skipped);
	/* the first of the two may belong to a damaged record */
	require(decoder.records && spe_is_store(&last) && last.virtual_address == 0x40 && last.time == 7);
	free(bytes);
	return 0;
}
