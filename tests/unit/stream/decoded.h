/*
 * decoded.h - records that are decoded whole, or found damaged
 */
#ifndef DCPI_TESTS_DECODED_H
#define DCPI_TESTS_DECODED_H

#include "tests/unit/test.h"

#include <string.h>

#include "base/error.h"
#include "stream/record.h"
#include "tests/unit/stream/record_builder.h"

static const struct record_layout sideband = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
};
static const struct record_layout plain = {.sample_type = PLAIN_SAMPLE, .sample_id_all = true};

/* Decode a whole record and expect it to be whole. */
static inline struct record
decode(const struct record_layout *layout, const struct record_builder *builder)
{
	struct record record;
	size_t consumed;

	memset(&record, 0xa5, sizeof(record)); /* what the decoder does not set shows */
	assert_int_equal(record_decode(layout, builder->data, builder->size, &record, &consumed), builder->size);
	assert_int_equal(consumed, builder->size);
	return record;
}

static inline void
assert_damaged(const struct record_layout *layout, const struct record_builder *builder, size_t skip)
{
	struct record record;
	size_t consumed;

	assert_int_equal(record_decode(layout, builder->data, builder->size, &record, &consumed), -DCPI_EDAMAGED);
	assert_int_equal(consumed, skip);
}

#endif
