#include "emulator/clock/guest_memory.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096

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

/* By pages, as what follows the string's may be missing. */
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
