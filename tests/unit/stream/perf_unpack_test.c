#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "stream/perf_unpack.h"

#define LARGE ((size_t)8 << 20)

/* Bytes that pack well, far more of them than fit the room for unpacked ones. */
static void
all_of_a_record_that_unpacks_to_megabytes_comes(void **state)
{
	struct perf_unpack *unpack = perf_unpack_new();
	uint8_t *plain = calloc(1, LARGE), packed[4096], *bytes;
	size_t size, waiting;

	(void)state;
	assert_true(unpack && plain);
	for (size_t i = 0; i < LARGE; i += 65536)
		plain[i] = (uint8_t)(i >> 16);
	size = ZSTD_compress(packed, sizeof(packed), plain, LARGE, 1);
	assert_false(ZSTD_isError(size));
	perf_unpack_put(unpack, packed, size);
	for (size_t at = 0; at < LARGE; at += 32768) {
		assert_int_equal(perf_unpack_need(unpack, 32768, &bytes, &waiting), 0);
		assert_true(waiting >= 32768);
		assert_memory_equal(bytes, plain + at, 32768);
		perf_unpack_skip(unpack, 32768);
	}
	assert_int_equal(perf_unpack_need(unpack, 1, &bytes, &waiting), 0);
	assert_int_equal(waiting, 0);
	free(plain);
	perf_unpack_free(unpack);
}

static void
what_is_not_there_yet_waits_for_the_next_record(void **state)
{
	struct perf_unpack *unpack = perf_unpack_new();
	ZSTD_CStream *stream = ZSTD_createCStream();
	uint8_t packed[2][256], *bytes;
	size_t sizes[2], waiting;

	(void)state;
	assert_true(unpack && stream);
	for (int i = 0; i < 2; i++) {
		ZSTD_inBuffer in = {i ? "efgh" : "abcd", 4, 0};
		ZSTD_outBuffer out = {packed[i], sizeof(packed[i]), 0};

		assert_false(ZSTD_isError(ZSTD_compressStream(stream, &out, &in)));
		assert_false(ZSTD_isError(ZSTD_flushStream(stream, &out)));
		sizes[i] = out.pos;
	}
	ZSTD_freeCStream(stream);
	perf_unpack_put(unpack, packed[0], sizes[0]);
	assert_int_equal(perf_unpack_need(unpack, 6, &bytes, &waiting), 0);
	assert_int_equal(waiting, 4);
	perf_unpack_put(unpack, packed[1], sizes[1]);
	assert_int_equal(perf_unpack_need(unpack, 6, &bytes, &waiting), 0);
	assert_int_equal(waiting, 8);
	assert_memory_equal(bytes, "abcdefgh", 8);
	perf_unpack_free(unpack);
}

static void
what_is_not_packed_is_damage(void **state)
{
	struct perf_unpack *unpack = perf_unpack_new();
	uint8_t *bytes;
	size_t waiting;

	(void)state;
	assert_non_null(unpack);
	perf_unpack_put(unpack, "anything", 8);
	assert_int_equal(perf_unpack_need(unpack, 8, &bytes, &waiting), -DCPI_EDAMAGED);
	perf_unpack_free(unpack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_record_that_unpacks_to_megabytes_comes),
		cmocka_unit_test(what_is_not_there_yet_waits_for_the_next_record),
		cmocka_unit_test(what_is_not_packed_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
