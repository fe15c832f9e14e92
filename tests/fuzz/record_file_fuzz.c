/* dcpi-tools/emu/record_read.h: a file that the guest may have written to. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dcpi-tools/emu/record_read.h"

/* A third is the log, the others what a virtual CPU has: executions, samples and stalls, far apart in the file. */
static int
write_parts(int fd, const uint8_t *data, size_t size)
{
	struct record_header header = {.magic = RECORD_MAGIC, .vcpu_count = 1};
	const size_t part = size / 4;
	const off_t vcpu = (off_t)RECORD_VCPU_OFFSET(0);

	header.log_size = part;
	return pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       pwrite(fd, data, part, RECORD_HEADER_SIZE) == (ssize_t)part &&
	       pwrite(fd, data + part, part, vcpu + (off_t)offsetof(struct record_vcpu, executions)) == (ssize_t)part &&
	       pwrite(fd, data + 2 * part, part, vcpu + (off_t)offsetof(struct record_vcpu, samples)) ==
	               (ssize_t)part &&
	       pwrite(fd, data + 3 * part, part, vcpu + (off_t)offsetof(struct record_vcpu, stalls)) == (ssize_t)part;
}

static int
visit(void *context, const struct record_stall *stall)
{
	const struct record_reading *reading = context;

	if (stall->stalled > reading->code.instruction_count || stall->culprit > reading->code.instruction_count)
		abort();
	return 0;
}

static void
read_all(int fd, struct image_table *images)
{
	struct record_reading reading;

	if (record_reading_init(&reading, fd, images) == 0) {
		uint64_t *executions = calloc(reading.code.block_count, sizeof(*executions));
		uint64_t *samples = calloc((size_t)reading.code.instruction_count + 1, sizeof(*samples));

		if (executions && samples) {
			(void)record_read_executions(&reading, executions);
			(void)record_read_samples(&reading, SETUP_EVENT_CYCLES, samples);
			(void)record_read_stalls(&reading, visit, &reading);
		}
		free(executions);
		free(samples);
	}
	record_reading_fini(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("record", MFD_CLOEXEC);
	struct image_table *images = image_table_new();

	if (fd >= 0 && images && write_parts(fd, data, size))
		read_all(fd, images);
	image_table_free(images);
	if (fd >= 0)
		close(fd);
	return 0;
}
