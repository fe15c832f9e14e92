#include "profile/counts.h"

#include "base/error.h"
#include "profile/codec.h"

static void
put_be(uint8_t *data, uint32_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

void
counts_key_encode(const struct counts_key *key, uint8_t data[COUNTS_KEY_SIZE])
{
	put_be(data, key->slice, 4);
	put_be(data + 4, key->event, 2);
	put_be(data + 6, key->image, 4);
	put_be(data + 10, key->context, 4);
	put_be(data + 14, key->block, 4);
}

static uint32_t
get_be(const uint8_t *data, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | data[i];
	return value;
}

/* By hand and not by a byte_reader: a selection decodes every key of its slices. */
int
counts_key_decode(const void *data, size_t size, struct counts_key *key)
{
	const uint8_t *bytes = data;

	if (size != COUNTS_KEY_SIZE)
		return -DCPI_EDAMAGED;
	key->slice = get_be(bytes, 4);
	key->event = (uint16_t)get_be(bytes + 4, 2);
	key->image = get_be(bytes + 6, 4);
	key->context = get_be(bytes + 10, 4);
	key->block = get_be(bytes + 14, 4);
	return 0;
}

void
counts_encode(const struct counts_pair *pairs, size_t count, struct byte_writer *writer)
{
	uint16_t before = 0;

	write_u8(writer, FORMAT_1);
	for (size_t i = 0; i < count; i++) {
		write_varint(writer, (uint16_t)(pairs[i].offset - before));
		write_varint(writer, pairs[i].count);
		before = pairs[i].offset;
	}
}

int
counts_decode(const void *data, size_t size, struct counts_pair *pairs)
{
	struct byte_reader reader;
	uint64_t offset = 0;
	int count = 0;

	reader_init(&reader, data, size);
	read_format(&reader);
	while (!reader.failed && reader.at < reader.end) {
		uint64_t distance = read_varint_below(&reader, COUNTS_BLOCK_SIZE);
		uint64_t samples = read_small(&reader);

		offset += distance;
		if (offset >= COUNTS_BLOCK_SIZE || (distance == 0 && count > 0) || samples == 0)
			return -DCPI_EDAMAGED;
		pairs[count].offset = (uint16_t)offset;
		pairs[count].count = samples;
		count++;
	}
	return reader.failed || count == 0 ? -DCPI_EDAMAGED : count;
}

size_t
counts_merge(const struct counts_pair *a, size_t a_count, const struct counts_pair *b, size_t b_count,
             struct counts_pair *sum)
{
	size_t i = 0, j = 0, count = 0;

	while (i < a_count && j < b_count) {
		if (a[i].offset < b[j].offset) {
			sum[count++] = a[i++];
		} else if (a[i].offset > b[j].offset) {
			sum[count++] = b[j++];
		} else {
			sum[count] = a[i++];
			sum[count].count = add_saturating(sum[count].count, b[j++].count);
			count++;
		}
	}
	while (i < a_count)
		sum[count++] = a[i++];
	while (j < b_count)
		sum[count++] = b[j++];
	return count;
}
