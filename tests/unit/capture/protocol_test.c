/* Tests of capture/protocol.h: requests and replies as bytes. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "capture/protocol.h"

static void
a_request_arrives_as_it_was_sent(void **state)
{
	static const struct request_place places[] = {{5, 0x8001}, {70000, UINT64_MAX}};
	static const uint32_t known[] = {1, 2, 4000000000};
	const struct capture_request request = {
		.image = {.kind = IMAGE_USER,
	                  .build_id = {1, 2, 3},
	                  .build_id_size = 3,
	                  .device_major = 8,
	                  .device_minor = 1,
	                  .inode = UINT64_MAX,
	                  .inode_generation = 77,
	                  .deleted = true,
	                  .path = "/usr/bin/gzip"},
		.pid = 4000000000,
		.start = 0x7f0000000000,
		.end = 0x7f0000001000,
		.names = true,
		.unwind = true,
		.places = places,
		.place_count = 2,
		.known = known,
		.known_count = 3,
	};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_request_room room;
	struct capture_request back;

	(void)state;
	assert_int_equal(capture_request_encode(&request, &writer), 0);
	assert_int_equal(capture_request_decode(writer.data, writer.size, &back, &room), 0);
	assert_int_equal(back.image.kind, IMAGE_USER);
	assert_int_equal(back.image.build_id_size, 3);
	assert_memory_equal(back.image.build_id, request.image.build_id, 3);
	assert_int_equal(back.image.device_major, 8);
	assert_int_equal(back.image.device_minor, 1);
	assert_true(back.image.inode == UINT64_MAX);
	assert_int_equal(back.image.inode_generation, 77);
	assert_true(back.image.deleted);
	assert_string_equal(back.image.path, "/usr/bin/gzip");
	assert_true(back.pid == 4000000000);
	assert_true(back.start == request.start && back.end == request.end);
	assert_true(back.names);
	assert_true(back.unwind);
	assert_int_equal(back.place_count, 2);
	assert_int_equal(back.places[1].block, 70000);
	assert_true(back.places[1].granules == UINT64_MAX);
	assert_int_equal(back.known_count, 3);
	assert_true(back.known[2] == 4000000000);
	capture_request_fini(&room);
	for (size_t size = 0; size < writer.size; size++) { /* cut short anywhere */
		assert_int_equal(capture_request_decode(writer.data, size, &back, &room), -EBADMSG);
		capture_request_fini(&room);
	}
	writer_fini(&writer);
}

static void
what_is_too_much_is_not_asked_for(void **state)
{
	const struct capture_request request = {.image = {.path = "/x"}, .place_count = REQUEST_PLACES_MAX + 1};
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	assert_int_equal(capture_request_encode(&request, &writer), -E2BIG);
	writer_fini(&writer);
}

static void
add_message(struct byte_writer *writer, enum capture_message kind, const char *text, size_t size)
{
	uint8_t head[MESSAGE_HEAD_SIZE];

	capture_message_head(kind, size, head);
	write_bytes(writer, head, sizeof(head));
	write_bytes(writer, text, size);
}

static void
a_reply_is_taken_apart(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_reply reply;

	(void)state;
	add_message(&writer, MESSAGE_LAYOUT, "layout", 6);
	add_message(&writer, MESSAGE_SYMBOLS, "symbols", 7);
	add_message(&writer, MESSAGE_UNWIND, "table", 5);
	add_message(&writer, MESSAGE_PARCEL, "\0\0\1\2one", 7);
	add_message(&writer, MESSAGE_PARCEL, "\0\0\2\0other", 9);
	add_message(&writer, MESSAGE_END, "\0", 1);
	assert_int_equal(capture_reply_decode(writer.data, writer.size, &reply), 0);
	assert_true(reply.has_ended);
	assert_int_equal(reply.error, 0);
	assert_int_equal(reply.captured.layout.size, 6);
	assert_memory_equal(reply.captured.layout.data, "layout", 6);
	assert_int_equal(reply.captured.symbols.size, 7);
	assert_int_equal(reply.captured.unwind.size, 5);
	assert_memory_equal(reply.captured.unwind.data, "table", 5);
	assert_int_equal(reply.captured.parcel_count, 2);
	assert_int_equal(reply.parcels[0].block, 0x102);
	assert_int_equal(reply.parcels[0].size, 3);
	assert_memory_equal(reply.parcels[1].data, "other", 5);
	writer_fini(&writer);
}

