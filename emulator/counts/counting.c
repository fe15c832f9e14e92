#include "emulator/counts/counting.h"

#include <errno.h>
#include <fcntl.h>
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
	snprintf(counting->directory, sizeof(counting->directory), "%s", directory);
	fd = counting_open_file(counting);
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
	munmap(counting->log, COUNTS_LOG_SIZE);
	munmap(counting->header, COUNTS_HEADER_SIZE);
	number_index_fini(&counting->blocks);
	free(counting->block_places);
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
	/* opened again: a descriptor that stays would be one of the guest's */
	fd = open(counting->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = counting_map_vcpu(counting, fd, vcpu);
	close(fd);
	return err;
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
