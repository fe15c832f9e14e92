/* What becomes of the counts in the child of a fork: see counting.h. */
#include <string.h>
#include <unistd.h>

#include "emulator/counts/counting_state.h"

static int
move_to_file(struct counting *counting, int fd)
{
	char comm[COMM_SIZE];
	int err;

	memcpy(comm, counting->header->comm, sizeof(comm));
	err = code_log_copy(&counting->log, fd, COUNTS_HEADER_SIZE);
	if (!err)
		err = counting_map_beginning(counting, fd);
	if (err)
		return err;
	memcpy(counting->header->comm, comm, sizeof(comm));
	counting->header->pid = getpid();
	counting->header->log_size = counting->log.size;
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX && !err; i++) {
		if (!counting->vcpus[i])
			continue;
		err = counting_map_vcpu(counting, fd, i);
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

	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		number_index_fini(&counting->edges[i]);
	fd = process_file_create(&counting->file);
	err = fd < 0 ? fd : move_to_file(counting, fd);
	if (fd >= 0)
		close(fd);
	if (err)
		counting_leave_file(counting);
	return err;
}
