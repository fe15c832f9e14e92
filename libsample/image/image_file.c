#include "image/image_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <linux/fs.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "image/elf_file.h"
#include "profile/captured.h"

struct image_file {
	struct elf_file main;  /* the image itself; not open when only its debug file was found */
	struct elf_file debug; /* the separate debug file; looked for when symbols are read */
	struct elf_segments segments;
	char *path;       /* NULL: no debug file is looked for */
	char *debug_root; /* NULL like the path */
};

/* ---- is it the file that was mapped? ---- */

static bool
is_same_inode(const struct image *image, uint32_t device_major, uint32_t device_minor, uint64_t inode)
{
	return inode == image->inode && device_major == image->device_major && device_minor == image->device_minor;
}

/* Does /proc/self/maps show the image's device and inode for `mapping`? */
static bool
mapping_is_inode(const void *mapping, const struct image *image)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint32_t device_major = 0, device_minor = 0;
	uint64_t inode = 0;
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (maps && !found && getline(&line, &capacity, maps) > 0) {
		uintptr_t start;

		found = sscanf(line, "%" SCNxPTR "-%*x %*s %*x %" SCNx32 ":%" SCNx32 " %" SCNu64, &start, &device_major,
		               &device_minor, &inode) == 4 &&
		        start == (uintptr_t)mapping;
	}
	free(line);
	if (maps)
		fclose(maps);
	return found && is_same_inode(image, device_major, device_minor, inode);
}

/*
 * Btrfs and overlayfs report another device to stat(2) than in mappings, where /proc and perf read it. So where stat
 * differs, the file is mapped, and not touched, to see how the kernel lists it there.
 */
static bool
has_inode(int fd, const struct image *image)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct stat status;
	void *mapping;
	bool same;

	if (!fstat(fd, &status) &&
	    is_same_inode(image, major(status.st_dev), minor(status.st_dev), (uint64_t)status.st_ino))
		return true;
	mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapping == MAP_FAILED)
		return false;
	same = mapping_is_inode(mapping, image);
	munmap(mapping, size);
	return same;
}

bool
image_file_is_inode(int fd, const struct image *image)
{
	long generation = 0;

	if (image->inode == 0 || image->deleted || !has_inode(fd, image))
		return false;
	/* inode numbers are given again soon after a file is removed; the generation tells the two files apart */
	if (image->inode_generation == 0 || ioctl(fd, FS_IOC_GETVERSION, &generation))
		return true;
	return (uint32_t)generation == (uint32_t)image->inode_generation;
}

/* ---- the separate debug file ---- */

/* Open ROOT/.build-id/xx/yyyy.debug if its build-id is `build_id`. 0, -ENOENT, or an error of elf_file_open(). */
static int
open_debug_by_build_id(struct elf_file *debug, const char *root, const uint8_t *build_id, size_t size)
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
	if (err)
		return err;
	if (elf_file_has_build_id(debug, build_id, size))
		return 0;
	elf_file_close(debug);
	return -DCPI_EBUILDID;
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
	while ((got = TEMP_FAILURE_RETRY(pread(fd, buffer, capacity, offset))) > 0) {
		*crc = lzma_crc32(buffer, (size_t)got, *crc);
		offset += got;
	}
	free(buffer);
	return got < 0 ? -EIO : 0;
}

/* If both have a build-id, these are compared first: that costs less than the CRC of a large file. */
static bool
is_linked_debug(const struct elf_file *debug, const struct elf_file *main, uint32_t crc)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX], own[BUILD_ID_SIZE_MAX];
	int size = elf_file_build_id(main, build_id);
	uint32_t found;

	if (size > 0 && elf_file_build_id(debug, own) > 0 && !elf_file_has_build_id(debug, build_id, (size_t)size))
		return false;
	return file_crc(debug->fd, &found) == 0 && found == crc;
}

/* Open the file of .gnu_debuglink, with its CRC: beside the image, in .debug/ there, or below the root. */
static void
open_debug_by_link(struct image_file *file)
{
	static const struct {
		bool below_root;
		const char *folder;
	} places[] = {{false, ""}, {false, ".debug/"}, {true, ""}};
	const char *slash = strrchr(file->path, '/');
	const char *name;
	uint32_t crc;

	name = dwelf_elf_gnu_debuglink(file->main.elf, &crc);
	if (!name || !*name || strchr(name, '/') || !slash)
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char try[PATH_MAX];
		int length = snprintf(try, sizeof(try), "%s%.*s/%s%s", places[i].below_root ? file->debug_root : "",
		                      (int)(slash - file->path), file->path, places[i].folder, name);

		if (length < 0 || (size_t)length >= sizeof(try) || elf_file_open(&file->debug, try))
			continue;
		if (is_linked_debug(&file->debug, &file->main, crc))
			return;
		elf_file_close(&file->debug);
	}
}

void
image_file_find_debug(struct image_file *file)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	int size;

	if (file->debug.elf || !file->path)
		return;
	size = elf_file_build_id(&file->main, build_id);
	if (size > 0 && open_debug_by_build_id(&file->debug, file->debug_root, build_id, (size_t)size) == 0)
		return;
	open_debug_by_link(file);
}

/* ---- opening ---- */

int
image_file_open_vdso(struct elf_file *elf)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) * segments;
	size_t size;
	void *copy;

	*elf = (struct elf_file)ELF_FILE_INIT;
	if (!header)
		return -ENOENT;
	/* the kernel's linker script puts the section headers last; segments are looked at in case it does not */
	segments = (const void *)((const char *)header + header->e_phoff);
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	for (size_t i = 0; i < header->e_phnum; i++) {
		const size_t end = segments[i].p_offset + segments[i].p_filesz;

		if (segments[i].p_type == PT_LOAD && end > size)
			size = end;
	}
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, header, size);
	return elf_file_open_memory(elf, copy, size);
}

