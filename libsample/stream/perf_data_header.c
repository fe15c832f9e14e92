#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "stream/perf_data_parts.h"

#define MAGIC_SIZE       8
#define PIPE_HEADER_SIZE 16
#define FILE_HEADER_SIZE 104
#define SECTION_SIZE     16 /* offset and size */
#define WORD_BITS        64

#define DATA_SECTION_AT 40 /* of the header */

static const char beyond_end[] = "the records are said to lie behind the end of the file";

struct section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t attr_size; /* of an entry of `attrs`: attribute and section of ids */
	struct section attrs, data;
	uint64_t features[FEATURE_COUNT / WORD_BITS];
};

int
perf_data_damaged(struct perf_data *data, uint64_t offset, const char *text)
{
	data->fault.offset = offset;
	data->fault.text = text;
	return -DCPI_EDAMAGED;
}

static struct section
read_section(const struct perf_data *data, struct byte_reader *reader)
{
	struct section section;

	section.offset = perf_read_u64(data, reader);
	section.size = perf_read_u64(data, reader);
	return section;
}

/* A part of the file as a whole, the caller's to free. 0, -ENOMEM, -DCPI_EDAMAGED with a fault, or errno. */
static int
load_section(struct perf_data *data, int fd, const struct section *section, uint8_t **bytes)
{
	size_t done = 0;

	if (section->size > PERF_DATA_SECTION_MAX || section->offset > INT64_MAX - section->size)
		return perf_data_damaged(data, section->offset,
		                         "a part of the file is larger than any that perf writes");
	*bytes = malloc((size_t)section->size + 1);
	if (!*bytes)
		return -ENOMEM;
	while (done < section->size) {
		ssize_t size = pread(fd, *bytes + done, (size_t)section->size - done, (off_t)(section->offset + done));

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0) {
			int err = size < 0 && errno != EINVAL ? -errno : 0; /* EINVAL: no file goes that far */

			free(*bytes);
			return err ? err : perf_data_damaged(data, section->offset + done, "the file ends too early");
		}
		done += (size_t)size;
	}
	return 0;
}

static int
add_attr(struct perf_data *data, int fd, struct byte_reader *reader, size_t attr_size)
{
	struct byte_reader ids_reader;
	struct section ids;
	uint32_t event;
	uint8_t *bytes;
	int err;

	err = perf_data_add_event(data, reader, attr_size, &event);
	if (err)
		return err;
	ids = read_section(data, reader);
	if (ids.size > PERF_DATA_SECTION_MAX - data->id_bytes)
		return perf_data_damaged(data, ids.offset, "there are more counters than perf writes");
	data->id_bytes += ids.size;
	err = load_section(data, fd, &ids, &bytes);
	if (err)
		return err;
	reader_init(&ids_reader, bytes, (size_t)ids.size);
	err = perf_data_add_ids(data, &ids_reader, ids.size / sizeof(uint64_t), event);
	free(bytes);
	return err;
}

static int
read_attrs(struct perf_data *data, int fd, const struct file_header *header)
{
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	if (header->attr_size < PERF_ATTR_SIZE_VER0 + SECTION_SIZE || header->attr_size > PERF_DATA_ATTR_SIZE_MAX)
		return perf_data_damaged(data, PIPE_HEADER_SIZE, "the size of an event's attribute is not possible");
	err = load_section(data, fd, &header->attrs, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)header->attrs.size);
	while (reader_left(&reader) >= header->attr_size && !err)
		err = add_attr(data, fd, &reader, (size_t)header->attr_size - SECTION_SIZE);
	free(bytes);
	if (err == -DCPI_EDAMAGED && !data->fault.text)
		return perf_data_damaged(data, header->attrs.offset, "an event's attribute is damaged");
	return err;
}

static int
read_feature(struct perf_data *data, int fd, unsigned feature, const struct section *section)
{
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	err = load_section(data, fd, section, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)section->size);
	err = perf_data_take_feature(data, feature, &reader);
	free(bytes);
	if (err == -DCPI_EDAMAGED)
		return perf_data_damaged(data, section->offset, "a description behind the records is damaged");
	return err;
}

static bool
is_wanted(unsigned feature)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
	case FEATURE_HOST:
	case FEATURE_RELEASE:
	case FEATURE_ARCHITECTURE:
	case FEATURE_CPU_COUNT:
	case FEATURE_CPU:
	case FEATURE_CPU_ID:
	case FEATURE_EVENTS:
	case FEATURE_TIMES:
		return true;
	default:
		return false;
	}
}

