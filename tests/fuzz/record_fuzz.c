/*
 * record_fuzz - the record decoder, the ring and the merge fed with what no kernel would write
 *
 * The first byte chooses the layout, the second where in the ring the records begin; the rest are records.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "stream/merge.h"
#include "tests/fuzz/touch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLAIN (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static const struct record_layout layouts[] = {
	{PLAIN, true},
	{PLAIN | PERF_SAMPLE_CGROUP, true},
	{PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, true},
	{PLAIN, false},
	{PERF_SAMPLE_IP, true},
	{PLAIN | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
         true},
	{PLAIN | PERF_SAMPLE_CALLCHAIN, true},
	{PLAIN | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
                 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_CGROUP,
         true, PERF_FORMAT_GROUP | PERF_FORMAT_ID, PERF_SAMPLE_BRANCH_HW_INDEX},
	{PLAIN | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT, true,
         .sample_regs_user = 0xff01ff},
};

static int
touch(void *context, uint32_t cpu, const struct record *record)
{
	size_t *bytes = context;

	(void)cpu;
	*bytes += touch_record(record);
	return 0;
}

static void
run_decoder(const struct record_layout *layout, const uint8_t *data, size_t size, size_t *bytes)
{
	while (size > 0) {
		struct record record;
		size_t consumed;
		int result = record_decode(layout, data, size, &record, &consumed);

		require(consumed <= size);
		if (result > 0) {
			require((size_t)result == consumed);
			touch(bytes, 0, &record);
		} else {
			require(result == -DCPI_EDAMAGED || consumed == 0);
		}
		if (consumed == 0)
			break;
		data += consumed;
		size -= consumed;
	}
}

/* The same bytes in a ring that begins at `start`, as much of them as it holds. */
static void
run_ring(const struct record_layout *layout, const uint8_t *data, size_t size, uint8_t start, size_t *bytes)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *header = aligned_alloc(page_size, 2 * page_size);
	struct merge *merge = merge_new();
	struct ring *ring;
	uint8_t *ring_data;

	require(header && merge);
	ring_data = (uint8_t *)header + page_size;
	memset(header, 0, 2 * page_size);
	header->data_tail = page_size - start;
	if (size > page_size)
		size = page_size;
	for (size_t i = 0; i < size; i++)
		ring_data[(header->data_tail + i) % page_size] = data[i];
	header->data_head = header->data_tail + size;
	ring = ring_over(header, 1);
	require(ring && merge_add(merge, ring, layout, 0) == 0);
	require(merge_drain(merge, UINT64_MAX, touch, bytes) == 0);
	require(header->data_tail == header->data_head);
	merge_free(merge);
	ring_free(ring);
	free(header);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct record_layout *layout;
	size_t bytes = 0;

	if (size < 2)
		return 0;
	layout = &layouts[data[0] % (sizeof(layouts) / sizeof(layouts[0]))];
	run_decoder(layout, data + 2, size - 2, &bytes);
	run_ring(layout, data + 2, size - 2, data[1], &bytes);
	return 0;
}
