#include "dcpi-tools/tar/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE       (256 * 1024)
#define ENTRIES_MAX 16 /* directories, what another tar wrote for them */

struct unpacking {
	struct archive *archive;
	int to;
	uint64_t limit;
	uint64_t bytes;
	bool is_found;
	char *why;
	size_t why_size;
};

static int
refuse(const struct unpacking *unpacking, const char *why)
{
	snprintf(unpacking->why, unpacking->why_size, "%s", why);
	return -DCPI_EDAMAGED;
}

static int
refuse_damaged(const struct unpacking *unpacking)
{
	if (archive_errno(unpacking->archive) == ENOMEM)
		return -ENOMEM;
	return refuse(unpacking, unpacking->is_found ? "the archive is damaged, or ends too early"
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

/* One piece after another, without gaps, and as many bytes as it says that there are. */
static int
take_data(struct unpacking *unpacking, uint64_t size)
{
	const void *data;
	size_t count;
	la_int64_t offset;
	int code, err = 0;

	while (!err && (code = archive_read_data_block(unpacking->archive, &data, &count, &offset)) == ARCHIVE_OK) {
		if ((uint64_t)offset != unpacking->bytes || count > size - unpacking->bytes)
			return refuse(unpacking, "the file in the archive has gaps, or no end");
		unpacking->bytes += count;
		err = write_all(unpacking->to, data, count);
	}
	if (err)
		return err;
	return code == ARCHIVE_EOF && unpacking->bytes == size ? 0 : refuse_damaged(unpacking);
}

/* "NAME/data.mdb" */
static bool
is_database(const char *path)
{
	const char *slash = path ? strchr(path, '/') : NULL;

	return slash && slash != path && strcmp(slash, "/data.mdb") == 0;
}

static int
take_entry(struct unpacking *unpacking, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);
	int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;

	if (archive_entry_filetype(entry) == AE_IFDIR)
		return 0;
	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
	    archive_entry_symlink(entry) || !is_database(path) || unpacking->is_found || size < 0)
		return refuse(unpacking, "there is more in the archive than a profile database");
	unpacking->is_found = true;
	if ((uint64_t)size > unpacking->limit)
		return -EFBIG;
	return take_data(unpacking, (uint64_t)size);
}

static int
take_entries(struct unpacking *unpacking)
{
	for (unsigned count = 0; count < ENTRIES_MAX; count++) {
		struct archive_entry *entry;
		const int code = archive_read_next_header(unpacking->archive, &entry);
		int err;

		if (code == ARCHIVE_EOF)
			return unpacking->is_found ? 0
			                           : refuse(unpacking, "there is no profile database in the archive");
		if (code != ARCHIVE_OK)
			return refuse_damaged(unpacking);
		err = take_entry(unpacking, entry);
		if (err)
			return err;
	}
	return refuse(unpacking, "there is more in the archive than a profile database");
}

int
archive_unpack(int from, int to, uint64_t limit, uint64_t *bytes, char *why, size_t why_size)
{
	struct unpacking unpacking = {
		.archive = archive_read_new(), .to = to, .limit = limit, .why = why, .why_size = why_size};
	int err;

	why[0] = '\0';
	if (!unpacking.archive)
		return -ENOMEM;
	if (archive_read_support_filter_zstd(unpacking.archive) != ARCHIVE_OK ||
	    archive_read_support_format_tar(unpacking.archive) != ARCHIVE_OK)
		err = -ENOSYS;
	else if (archive_read_open_fd(unpacking.archive, from, PIECE) != ARCHIVE_OK)
		err = refuse_damaged(&unpacking);
	else
		err = take_entries(&unpacking);
	archive_read_free(unpacking.archive);
	*bytes = unpacking.bytes;
	return err;
}
