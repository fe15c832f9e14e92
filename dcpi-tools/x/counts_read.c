#include "dcpi-tools/x/counts_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "emulator/counts/counts_file.h"
#include "process/image_of_mapping.h"

/* A block of the log. */
struct block {
	uint64_t offset, last; /* of its first and last instruction */
	uint64_t executed;
	const uint8_t *sizes;
	uint32_t image; /* 0: none; else the session's number + 1 */
	uint16_t instruction_count;
	bool repeats;
};

struct reading {
	int fd;
	struct counted *counted;
	struct counts_header header;
	uint8_t *log;
	struct block *blocks; /* by number; the first is of none */
	size_t block_count, block_capacity;
	uint32_t *images; /* by number, from 1 */
	size_t image_count, image_capacity;
	uint32_t context;
};

/* All `size` bytes; what lies behind the end of the file is zero. */
static int
read_at(int fd, void *data, size_t size, uint64_t offset)
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
add_image(struct reading *reading, const struct code_image *image, size_t size)
{
	const struct vdso_identity no_vdso = {.build_id_size = 0};
	uint32_t *grown =
		array_grow(reading->images, &reading->image_capacity, reading->image_count + 1, sizeof(*grown));
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
	reading->images = grown;
	if (image->path_size == 0 || image->path_size > size - sizeof(*image) ||
	    image->path[image->path_size - 1] != '\0' || image->build_id_size > BUILD_ID_SIZE_MAX)
		return -DCPI_EDAMAGED;
	memcpy(mmap.build_id, image->build_id, sizeof(mmap.build_id));
	image_of_mapping(&mmap, &no_vdso, &session, buffer);
	return image_table_intern(reading->counted->images, &session, &grown[reading->image_count++]);
}

static int
add_block(struct reading *reading, const struct code_block *block, size_t size)
{
	struct block *grown =
		array_grow(reading->blocks, &reading->block_capacity, reading->block_count + 1, sizeof(*grown));
	struct block new = {
		.offset = block->offset,
		.last = block->offset,
		.sizes = block->sizes,
		.instruction_count = block->instruction_count,
		.repeats = block->flags & CODE_BLOCK_REPEATS,
	};

	if (!grown)
		return -ENOMEM;
	reading->blocks = grown;
	if (block->instruction_count == 0 || block->instruction_count > CODE_BLOCK_INSTRUCTIONS_MAX ||
	    block->instruction_count > size - sizeof(*block) || block->image > reading->image_count ||
	    block->offset > UINT64_MAX / 2 || reading->block_count == CODE_BLOCKS_MAX)
		return -DCPI_EDAMAGED;
	new.image = block->image ? reading->images[block->image - 1] + 1 : 0;
	for (size_t i = 0; i + 1 < block->instruction_count; i++)
		new.last += block->sizes[i];
	grown[reading->block_count++] = new;
	return 0;
}

/* The record at `at`; how long it is, 0 at a damaged one. */
static int
add_record(struct reading *reading, uint64_t at, uint64_t *size)
{
	const uint64_t left = reading->header.log_size - at;
	const struct code_image *image = (const struct code_image *)(reading->log + at);
	const struct code_block *block = (const struct code_block *)(reading->log + at);

	if (left >= sizeof(*image) && image->type == CODE_IMAGE) {
		*size = code_record_end(sizeof(*image) + image->path_size);
		return add_image(reading, image, left);
	}
	if (left < sizeof(*block) || block->type != CODE_BLOCK)
		return -DCPI_EDAMAGED;
	*size = code_record_end(sizeof(*block) + block->instruction_count);
	return add_block(reading, block, left);
}

static int
read_log(struct reading *reading)
{
	const struct counts_header *header = &reading->header;
	uint64_t size;
	int err;

	if (header->log_size > CODE_LOG_SIZE || header->vcpu_count > COUNTS_VCPUS_MAX)
		return -DCPI_EDAMAGED;
	reading->log = malloc(header->log_size + 1);
	reading->blocks = array_grow(NULL, &reading->block_capacity, 1, sizeof(*reading->blocks));
	if (!reading->log || !reading->blocks)
		return -ENOMEM;
	reading->blocks[reading->block_count++] = (struct block){0};
	err = read_at(reading->fd, reading->log, header->log_size, COUNTS_HEADER_SIZE);
	for (uint64_t at = 0; !err && at < header->log_size; at += size)
		err = add_record(reading, at, &size);
	return err;
}

static int
add_edge(struct reading *reading, uint32_t from_number, uint32_t to_number, uint64_t count)
{
	const struct block *from;
	struct block *to;

	if (count == 0)
		return 0;
	if (from_number >= reading->block_count || to_number == 0 || to_number >= reading->block_count)
		return -DCPI_EDAMAGED;
	from = &reading->blocks[from_number];
	to = &reading->blocks[to_number];
	/* The same execution of a string instruction goes on. */
	if (from->repeats && from->image == to->image && from->last == to->offset)
		return 0;
	to->executed += count;
	if (!to->image || from->image != to->image)
		return 0;
	return counted_add_edge(reading->counted, to->image - 1, from->last, to->offset, count);
}

