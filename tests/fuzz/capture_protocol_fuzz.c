/* capture/protocol.h: any bytes as a reply, and as a request. */
#include <stdlib.h>

#include "capture/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
require_inside(const struct captured_value *value, const uint8_t *data, size_t size)
{
	const uint8_t *at = value->data;

	require(!at || (at >= data && at <= data + size && value->size <= (size_t)(data + size - at)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_request_room room;
	struct capture_request request;
	struct capture_reply reply;

	if (capture_reply_decode(data, size, &reply) == 0) {
		require_inside(&reply.captured.symbols, data, size);
		require_inside(&reply.captured.layout, data, size);
		require(reply.captured.parcel_count <= REPLY_PARCELS_MAX);
		for (size_t i = 0; i < reply.captured.parcel_count; i++)
			require_inside(&reply.parcels[i], data, size);
		require(reply.error <= 0);
	}
	if (capture_request_decode(data, size, &request, &room) == 0) {
		struct byte_writer writer = BYTE_WRITER_INIT;

		require(capture_request_encode(&request, &writer) == 0);
		writer_fini(&writer);
	}
	capture_request_fini(&room);
	return 0;
}
