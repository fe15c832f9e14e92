#include "dcpi-tools/emulated/code_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "emulator/code_log.h"
#include "process/image_table.h"

int
code_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (uint8_t *)data + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0) {
			memset((uint8_t *)data + done, 0, size - done);
			return 0;
		}
		done += (size_t)got;
	}
	return 0;
}

static int
add_image(struct code_read *code, const struct code_log_image *image, size_t size, struct image_table *images)
{
	const struct vdso_identity no_vdso = {.build_id_size = 0};
	uint32_t *grown = array_grow(code->images, &code->image_capacity, code->image_count + 1, sizeof(*grown));
	struct record_mmap mmap = {
		.device_major = image->device_major,
		.device_minor = image->device_minor,
		.inode = image->inode,
		.inode_generation = image->inode_generation,
		.build_id_size = image->build_id_size,
		.path = image->path,
	};
	char buffer[PATH_MAX];
	struct image session;

	if (!grown)
		return -ENOMEM;
	code->images = grown;
	if (image->path_size == 0 || image->path_size > size - sizeof(*image) ||
	    image->path[image->path_size - 1] != '\0' || image->build_id_size > BUILD_ID_SIZE_MAX)
		return -DCPI_EDAMAGED;
	memcpy(mmap.build_id, image->build_id, sizeof(mmap.build_id));
	image_of_mapping(&mmap, &no_vdso, &session, buffer);
	return image_table_intern(images, &session, &grown[code->image_count++]);
}

static int
add_block(struct code_read *code, const struct code_block *block, size_t size)
{
	struct code_read_block *grown =
		array_grow(code->blocks, &code->block_capacity, code->block_count + 1, sizeof(*grown));
	struct code_read_block new = {
		.offset = block->offset,
		.last = block->offset,
		.sizes = block->sizes,
		.first = code->instruction_count + 1,
		.instruction_count = block->instruction_count,
		.loads = block->loads,
		.stores = block->stores,
		.branches = block->branches,
		.repeats = block->flags & CODE_BLOCK_REPEATS,
	};

	if (!grown)
		return -ENOMEM;
	code->blocks = grown;
	if (block->instruction_count == 0 || block->instruction_count > CODE_BLOCK_INSTRUCTIONS_MAX ||
	    block->instruction_count > size - sizeof(*block) || block->image > code->image_count ||
	    block->offset > UINT64_MAX / 2 || code->block_count == CODE_BLOCKS_MAX)
		return -DCPI_EDAMAGED;
	new.image = block->image ? code->images[block->image - 1] + 1 : 0;
	for (size_t i = 0; i + 1 < block->instruction_count; i++)
		new.last += block->sizes[i];
	code->instruction_count += block->instruction_count;
	grown[code->block_count++] = new;
	return 0;
}

/* The record at `at` of a log of `log_size` bytes; how long it is, in *size. */
static int
add_record(struct code_read *code, uint64_t log_size, uint64_t at, uint64_t *size, struct image_table *images)
{
	const uint64_t left = log_size - at;
	const struct code_log_image *image = (const struct code_log_image *)(code->log + at);
	const struct code_block *block = (const struct code_block *)(code->log + at);

	if (left >= sizeof(*image) && image->type == CODE_IMAGE) {
		*size = code_record_end(sizeof(*image) + image->path_size);
		return add_image(code, image, left, images);
	}
	if (left < sizeof(*block) || block->type != CODE_BLOCK)
		return -DCPI_EDAMAGED;
	*size = code_record_end(sizeof(*block) + block->instruction_count);
	return add_block(code, block, left);
}

int
code_read_init(struct code_read *code, int fd, uint64_t offset, uint64_t size, struct image_table *images)
{
	uint64_t length = 0;
	int err;

	memset(code, 0, sizeof(*code));
	if (size > CODE_LOG_SIZE)
		return -DCPI_EDAMAGED;
	code->log = malloc(size + 1);
	code->blocks = array_grow(NULL, &code->block_capacity, 1, sizeof(*code->blocks));
	if (!code->log || !code->blocks)
		return -ENOMEM;
	code->blocks[code->block_count++] = (struct code_read_block){0};
	err = code_read_at(fd, code->log, size, offset);
	for (uint64_t at = 0; !err && at < size; at += length)
		err = add_record(code, size, at, &length, images);
	return err;
}

void
code_read_fini(struct code_read *code)
{
	free(code->log);
	free(code->blocks);
	free(code->images);
	memset(code, 0, sizeof(*code));
}