static int
read_slots(struct reading *reading, uint64_t offset)
{
	struct counts_slot *slots = calloc(reading->block_count, sizeof(*slots));
	int err;

	if (!slots)
		return -ENOMEM;
	err = read_at(reading->fd, slots, reading->block_count * sizeof(*slots), offset);
	for (uint32_t i = 1; !err && i < reading->block_count; i++) {
		err = add_edge(reading, slots[i].from[0], i, slots[i].count[0]);
		if (!err)
			err = add_edge(reading, slots[i].from[1], i, slots[i].count[1]);
	}
	free(slots);
	return err;
}

static int
read_edges(struct reading *reading, uint64_t offset, uint32_t count)
{
	struct counts_edge *edges;
	int err;

	if (count > COUNTS_EDGES_MAX)
		return -DCPI_EDAMAGED;
	edges = calloc((size_t)count + 1, sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	err = read_at(reading->fd, edges, count * sizeof(*edges), offset);
	for (uint32_t i = 0; !err && i < count; i++)
		err = add_edge(reading, edges[i].from, edges[i].to, edges[i].count);
	free(edges);
	return err;
}

static int
read_vcpu(struct reading *reading, uint32_t vcpu)
{
	const uint64_t offset = COUNTS_VCPU_OFFSET(vcpu);
	uint32_t beginning[2]; /* last and edge_count */
	int err;

	err = read_at(reading->fd, beginning, sizeof(beginning), offset);
	if (!err)
		err = read_slots(reading, offset + offsetof(struct counts_vcpu, slots));
	return err ? err : read_edges(reading, offset + offsetof(struct counts_vcpu, edges), beginning[1]);
}

static int
add_block_counts(struct reading *reading, const struct block *block)
{
	uint64_t offset = block->offset;
	int err = 0;

	if (!block->image) {
		reading->counted->anonymous += block->executed * block->instruction_count;
		reading->counted->total += block->executed * block->instruction_count;
		return 0;
	}
	for (size_t i = 0; !err && i < block->instruction_count; i++) {
		err = counted_add(reading->counted, block->image - 1, reading->context, offset, block->executed);
		offset += block->sizes[i];
	}
	return err;
}

static int
read_all(struct reading *reading, const char *label)
{
	struct counts_header *header = &reading->header;
	struct context context = {.comm = header->comm, .cgroup = "", .label = label};
	int err = read_at(reading->fd, header, sizeof(*header), 0);

	if (err)
		return err;
	if (header->magic != COUNTS_MAGIC)
		return -DCPI_EDAMAGED;
	header->comm[sizeof(header->comm) - 1] = '\0';
	err = context_table_intern(reading->counted->contexts, &context, &reading->context);
	if (!err)
		err = read_log(reading);
	for (uint32_t i = 0; !err && i < header->vcpu_count; i++)
		err = read_vcpu(reading, i);
	for (size_t i = 1; !err && i < reading->block_count; i++)
		err = add_block_counts(reading, &reading->blocks[i]);
	return err;
}

int
counts_read_file(int fd, const char *label, struct counted *counted, struct counts_summary *summary)
{
	struct reading reading = {.fd = fd, .counted = counted};
	int err = read_all(&reading, label);

	if (!err) {
		summary->programs++;
		summary->unfollowed += reading.header.unfollowed;
		summary->uncounted += reading.header.uncounted;
	}
	free(reading.log);
	free(reading.blocks);
	free(reading.images);
	return err;
}

/* "counts.PID.NUMBER": true with both. */
static bool
parse_name(const char *name, int *pid, int *number)
{
	return strncmp(name, COUNTS_PREFIX, strlen(COUNTS_PREFIX)) == 0 &&
	       sscanf(name + strlen(COUNTS_PREFIX), "%d.%d", pid, number) == 2 && *pid > 0;
}

static int
read_named(int directory, const char *name, const char *label, struct counted *counted, struct counts_summary *summary)
{
	int pid, number, fd, err;

	if (!parse_name(name, &pid, &number))
		return 0;
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = counts_read_file(fd, label, counted, summary);
	close(fd);
	if (err == -DCPI_EDAMAGED) {
		summary->damaged++;
		return 0;
	}
	summary->processes += number == 0;
	summary->running += number == 0 && (kill(pid, 0) == 0 || errno == EPERM);
	return err;
}

int
counts_read(const char *directory, const char *label, struct counted *counted, struct counts_summary *summary)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	int err = 0;

	memset(summary, 0, sizeof(*summary));
	if (!files)
		return -errno;
	while (!err && (entry = readdir(files)))
		err = read_named(dirfd(files), entry->d_name, label, counted, summary);
	closedir(files);
	return err;
}
