#include "emulator/clock/guest_state.h"

#include <dlfcn.h>
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

/* Functions of the emulator; numbers of registers as debuggers count them. */
static const struct {
	const char *target, *write_register;
	int number;
} targets[] = {
	{"x86_64", "x86_cpu_gdb_write_register", 0},      /* rax */
	{"aarch64", "aarch64_cpu_gdb_write_register", 0}, /* x0 */
	{"riscv64", "riscv_cpu_gdb_write_register", 10},  /* a0 */
};

bool
guest_result_init(struct guest_result *result, const char *target)
{
	memset(result, 0, sizeof(*result));
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strcmp(targets[i].target, target) != 0)
			continue;
		*(void **)&result->find_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
		*(void **)&result->write_register = dlsym(RTLD_DEFAULT, targets[i].write_register);
		result->number = targets[i].number;
	}
	return result->find_cpu && result->write_register;
}

void
guest_result_write(const struct guest_result *result, unsigned vcpu, int64_t value)
{
	uint8_t bytes[sizeof(value)];
	void *cpu;

	if (!result->find_cpu || !result->write_register)
		return;
	memcpy(bytes, &value, sizeof(bytes)); /* all targets are little-endian, as the host is */
	cpu = result->find_cpu((int)vcpu);
	if (cpu)
		result->write_register(cpu, bytes, result->number);
}

/* SplitMix64: Steele, Lea and Flood, OOPSLA'14. */
static uint64_t
mix(uint64_t state)
{
	state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
	return state ^ (state >> 31);
}

static uint64_t
next(struct guest_random *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(random->state);
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
		const uint64_t word = next(random);
		const size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(to, &word, part);
		to += part;
		size -= part;
	}
}
