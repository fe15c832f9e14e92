#include "process/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define READS_MAX   16 /* of one window each: 64 KiB in all */
#define WINDOW_SIZE 4096

/* Bytes in memory, or a file seen through a window: the first one holds all that is needed of most files. */
struct elf_source {
	const uint8_t *memory; /* NULL: a file */
	uint64_t memory_size;
	int fd;
	unsigned reads;
	int error;
	uint64_t window_offset;
	size_t window_size;
	uint8_t window[WINDOW_SIZE];
};

static void
window_move(struct elf_source *source, uint64_t offset)
{
	ssize_t got;

	source->window_size = 0;
	if (source->reads == READS_MAX || offset > INT64_MAX - WINDOW_SIZE)
		return;
	source->reads++;
	got = TEMP_FAILURE_RETRY(pread(source->fd, source->window, WINDOW_SIZE, (off_t)offset));
	if (got < 0) {
		source->error = -errno;
		return;
	}
	source->window_offset = offset;
	source->window_size = (size_t)got;
}

static bool
window_holds(const struct elf_source *source, uint64_t offset, size_t size)
{
	return offset >= source->window_offset && offset - source->window_offset <= source->window_size &&
	       size <= source->window_size - (offset - source->window_offset);
}

/* `size` (at most WINDOW_SIZE) bytes at `offset`, valid until the next call; NULL when they cannot be had. */
static const uint8_t *
source_get(struct elf_source *source, uint64_t offset, size_t size)
{
	if (source->memory) {
		if (offset > source->memory_size || size > source->memory_size - offset)
			return NULL;
		return source->memory + offset;
	}
	if (!window_holds(source, offset, size))
		window_move(source, offset);
	if (!window_holds(source, offset, size))
		return NULL;
	return source->window + (offset - source->window_offset);
}

static uint64_t
align4(uint64_t size)
{
	return (size + 3) & ~UINT64_C(3);
}

/*
 * Notes are padded to 4 bytes, as lib/buildid.c of the kernel reads them. Segments with 8-byte notes (GNU
 * properties) come out right, too: their sizes are multiples of 8.
 */
static int
find_in_notes(struct elf_source *source, uint64_t offset, uint64_t size, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	static const char owner[4] = "GNU";
	Elf32_Nhdr header; /* laid out as Elf64_Nhdr */

	while (size >= sizeof(header)) {
		const uint8_t *data = source_get(source, offset, sizeof(header));
		uint64_t whole;

		if (!data)
			return -ENOENT;
		memcpy(&header, data, sizeof(header));
		whole = sizeof(header) + align4(header.n_namesz) + align4(header.n_descsz);
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(owner) && header.n_descsz > 0 &&
		    header.n_descsz <= BUILD_ID_SIZE_MAX && sizeof(header) + sizeof(owner) + header.n_descsz <= size) {
			data = source_get(source, offset + sizeof(header), sizeof(owner) + header.n_descsz);
			if (data && memcmp(data, owner, sizeof(owner)) == 0) {
				memcpy(build_id, data + sizeof(owner), header.n_descsz);
				return (int)header.n_descsz;
			}
		}
		if (whole >= size)
			return -ENOENT;
		offset += whole;
		size -= whole;
	}
	return -ENOENT;
}

struct build_id_segments {
	uint64_t offset; /* of the program headers */
	unsigned count;
	bool is_64;
};

static int
read_header(struct elf_source *source, struct build_id_segments *segments)
{
	static const uint8_t order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	Elf32_Ehdr small;
	Elf64_Ehdr large;
	const uint8_t *data = source_get(source, 0, sizeof(small));

	if (!data || memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_DATA] != order)
		return -ENOENT;
	segments->is_64 = data[EI_CLASS] == ELFCLASS64;
	if (data[EI_CLASS] == ELFCLASS32) {
		memcpy(&small, data, sizeof(small));
		segments->offset = small.e_phoff;
		segments->count = small.e_phnum;
		return small.e_phentsize == sizeof(Elf32_Phdr) ? 0 : -ENOENT;
	}
	data = source_get(source, 0, sizeof(large));
	if (!data || !segments->is_64)
		return -ENOENT;
	memcpy(&large, data, sizeof(large));
	segments->offset = large.e_phoff;
	segments->count = large.e_phnum;
	return large.e_phentsize == sizeof(Elf64_Phdr) ? 0 : -ENOENT;
}

/* False when segment `number` cannot be read; size 0 when it holds no notes. */
static bool
read_segment(struct elf_source *source, const struct build_id_segments *segments, unsigned number, uint64_t *offset,
             uint64_t *size)
{
	Elf32_Phdr small;
	Elf64_Phdr large;
	size_t entry = segments->is_64 ? sizeof(large) : sizeof(small);
	const uint8_t *data;

	if (segments->offset > INT64_MAX)
		return false;
	data = source_get(source, segments->offset + number * entry, entry);
	if (!data)
		return false;
	if (segments->is_64) {
		memcpy(&large, data, sizeof(large));
		*offset = large.p_offset;
		*size = large.p_type == PT_NOTE ? large.p_filesz : 0;
	} else {
		memcpy(&small, data, sizeof(small));
		*offset = small.p_offset;
		*size = small.p_type == PT_NOTE ? small.p_filesz : 0;
	}
	return true;
}

static int
find_in_elf(struct elf_source *source, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	struct build_id_segments segments;
	uint64_t offset, size;
	int result;

	result = read_header(source, &segments);
	for (unsigned i = 0; result == 0 && i < segments.count; i++) {
		if (!read_segment(source, &segments, i, &offset, &size))
			break;
		if (size == 0 || offset > INT64_MAX || size > INT64_MAX)
			continue;
		result = find_in_notes(source, offset, size, build_id);
		if (result > 0)
			return result;
		result = 0;
	}
	return source->error ? source->error : -ENOENT;
}

int
build_id_from_notes(const void *notes, size_t size, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	struct elf_source source = {.memory = notes, .memory_size = size};

	return notes ? find_in_notes(&source, 0, size, build_id) : -ENOENT;
}

int
build_id_from_memory(const void *elf, size_t size, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	struct elf_source source = {.memory = elf, .memory_size = size};

	return elf ? find_in_elf(&source, build_id) : -ENOENT;
}

int
build_id_from_file(int fd, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	struct elf_source source = {.fd = fd};

	return find_in_elf(&source, build_id);
}
