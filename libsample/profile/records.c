#include "profile/records.h"

#include <string.h>

#include "base/error.h"
#include "profile/codec.h"

static void
write_cut_string(struct byte_writer *writer, const char *text, size_t capacity)
{
	size_t size = strnlen(text, capacity - 1);

	write_varint(writer, size);
	write_bytes(writer, text, size);
}

enum image_flag {
	IMAGE_FLAG_ROOTS = 1,
	IMAGE_FLAG_ROOTS_NAMES = 2,
	IMAGE_FLAGS_END = 4,
};

/* FORMAT_2, since schema 7, has flags; where none is set, it is FORMAT_1. */
void
image_record_encode(const struct image *image, bool has_roots_names, struct byte_writer *writer)
{
	const unsigned flags =
		(image->is_roots ? IMAGE_FLAG_ROOTS : 0) | (has_roots_names ? IMAGE_FLAG_ROOTS_NAMES : 0);

	write_u8(writer, flags ? FORMAT_2 : FORMAT_1);
	if (flags)
		write_varint(writer, flags);
	write_varint(writer, image->kind);
	write_varint(writer, image->build_id_size);
	write_bytes(writer, image->build_id, image->build_id_size);
	write_varint(writer, image->device_major);
	write_varint(writer, image->device_minor);
	write_varint(writer, image->inode);
	write_varint(writer, image->inode_generation);
	write_varint(writer, image->deleted);
	write_cut_string(writer, image->path, RECORD_PATH_SIZE);
}

int
image_record_decode(const void *data, size_t size, struct image_record *record)
{
	struct image *image = &record->image;
	struct byte_reader reader;
	const uint8_t *build_id;
	unsigned flags = 0;

	memset(image, 0, sizeof(*image));
	reader_init(&reader, data, size);
	if (read_format_until(&reader, FORMAT_2) == FORMAT_2)
		flags = (unsigned)read_varint_below(&reader, IMAGE_FLAGS_END);
	image->is_roots = flags & IMAGE_FLAG_ROOTS;
	record->has_roots_names = flags & IMAGE_FLAG_ROOTS_NAMES;
	image->kind = (enum image_kind)read_varint_below(&reader, IMAGE_KINDS);
	image->build_id_size = (uint8_t)read_varint_below(&reader, BUILD_ID_SIZE_MAX + 1);
	build_id = read_bytes(&reader, image->build_id_size);
	if (build_id)
		memcpy(image->build_id, build_id, image->build_id_size);
	image->device_major = read_varint_u32(&reader);
	image->device_minor = read_varint_u32(&reader);
	image->inode = read_varint(&reader);
	image->inode_generation = read_varint(&reader);
	image->deleted = read_varint_below(&reader, 2);
	read_string(&reader, record->path, sizeof(record->path));
	image->path = record->path;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* The identity of an image that has no build-id. */
static void
write_file(const struct image *image, struct byte_writer *writer)
{
	write_varint(writer, image->kind);
	write_varint(writer, 0); /* the size of its build-id */
	write_varint(writer, image->device_major);
	write_varint(writer, image->device_minor);
	write_varint(writer, image->inode);
	write_varint(writer, image->inode_generation);
	write_cut_string(writer, image->path, RECORD_PATH_SIZE);
}

void
image_record_identity(const struct image *image, struct byte_writer *writer)
{
	if (image->build_id_size == 0) {
		write_file(image, writer);
		return;
	}
	write_varint(writer, image->kind);
	write_varint(writer, image->build_id_size);
	write_bytes(writer, image->build_id, image->build_id_size);
}

void
image_record_file_identity(const struct image *image, struct byte_writer *writer)
{
	if (image->build_id_size > 0 && image->inode > 0)
		write_file(image, writer);
}

void
context_record_encode(const struct context *context, struct byte_writer *writer)
{
	write_u8(writer, FORMAT_1);
	write_cut_string(writer, context->comm, COMM_SIZE);
	write_cut_string(writer, context->cgroup, RECORD_PATH_SIZE);
	write_cut_string(writer, context->label, RECORD_LABEL_SIZE);
}

int
context_record_decode(const void *data, size_t size, struct context_record *record)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	read_format(&reader);
	read_string(&reader, record->comm, sizeof(record->comm));
	read_string(&reader, record->cgroup, sizeof(record->cgroup));
	read_string(&reader, record->label, sizeof(record->label));
	record->context.comm = record->comm;
	record->context.cgroup = record->cgroup;
	record->context.label = record->label;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* FNV-1a: enough where equal hashes cost a comparison and nothing else. */
uint64_t
record_identity_hash(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

void
record_id_encode(uint64_t hash, uint32_t number, uint8_t key[RECORD_ID_SIZE])
{
	for (size_t i = 0; i < 8; i++)
		key[i] = (uint8_t)(hash >> 8 * (7 - i));
	for (size_t i = 0; i < 4; i++)
		key[8 + i] = (uint8_t)(number >> 8 * (3 - i));
}

int
record_id_decode(const void *data, size_t size, uint64_t *hash, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	*hash = read_u64_be(&reader);
	*number = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}
