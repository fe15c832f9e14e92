/*
 * profile_fuzz - every decoder of the database's keys and values
 *
 * The first byte chooses the decoder. What it accepts is encoded and decoded again, and must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/captured.h"
#include "profile/counts.h"
#include "profile/epoch.h"
#include "profile/ids.h"
#include "profile/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
require_same(struct byte_writer *a, struct byte_writer *b)
{
	require(!a->failed && !b->failed && a->size == b->size);
	require(a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
	writer_fini(a);
	writer_fini(b);
}

static void
run_epoch(const uint8_t *data, size_t size)
{
	struct byte_writer first = BYTE_WRITER_INIT, second = BYTE_WRITER_INIT;
	struct epoch epoch;

	if (epoch_decode(1, data, size, &epoch))
		return;
	epoch_encode(&epoch, &first);
	require(epoch_decode(1, first.data, first.size, &epoch) == 0);
	epoch_encode(&epoch, &second);
	require_same(&first, &second);
}

static void
run_slice(const uint8_t *data, size_t size)
{
	struct byte_writer first = BYTE_WRITER_INIT, second = BYTE_WRITER_INIT;
	struct slice slice, again;

	if (slice_decode(1, data, size, &slice))
		return;
	slice_encode(&slice, &first);
	require(slice_decode(1, first.data, first.size, &again) == 0);
	slice_encode(&again, &second);
	require_same(&first, &second);
	require(slice_add(&slice, &again) == 0);
	require(slice.cpu_count == again.cpu_count); /* the same CPUs */
	slice_encode(&slice, &first);
	slice_fini(&again);
	require(slice_decode(1, first.data, first.size, &again) == 0);
	slice_fini(&again);
	slice_fini(&slice);
	writer_fini(&first);
}

static void
run_counts(const uint8_t *data, size_t size)
{
	static struct counts_pair pairs[COUNTS_BLOCK_SIZE], again[COUNTS_BLOCK_SIZE], sum[COUNTS_BLOCK_SIZE];
	struct byte_writer writer = BYTE_WRITER_INIT;
	int count = counts_decode(data, size, pairs);

	if (count < 0)
		return;
	counts_encode(pairs, (size_t)count, &writer);
	require(counts_decode(writer.data, writer.size, again) == count);
	for (int i = 0; i < count; i++)
		require(pairs[i].offset == again[i].offset && pairs[i].count == again[i].count);
	require(counts_merge(pairs, (size_t)count, again, (size_t)count, sum) == (size_t)count);
	writer_fini(&writer);
}

static void
run_image(const uint8_t *data, size_t size)
{
	struct byte_writer first = BYTE_WRITER_INIT, second = BYTE_WRITER_INIT;
	struct image_record record;

	if (image_record_decode(data, size, &record))
		return;
	image_record_encode(&record.image, record.has_roots_names, &first);
	require(image_record_decode(first.data, first.size, &record) == 0);
	image_record_encode(&record.image, record.has_roots_names, &second);
	require_same(&first, &second);
	image_record_identity(&record.image, &first);
	require(first.size > 0);
	writer_fini(&first);
}

static void
run_context(const uint8_t *data, size_t size)
{
	struct byte_writer first = BYTE_WRITER_INIT, second = BYTE_WRITER_INIT;
	struct context_record record;

	if (context_record_decode(data, size, &record))
		return;
	context_record_encode(&record.context, &first);
	require(context_record_decode(first.data, first.size, &record) == 0);
	context_record_encode(&record.context, &second);
	require_same(&first, &second);
}

/* Code without a name has NULL. */
static bool
is_same_symbol(const struct profile_symbol *a, const struct profile_symbol *b)
{
	if (a->offset != b->offset || a->size != b->size || !a->name != !b->name)
		return false;
	return !a->name || strcmp(a->name, b->name) == 0;
}

static void
run_symbols(const uint8_t *data, size_t size)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_symbol *symbols, *again;
	size_t count, count_again;

	if (captured_symbols_decode(data, size, &symbols, &count))
		return;
	require(captured_symbols_encode(symbols, count, &writer) == 0);
	require(captured_symbols_decode(writer.data, writer.size, &again, &count_again) == 0);
	require(count == count_again);
	for (size_t i = 0; i < count; i++)
		require(is_same_symbol(&symbols[i], &again[i]));
	writer_fini(&writer);
	free(symbols);
	free(again);
}

static void
run_keys(const uint8_t *data, size_t size)
{
	uint8_t counts_data[COUNTS_KEY_SIZE], id_data[RECORD_ID_SIZE];
	struct counts_key counts_key;
	uint32_t number;
	uint64_t hash;

	if (counts_key_decode(data, size, &counts_key) == 0) {
		counts_key_encode(&counts_key, counts_data);
		require(size == sizeof(counts_data) && memcmp(data, counts_data, size) == 0);
	}
	if (record_id_decode(data, size, &hash, &number) == 0) {
		record_id_encode(hash, number, id_data);
		require(size == sizeof(id_data) && memcmp(data, id_data, size) == 0);
	}
	(void)store_key_number(&(MDB_val){size, (void *)data}, &number);
	if (size > 0 && data[0] < size)
		(void)store_meta_decode(data + 1, data[0], data + 1 + data[0], size - 1 - data[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const runs[])(const uint8_t *data, size_t size) = {
		run_epoch, run_slice, run_counts, run_image, run_context, run_symbols, run_keys,
	};

	if (size > 0 && data[0] < sizeof(runs) / sizeof(runs[0]))
		runs[data[0]](data + 1, size - 1);
	return 0;
}
