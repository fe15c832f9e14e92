#include "stream/perf_unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"

#define ROOM ((size_t)256 << 10)

struct perf_unpack {
	ZSTD_DStream *stream;
	ZSTD_inBuffer packed;
	size_t at, end; /* of what waits in `bytes` */
	uint8_t bytes[ROOM];
};

struct perf_unpack *
perf_unpack_new(void)
{
	struct perf_unpack *unpack = calloc(1, sizeof(*unpack));

	if (!unpack)
		return NULL;
	unpack->stream = ZSTD_createDStream();
	if (unpack->stream)
		return unpack;
	free(unpack);
	errno = ENOMEM;
	return NULL;
}

void
perf_unpack_free(struct perf_unpack *unpack)
{
	if (!unpack)
		return;
	ZSTD_freeDStream(unpack->stream);
	free(unpack);
}

void
perf_unpack_put(struct perf_unpack *unpack, const void *packed, size_t size)
{
	unpack->packed = (ZSTD_inBuffer){packed, size, 0};
}

/* Fill what is free. 0 when nothing more came, 1 when something did, or -DCPI_EDAMAGED. */
static int
unpack_more(struct perf_unpack *unpack)
{
	ZSTD_outBuffer room;
	size_t result;

	memmove(unpack->bytes, unpack->bytes + unpack->at, unpack->end - unpack->at);
	unpack->end -= unpack->at;
	unpack->at = 0;
	room = (ZSTD_outBuffer){unpack->bytes, ROOM, unpack->end};
	result = ZSTD_decompressStream(unpack->stream, &room, &unpack->packed);
	if (ZSTD_isError(result))
		return -DCPI_EDAMAGED;
	if (room.pos == unpack->end)
		return 0;
	unpack->end = room.pos;
	return 1;
}

int
perf_unpack_need(struct perf_unpack *unpack, size_t size, uint8_t **bytes, size_t *waiting)
{
	while (unpack->end - unpack->at < size) {
		int more = unpack_more(unpack);

		if (more < 0)
			return more;
		if (more == 0)
			break;
	}
	*bytes = unpack->bytes + unpack->at;
	*waiting = unpack->end - unpack->at;
	return 0;
}

void
perf_unpack_skip(struct perf_unpack *unpack, size_t size)
{
	unpack->at += size;
}
