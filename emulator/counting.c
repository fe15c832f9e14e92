#include "emulator/counting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"

#define NAME_TRIES 1000
#define INDEX_MIN  1024 /* entries of a table of edges or blocks, a power of two */

/* Where an edge, or a block, is found: open addressing, numbers into an array, 0 is empty. */
struct index {
	uint32_t *numbers;
	uint32_t size, used;
};

struct counting {
	char directory[PATH_MAX];
	char name[PATH_MAX + 64]; /* of the file */
	struct counts_header *header;
	uint8_t *log;
	struct counts_vcpu *vcpus[COUNTS_VCPUS_MAX];
	struct index edges[COUNTS_VCPUS_MAX]; /* by virtual CPU; numbers are places in its edges, from 1 */
	struct index blocks;
	uint64_t *block_places; /* in the log, by block */
	size_t block_capacity;
	uint32_t block_count;
	uint64_t log_size;               /* as the header's, which after a fork is the parent's */
	uint32_t last[COUNTS_VCPUS_MAX]; /* of each virtual CPU, before a fork */
};

static uint64_t
mix(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/* 0, or -ENOMEM with the table as it was. Who calls fills it again from what it is of. */
static int
index_reserve(struct index *index, bool *is_new)
{
	uint32_t size = index->size ? 2 * index->size : INDEX_MIN;
	uint32_t *numbers;

	*is_new = false;
	if (index->used < index->size / 2)
		return 0;
	numbers = calloc(size, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	free(index->numbers);
	*index = (struct index){.numbers = numbers, .size = size};
	*is_new = true;
	return 0;
}

static void
index_put(struct index *index, uint64_t hash, uint32_t number)
{
	uint32_t at = (uint32_t)hash & (index->size - 1);

	while (index->numbers[at])
		at = (at + 1) & (index->size - 1);
	index->numbers[at] = number;
	index->used++;
}

/* A process that executes one program after the other has a file for each. */
static int
open_file(struct counting *counting)
{
	int fd = -1;

	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		snprintf(counting->name, sizeof(counting->name), "%s/" COUNTS_PREFIX "%d.%d", counting->directory,
		         (int)getpid(), i);
		fd = open(counting->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

/* A part of the file, shared, or memory of our own when there is no file; at `address` unless that is NULL. */
static int
map_part(int fd, void *address, size_t size, uint64_t offset, void **mapped)
{
	const int flags =
		MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (address ? MAP_FIXED : 0);

	*mapped = mmap(address, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
	return *mapped == MAP_FAILED ? -errno : 0;
}

static int
map_beginning(struct counting *counting, int fd)
{
	void *header, *log;
	int err;

	if (ftruncate(fd, (off_t)COUNTS_VCPU_OFFSET(0)) < 0)
		return -errno;
	err = map_part(fd, counting->header, COUNTS_HEADER_SIZE, 0, &header);
	if (!err)
		err = map_part(fd, counting->log, COUNTS_LOG_SIZE, COUNTS_HEADER_SIZE, &log);
	if (err)
		return err;
	counting->header = header;
	counting->log = log;
	return 0;
}

struct counting *
counting_new(const char *directory, const char *comm)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	int fd, err;

	if (!counting)
		return NULL;
	snprintf(counting->directory, sizeof(counting->directory), "%s", directory);
	fd = open_file(counting);
	err = fd < 0 ? fd : map_beginning(counting, fd);
	if (fd >= 0)
		close(fd);
	if (err) {
		free(counting);
		errno = -err;
		return NULL;
	}
	snprintf(counting->header->comm, sizeof(counting->header->comm), "%s", comm);
	counting->header->pid = getpid();
	counting->header->magic = COUNTS_MAGIC;
	return counting;
}

void
counting_free(struct counting *counting)
{
	if (!counting)
		return;
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++) {
		if (counting->vcpus[i])
			munmap(counting->vcpus[i], sizeof(struct counts_vcpu));
		free(counting->edges[i].numbers);
	}
	munmap(counting->log, COUNTS_LOG_SIZE);
	munmap(counting->header, COUNTS_HEADER_SIZE);
	free(counting->blocks.numbers);
	free(counting->block_places);
	free(counting);
}

static int
map_vcpu(struct counting *counting, int fd, unsigned vcpu)
{
	void *mapped;
	int err;

	if (ftruncate(fd, (off_t)COUNTS_VCPU_OFFSET(vcpu + 1)) < 0)
		return -errno;
	err = map_part(fd, counting->vcpus[vcpu], sizeof(struct counts_vcpu), COUNTS_VCPU_OFFSET(vcpu), &mapped);
	if (err)
		return err;
	counting->vcpus[vcpu] = mapped;
	if (counting->header->vcpu_count <= vcpu)
		counting->header->vcpu_count = vcpu + 1;
	return 0;
}

int
counting_add_vcpu(struct counting *counting, unsigned vcpu)
{
	int fd, err;

	if (vcpu >= COUNTS_VCPUS_MAX)
		return -ENOSPC;
	if (counting->vcpus[vcpu]) {
		counting_clear_vcpu(counting, vcpu);
		return 0;
	}
	/* opened again: a descriptor that stays would be one of the guest's */
	fd = open(counting->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = map_vcpu(counting, fd, vcpu);
	close(fd);
	return err;
}

void
counting_clear_vcpu(struct counting *counting, unsigned vcpu)
{
	if (vcpu < COUNTS_VCPUS_MAX && counting->vcpus[vcpu])
		counting->vcpus[vcpu]->last = 0;
}

static void
replace_mapping(void *address, size_t size)
{
	void *mapped;

	if (map_part(-1, address, size, 0, &mapped))
		abort(); /* rather than count into somebody else's file */
}

/* What the parent had mapped and shared is not ours to count in. */
static void
leave_file(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		if (counting->vcpus[i])
			replace_mapping(counting->vcpus[i], sizeof(struct counts_vcpu));
	replace_mapping(counting->log, COUNTS_LOG_SIZE);
	replace_mapping(counting->header, COUNTS_HEADER_SIZE);
}

/* Of the log all is copied: the blocks keep their numbers, which the translated code has in it. */
static int
copy_log(const struct counting *counting, int fd)
{
	uint64_t done = 0;

	while (done < counting->log_size) {
		ssize_t wrote =
			pwrite(fd, counting->log + done, counting->log_size - done, (off_t)(COUNTS_HEADER_SIZE + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		done += (uint64_t)wrote;
	}
	return 0;
}

static int
move_to_file(struct counting *counting, int fd)
{
	char comm[COUNTS_COMM_SIZE];
	int err;

	memcpy(comm, counting->header->comm, sizeof(comm));
	err = copy_log(counting, fd);
	if (!err)
		err = map_beginning(counting, fd);
	if (err)
		return err;
	memcpy(counting->header->comm, comm, sizeof(comm));
	counting->header->pid = getpid();
	counting->header->log_size = counting->log_size;
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX && !err; i++) {
		if (!counting->vcpus[i])
			continue;
		err = map_vcpu(counting, fd, i);
		if (!err)
			counting->vcpus[i]->last = counting->last[i];
	}
	counting->header->magic = COUNTS_MAGIC;
	return err;
}

void
counting_before_fork(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		counting->last[i] = counting->vcpus[i] ? counting->vcpus[i]->last : 0;
}

/* What is shared is the parent's, which goes on and changes it. */
int
counting_fork(struct counting *counting)
{
	int fd, err;

	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++) {
		free(counting->edges[i].numbers);
		counting->edges[i] = (struct index){0};
	}
	fd = open_file(counting);
	err = fd < 0 ? fd : move_to_file(counting, fd);
	if (fd >= 0)
		close(fd);
	if (err)
		leave_file(counting);
	return err;
}

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
	return mix(block->offset ^ (uint64_t)block->image << 44 ^ (uint64_t)block->instruction_count << 32);
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
	err = index_reserve(&counting->blocks, &is_new);
	for (uint32_t i = 1; !err && is_new && i <= counting->block_count; i++)
		index_put(&counting->blocks, block_hash(block_at(counting, i)), i);
	return err;
}

static uint32_t
find_block(const struct counting *counting, const struct counts_block *block, const uint8_t *sizes)
{
	const struct index *index = &counting->blocks;

	for (uint32_t at = (uint32_t)block_hash(block) & (index->size - 1); index->numbers[at];
	     at = (at + 1) & (index->size - 1)) {
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
	index_put(&counting->blocks, block_hash(block), number);
	return number;
}

static uint64_t
edge_hash(uint32_t from, uint32_t to)
{
	return mix((uint64_t)from << 32 | to);
}

static struct counts_edge *
add_edge(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct index *index = &counting->edges[number];
	struct counts_edge *edge;
	bool is_new;

	if (vcpu->edge_count == COUNTS_EDGES_MAX || index_reserve(index, &is_new))
		return NULL;
	for (uint32_t i = 0; is_new && i < vcpu->edge_count; i++)
		index_put(index, edge_hash(vcpu->edges[i].from, vcpu->edges[i].to), i + 1);
	edge = &vcpu->edges[vcpu->edge_count];
	*edge = (struct counts_edge){.from = from, .to = to};
	vcpu->edge_count++;
	index_put(index, edge_hash(from, to), vcpu->edge_count);
	return edge;
}

static __attribute__((noinline)) void
enter_from_others(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct counts_slot *slot = &vcpu->slots[to];
	const struct index *index = &counting->edges[number];
	struct counts_edge *edge = NULL;

	for (unsigned i = 0; i < 2; i++) {
		if (slot->count[i])
			continue;
		slot->from[i] = from;
		slot->count[i] = 1;
		return;
	}
	for (uint32_t at = (uint32_t)edge_hash(from, to) & (index->size - 1); index->size && index->numbers[at];
	     at = (at + 1) & (index->size - 1)) {
		edge = &vcpu->edges[index->numbers[at] - 1];
		if (edge->from == from && edge->to == to) {
			edge->count++;
			return;
		}
	}
	edge = add_edge(counting, number, from, to);
	if (edge)
		edge->count = 1;
	else
		counting_pass(counting);
}

void
counting_enter(struct counting *counting, unsigned number, uint32_t block)
{
	struct counts_vcpu *vcpu = number < COUNTS_VCPUS_MAX ? counting->vcpus[number] : NULL;
	struct counts_slot *slot;
	uint32_t from;

	if (!vcpu) {
		counting_pass(counting);
		return;
	}
	slot = &vcpu->slots[block];
	from = vcpu->last;
	vcpu->last = block;
	if (slot->from[0] == from && slot->count[0])
		slot->count[0]++;
	else if (slot->from[1] == from && slot->count[1])
		slot->count[1]++;
	else
		enter_from_others(counting, number, from, block);
}

void
counting_pass(struct counting *counting)
{
	__atomic_fetch_add(&counting->header->uncounted, 1, __ATOMIC_RELAXED);
}

void
counting_not_followed(struct counting *counting)
{
	__atomic_fetch_add(&counting->header->unfollowed, 1, __ATOMIC_RELAXED);
}
