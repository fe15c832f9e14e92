#include "dcpi-tools/tar/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE       (256 * 1024) /* bytes */
#define ENTRIES_MAX 16           /* directories, with those that another tar wrote for them */

static int
error_of(struct archive *archive)
{
	const int number = archive_errno(archive);

	return number > 0 && number < 4096 ? -number : -EIO; /* libarchive has numbers of its own below 0 */
}

static la_ssize_t
write_piece(struct archive *archive, void *context, const void *data, size_t size)
{
	if (fwrite(data, 1, size, context) == size)
		return (la_ssize_t)size;
	archive_set_error(archive, errno ? errno : EIO, "write");
	return -1;
}

/* No user, group or time of packing is stored. */
static int
begin_entry(struct archive *archive, const struct archive_content *content, const char *name, mode_t type, mode_t mode,
            int64_t size)
{
	struct archive_entry *entry = archive_entry_new();
	char *path = NULL;
	int err = 0;

	if (!entry || asprintf(&path, "%s/%s", content->name, name) < 0)
		path = NULL;
	if (!path) {
		archive_entry_free(entry);
		return -ENOMEM;
	}
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, mode);
	archive_entry_set_size(entry, size);
	archive_entry_set_mtime(entry, content->time_s, 0);
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	if (archive_write_header(archive, entry) != ARCHIVE_OK)
		err = error_of(archive);
	archive_entry_free(entry);
	free(path);
	return err;
}

static int
write_data(struct archive *archive, int fd)
{
	uint8_t *piece = malloc(PIECE);
	int err = piece ? 0 : -ENOMEM;

	while (!err) {
		const ssize_t got = read(fd, piece, PIECE);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = -errno;
		if (got <= 0)
			break;
		if (archive_write_data(archive, piece, (size_t)got) != got)
			err = error_of(archive);
	}
	free(piece);
	return err;
}

int
archive_pack(const struct archive_content *content, FILE *stream)
{
	struct archive *archive = archive_write_new();
	int err;

	if (!archive)
		return -ENOMEM;
	if (archive_write_add_filter_zstd(archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
	    archive_write_open(archive, stream, NULL, write_piece, NULL) != ARCHIVE_OK) {
		err = error_of(archive);
		goto out;
	}
	err = begin_entry(archive, content, "", AE_IFDIR, 0750, 0);
	if (err)
		goto out;
	err = begin_entry(archive, content, "data.mdb", AE_IFREG, 0640, (int64_t)content->size);
	if (err)
		goto out;
	err = write_data(archive, content->fd);
out:
	if (archive_write_close(archive) != ARCHIVE_OK && !err)
		err = error_of(archive);
	archive_write_free(archive);
	return err;
}

struct archive_reader {
	struct archive *archive;
	int to;
	uint64_t limit;
	uint64_t bytes;
	bool is_found;
	char *why;
	size_t why_size;
};

static int
refuse(const struct archive_reader *reader, const char *why)
{
	snprintf(reader->why, reader->why_size, "%s", why);
	return -DCPI_EDAMAGED;
}

static int
refuse_damaged(const struct archive_reader *reader)
{
	if (archive_errno(reader->archive) == ENOMEM)
		return -ENOMEM;
	return refuse(reader, reader->is_found ? "the archive is damaged, or ends too early"
	                                       : "no archive that dcpitar wrote, or it is damaged");
}

static int
write_all(int fd, const uint8_t *data, size_t size)
{
	while (size > 0) {
		const ssize_t written = write(fd, data, size);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			data += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

/* Copy the blocks of the file: without gaps, and as many bytes as its header says. */
static int
take_data(struct archive_reader *reader, uint64_t size)
{
	const void *data;
	size_t count;
	la_int64_t offset;
	int code, err = 0;

	while (!err && (code = archive_read_data_block(reader->archive, &data, &count, &offset)) == ARCHIVE_OK) {
		if ((uint64_t)offset != reader->bytes || count > size - reader->bytes)
			return refuse(reader, "the file in the archive has gaps, or no end");
		reader->bytes += count;
		err = write_all(reader->to, data, count);
	}
	if (err)
		return err;
	return code == ARCHIVE_EOF && reader->bytes == size ? 0 : refuse_damaged(reader);
}

/* "NAME/data.mdb" */
static bool
is_database(const char *path)
{
	const char *slash = path ? strchr(path, '/') : NULL;

	return slash && slash != path && strcmp(slash, "/data.mdb") == 0;
}

static int
take_entry(struct archive_reader *reader, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);
	int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;

	if (archive_entry_filetype(entry) == AE_IFDIR)
		return 0;
	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
	    archive_entry_symlink(entry) || !is_database(path) || reader->is_found || size < 0)
		return refuse(reader, "there is more in the archive than a profile database");
	reader->is_found = true;
	if ((uint64_t)size > reader->limit)
		return -EFBIG;
	return take_data(reader, (uint64_t)size);
}

static int
take_entries(struct archive_reader *reader)
{
	for (unsigned count = 0; count < ENTRIES_MAX; count++) {
		struct archive_entry *entry;
		const int code = archive_read_next_header(reader->archive, &entry);
		int err;

		if (code == ARCHIVE_EOF)
			return reader->is_found ? 0 : refuse(reader, "there is no profile database in the archive");
		if (code != ARCHIVE_OK)
			return refuse_damaged(reader);
		err = take_entry(reader, entry);
		if (err)
			return err;
	}
	return refuse(reader, "there is more in the archive than a profile database");
}

int
archive_unpack(int from, int to, uint64_t limit, uint64_t *bytes, char *why, size_t why_size)
{
	struct archive_reader reader = {
		.archive = archive_read_new(), .to = to, .limit = limit, .why = why, .why_size = why_size};
	int err;

	why[0] = '\0';
	if (!reader.archive)
		return -ENOMEM;
	if (archive_read_support_filter_zstd(reader.archive) != ARCHIVE_OK ||
	    archive_read_support_format_tar(reader.archive) != ARCHIVE_OK)
		err = -ENOSYS;
	else if (archive_read_open_fd(reader.archive, from, PIECE) != ARCHIVE_OK)
		err = refuse_damaged(&reader);
	else
		err = take_entries(&reader);
	archive_read_free(reader.archive);
	*bytes = reader.bytes;
	return err;
}
