#include "capture/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/image_table.h"

#define VERSION      1
#define FLAG_NAMES   1u
#define FLAG_DELETED 2u
#define FLAG_UNWIND  4u
#define FLAGS_END    8u

static void
write_image(const struct image *image, struct byte_writer *writer)
{
	write_varint(writer, (uint64_t)image->kind);
	write_varint(writer, image->build_id_size);
	write_bytes(writer, image->build_id, image->build_id_size);
	write_varint(writer, image->device_major);
	write_varint(writer, image->device_minor);
	write_varint(writer, image->inode);
	write_varint(writer, image->inode_generation);
	write_string(writer, image->path);
}

int
capture_request_encode(const struct capture_request *request, struct byte_writer *writer)
{
	if (request->place_count > REQUEST_PLACES_MAX || request->known_count > REQUEST_KNOWN_MAX ||
	    strlen(request->image.path) >= PATH_MAX || request->image.build_id_size > BUILD_ID_SIZE_MAX)
		return -E2BIG;
	write_u8(writer, VERSION);
	write_varint(writer, (request->names ? FLAG_NAMES : 0) | (request->image.deleted ? FLAG_DELETED : 0) |
	                             (request->unwind ? FLAG_UNWIND : 0));
	write_image(&request->image, writer);
	write_varint(writer, request->pid);
	write_varint(writer, request->start);
	write_varint(writer, request->end);
	write_varint(writer, request->place_count);
	for (size_t i = 0; i < request->place_count; i++) {
		write_varint(writer, request->places[i].block);
		write_varint(writer, request->places[i].granules);
	}
	write_varint(writer, request->known_count);
	for (size_t i = 0; i < request->known_count; i++)
		write_varint(writer, request->known[i]);
	return writer->failed ? -ENOMEM : 0;
}

static uint64_t
read_below(struct byte_reader *reader, uint64_t end)
{
	const uint64_t value = read_varint(reader);

	if (value < end)
		return value;
	reader->failed = true;
	return 0;
}

static void
read_image(struct byte_reader *reader, struct image *image, char path[PATH_MAX])
{
	const uint8_t *build_id;

	image->kind = (enum image_kind)read_below(reader, IMAGE_KINDS);
	image->build_id_size = (uint8_t)read_below(reader, BUILD_ID_SIZE_MAX + 1);
	build_id = read_bytes(reader, image->build_id_size);
	if (build_id)
		memcpy(image->build_id, build_id, image->build_id_size);
	image->device_major = (uint32_t)read_below(reader, UINT64_C(1) << 32);
	image->device_minor = (uint32_t)read_below(reader, UINT64_C(1) << 32);
	image->inode = read_varint(reader);
	image->inode_generation = read_varint(reader);
	read_string(reader, path, PATH_MAX);
	image->path = path;
}

static int
read_places(struct byte_reader *reader, struct capture_request *request, struct capture_request_room *room)
{
	uint64_t next = 0;

	request->place_count = (size_t)read_below(reader, REQUEST_PLACES_MAX + 1);
	room->places = calloc(request->place_count + 1, sizeof(*room->places));
	if (!room->places)
		return -ENOMEM;
	for (size_t i = 0; i < request->place_count; i++) {
		room->places[i].block = (uint32_t)read_below(reader, CAPTURED_BLOCK_UNWIND);
		room->places[i].granules = read_varint(reader);
		reader->failed |= room->places[i].block < next;
		next = (uint64_t)room->places[i].block + 1;
	}
	request->places = room->places;
	return 0;
}

static int
read_known(struct byte_reader *reader, struct capture_request *request, struct capture_request_room *room)
{
	uint64_t next = 0;

	request->known_count = (size_t)read_below(reader, REQUEST_KNOWN_MAX + 1);
	room->known = calloc(request->known_count + 1, sizeof(*room->known));
	if (!room->known)
		return -ENOMEM;
	for (size_t i = 0; i < request->known_count; i++) {
		room->known[i] = (uint32_t)read_below(reader, CAPTURED_BLOCK_UNWIND);
		reader->failed |= room->known[i] < next;
		next = (uint64_t)room->known[i] + 1;
	}
	request->known = room->known;
	return 0;
}

int
capture_request_decode(const void *data, size_t size, struct capture_request *request,
                       struct capture_request_room *room)
{
	struct byte_reader reader;
	uint64_t flags;
	int err;

	memset(request, 0, sizeof(*request));
	room->places = NULL;
	room->known = NULL;
	reader_init(&reader, data, size);
	if (read_u8(&reader) != VERSION)
		return -EBADMSG;
	flags = read_below(&reader, FLAGS_END);
	request->names = flags & FLAG_NAMES;
	request->unwind = flags & FLAG_UNWIND;
	read_image(&reader, &request->image, room->path);
	request->image.deleted = flags & FLAG_DELETED;
	request->pid = (uint32_t)read_below(&reader, UINT64_C(1) << 32);
	request->start = read_varint(&reader);
	request->end = read_varint(&reader);
	err = read_places(&reader, request, room);
	if (!err)
		err = read_known(&reader, request, room);
	if (err)
		return err;
	return reader.failed || reader_left(&reader) ? -EBADMSG : 0;
}

