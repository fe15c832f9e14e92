#include "emulator/clock/guest_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE    4096
#define SYS_CPU "/sys/devices/system/cpu/"
#define CPUINFO "/proc/cpuinfo"
#define KEY     "processor"

bool
guest_memory_read(uint64_t address, uint64_t base, void *copy, size_t size)
{
	const struct iovec local = {copy, size}, remote = {(void *)(uintptr_t)(address + base), size};

	return address && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool
guest_memory_write(uint64_t address, uint64_t base, const void *bytes, size_t size)
{
	const struct iovec local = {(void *)(uintptr_t)bytes, size},
			   remote = {(void *)(uintptr_t)(address + base), size};

	return address && process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Page by page, as the page after the string's end may not be mapped. */
bool
guest_memory_read_string(uint64_t address, uint64_t base, char *copy, size_t size)
{
	size_t length = 0;

	while (length < size) {
		size_t part = PAGE - (address + base + length) % PAGE;

		if (part > size - length)
			part = size - length;
		if (!guest_memory_read(address + length, base, copy + length, part))
			return false;
		if (memchr(copy + length, '\0', part))
			return true;
		length += part;
	}
	return false;
}

/* SplitMix64: Steele, Lea and Flood, OOPSLA'14. */
static uint64_t
mix(uint64_t state)
{
	state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
	return state ^ (state >> 31);
}

void
guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu)
{
	random->state = mix(seed) ^ mix(when + 1) ^ mix((uint64_t)vcpu << 32 | 1);
}

void
guest_random_fill(struct guest_random *random, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	while (size > 0) {
		const uint64_t word = mix(random->state += UINT64_C(0x9e3779b97f4a7c15));
		const size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(to, &word, part);
		to += part;
		size -= part;
	}
}

/* ---- processors ---- */

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

int
guest_cpus_replace(int fd, const char *path, unsigned cpus, bool close_on_exec)
{
	int file = memfd_create("cpus", MFD_CLOEXEC), err;

	if (file < 0)
		return -errno;
	if (!is_list(path))
		err = write_info(file, fd, cpus);
	else
		err = dprintf(file, cpus > 1 ? "0-%u\n" : "%u\n", cpus - 1) < 0 ? -errno : 0;
	if (!err && lseek(file, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err && dup3(file, fd, close_on_exec ? O_CLOEXEC : 0) < 0)
		err = -errno;
	close(file);
	return err;
}
