#include "emulator/clock/guest_cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SYS_CPU "/sys/devices/system/cpu/"
#define CPUINFO "/proc/cpuinfo"
#define KEY     "processor"

size_t
guest_cpus_mask_size(unsigned cpus)
{
	return (cpus + 63) / 64 * 8;
}

void
guest_cpus_mask(uint8_t *mask, size_t size, unsigned cpus)
{
	memset(mask, 0, size);
	for (size_t i = 0; i < cpus && i < 8 * size; i++)
		mask[i / 8] |= (uint8_t)(1U << i % 8);
}

int
guest_cpus_first(const uint8_t *mask, size_t size)
{
	for (size_t i = 0; i < 8 * size; i++)
		if (mask[i / 8] >> i % 8 & 1)
			return (int)i;
	return -1;
}

static bool
is_list(const char *path)
{
	return strcmp(path, SYS_CPU "online") == 0 || strcmp(path, SYS_CPU "possible") == 0 ||
	       strcmp(path, SYS_CPU "present") == 0;
}

bool
guest_cpus_is_listing(const char *path)
{
	return is_list(path) || strcmp(path, CPUINFO) == 0;
}

/* The entry of the host's first processor, once for each core of the target. */
static int
write_info(int to, int from, unsigned cpus)
{
	char first[8192];
	ssize_t length = pread(from, first, sizeof(first) - 1, 0);
	const char *rest, *end;

	if (length < 0)
		return -errno;
	first[length] = '\0';
	end = strstr(first, "\n\n");
	rest = strchr(first, '\n');
	if (strncmp(first, KEY, strlen(KEY)) != 0 || !end || !rest)
		return -ENOTSUP;
	for (unsigned i = 0; i < cpus; i++)
		if (dprintf(to, KEY "\t: %u%.*s\n\n", i, (int)(end - rest), rest) < 0)
			return -errno;
	return 0;
}

static int
write_list(int to, unsigned cpus)
{
	return dprintf(to, cpus > 1 ? "0-%u\n" : "%u\n", cpus - 1) < 0 ? -errno : 0;
}

int
guest_cpus_replace(int fd, const char *path, unsigned cpus, bool close_on_exec)
{
	int file = memfd_create("cpus", MFD_CLOEXEC), err;

	if (file < 0)
		return -errno;
	err = is_list(path) ? write_list(file, cpus) : write_info(file, fd, cpus);
	if (!err && lseek(file, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err && dup3(file, fd, close_on_exec ? O_CLOEXEC : 0) < 0)
		err = -errno;
	close(file);
	return err;
}
