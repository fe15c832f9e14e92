#include "image/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

int
debug_file_by_build_id(struct elf_file *debug, const char *root, const uint8_t *build_id, size_t size)
{
	char hex[2 * BUILD_ID_SIZE_MAX + 1];
	char path[PATH_MAX];
	int length, err;

	if (size < 2 || size > BUILD_ID_SIZE_MAX)
		return -ENOENT;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	length = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	err = elf_file_open(debug, path);
	if (!err && !elf_file_has_build_id(debug, build_id, size)) {
		elf_file_close(debug);
		err = -DCPI_EBUILDID;
	}
	return err;
}

static int
file_crc(int fd, uint32_t *crc)
{
	size_t capacity = (size_t)1 << 16;
	uint8_t *buffer = malloc(capacity);
	off_t offset = 0;
	ssize_t got;

	if (!buffer)
		return -ENOMEM;
	*crc = 0;
	while ((got = pread(fd, buffer, capacity, offset)) > 0 || (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		*crc = lzma_crc32(buffer, (size_t)got, *crc);
		offset += got;
	}
	free(buffer);
	return got < 0 ? -EIO : 0;
}

/* The build-id is asked first: it costs less than the CRC of a large file. */
static bool
belongs_to(const struct elf_file *debug, const struct elf_file *main, uint32_t crc)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX], own[BUILD_ID_SIZE_MAX];
	int size = elf_file_build_id(main, build_id);
	uint32_t found;

	if (size > 0 && elf_file_build_id(debug, own) > 0 && !elf_file_has_build_id(debug, build_id, (size_t)size))
		return false;
	return file_crc(debug->fd, &found) == 0 && found == crc;
}

static int
try_link(struct elf_file *debug, const struct elf_file *main, uint32_t crc, const char *path)
{
	int err = elf_file_open(debug, path);

	if (!err && !belongs_to(debug, main, crc)) {
		elf_file_close(debug);
		err = -ENOENT;
	}
	return err;
}

int
debug_file_by_link(struct elf_file *debug, const char *root, const char *path, const struct elf_file *main)
{
	static const struct {
		bool below_root;
		const char *folder;
	} places[] = {{false, ""}, {false, ".debug/"}, {true, ""}};
	const char *slash = strrchr(path, '/');
	const char *name;
	uint32_t crc;

	name = dwelf_elf_gnu_debuglink(main->elf, &crc);
	if (!name || !*name || strchr(name, '/') || !slash)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char try[PATH_MAX];
		int length = snprintf(try, sizeof(try), "%s%.*s/%s%s", places[i].below_root ? root : "",
		                      (int)(slash - path), path, places[i].folder, name);

		if (length < 0 || (size_t)length >= sizeof(try))
			continue;
		if (try_link(debug, main, crc, try) == 0)
			return 0;
	}
	return -ENOENT;
}
