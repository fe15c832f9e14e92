#include "emulator/counts/counting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/id_hash.h"
#include "emulator/process_file.h"

struct counting {
	struct process_file file;
	struct code_log log;
	struct counts_header *header;
	struct counts_vcpu *vcpus[COUNTS_VCPUS_MAX];
	struct id_hash edges[COUNTS_VCPUS_MAX]; /* by virtual CPU: index into its edges, from 1 */
	uint32_t last[COUNTS_VCPUS_MAX];        /* each virtual CPU's block before a fork */
};

/* Map the header and the log: at the addresses they have already, or anywhere when they have none. 0 or -errno. */
static int
map_beginning(struct counting *counting, int fd)
{
	void *header = counting->header, *log = counting->log.bytes;
	int err = process_file_map(fd, &header, COUNTS_HEADER_SIZE, 0);

	if (!err)
		err = process_file_map(fd, &log, CODE_LOG_SIZE, COUNTS_HEADER_SIZE);
	if (err)
		return err;
	counting->header = header;
	counting->log.bytes = log;
	return 0;
}

static int
map_vcpu(struct counting *counting, int fd, unsigned vcpu)
{
	void *mapped = counting->vcpus[vcpu];
	int err = process_file_map(fd, &mapped, sizeof(struct counts_vcpu), COUNTS_VCPU_OFFSET(vcpu));

	if (err)
		return err;
	counting->vcpus[vcpu] = mapped;
	if (counting->header->vcpu_count <= vcpu)
		counting->header->vcpu_count = vcpu + 1;
	return 0;
}

struct counting *
counting_new(const char *directory, const char *comm)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	int fd, err;

	if (!counting)
		return NULL;
	snprintf(counting->file.directory, sizeof(counting->file.directory), "%s", directory);
	counting->file.prefix = COUNTS_PREFIX;
	code_log_init(&counting->log, NULL, UINT32_MAX);
	fd = process_file_create(&counting->file);
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
		id_hash_fini(&counting->edges[i]);
	}
	munmap(counting->log.bytes, CODE_LOG_SIZE);
	munmap(counting->header, COUNTS_HEADER_SIZE);
	code_log_fini(&counting->log);
	free(counting);
}

void
counting_before_fork(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		counting->last[i] = counting->vcpus[i] ? counting->vcpus[i]->last : 0;
}

static int
move_to_file(struct counting *counting, int fd)
{
	char comm[COMM_SIZE];
	int err;

	memcpy(comm, counting->header->comm, sizeof(comm));
	err = code_log_copy(&counting->log, fd, COUNTS_HEADER_SIZE);
	if (!err)
		err = map_beginning(counting, fd);
	if (err)
		return err;
	memcpy(counting->header->comm, comm, sizeof(comm));
	counting->header->pid = getpid();
	counting->header->log_size = counting->log.size;
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

/* The mapping is shared with the parent, which still writes to it: the child must not count there, even on failure. */
int
counting_fork(struct counting *counting)
{
	int fd, err;

	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		id_hash_fini(&counting->edges[i]);
	fd = process_file_create(&counting->file);
	err = fd < 0 ? fd : move_to_file(counting, fd);
	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		process_file_leave(counting->vcpus[i], sizeof(struct counts_vcpu));
	process_file_leave(counting->log.bytes, CODE_LOG_SIZE);
	process_file_leave(counting->header, COUNTS_HEADER_SIZE);
	return err;
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
	fd = process_file_open(&counting->file);
	if (fd < 0)
		return fd;
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

int
counting_add_image(struct counting *counting, const struct record_mmap *file)
{
	return code_log_add_image(&counting->log, &counting->header->log_size, file);
}

uint32_t
counting_add_block(struct counting *counting, const struct code_block *block, const uint8_t *sizes)
{
	uint32_t first;

	return code_log_add_block(&counting->log, &counting->header->log_size, block, sizes, &first);
}

static uint64_t
edge_hash(uint32_t from, uint32_t to)
{
	return id_hash_mix((uint64_t)from << 32 | to);
}

static struct counts_edge *
add_edge(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct id_hash *hash = &counting->edges[number];
	struct counts_edge *edge;
	bool is_new;

	if (vcpu->edge_count == COUNTS_EDGES_MAX || id_hash_reserve(hash, &is_new))
		return NULL;
	for (uint32_t i = 0; is_new && i < vcpu->edge_count; i++)
		id_hash_put(hash, edge_hash(vcpu->edges[i].from, vcpu->edges[i].to), i + 1);
	edge = &vcpu->edges[vcpu->edge_count];
	*edge = (struct counts_edge){.from = from, .to = to};
	vcpu->edge_count++;
	id_hash_put(hash, edge_hash(from, to), vcpu->edge_count);
	return edge;
}

/* Entered from a block that has no slot of `to` yet: take a free slot, else count in the table of edges. */
static __attribute__((noinline)) void
enter_from_others(struct counting *counting, unsigned number, uint32_t from, uint32_t to)
{
	struct counts_vcpu *vcpu = counting->vcpus[number];
	struct counts_slot *slot = &vcpu->slots[to];
	const struct id_hash *hash = &counting->edges[number];
	struct counts_edge *edge = NULL;

	for (unsigned i = 0; i < 2; i++) {
		if (slot->count[i])
			continue;
		slot->from[i] = from;
		slot->count[i] = 1;
		return;
	}
	for (uint32_t at = hash->size ? id_hash_begin(hash, edge_hash(from, to)) : 0; hash->size && hash->numbers[at];
	     at = id_hash_next(hash, at)) {
		edge = &vcpu->edges[hash->numbers[at] - 1];
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
