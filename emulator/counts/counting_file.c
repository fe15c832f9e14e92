/* The file that counts are in, mapped: see counting_state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/counts/counting_state.h"

#define NAME_TRIES 1000

/* A process that executes one program after the other has a file for each. */
int
counting_open_file(struct counting *counting)
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

int
counting_map_beginning(struct counting *counting, int fd)
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

int
counting_map_vcpu(struct counting *counting, int fd, unsigned vcpu)
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

static void
replace_mapping(void *address, size_t size)
{
	void *mapped;

	if (map_part(-1, address, size, 0, &mapped))
		abort(); /* rather than count into somebody else's file */
}

void
counting_leave_file(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		if (counting->vcpus[i])
			replace_mapping(counting->vcpus[i], sizeof(struct counts_vcpu));
	replace_mapping(counting->log, COUNTS_LOG_SIZE);
	replace_mapping(counting->header, COUNTS_HEADER_SIZE);
}
