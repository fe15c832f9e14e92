#include "image/jitdump.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "stream/byte_source.h"

#define MAGIC         0x4a695444u /* "JiTD" */
#define MAGIC_SWAPPED 0x4454694au
#define HEADER_SIZE   40
#define PREFIX_SIZE   16 /* of a record: what it is, its size, when */
#define LOAD_SIZE     40 /* of one that tells of new code, behind the prefix and before its name */
#define MOVE_SIZE     48

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
};

struct prefix {
	uint32_t id;
	uint32_t size; /* of the whole record */
};

static int
need(struct byte_source *source, size_t size, struct byte_reader *reader)
{
	const uint8_t *bytes;
	int err = byte_source_need(source, size, &bytes);

	if (!err)
		reader_init(reader, bytes, size);
	return err;
}

static int
read_header(struct byte_source *source, struct jitdump_header *header)
{
	struct byte_reader reader;
	uint32_t magic, size;
	int err = need(source, HEADER_SIZE, &reader);

	if (err)
		return err == -ENODATA ? -DCPI_EDAMAGED : err;
	magic = read_u32_native(&reader);
	if (magic == MAGIC_SWAPPED)
		return -ENOTSUP;
	(void)read_u32_native(&reader); /* the version: there is one */
	size = read_u32_native(&reader);
	header->machine = (uint16_t)read_u32_native(&reader);
	(void)read_u32_native(&reader);
	header->pid = read_u32_native(&reader);
	if (magic != MAGIC || size < HEADER_SIZE)
		return -DCPI_EDAMAGED;
	return byte_source_skip(source, size);
}

/* The name has no length: it ends with a NUL, before the code that ends the record. */
static int
read_load(struct byte_source *source, uint64_t body, struct run_time_code *code)
{
	uint64_t address, size, code_at, names;
	struct byte_reader reader;
	size_t room;
	int err;

	if (body < LOAD_SIZE)
		return -DCPI_EDAMAGED;
	room = body < LOAD_SIZE + RUN_TIME_NAME_MAX ? (size_t)body : LOAD_SIZE + RUN_TIME_NAME_MAX;
	err = need(source, room, &reader);
	if (err)
		return err;
	(void)read_bytes(&reader, 16); /* process, thread, and the address once more */
	address = read_u64_native(&reader);
	size = read_u64_native(&reader);
	(void)read_u64_native(&reader);
	if (size >= body - LOAD_SIZE)
		return -DCPI_EDAMAGED;
	names = body - LOAD_SIZE - size;
	code_at = source->offset + body - size;
	room = reader_left(&reader) < names ? reader_left(&reader) : (size_t)names;
	return run_time_code_add(code, address, size, code_at, (const char *)reader.at, room);
}

static int
read_move(struct byte_source *source, uint64_t body, struct run_time_code *code)
{
	struct byte_reader reader;
	uint64_t from, to;
	int err;

	if (body < MOVE_SIZE)
		return -DCPI_EDAMAGED;
	err = need(source, MOVE_SIZE, &reader);
	if (err)
		return err;
	(void)read_bytes(&reader, 16);
	from = read_u64_native(&reader);
	to = read_u64_native(&reader);
	return run_time_code_move(code, from, to);
}

static int
read_record(struct byte_source *source, struct run_time_code *code)
{
	struct byte_reader reader;
	struct prefix prefix;
	uint64_t body;
	int err = need(source, PREFIX_SIZE, &reader);

	if (err)
		return err;
	run_time_code_told_at(code, source->offset);
	prefix.id = read_u32_native(&reader);
	prefix.size = read_u32_native(&reader);
	if (prefix.size < PREFIX_SIZE)
		return -DCPI_EDAMAGED;
	body = prefix.size - PREFIX_SIZE;
	err = byte_source_skip(source, PREFIX_SIZE);
	if (!err && prefix.id == RECORD_LOAD)
		err = read_load(source, body, code);
	else if (!err && prefix.id == RECORD_MOVE)
		err = read_move(source, body, code);
	return err ? err : byte_source_skip(source, body);
}

static int
read_all(struct byte_source *source, struct run_time_code *code, struct jitdump_header *header)
{
	int err = read_header(source, header);

	while (!err && source->offset < JITDUMP_BYTES_MAX)
		err = read_record(source, code);
	if (!err)
		run_time_code_cut(code);
	return err == -ENODATA ? 0 : err;
}

int
jitdump_read(int fd, struct run_time_code *code, struct jitdump_header *header)
{
	struct byte_source source;
	int err;

	memset(header, 0, sizeof(*header));
	err = byte_source_init(&source, fd, 0, UINT64_MAX);
	if (err)
		return err;
	err = read_all(&source, code, header);
	byte_source_fini(&source);
	if (err == -DCPI_EDAMAGED || err == -ENOTSUP)
		run_time_code_complain(code);
	return err;
}
