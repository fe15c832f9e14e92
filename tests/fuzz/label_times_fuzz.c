/* profile/label_times.h: what is read is written as it was, and any bytes are either refused or read. */
#include <stdlib.h>
#include <string.h>

#include "profile/label_times.h"
#include "tests/fuzz/touch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
run_key(const uint8_t *data, size_t size)
{
	uint8_t again[LABEL_TIMES_KEY_MAX];
	struct label_times_key key;

	if (label_times_key_decode(data, size, &key))
		return;
	require(label_times_key_encode(key.slice, key.label, again) == size);
	require(memcmp(again, data, size) == 0);
}

static void
run_value(const uint8_t *data, size_t size)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_label_time time, again;

	if (label_time_decode(data, size, &time))
		return;
	require(time.begin_ns <= time.end_ns && time.elapsed_ns > 0);
	label_time_encode(&time, &writer);
	require(label_time_decode(writer.data, writer.size, &again) == 0);
	require(again.begin_ns == time.begin_ns && again.end_ns == time.end_ns && again.elapsed_ns == time.elapsed_ns);
	label_time_merge(&again, &time);
	require(again.elapsed_ns >= time.elapsed_ns);
	writer_fini(&writer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_key(data, size);
	run_value(data, size);
	return 0;
}
