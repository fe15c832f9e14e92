/* Any bytes are an archive with a database in it, of no more than the limit, or are refused with a sentence. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/tar/archive.h"

#define LIMIT ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int from = memfd_create("from", MFD_CLOEXEC), to = memfd_create("to", MFD_CLOEXEC);
	struct stat written;
	uint64_t bytes;
	char why[200];
	int err;

	if (from < 0 || to < 0 || write(from, data, size) != (ssize_t)size || lseek(from, 0, SEEK_SET))
		abort();
	err = archive_unpack(from, to, LIMIT, &bytes, why, sizeof(why));
	if (fstat(to, &written) || (uint64_t)written.st_size != bytes || bytes > LIMIT)
		abort();
	if (err == -DCPI_EDAMAGED && !why[0])
		abort();
	close(to);
	close(from);
	return 0;
}
