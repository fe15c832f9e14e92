#include "image/image_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "image/debug_file.h"
#include "image/file_identity.h"
#include "image/image_file_private.h"
#include "image/vdso.h"

static int
check_identity(const struct elf_file *file, const struct image *image)
{
	bool same;

	if (image->build_id_size)
		same = elf_file_has_build_id(file, image->build_id, image->build_id_size);
	else
		same = file->fd >= 0 && file_is_image(file->fd, image);
	return same ? 0 : -DCPI_EBUILDID;
}

/* Without a build-id, what is called vdso is the vsyscall page or the vdso of 32-bit programs; "[name]" is no file. */
static int
open_unchecked(struct elf_file *file, const struct image *image)
{
	if (image->kind == IMAGE_VDSO && image->build_id_size)
		return vdso_open(file);
	if (image->kind != IMAGE_VDSO && image->path[0] == '/')
		return elf_file_open(file, image->path);
	return -ENOENT;
}

static int
open_main(struct image_file *file, const struct image *image)
{
	int err = open_unchecked(&file->main, image);

	if (err)
		return err;
	err = check_identity(&file->main, image);
	if (!err)
		err = segment_table_read(&file->segments, &file->main);
	if (err)
		elf_file_close(&file->main);
	return err;
}

/* What the image's own file cannot say (it is gone or was replaced), its debug file may. */
static int
open_debug_only(struct image_file *file, const struct image *image)
{
	int err = debug_file_by_build_id(&file->debug, file->debug_root, image->build_id, image->build_id_size);

	if (err)
		return err;
	err = segment_table_read_debug(&file->segments, &file->debug);
	if (err)
		elf_file_close(&file->debug);
	return err;
}

static int
open_any(struct image_file *file, const struct image *image)
{
	int err = open_main(file, image);

	if (!err || err == -ENOMEM)
		return err;
	return open_debug_only(file, image) == 0 ? 0 : err;
}

int
image_file_open_below(const char *debug_root, const struct image *image, struct image_file **file)
{
	struct image_file *opened;
	int err;

	*file = NULL;
	if (image->kind != IMAGE_USER && image->kind != IMAGE_MODULE && image->kind != IMAGE_VDSO)
		return -ENOENT;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->main = opened->debug = (struct elf_file)ELF_FILE_INIT;
	opened->path = strdup(image->path);
	opened->debug_root = strdup(debug_root);
	err = opened->path && opened->debug_root ? open_any(opened, image) : -ENOMEM;
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
	return image_file_open_below(DEBUG_ROOT, image, file);
}

static int
open_descriptors(struct image_file *file, const struct image *image, int main, int debug)
{
	int err = elf_file_open_descriptor(&file->main, main);

	if (debug >= 0 && elf_file_open_descriptor(&file->debug, debug) == 0 &&
	    !elf_file_has_build_id(&file->debug, image->build_id, image->build_id_size))
		elf_file_close(&file->debug);
	if (!err && image->build_id_size && !elf_file_has_build_id(&file->main, image->build_id, image->build_id_size))
		err = -DCPI_EBUILDID;
	return err ? err : segment_table_read(&file->segments, &file->main);
}

int
image_file_open_descriptors(const struct image *image, int main, int debug, struct image_file **file)
{
	struct image_file *opened = calloc(1, sizeof(*opened));
	int err;

	*file = NULL;
	if (!opened) {
		close(main);
		if (debug >= 0)
			close(debug);
		return -ENOMEM;
	}
	opened->main = opened->debug = (struct elf_file)ELF_FILE_INIT;
	err = open_descriptors(opened, image, main, debug);
	if (err) {
		image_file_close(opened);
		return err;
	}
	*file = opened;
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

int
image_file_address(const struct image_file *file, uint64_t offset, uint64_t *address)
{
	const struct segment *segment = segment_at_offset(&file->segments, offset);

	if (!segment)
		return -ENOENT;
	*address = segment->address + (offset - segment->offset);
	return 0;
}

int
image_file_segment(const struct image_file *file, uint64_t offset, uint64_t *start, uint64_t *end)
{
	const struct segment *segment = segment_at_offset(&file->segments, offset);

	if (!segment)
		return -ENOENT;
	*start = segment->offset;
	*end = segment->offset + segment->size;
	return 0;
}

int
image_file_offset(const struct image_file *file, uint64_t address, uint64_t *offset)
{
	const struct segment *segment = segment_at_address(&file->segments, address);

	if (!segment)
		return -ENOENT;
	*offset = segment->offset + (address - segment->address);
	return 0;
}
