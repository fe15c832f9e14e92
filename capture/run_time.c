#include "capture/run_time.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "image/run_time_capture.h"

static_assert(RUN_TIME_BLOCKS_MAX <= REPLY_PARCELS_MAX, "a block is a parcel");

static int
put_symbols(const struct run_time_capture *captured, capture_put *put, void *context)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_symbols_encode(captured->symbols, captured->symbol_count, &value);

	if (!err)
		err = put(context, CAPTURE_SYMBOLS, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
put_layout(const struct run_time_capture *captured, capture_put *put, void *context)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_layout_encode(&captured->layout, &value);

	if (!err)
		err = put(context, CAPTURE_LAYOUT, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

/* Each block by itself: when another function comes to lie in it, it takes the place of what it was. */
static int
put_block(const struct captured_block *block, capture_put *put, void *context)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_parcel_encode(block, 1, &value);

	if (!err)
		err = put(context, CAPTURE_PARCEL, block->number, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
put_all(const struct run_time_capture *captured, capture_put *put, void *context)
{
	int err = put_symbols(captured, put, context);

	if (!err && captured->block_count)
		err = put_layout(captured, put, context);
	for (size_t i = 0; !err && i < captured->block_count; i++)
		err = put_block(&captured->blocks[i], put, context);
	return !err && captured->is_reused ? CAPTURE_REUSED : err;
}

int
run_time_take(const struct capture_request *request, capture_put *put, void *context, struct capture_lack *lack)
{
	static struct run_time_capture captured; /* it points into itself */
	uint32_t *blocks = calloc(request->place_count ? request->place_count : 1, sizeof(*blocks));
	struct run_time_request wish = {
		.base = request->start, .blocks = blocks, .block_count = request->place_count, .seen = request->end};
	int err;

	*lack = (struct capture_lack){0};
	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < request->place_count; i++)
		blocks[i] = request->places[i].block;
	err = run_time_capture(RUN_TIME_FILE, &wish, &captured);
	if (!err) {
		lack->is_cut = run_time_code_is_cut(captured.code);
		lack->misunderstood = run_time_code_complaints(captured.code);
		err = put_all(&captured, put, context);
		run_time_capture_fini(&captured);
	}
	free(blocks);
	return err;
}
