/* The file that counts are in, mapped: see counting_state.h. */
#include "emulator/counts/counting_state.h"

int
counting_map_beginning(struct counting *counting, int fd)
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

int
counting_map_vcpu(struct counting *counting, int fd, unsigned vcpu)
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

void
counting_leave_file(struct counting *counting)
{
	for (unsigned i = 0; i < COUNTS_VCPUS_MAX; i++)
		process_file_leave(counting->vcpus[i], sizeof(struct counts_vcpu));
	process_file_leave(counting->log.bytes, CODE_LOG_SIZE);
	process_file_leave(counting->header, COUNTS_HEADER_SIZE);
}
