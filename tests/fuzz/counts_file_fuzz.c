/* dcpi-tools/x/counts_read.h: a file that the guest may have written to. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dcpi-tools/x/counts_read.h"
#include "emulator/counts/counts_file.h"

/* The input is a header, a log, and after it the beginning of a virtual CPU; the rest of it is far away in the file. */
static int
write_parts(int fd, const uint8_t *data, size_t size)
{
	struct record_header header = {.magic = COUNTS_MAGIC, .vcpu_count = 1};
	const size_t log = size / 2;

	header.log_size = log;
	return pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       pwrite(fd, data, log, COUNTS_HEADER_SIZE) == (ssize_t)log &&
	       pwrite(fd, data + log, size - log,
	              (off_t)(COUNTS_VCPU_OFFSET(0) + offsetof(struct counts_vcpu, slots))) == (ssize_t)(size - log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct counts_summary summary = {0};
	struct counted counted;
	int fd = memfd_create("counts", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (counted_init(&counted) == 0 && write_parts(fd, data, size))
		(void)counts_read_file(fd, "", &counted, &summary);
	counted_fini(&counted);
	close(fd);
	return 0;
}