/* Where each is, is told behind the records, in the order of the bits. */
static int
read_features(struct perf_data *data, int fd, const struct file_header *header)
{
	struct section table = {header->data.offset + header->data.size, 0};
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	for (unsigned i = 0; i < FEATURE_COUNT / WORD_BITS; i++)
		table.size += (uint64_t)__builtin_popcountll(header->features[i]) * SECTION_SIZE;
	err = load_section(data, fd, &table, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)table.size);
	for (unsigned feature = 0; feature < FEATURE_COUNT && !err; feature++) {
		struct section section;

		if (!(header->features[feature / WORD_BITS] >> feature % WORD_BITS & 1))
			continue;
		section = read_section(data, &reader);
		if (is_wanted(feature))
			err = read_feature(data, fd, feature, &section);
	}
	free(bytes);
	return err;
}

/* The order of a file that begins with perf's first magic, which is the same in both, shows in the size of attributes.
 */
static bool
find_order(struct perf_data *data, const uint8_t *magic, uint64_t attr_size)
{
	static const char native[] = "PERFILE2", foreign[] = "2ELIFREP", first[] = "PERFFILE";
	const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	if (memcmp(magic, is_little ? native : foreign, MAGIC_SIZE) == 0)
		return true;
	data->is_swapped = true;
	if (memcmp(magic, is_little ? foreign : native, MAGIC_SIZE) == 0)
		return true;
	data->is_swapped = attr_size > PERF_DATA_ATTR_SIZE_MAX;
	return memcmp(magic, first, MAGIC_SIZE) == 0;
}

static int
seek_records(struct perf_data *data, int fd, uint64_t offset)
{
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < 0)
		return -errno;
	if (offset > (uint64_t)end)
		return perf_data_damaged(data, DATA_SECTION_AT, beyond_end);
	return lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
}

static int
read_file_header(struct perf_data *data, int fd, const uint8_t *bytes)
{
	struct file_header header;
	struct byte_reader reader;
	uint64_t end = UINT64_MAX;
	int err;

	reader_init(&reader, bytes + PIPE_HEADER_SIZE, FILE_HEADER_SIZE - PIPE_HEADER_SIZE);
	header.attr_size = perf_read_u64(data, &reader);
	header.attrs = read_section(data, &reader);
	header.data = read_section(data, &reader);
	read_section(data, &reader); /* event types, which perf does not use any more */
	for (unsigned i = 0; i < FEATURE_COUNT / WORD_BITS; i++)
		header.features[i] = perf_read_u64(data, &reader);
	err = read_attrs(data, fd, &header);
	if (err)
		return err;
	if (header.data.offset > INT64_MAX || header.data.size > INT64_MAX - header.data.offset)
		return perf_data_damaged(data, DATA_SECTION_AT, beyond_end);
	if (header.data.size > 0) { /* 0: perf was killed, and the records go on to the end */
		err = read_features(data, fd, &header);
		if (err && err != -DCPI_EDAMAGED)
			return err;
		data->late_fault = data->fault;
		data->fault.text = NULL;
		end = header.data.offset + header.data.size;
	}
	err = seek_records(data, fd, header.data.offset);
	if (err)
		return err;
	byte_source_fini(&data->source);
	return byte_source_init(&data->source, fd, header.data.offset, end);
}

int
perf_data_read_header(struct perf_data *data, int fd)
{
	const uint8_t *bytes;
	struct byte_reader reader;
	uint64_t attr_size = 0;
	int err;

	err = byte_source_init(&data->source, fd, 0, UINT64_MAX);
	if (err)
		return err;
	err = byte_source_need(&data->source, PIPE_HEADER_SIZE, &bytes);
	if (err)
		return err == -ENODATA ? perf_data_damaged(data, 0, "it is no recording of perf") : err;
	if (byte_source_need(&data->source, FILE_HEADER_SIZE, &bytes) == 0)
		memcpy(&attr_size, bytes + PIPE_HEADER_SIZE, sizeof(attr_size));
	else
		byte_source_need(&data->source, PIPE_HEADER_SIZE, &bytes);
	if (!find_order(data, bytes, attr_size))
		return perf_data_damaged(data, 0, "it is no recording of perf");
	reader_init(&reader, bytes + MAGIC_SIZE, PIPE_HEADER_SIZE - MAGIC_SIZE);
	data->is_pipe = perf_read_u64(data, &reader) == PIPE_HEADER_SIZE;
	if (data->is_pipe)
		return byte_source_skip(&data->source, PIPE_HEADER_SIZE);
	if (byte_source_waiting(&data->source) < FILE_HEADER_SIZE)
		return perf_data_damaged(data, byte_source_waiting(&data->source), "the file ends too early");
	return read_file_header(data, fd, bytes);
}
