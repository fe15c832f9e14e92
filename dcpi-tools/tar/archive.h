/*
 * archive.h - a database as an archive: a tar file, compressed by zstd, with only NAME/data.mdb in it
 *
 * Equal content gives equal bytes. An archive that is read is not trusted: any other content is refused.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TAR_ARCHIVE_H
#define DCPI_TOOLS_TAR_ARCHIVE_H

#include <stdint.h>
#include <stdio.h>

struct archive_content {
	const char *name; /* of the directory within */
	int fd;           /* of the file, at its beginning */
	uint64_t size;    /* bytes of it */
	int64_t time_s;   /* that it is dated, since 1970 */
};

/* 0, -EIO, -ENOMEM, ...; the stream keeps its own errors. */
int archive_pack(const struct archive_content *content, FILE *stream);

/*
 * Write the file in the archive at `from` to `to`. 0 with its size; -DCPI_EDAMAGED with a sentence in `why`; -EFBIG
 * when it has more than `limit` bytes; -ENOSPC, ...
 */
int archive_unpack(int from, int to, uint64_t limit, uint64_t *bytes, char *why, size_t why_size);

#endif