static int
open_main(struct image_file *file, const struct image *image)
{
	bool same;
	int err = -ENOENT;

	/* an image "vdso" without a build-id is the vsyscall page or the vdso of 32-bit programs; "[name]" is no file
	 */
	if (image->kind == IMAGE_VDSO && image->build_id_size)
		err = image_file_open_vdso(&file->main);
	else if (image->kind != IMAGE_VDSO && image->path[0] == '/')
		err = elf_file_open(&file->main, image->path);
	if (err)
		return err;
	if (image->build_id_size)
		same = elf_file_has_build_id(&file->main, image->build_id, image->build_id_size);
	else
		same = file->main.fd >= 0 && image_file_is_inode(file->main.fd, image);
	err = same ? elf_segments_read(&file->segments, &file->main) : -DCPI_EBUILDID;
	if (err)
		elf_file_close(&file->main);
	return err;
}

/* The image's own file is gone or was replaced: its debug file still has segments and names. */
static int
open_debug_only(struct image_file *file, const struct image *image)
{
	int err = open_debug_by_build_id(&file->debug, file->debug_root, image->build_id, image->build_id_size);

	if (err)
		return err;
	err = elf_segments_read_debug(&file->segments, &file->debug);
	if (err)
		elf_file_close(&file->debug);
	return err;
}

static struct image_file *
new_file(void)
{
	struct image_file *file = calloc(1, sizeof(*file));

	if (file)
		file->main = file->debug = (struct elf_file)ELF_FILE_INIT;
	return file;
}

int
image_file_open_below(const char *debug_root, const struct image *image, struct image_file **file)
{
	struct image_file *opened;
	int err = -ENOMEM;

	*file = NULL;
	if (image->kind != IMAGE_USER && image->kind != IMAGE_MODULE && image->kind != IMAGE_VDSO)
		return -ENOENT;
	opened = new_file();
	if (!opened)
		return -ENOMEM;
	opened->path = strdup(image->path);
	opened->debug_root = strdup(debug_root);
	if (opened->path && opened->debug_root)
		err = open_main(opened, image);
	if (err && err != -ENOMEM && open_debug_only(opened, image) == 0)
		err = 0;
	if (err) {
		image_file_close(opened);
		return err;
	}
	*file = opened;
	return 0;
}

int
image_file_open(const struct image *image, struct image_file **file)
{
	return image_file_open_below(IMAGE_FILE_DEBUG_ROOT, image, file);
}

int
image_file_open_descriptors(const struct image *image, int main, int debug, struct image_file **file)
{
	struct image_file *opened = new_file();
	int err;

	*file = NULL;
	if (!opened) {
		close(main);
		if (debug >= 0)
			close(debug);
		return -ENOMEM;
	}
	err = elf_file_open_descriptor(&opened->main, main);
	if (debug >= 0 && elf_file_open_descriptor(&opened->debug, debug) == 0 &&
	    !elf_file_has_build_id(&opened->debug, image->build_id, image->build_id_size))
		elf_file_close(&opened->debug);
	if (!err && image->build_id_size &&
	    !elf_file_has_build_id(&opened->main, image->build_id, image->build_id_size))
		err = -DCPI_EBUILDID;
	if (!err)
		err = elf_segments_read(&opened->segments, &opened->main);
	if (err) {
		image_file_close(opened);
		return err;
	}
	*file = opened;
	return 0;
}

int
image_file_from_captured(const struct captured_layout *layout, struct image_file **file)
{
	struct image_file *made;

	if (layout->segment_count > ELF_SEGMENTS_MAX)
		return -DCPI_EDAMAGED;
	made = new_file();
	if (!made)
		return -ENOMEM;
	made->segments.count = layout->segment_count;
	for (size_t i = 0; i < layout->segment_count; i++) {
		const struct captured_segment *segment = &layout->segments[i];

		made->segments.list[i] =
			(struct elf_segment){segment->offset, segment->address, segment->size, segment->executable};
	}
	*file = made;
	return 0;
}

void
image_file_close(struct image_file *file)
{
	if (!file)
		return;
	elf_file_close(&file->main);
	elf_file_close(&file->debug);
	free(file->path);
	free(file->debug_root);
	free(file);
}

/* ---- what it says ---- */

const struct elf_file *
image_file_elf(const struct image_file *file)
{
	return file->main.elf ? &file->main : NULL;
}

const struct elf_file *
image_file_debug(const struct image_file *file)
{
	return file->debug.elf ? &file->debug : NULL;
}

const struct elf_segments *
image_file_segments(const struct image_file *file)
{
	return &file->segments;
}

int
image_file_address(const struct image_file *file, uint64_t offset, uint64_t *address)
{
	const struct elf_segment *segment = elf_segments_at_offset(&file->segments, offset);

	if (!segment)
		return -ENOENT;
	*address = segment->address + (offset - segment->offset);
	return 0;
}

int
image_file_segment(const struct image_file *file, uint64_t offset, uint64_t *start, uint64_t *end)
{
	const struct elf_segment *segment = elf_segments_at_offset(&file->segments, offset);

	if (!segment)
		return -ENOENT;
	*start = segment->offset;
	*end = segment->offset + segment->size;
	return 0;
}

int
image_file_offset(const struct image_file *file, uint64_t address, uint64_t *offset)
{
	const struct elf_segment *segment = elf_segments_at_address(&file->segments, address);

	if (!segment)
		return -ENOENT;
	*offset = elf_segment_offset(segment, address);
	return 0;
}

int
image_file_soname(const struct image_file *file, char **soname)
{
	*soname = NULL;
	return file->main.elf ? elf_file_soname(&file->main, soname) : -ENOENT;
}
