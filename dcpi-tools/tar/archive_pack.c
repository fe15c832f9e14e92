#include "dcpi-tools/tar/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE (256 * 1024)

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

/* Nothing in it says who made it, when or where. */
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

static int
set_up(struct archive *archive, FILE *stream)
{
	if (archive_write_add_filter_zstd(archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
	    archive_write_open(archive, stream, NULL, write_piece, NULL) != ARCHIVE_OK)
		return error_of(archive);
	return 0;
}

int
archive_pack(const struct archive_content *content, FILE *stream)
{
	struct archive *archive = archive_write_new();
	int err;

	if (!archive)
		return -ENOMEM;
	err = set_up(archive, stream);
	if (!err)
		err = begin_entry(archive, content, "", AE_IFDIR, 0750, 0);
	if (!err)
		err = begin_entry(archive, content, "data.mdb", AE_IFREG, 0640, (int64_t)content->size);
	if (!err)
		err = write_data(archive, content->fd);
	if (archive_write_close(archive) != ARCHIVE_OK && !err)
		err = error_of(archive);
	archive_write_free(archive);
	return err;
}
