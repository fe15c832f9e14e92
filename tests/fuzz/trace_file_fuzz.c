/* dcpi-tools/loc/trace_read.h: a file that the guest may have written to. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dcpi-tools/loc/trace_read.h"
#include "emulator/locality/trace_file.h"

static int
write_at(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	return pwrite(fd, data, size, (off_t)offset) == (ssize_t)size;
}

/* The input in four parts: a log, and of a virtual CPU its bursts, instructions and lines. */
static int
write_parts(int fd, const uint8_t *data, size_t size)
{
	struct record_header header = {.magic = TRACE_MAGIC, .vcpu_count = 1};
	const size_t part = size / 4;

	header.log_size = part;
	return pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       write_at(fd, data, part, PROCESS_FILE_HEADER_SIZE) &&
	       write_at(fd, data + part, part < 56 ? part : 56, TRACE_VCPU_OFFSET(0)) &&
	       write_at(fd, data + 2 * part, part,
	                TRACE_VCPU_OFFSET(0) + offsetof(struct trace_vcpu, instructions) +
	                        sizeof(struct trace_instruction)) &&
	       write_at(fd, data + 3 * part, part, TRACE_VCPU_OFFSET(0) + offsetof(struct trace_vcpu, lines));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace trace = {.images = NULL};
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (trace_init(&trace) == 0 && write_parts(fd, data, size))
		(void)trace_read_file(&trace, fd);
	for (size_t i = 0; i < trace.key_count; i++)
		if (trace.keys[i] >> LINE_SET_LINE_BITS >= trace.count)
			abort();
	for (size_t i = 0; i < trace.count; i++)
		if (!(locality_spatial(&trace.instructions[i].exact) <= 1) ||
		    !(locality_temporal(&trace.instructions[i].sampled) <= 1))
			abort();
	trace_fini(&trace);
	close(fd);
	return 0;
}