void
capture_request_fini(struct capture_request_room *room)
{
	free(room->places);
	free(room->known);
	room->places = NULL;
	room->known = NULL;
}

void
capture_lack_encode(const struct capture_lack *lack, struct byte_writer *writer)
{
	write_u8(writer, lack->is_cut);
	write_varint(writer, lack->misunderstood);
}

void
capture_message_head(enum capture_message kind, size_t size, uint8_t head[MESSAGE_HEAD_SIZE])
{
	head[0] = (uint8_t)kind;
	for (size_t i = 0; i < MESSAGE_HEAD_SIZE - 1; i++)
		head[1 + i] = (uint8_t)(size >> 8 * (MESSAGE_HEAD_SIZE - 2 - i));
}

static int
take_parcel(struct capture_reply *reply, struct byte_reader *reader)
{
	struct captured_value *parcel = &reply->parcels[reply->captured.parcel_count];

	if (reply->captured.parcel_count == REPLY_PARCELS_MAX)
		return -EBADMSG;
	parcel->block = read_u32_be(reader);
	parcel->data = reader->at;
	parcel->size = reader_left(reader);
	if (reader->failed || parcel->block >= CAPTURED_BLOCK_UNWIND || parcel->size == 0)
		return -EBADMSG;
	reply->captured.parcel_count++;
	return 0;
}

static int
take_lack(struct capture_reply *reply, struct byte_reader *reader)
{
	const uint8_t is_cut = read_u8(reader);
	const uint64_t misunderstood = read_varint(reader);

	if (reader->failed || reader_left(reader) || is_cut > 1 || reply->has_lack)
		return -EBADMSG;
	reply->lack = (struct capture_lack){.is_cut = is_cut, .misunderstood = misunderstood};
	reply->has_lack = true;
	return 0;
}

/* Only as the first message: later, the file may have taken the process over. */
static int
take_owner(struct capture_reply *reply, struct byte_reader *reader, bool is_first)
{
	const uint8_t is_roots = read_u8(reader);

	if (reader->failed || reader_left(reader) || is_roots > 1 || !is_first)
		return -EBADMSG;
	reply->captured.owner = is_roots ? CAPTURED_ROOTS : CAPTURED_OTHERS;
	return 0;
}

static int
take_end(struct capture_reply *reply, struct byte_reader *reader)
{
	const uint64_t error = read_below(reader, INT_MAX);

	if (reader->failed || reader_left(reader))
		return -EBADMSG;
	reply->has_ended = true;
	reply->error = -(int)error;
	return 0;
}

static int
take_value(struct captured_value *value, const struct byte_reader *reader)
{
	if (value->data || !reader_left(reader))
		return -EBADMSG;
	*value = (struct captured_value){.data = reader->at, .size = reader_left(reader)};
	return 0;
}

static int
take_message(struct capture_reply *reply, uint8_t kind, struct byte_reader *reader, bool is_first)
{
	if (reader_left(reader) > CAPTURED_VALUE_MAX)
		return -EBADMSG;
	switch (kind) {
	case MESSAGE_SYMBOLS:
		return take_value(&reply->captured.symbols, reader);
	case MESSAGE_LAYOUT:
		return take_value(&reply->captured.layout, reader);
	case MESSAGE_UNWIND:
		return take_value(&reply->captured.unwind, reader);
	case MESSAGE_PARCEL:
		return take_parcel(reply, reader);
	case MESSAGE_END:
		return take_end(reply, reader);
	case MESSAGE_LACK:
		return take_lack(reply, reader);
	case MESSAGE_OWNER:
		return take_owner(reply, reader, is_first);
	default:
		return -EBADMSG;
	}
}

int
capture_reply_decode(const void *data, size_t size, struct capture_reply *reply)
{
	struct byte_reader reader, message;
	int err = 0;

	memset(reply, 0, sizeof(*reply));
	reply->captured.parcels = reply->parcels;
	reader_init(&reader, data, size);
	while (!err && reader_left(&reader) > 0) {
		const bool is_first = reader.at == (const uint8_t *)data;
		const uint8_t kind = read_u8(&reader);
		const uint32_t length = read_u32_be(&reader);
		const uint8_t *bytes = read_bytes(&reader, length);

		if (!bytes || reply->has_ended)
			return -EBADMSG;
		reader_init(&message, bytes, length);
		err = take_message(reply, kind, &message, is_first);
	}
	return err;
}