static void
an_error_comes_back_negative(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_reply reply;

	(void)state;
	add_message(&writer, MESSAGE_END, "\2", 1);
	assert_int_equal(capture_reply_decode(writer.data, writer.size, &reply), 0);
	assert_int_equal(reply.error, -ENOENT);
	writer_fini(&writer);
	assert_int_equal(capture_reply_decode("", 0, &reply), 0);
	assert_false(reply.has_ended);
}

static void
what_lacks_arrives_as_it_was_sent(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_reply reply;

	(void)state;
	add_message(&writer, MESSAGE_LACK, "\1\254\2", 3);
	add_message(&writer, MESSAGE_END, "\0", 1);
	assert_int_equal(capture_reply_decode(writer.data, writer.size, &reply), 0);
	assert_true(reply.has_lack);
	assert_true(reply.lack.is_cut);
	assert_int_equal(reply.lack.misunderstood, 300);
	writer_reset(&writer);
	capture_lack_encode(&(struct capture_lack){.is_cut = true, .misunderstood = 300}, &writer);
	assert_int_equal(writer.size, 3);
	assert_memory_equal(writer.data, "\1\254\2", 3);
	writer_fini(&writer);
}

static void
whose_file_it_is_is_said_first(void **state)
{
	static const enum captured_owner owners[] = {CAPTURED_OTHERS, CAPTURED_ROOTS};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_reply reply;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		writer_reset(&writer);
		add_message(&writer, MESSAGE_OWNER, i ? "\1" : "\0", 1);
		add_message(&writer, MESSAGE_END, "\0", 1);
		assert_int_equal(capture_reply_decode(writer.data, writer.size, &reply), 0);
		assert_int_equal(reply.captured.owner, owners[i]);
	}
	writer_fini(&writer);
}

static void
messages_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{"\1", 1},                            /* half a head */
		{"\1\0\0\0\5abcd", 9},                /* half a message */
		{"\1\0\0\0\0", 5},                    /* a value of nothing */
		{"\1\0\0\0\1a\1\0\0\0\1a", 12},       /* symbols twice */
		{"\3\0\0\0\4\0\0\0\1", 9},            /* a parcel of nothing */
		{"\3\0\0\0\5\377\377\377\377a", 10},  /* a block that no block has */
		{"\4\0\0\0\2\0\0", 7},                /* more behind an end */
		{"\4\0\0\0\1\0\1\0\0\0\1a", 12},      /* something after the end */
		{"\5\0\0\0\2\2\1", 7},                /* neither cut nor whole */
		{"\5\0\0\0\1\1", 6},                  /* no number of what was not understood */
		{"\5\0\0\0\2\0\1\5\0\0\0\2\0\1", 14}, /* said twice */
		{"\6\0\0\0\1\2", 6},                  /* neither root's nor another's */
		{"\1\0\0\0\1a\6\0\0\0\1\1", 12},      /* whose it is, once it was read */
		{"\6\0\0\0\1\0\6\0\0\0\1\1", 12},     /* and another's after all */
		{"\7\0\0\0\1a\7\0\0\0\1a", 12},       /* two unwind tables */
		{"\10\0\0\0\1a", 6},                  /* no such message */
		{"\377\377\377\377\377\377\377", 7},
	};
	struct capture_reply reply;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(capture_reply_decode(bad[i].bytes, bad[i].size, &reply), -EBADMSG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_arrives_as_it_was_sent),
		cmocka_unit_test(what_is_too_much_is_not_asked_for),
		cmocka_unit_test(a_reply_is_taken_apart),
		cmocka_unit_test(an_error_comes_back_negative),
		cmocka_unit_test(what_lacks_arrives_as_it_was_sent),
		cmocka_unit_test(whose_file_it_is_is_said_first),
		cmocka_unit_test(messages_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
