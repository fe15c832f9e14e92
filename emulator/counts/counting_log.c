/* The log of images and blocks: see counting.h. */
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "emulator/counts/counting_state.h"

/* Room for a record of `size` bytes; NULL when the log is full. */
static void *
log_reserve(struct counting *counting, size_t size)
{
	if (size > COUNTS_LOG_SIZE - counting->log_size)
		return NULL;
	return counting->log + counting->log_size;
}

static void
log_commit(struct counting *counting, size_t size)
{
	counting->log_size = counts_record_end(counting->log_size + size);
	__atomic_store_n(&counting->header->log_size, counting->log_size, __ATOMIC_RELEASE);
}

int
counting_add_image(struct counting *counting, const struct record_mmap *file)
{
	const size_t path_size = strnlen(file->path, PATH_MAX + 16) + 1;
	struct counts_image *image = log_reserve(counting, sizeof(*image) + path_size + 8);

	if (!image)
		return -ENOSPC;
	memset(image, 0, sizeof(*image));
	image->type = COUNTS_IMAGE;
	image->path_size = (uint16_t)path_size;
	image->device_major = file->device_major;
	image->device_minor = file->device_minor;
	image->inode = file->inode;
	image->inode_generation = file->inode_generation;
	image->build_id_size = file->build_id_size;
	memcpy(image->build_id, file->build_id, sizeof(image->build_id));
	memcpy(image->path, file->path, path_size - 1);
	image->path[path_size - 1] = '\0';
	log_commit(counting, sizeof(*image) + path_size);
	return 0;
}

static const struct counts_block *
block_at(const struct counting *counting, uint32_t number)
{
	return (const struct counts_block *)(counting->log + counting->block_places[number]);
}

static uint64_t
block_hash(const struct counts_block *block)
{
	return number_index_mix(block->offset ^ (uint64_t)block->image << 44 ^
	                        (uint64_t)block->instruction_count << 32);
}

static int
reserve_block(struct counting *counting)
{
	uint64_t *places;
	bool is_new;
	int err;

	if (counting->block_count + 1 >= COUNTS_BLOCKS_MAX)
		return -ENOSPC;
	places = array_grow(counting->block_places, &counting->block_capacity, (size_t)counting->block_count + 2,
	                    sizeof(*places));
	if (!places)
		return -ENOMEM;
	counting->block_places = places;
	err = number_index_reserve(&counting->blocks, &is_new);
	for (uint32_t i = 1; !err && is_new && i <= counting->block_count; i++)
		number_index_put(&counting->blocks, block_hash(block_at(counting, i)), i);
	return err;
}

static uint32_t
find_block(const struct counting *counting, const struct counts_block *block, const uint8_t *sizes)
{
	const struct number_index *index = &counting->blocks;

	for (uint32_t at = number_index_begin(index, block_hash(block)); index->numbers[at];
	     at = number_index_next(index, at)) {
		const struct counts_block *known = block_at(counting, index->numbers[at]);

		if (memcmp(known, block, sizeof(*block)) == 0 &&
		    memcmp(known->sizes, sizes, block->instruction_count) == 0)
			return index->numbers[at];
	}
	return 0;
}

uint32_t
counting_add_block(struct counting *counting, const struct counts_block *block, const uint8_t *sizes)
{
	const size_t size = sizeof(*block) + block->instruction_count;
	struct counts_block *new;
	uint32_t number;

	if (reserve_block(counting))
		return 0;
	number = find_block(counting, block, sizes);
	if (number)
		return number;
	new = log_reserve(counting, size + 8);
	if (!new)
		return 0;
	memcpy(new, block, sizeof(*block));
	memcpy(new->sizes, sizes, block->instruction_count);
	number = ++counting->block_count;
	counting->block_places[number] = counting->log_size;
	log_commit(counting, size);
	number_index_put(&counting->blocks, block_hash(block), number);
	return number;
}
