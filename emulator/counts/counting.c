#include "emulator/counts/counting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/counts/counting_state.h"

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
	err = fd < 0 ? fd : counting_map_beginning(counting, fd);
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
		number_index_fini(&counting->edges[i]);
	}
	munmap(counting->log.bytes, CODE_LOG_SIZE);
	munmap(counting->header, COUNTS_HEADER_SIZE);
	code_log_fini(&counting->log);
	free(counting);
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
	err = counting_map_vcpu(counting, fd, vcpu);
	close(fd);
	return err;
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

void
counting_clear_vcpu(struct counting *counting, unsigned vcpu)
{
	if (vcpu < COUNTS_VCPUS_MAX && counting->vcpus[vcpu])
		counting->vcpus[vcpu]->last = 0;
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
