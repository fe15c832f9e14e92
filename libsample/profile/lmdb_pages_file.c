/* A file of pages, and what its first two say: see lmdb_pages.h. */
#include "profile/lmdb_pages_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES_MAX    (UINT64_C(1) << 28)
#define PAGE_MIN     4096
#define PAGE_MAX     65536
#define META_MAGIC   0xbeefc0deu
#define DATA_VERSION 1

bool
pages_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *at = data;

	while (size > 0) {
		ssize_t got = pread(fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return true;
}

bool
pages_read_meta(int fd, uint64_t offset, struct meta_record *meta)
{
	struct page_header header;

	return pages_read_at(fd, &header, sizeof(header), offset) &&
	       pages_read_at(fd, meta, sizeof(*meta), offset + sizeof(header)) && (header.flags & PAGE_META) &&
	       meta->magic == META_MAGIC && meta->version == DATA_VERSION;
}

static bool
is_page_size(uint64_t size)
{
	return size >= PAGE_MIN && size <= PAGE_MAX && (size & (size - 1)) == 0;
}

/* The first meta page says it, or else the second, which lies that far into the file. */
static size_t
find_page_size(int fd)
{
	struct meta_record meta;

	if (pages_read_meta(fd, 0, &meta) && is_page_size(meta.free.pad))
		return meta.free.pad;
	for (size_t size = PAGE_MIN; size <= PAGE_MAX; size *= 2)
		if (pages_read_meta(fd, size, &meta) && meta.free.pad == size)
			return size;
	return PAGE_MIN;
}

int
pages_open(int fd, struct pages **pages)
{
	struct pages *new;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	new->page_size = find_page_size(fd);
	new->count = (uint64_t)stat.st_size / new->page_size;
	if (new->count > PAGES_MAX) {
		free(new);
		return -EFBIG;
	}
	new->seen = calloc(new->count / 8 + 1, 1);
	if (!new->seen) {
		free(new);
		return -ENOMEM;
	}
	*pages = new;
	return 0;
}

void
pages_free(struct pages *pages)
{
	if (!pages)
		return;
	for (size_t i = 0; i < DEPTH_MAX; i++)
		free(pages->levels[i]);
	free(pages->value);
	free(pages->seen);
	free(pages);
}

uint64_t
pages_count(const struct pages *pages)
{
	return pages->count;
}

size_t
pages_metas(struct pages *pages, struct pages_meta metas[2])
{
	struct meta_record record;
	size_t count = 0;

	for (uint64_t number = 0; number < 2; number++) {
		if (!pages_read_meta(pages->fd, number * pages->page_size, &record))
			continue;
		metas[count++] = (struct pages_meta){.transaction = record.transaction,
		                                     .main = {record.main.root, record.main.entries},
		                                     .last_page = record.last_page,
		                                     .map_size = record.map_size};
	}
	if (count == 2 && metas[1].transaction > metas[0].transaction) {
		const struct pages_meta newest = metas[1];

		metas[1] = metas[0];
		metas[0] = newest;
	}
	return count;
}

bool
pages_newest(int fd, size_t page_size, uint64_t *transaction)
{
	const uint64_t in_page = sizeof(struct page_header) + offsetof(struct meta_record, transaction);
	uint64_t numbers[2];

	for (size_t i = 0; i < 2; i++)
		if (!pages_read_at(fd, &numbers[i], sizeof(numbers[i]), i * page_size + in_page))
			return false;
	*transaction = numbers[0] < numbers[1] ? numbers[1] : numbers[0];
	return true;
}
