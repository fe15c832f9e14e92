#include "emulator/code_log.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

struct code_log_place {
	uint64_t at; /* in the log */
	uint32_t first;
	uint32_t hash; /* the lower half */
};

void
code_log_init(struct code_log *log, uint8_t *bytes, uint32_t instructions_max)
{
	*log = (struct code_log){.bytes = bytes, .instructions_max = instructions_max};
}

void
code_log_fini(struct code_log *log)
{
	id_hash_fini(&log->blocks);
	free(log->places);
	*log = (struct code_log){0};
}

/* Room for a record of `size` bytes; NULL when the log is full. */
static void *
reserve(struct code_log *log, size_t size)
{
	if (size > CODE_LOG_SIZE - log->size)
		return NULL;
	return log->bytes + log->size;
}

static void
commit(struct code_log *log, uint64_t *published, size_t size)
{
	log->size = code_record_end(log->size + size);
	__atomic_store_n(published, log->size, __ATOMIC_RELEASE);
}

int
code_log_add_image(struct code_log *log, uint64_t *size, const struct record_mmap *file)
{
	const size_t path_size = strnlen(file->path, PATH_MAX + 16) + 1;
	struct code_log_image *image = reserve(log, sizeof(*image) + path_size + 8);

	if (!image)
		return -ENOSPC;
	memset(image, 0, sizeof(*image));
	image->type = CODE_IMAGE;
	image->path_size = (uint16_t)path_size;
	image->device_major = file->device_major;
	image->device_minor = file->device_minor;
	image->inode = file->inode;
	image->inode_generation = file->inode_generation;
	image->build_id_size = file->build_id_size;
	memcpy(image->build_id, file->build_id, sizeof(image->build_id));
	memcpy(image->path, file->path, path_size - 1);
	image->path[path_size - 1] = '\0';
	commit(log, size, sizeof(*image) + path_size);
	return 0;
}

static struct code_block *
block_at(const struct code_log *log, uint32_t number)
{
	return (struct code_block *)(log->bytes + log->places[number].at);
}

/*
 * Neighbouring blocks have neighbouring slots, as they are translated one soon after the other. Code that replaces
 * other code at its address differs by its length.
 */
static uint32_t
block_hash(const struct code_block *block)
{
	return (uint32_t)(block->offset >> 2) + block->instruction_count * 16 + (uint32_t)id_hash_mix(block->image);
}

static int
reserve_block(struct code_log *log)
{
	struct code_log_place *places;
	bool is_new;
	int err;

	if (log->block_count + 1 >= CODE_BLOCKS_MAX)
		return -ENOSPC;
	places = array_grow(log->places, &log->capacity, (size_t)log->block_count + 2, sizeof(*places));
	if (!places)
		return -ENOMEM;
	log->places = places;
	err = id_hash_reserve(&log->blocks, &is_new);
	for (uint32_t i = 1; !err && is_new && i <= log->block_count; i++)
		id_hash_put(&log->blocks, places[i].hash, i);
	return err;
}

static uint32_t
find_block(const struct code_log *log, const struct code_block *block, const uint8_t *sizes, uint32_t hash)
{
	const struct id_hash *index = &log->blocks;

	for (uint32_t at = id_hash_begin(index, hash); index->numbers[at]; at = id_hash_next(index, at)) {
		const struct code_block *known = block_at(log, index->numbers[at]);

		if (log->places[index->numbers[at]].hash == hash &&
		    memcmp(known, block, offsetof(struct code_block, loads)) == 0 &&
		    memcmp(known->sizes, sizes, block->instruction_count) == 0)
			return index->numbers[at];
	}
	return 0;
}

uint32_t
code_log_add_block(struct code_log *log, uint64_t *published, const struct code_block *block, const uint8_t *sizes,
                   uint32_t *first)
{
	const size_t size = sizeof(*block) + block->instruction_count;
	const uint32_t hash = block_hash(block);
	struct code_block *new;
	uint32_t number;

	*first = 0;
	if (reserve_block(log))
		return 0;
	number = find_block(log, block, sizes, hash);
	if (number) {
		*first = log->places[number].first;
		return number;
	}
	new = reserve(log, size + 8);
	if (!new || block->instruction_count >= log->instructions_max - log->instruction_count)
		return 0;
	memcpy(new, block, sizeof(*block));
	memcpy(new->sizes, sizes, block->instruction_count);
	number = ++log->block_count;
	*first = log->instruction_count + 1;
	log->places[number] = (struct code_log_place){.at = log->size, .first = *first, .hash = hash};
	log->instruction_count += block->instruction_count;
	commit(log, published, size);
	id_hash_put(&log->blocks, hash, number);
	return number;
}

void
code_log_tell_block(struct code_log *log, uint32_t number, const struct code_block *does)
{
	struct code_block *block = block_at(log, number);

	block->loads = does->loads;
	block->stores = does->stores;
	block->branches = does->branches;
}

int
code_log_copy(const struct code_log *log, int fd, uint64_t offset)
{
	uint64_t done = 0;

	while (done < log->size) {
		ssize_t wrote = pwrite(fd, log->bytes + done, log->size - done, (off_t)(offset + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		done += (uint64_t)wrote;
	}
	return 0;
}
